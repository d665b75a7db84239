//! Asks a person about a gate as a decision of the daemon, until someone chooses.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::thread;
use std::time::{Duration, Instant};

use anyhook_engine::wait::try_poll_until;
use anyhook_model::Resolution;
use anyhook_model::approval_request::ApprovalEnding;
use anyhook_model::bus::AgentReport;
use anyhook_model::daemon::Ask;
use anyhook_socket::{Client, ClientError};

use crate::caller::WorkflowCaller;
use crate::error::WorkflowError;
use crate::gate_request::StageGate;
use crate::project::Project;
use crate::state::WorkflowState;
use crate::transaction::StateChange;

/// How often the state file is checked while a person is asked.
pub const LOOK_EVERY: Duration = Duration::from_millis(250);
/// A question without a time limit is asked again after this time, which is not noticeable.
const LONG: Duration = Duration::from_secs(24 * 60 * 60);

/// Which daemon to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DaemonChoice {
    /// The running one, or one that is started for it.
    Started,
    /// The running one.
    AsItIs,
}

/// How long a restarted daemon may take to come back.
const COMES_BACK: Duration = Duration::from_secs(15);

/// A question that is being asked. It is withdrawn when dropped.
#[derive(Debug)]
pub struct OpenQuestion {
    /// What is asked.
    pub gate: StageGate,
    answer: Receiver<Result<Option<Resolution>, WorkflowError>>,
    /// The asking thread detects that this end is closed.
    _withdrawn: UnixStream,
}

impl OpenQuestion {
    /// Asks a person, for at most `limit`.
    pub fn ask(
        gate: &StageGate,
        caller: &WorkflowCaller,
        limit: Option<Duration>,
    ) -> Result<Self, WorkflowError> {
        Self::with(gate, caller, limit, DaemonChoice::Started)
    }

    /// Asks a person for as long as the running daemon lives. Another one is not started: a person
    /// may have stopped it.
    pub fn hold(gate: &StageGate, caller: &WorkflowCaller) -> Result<Self, WorkflowError> {
        Self::with(gate, caller, None, DaemonChoice::AsItIs)
    }

    fn with(
        gate: &StageGate,
        caller: &WorkflowCaller,
        limit: Option<Duration>,
        daemon: DaemonChoice,
    ) -> Result<Self, WorkflowError> {
        let (ours, theirs) = UnixStream::pair()?;
        theirs.set_read_timeout(Some(LOOK_EVERY))?;
        let (sender, answer) = mpsc::channel();
        let (asked, around) = (gate.clone(), caller.clone());
        thread::Builder::new().spawn(move || {
            // A caller that no longer waits needs no answer.
            let _ = sender.send(ask(&asked, &around, limit, daemon, &theirs));
        })?;
        Ok(Self { gate: gate.clone(), answer, _withdrawn: ours })
    }

    /// Returns the answer, if there is one.
    pub fn answer(&self) -> Result<Option<Resolution>, WorkflowError> {
        match self.answer.try_recv() {
            Ok(answer) => answer,
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => Ok(None),
        }
    }
}

/// Asks until someone chooses, the time is over or the question is withdrawn.
fn ask(
    gate: &StageGate,
    caller: &WorkflowCaller,
    limit: Option<Duration>,
    daemon: DaemonChoice,
    mut withdrawn: &UnixStream,
) -> Result<Option<Resolution>, WorkflowError> {
    let folder = caller.daemon_folder()?;
    let end = limit.map(|limit| Instant::now() + limit);
    let mut time = 0;
    let mut seen = Instant::now();
    loop {
        let left = end.map_or(LONG, |end| end.saturating_duration_since(Instant::now()));
        if left.is_zero() {
            return Ok(None);
        }
        let report = AgentReport::default();
        let ask = Ask { inquiry: gate.inquiry(time), report };
        let client = match daemon {
            DaemonChoice::Started => caller.connect(&folder),
            DaemonChoice::AsItIs => Client::connect(&folder),
        };
        if client.is_ok() {
            seen = Instant::now();
        }
        match client.and_then(|mut client| client.ask(&ask, left, withdrawn)) {
            Ok(resolution) if resolution.ending == ApprovalEnding::Chosen => {
                return Ok(Some(resolution));
            }
            // The process that asked it before us is gone, and it still has to be decided.
            Ok(_) => time += 1,
            Err(ClientError::NoAnswer) => {}
            // It may come back, and it still knows the question when it does.
            Err(error)
                if error.may_pass()
                    && (daemon == DaemonChoice::Started || seen.elapsed() < COMES_BACK) => {}
            Err(error) => return Err(error.into()),
        }
        if is_withdrawn(&mut withdrawn) {
            return Ok(None);
        }
    }
}

/// Waits a moment; returns whether the question was withdrawn.
fn is_withdrawn(line: &mut &UnixStream) -> bool {
    match line.read_exact(&mut [0]) {
        Ok(()) => true,
        Err(error) => !matches!(
            error.kind(),
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
        ),
    }
}

/// The result for a stage that a person was asked about.
#[derive(Debug)]
pub enum GateResult {
    /// It was decided elsewhere, or there is no question about it.
    Elsewhere(WorkflowState),
    /// The person's answer was applied.
    Here(StateChange),
    /// No one has decided in time.
    NotInTime,
}

/// Waits until a person has decided about a stage, through the daemon or with `anyhook workflow
/// approve`.
pub fn wait_for_person(
    project: &Project,
    stage: &str,
    limit: Duration,
) -> Result<GateResult, WorkflowError> {
    let end = Instant::now() + limit;
    let mut question: Option<OpenQuestion> = None;
    let decided = try_poll_until(end, LOOK_EVERY, || {
        let state = project.begun()?;
        let Some(gate) = StageGate::of(project, &state, stage) else {
            return Ok(Some(GateResult::Elsewhere(state)));
        };
        match &question {
            Some(asked) if asked.gate.is_same(&gate) => match asked.answer()? {
                Some(answer) => Ok(Some(GateResult::Here(asked.gate.apply(project, &answer)?))),
                None => Ok(None),
            },
            _ => {
                let left = end.saturating_duration_since(Instant::now());
                question = Some(OpenQuestion::ask(&gate, &project.caller, Some(left))?);
                Ok(None)
            }
        }
    });
    decided.map(|decided| decided.unwrap_or(GateResult::NotInTime))
}
