//! Runs the jobs of pipelines: commands, agents and keyboard input to them.
//!
//! Every job has its own folder and thread. The thread checks whether the job was started by an
//! earlier daemon, starts it if not, waits for its end, and reports to the loop: it can be killed
//! at any point, and the next daemon resumes.

mod agent;
mod command;
mod folders;
mod screen;
mod send_keys;

use std::path::PathBuf;
use std::thread;

use anyhook_flow::monitor::IgnoreReason;
use anyhook_flow::pipeline::{JobContext, JobResult, JobWork};
use anyhook_flow::{EntryKind, JobId};
use tokio::sync::{mpsc, oneshot};

use crate::core::CoreMessage;
use crate::failpoints;
use crate::session::Session;

pub use folders::PipelineFolders;
use send_keys::DialogChoice;

/// Runs jobs, each in its own thread.
#[derive(Clone, Debug)]
pub struct JobRunner {
    /// The path of this program.
    pub binary: PathBuf,
    /// The state folder.
    pub state: PathBuf,
    /// The home folder, where agents' settings are.
    pub home: Option<PathBuf>,
    /// The queue of messages to the loop.
    pub messages: mpsc::Sender<CoreMessage>,
}

impl JobRunner {
    /// Returns the folders of pipelines.
    pub fn folders(&self) -> PipelineFolders {
        PipelineFolders::in_state_dir(&self.state)
    }

    /// Returns the session of a job.
    pub fn session(&self, job: &JobId) -> Session {
        Session {
            folder: self.folders().job(job),
            name: format!("{}-{}", job.pipeline, job.number),
            binary: self.binary.clone(),
            runtime: Session::runtime_folder(&self.state),
        }
    }

    /// Runs a job in the background.
    pub fn start(&self, context: JobContext) -> std::io::Result<()> {
        let runner = self.clone();
        let thread = thread::Builder::new().name(format!("job {}", context.job.number));
        thread.spawn(move || {
            let result = runner.run(&context);
            failpoints::point("pipelines.job.done");
            runner.tell(context.id(), result);
        })?;
        Ok(())
    }

    fn run(&self, context: &JobContext) -> JobResult {
        match &context.job.work {
            JobWork::MakeWorkspace => self.make_workspace(context),
            JobWork::RemoveWorkspace => self.remove_workspace(context),
            JobWork::Shell => self.run_shell(context),
            JobWork::Gate { run, timeout_ms, .. } => self.run_gate(context, run, *timeout_ms),
            JobWork::Agent { .. } => self.run_agent(context),
            JobWork::Nudge { rest, message } => self.nudge(context, *rest, message),
            JobWork::Answer { rest, allow, about, prompt, choose } => {
                let wanted =
                    choose.as_deref().map_or(DialogChoice::of(*allow), DialogChoice::Option);
                self.answer(context, *rest, wanted, (about.as_deref(), *prompt))
            }
            JobWork::Prompt { message } => self.type_prompt(context, message),
            JobWork::End { .. } => self.end(context),
        }
    }

    /// Reports the result of a job to the loop.
    fn tell(&self, job: JobId, result: JobResult) {
        let JobId { pipeline, number: job } = job;
        // If the loop has ended, it starts the job again after a restart.
        let done = CoreMessage::Done(EntryKind::Job { pipeline, job, result });
        let _ = self.messages.blocking_send(done);
    }

    /// Asks the loop, which has just read the journal, whether an agent is still at a prompt.
    fn still_at_prompt(&self, context: &JobContext, rest: u64) -> Result<(), JobResult> {
        let (answer, answered) = oneshot::channel();
        let asked = CoreMessage::StillAtPrompt(context.plan.id.clone(), rest, answer);
        let obsolete = |why: &str| JobResult::Obsolete { why: why.to_owned() };
        self.messages.blocking_send(asked).map_err(|_| obsolete("the daemon is stopping"))?;
        match answered.blocking_recv() {
            Ok(Ok(())) => Ok(()),
            Ok(Err(dropped)) => Err(obsolete(dropped.words())),
            Err(_) => Err(obsolete("the daemon is stopping")),
        }
    }
}

/// A rest of an agent that is about to be ended by keyboard input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeysTarget {
    /// The job that types.
    pub job: JobId,
    /// The number of the rest.
    pub rest: u64,
}

impl KeysTarget {
    /// Returns the name under which this input is stored.
    pub fn name(&self) -> String {
        format!("{} {}", self.job.pipeline, self.job.number)
    }
}

/// Whether an agent is still at a rest.
pub type IsStillIdle = Result<(), IgnoreReason>;
