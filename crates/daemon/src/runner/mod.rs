//! Executes the side effects in the state's [outbox](anyhook_flow::Outbox).
//!
//! ```text
//!           ┌──▶ journal: one thread, in order ──▶ found when the journal is read ──┐
//!  outbox ──┼──▶ jobs: a thread each           ──▶ `CoreMessage::Done`            ──┼─▶ entry
//!           └──▶ notices: a process each       ──▶ `CoreMessage::Done`            ──┘
//! ```
//!
//! An item stays in the outbox until the entry that says that it is done is stored; which items are
//! in progress is only remembered here, so that a daemon that was killed starts them again. Nothing
//! here makes the loop wait.

mod agent_directives;
mod jobs;
mod journal;
mod notices;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use anyhook_engine::settings::{NotifySettings, UiSettings};
use anyhook_engine::{Engine, Places};
use anyhook_flow::{DaemonState, EntryKind, JobId, NoticeName};
use anyhook_model::{BusEvent, ProcessName, Record, RecordId};
use tokio::sync::mpsc;

use crate::core::CoreMessage;
use crate::process_watcher::ProcessWatcher;
use crate::replies::AnswerCodes;
use crate::{failpoints, gate_watcher};
use agent_directives::DirectiveFiles;

pub use jobs::{IsStillIdle, JobRunner, KeysTarget, PipelineFolders};

/// How long to wait after a failed item before the next attempt.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// What the background thread uses.
#[derive(Debug)]
pub struct RunnerContext {
    /// The path of this program.
    pub binary: PathBuf,
    /// How a person is notified.
    pub notify: NotifySettings,
    /// The page that notices link to.
    pub ui: UiSettings,
    /// Where notices are claimed.
    pub claims: PathBuf,
    /// Where things are.
    pub places: Places,
    /// Writes the journal.
    pub engine: Engine,
    /// The queue of messages to the loop.
    pub messages: mpsc::Sender<CoreMessage>,
}

/// A task for the background thread.
type Deferred = Box<dyn FnOnce(&RunnerContext) + Send>;

/// Drains the outbox.
#[derive(Debug)]
pub struct Runner {
    /// Runs jobs.
    pub jobs: JobRunner,
    /// Makes the codes of buttons, if any answer.
    codes: Option<AnswerCodes>,
    background: Sender<Deferred>,
    under_way: UnderWay,
    instructions: DirectiveFiles,
    processes: ProcessWatcher,
    /// Agents' processes that are watched.
    watched: BTreeSet<(String, u32, u64)>,
}

/// Items of the outbox that are in progress.
#[derive(Debug, Default)]
struct UnderWay {
    jobs: BTreeSet<JobId>,
    notices: BTreeSet<NoticeName>,
    journal_lines: BTreeSet<RecordId>,
}

/// The result of draining the outbox.
#[derive(Debug, Default)]
pub struct DrainResult {
    /// Items that are no longer needed.
    pub obsolete: Vec<EntryKind>,
    /// Why something could not be started; it is tried again.
    pub failed: Option<String>,
}

impl Runner {
    /// Starts the background thread. Does not drain anything yet.
    pub fn start(
        tools: RunnerContext,
        jobs: JobRunner,
        processes: ProcessWatcher,
        codes: Option<AnswerCodes>,
    ) -> std::io::Result<Self> {
        let (background, deferred) = channel();
        thread::Builder::new().name("runner".to_owned()).spawn(move || work(&deferred, &tools))?;
        let instructions = DirectiveFiles::new(jobs.state.clone());
        let (under_way, watched) = (UnderWay::default(), BTreeSet::new());
        Ok(Self { jobs, codes, background, under_way, instructions, processes, watched })
    }

    /// Starts every item that is not in progress. While the journal is being read (`is_behind`),
    /// only journal lines are written: the other items may be long obsolete.
    pub fn drain(&mut self, state: &DaemonState, is_behind: bool) -> DrainResult {
        let mut drained = DrainResult::default();
        self.write_journal_lines(state);
        self.write_unasked_calls(state);
        if !is_behind {
            drained.failed = self.instructions.update(state).err();
            self.start_jobs(state, &mut drained);
            self.give_notices(state, &mut drained);
        }
        drained
    }

