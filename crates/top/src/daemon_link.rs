//! The link to the daemon, in a thread of its own: the daemon may hang, exit and come back without
//! blocking the view.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel};
use std::thread;
use std::time::Duration;

use anyhook_model::daemon::{AgentView, DecisionView, Request, ResolveDecision, Response};
use anyhook_model::pipeline::PipelineView;
use anyhook_socket::frame::FrameError;
use anyhook_socket::{Client, ClientError, DaemonFolder};

use crate::pipelines::worth_showing;
use crate::updates::Update;
use crate::waiting::PendingAnswer;
use anyhook_terminal::format::second;

/// How often the daemon is polled.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// How often a connection to a daemon that is not running is tried.
const TRY_EVERY: Duration = Duration::from_secs(1);
/// A daemon that does not answer within this time counts as not running.
const TIMEOUT: Duration = Duration::from_secs(2);

/// What is known of the daemon.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum DaemonView {
    /// It has not been asked yet.
    #[default]
    Unasked,
    /// It does not run, or cannot be asked, with the reason.
    Away(Option<String>),
    /// It answers.
    Here {
        /// Every agent.
        agents: Vec<AgentView>,
        /// Every decision.
        decisions: Vec<DecisionView>,
        /// The pipelines that are shown.
        pipelines: Vec<PipelineView>,
    },
}

/// The link to the daemon.
#[derive(Debug)]
pub struct DaemonLink {
    answers: Sender<PendingAnswer>,
}

impl DaemonLink {
    /// Starts to poll the daemon, whenever it runs. Never starts it.
    pub fn start(folder: DaemonFolder, person: String, news: SyncSender<Update>) -> Self {
        let (answers, given) = channel();
        // It ends with the process: no one must wait for a daemon that hangs.
        thread::spawn(move || {
            talk(Connection { folder, person, client: None, events: None }, &news, &given);
        });
        Self { answers }
    }

    /// Sends an answer to a decision; its result arrives as an update.
    pub fn answer(&self, answer: PendingAnswer) {
        // The receiver lives as long as the view.
        let _ = self.answers.send(answer);
    }
}

/// Polls continuously, whatever fails.
fn talk(mut connection: Connection, news: &SyncSender<Update>, given: &Receiver<PendingAnswer>) {
    let mut told = DaemonView::Unasked;
    loop {
        let state = match connection.look() {
            Ok(state) => state,
            Err(error) => Some(DaemonView::Away(connection.lost(&error))),
        };
        // An unchanged state is not sent.
        if let Some(state) = state.filter(|state| *state != told) {
            if news.send(Update::Daemon(state.clone())).is_err() {
                return;
            }
            told = state;
        }
        let is_here = matches!(told, DaemonView::Here { .. });
        match given.recv_timeout(if is_here { LOOK_EVERY } else { TRY_EVERY }) {
            Ok(answer) => {
                let answered = Update::Answered(connection.answer(answer));
                if news.send(answered).is_err() {
                    return;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

#[derive(Debug)]
struct Connection {
    folder: DaemonFolder,
    /// Who answers.
    person: String,
    client: Option<Client>,
    /// The number of the last event already received.
    events: Option<u64>,
}

impl Connection {
    fn client(&mut self) -> Result<&mut Client, ClientError> {
        match &mut self.client {
            Some(client) => Ok(client),
            none => {
                self.events = None;
                Ok(none.insert(Client::connect_within(&self.folder, TIMEOUT)?))
            }
        }
    }

    /// Returns the current state; `None` if nothing happened since.
    fn look(&mut self) -> Result<Option<DaemonView>, ClientError> {
        let client = self.client()?;
        let Response::Status(status) = client.request(&Request::Status)? else {
            return Err(ClientError::NoAnswer);
        };
        if self.events == Some(status.events) {
            return Ok(None);
        }
        let client = self.client()?;
        let Response::Agents(agents) = client.request(&Request::Agents)? else {
            return Err(ClientError::NoAnswer);
        };
        let Response::Decisions(decisions) = client.request(&Request::Decisions)? else {
            return Err(ClientError::NoAnswer);
        };
        let pipelines = match client.request(&Request::Pipelines) {
            Ok(Response::Pipelines(all)) => worth_showing(all, anyhook_engine::now()),
            // An older version has none.
            Err(ClientError::Refused(_)) => Vec::new(),
            Ok(_) => return Err(ClientError::NoAnswer),
            Err(error) => return Err(error),
        };
        // What happened in between is requested again.
        self.events = Some(status.events);
        Ok(Some(DaemonView::Here { agents, decisions, pipelines }))
    }

    /// Answers a decision. Returns the result, or why it could not be made.
    fn answer(&mut self, answer: PendingAnswer) -> Result<String, String> {
        let PendingAnswer { id, choice, .. } = answer;
        let by = format!("{} in top", self.person);
        let resolve = ResolveDecision {
            id: id.to_string(),
            choice,
            more: Vec::new(),
            message: None,
            by,
            again: false,
            digest: None,
            signature: None,
        };
        match self.client().and_then(|client| client.resolve(resolve)) {
            Ok(resolution) => Ok(format!("{id}: {}", resolution.choice.unwrap_or_default())),
            Err(ClientError::Refused(refusal)) => Err(refusal.message),
            Err(error) => {
                let why = self.lost(&error).unwrap_or_else(|| ClientError::NotRunning.to_string());
                Err(format!("{id}: {why}; the answer may not have been recorded"))
            }
        }
    }

    /// Drops the connection. Returns why, and since when, if known.
    fn lost(&mut self, error: &ClientError) -> Option<String> {
        self.client = None;
        match error {
            ClientError::NotRunning => {
                let (life, seen) = self.folder.read_life()?;
                let since = second(life.ended.unwrap_or(seen));
                Some(format!("no daemon since {since}"))
            }
            ClientError::Silent { .. } => Some("the daemon does not answer".to_owned()),
            ClientError::Frame(FrameError::Io(_)) => None,
            error => Some(error.to_string()),
        }
    }
}