    fn start_jobs(&mut self, state: &DaemonState, drained: &mut DrainResult) {
        for id in state.outbox.job_ids() {
            if self.under_way.jobs.contains(&id) {
                continue;
            }
            let Some(context) = state.job_context(&id) else { continue };
            failpoints::point("core.job.asked");
            match self.jobs.start(context) {
                Ok(()) => drop(self.under_way.jobs.insert(id)),
                Err(error) => {
                    let JobId { pipeline, number } = id;
                    drained.failed = Some(format!(
                        "cannot start a thread for job {number} of {pipeline}: {error}"
                    ));
                }
            }
        }
    }

    /// An entry is stored: the item that it completes is no longer in progress.
    pub fn stored(&mut self, entry: &EntryKind) {
        match entry {
            EntryKind::NoticeLaunched(name) => drop(self.under_way.notices.remove(name)),
            EntryKind::Journaled(id) => drop(self.under_way.journal_lines.remove(id)),
            EntryKind::Happened(event) => {
                if let BusEvent::AlarmRaised(report) = event.as_ref() {
                    self.under_way.journal_lines.remove(&report.record);
                }
            }
            EntryKind::Job { pipeline, job, result } if !result.goes_on() => {
                let id = JobId { pipeline: pipeline.clone(), number: *job };
                self.under_way.jobs.remove(&id);
            }
            _ => {}
        }
    }

    /// An item failed: it is started again.
    pub fn not_done(&mut self, item: &OutboxFailure) {
        match item {
            OutboxFailure::Notice(name) => drop(self.under_way.notices.remove(name)),
            OutboxFailure::JournalLine(id) => drop(self.under_way.journal_lines.remove(id)),
        }
    }

    /// Journals that a request was refused.
    pub fn journal_refusal(&self, record: Record) {
        self.defer(move |tools| journal::write_refusal(tools, record));
    }

    /// Asks people at the gates of workflows.
    pub fn ask_at_gates(&self) {
        self.defer(|tools| {
            if let Err(error) = gate_watcher::launch(&tools.binary) {
                tracing::error!("cannot ask for approval at workflow gates: {error}");
            }
        });
    }

    /// Watches an agent's process, if it is known and not yet watched.
    pub fn watch_process(&mut self, state: &DaemonState, id: &str) {
        let Some(agent) = state.agents.get(id).filter(|agent| !agent.state.is_over()) else {
            return;
        };
        let Some(process) = &agent.process else { return };
        if self.watched.insert((id.to_owned(), process.pid, process.started)) {
            self.processes.watch((id.to_owned(), process.clone()));
        }
    }

    /// A process has ended.
    pub fn process_ended(&mut self, id: &str, process: &ProcessName) {
        self.watched.remove(&(id.to_owned(), process.pid, process.started));
    }

    /// Runs something in the background, in order. The number of these is bounded by the size of
    /// the state.
    fn defer(&self, deferred: impl FnOnce(&RunnerContext) + Send + 'static) {
        // The thread ends with us: what is not done is still in the outbox.
        let _ = self.background.send(Box::new(deferred));
    }
}

/// An item of the outbox that failed.
#[derive(Debug)]
pub enum OutboxFailure {
    /// A notice could not be handed to its process.
    Notice(NoticeName),
    /// A decision or an alarm could not be written to the journal.
    JournalLine(RecordId),
}

fn work(deferred: &Receiver<Deferred>, tools: &RunnerContext) {
    while let Ok(next) = deferred.recv() {
        next(tools);
    }
}

impl RunnerContext {
    /// Reports to the loop that an item failed, after a pause.
    fn not_done(&self, item: OutboxFailure) {
        thread::sleep(TRY_AGAIN);
        self.tell(CoreMessage::NotDone(item));
    }

    /// Sends a message to the loop. If it has ended, it knows from its state after a restart.
    fn tell(&self, message: CoreMessage) {
        let _ = self.messages.blocking_send(message);
    }
}
