//! Does the jobs of pipelines: commands, agents and what is typed to them.
//!
//! Every job has a folder and a thread of its own. The thread finds out whether the job was begun by
//! an earlier daemon, begins it if not, waits for its end, and tells the loop: it can be killed
//! anywhere, and the next one goes on.

mod agent;
mod command;
mod folders;
mod screen;
mod typing;

use std::path::PathBuf;
use std::thread;

use anyhook_flow::What;
use anyhook_flow::monitor::Dropped;
use anyhook_flow::pipeline::{Job, JobResult, JobWork};
use anyhook_model::pipeline::{AgentPlan, Shell, Work};
use anyhook_model::{Plan, RecordId};
use tokio::sync::{mpsc, oneshot};

use crate::core::Input;
use crate::faults;
use crate::session::Session;

pub use folders::PipelineFolders;
use typing::Wanted;

/// A job, and what is to be known to do it.
#[derive(Clone, Debug)]
pub struct Order {
    /// The pipeline's plan.
    pub plan: Plan,
    /// What is to be done.
    pub job: Job,
    /// The step it is for.
    pub step: Option<String>,
    /// The agent that works on the step.
    pub agent: Option<String>,
    /// The job whose session the agent runs in, once that is started.
    pub session: Option<u32>,
    /// The agent's own name of its session, by which it can be taken up again.
    pub resume: Option<String>,
    /// The job that is to be ended.
    pub ends: Option<Job>,
}

impl Order {
    fn agent_plan(&self) -> Option<&AgentPlan> {
        match &self.plan.step(self.step.as_deref()?)?.work {
            Work::Agent(plan) => Some(plan),
            Work::Shell(_) => None,
        }
    }

    fn shell(&self) -> Option<&Shell> {
        match &self.plan.step(self.step.as_deref()?)?.work {
            Work::Shell(shell) => Some(shell),
            Work::Agent(_) => None,
        }
    }
}

/// Who does jobs.
#[derive(Clone, Debug)]
pub struct Worker {
    /// This program.
    pub binary: PathBuf,
    /// The state folder.
    pub state: PathBuf,
    /// The home folder, where agents' settings are.
    pub home: Option<PathBuf>,
    /// Where the loop is told.
    pub inputs: mpsc::Sender<Input>,
}

impl Worker {
    /// Returns where pipelines' things are.
    pub fn folders(&self) -> PipelineFolders {
        PipelineFolders::of_state(&self.state)
    }

    /// Returns the session of a job.
    pub fn session(&self, pipeline: &RecordId, job: u32) -> Session {
        Session {
            folder: self.folders().job(pipeline, job),
            name: format!("{pipeline}-{job}"),
            binary: self.binary.clone(),
            runtime: Session::runtime_folder(&self.state),
        }
    }

    /// Does a job, aside.
    pub fn begin(&self, order: Order) -> std::io::Result<()> {
        let worker = self.clone();
        let number = order.job.number;
        let thread = thread::Builder::new().name(format!("job {number}"));
        thread.spawn(move || {
            let result = worker.work(&order);
            faults::point("pipelines.job.done");
            worker.tell(&order.plan.id, order.job.number, result);
        })?;
        Ok(())
    }

    fn work(&self, order: &Order) -> JobResult {
        match &order.job.work {
            JobWork::MakeWorkspace => self.make_workspace(order),
            JobWork::RemoveWorkspace => self.remove_workspace(order),
            JobWork::Shell => self.run_shell(order),
            JobWork::Gate { run, timeout_ms, .. } => self.run_gate(order, run, *timeout_ms),
            JobWork::Agent { .. } => self.run_agent(order),
            JobWork::Nudge { rest, message } => self.nudge(order, *rest, message),
            JobWork::Answer { rest, allow, about, prompt, choose } => {
                let wanted = choose.as_deref().map_or(Wanted::of(*allow), Wanted::Option);
                self.answer(order, *rest, wanted, (about.as_deref(), *prompt))
            }
            JobWork::Prompt { message } => self.type_prompt(order, message),
            JobWork::End { .. } => self.end(order),
        }
    }

    /// Tells the loop what became of a job.
    fn tell(&self, pipeline: &RecordId, job: u32, result: JobResult) {
        let what = What::Job { pipeline: pipeline.clone(), job, result };
        // A loop that has ended asks for the job again when it comes back.
        let _ = self.inputs.blocking_send(Input::Did(what));
    }

    /// Asks the loop, which has just read the journal, whether an agent still is at a prompt.
    fn still_at_prompt(&self, order: &Order, rest: u64) -> Result<(), JobResult> {
        let (answer, answered) = oneshot::channel();
        let asked = Input::StillAtPrompt(order.plan.id.clone(), rest, answer);
        let obsolete = |why: &str| JobResult::Obsolete { why: why.to_owned() };
        self.inputs.blocking_send(asked).map_err(|_| obsolete("the daemon ends"))?;
        match answered.blocking_recv() {
            Ok(Ok(())) => Ok(()),
            Ok(Err(dropped)) => Err(obsolete(dropped.words())),
            Err(_) => Err(obsolete("the daemon ends")),
        }
    }
}

/// A rest of an agent that is about to be ended by what is typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypedInto {
    /// The pipeline.
    pub pipeline: RecordId,
    /// The rest.
    pub rest: u64,
    /// The job that types.
    pub job: u32,
}

impl TypedInto {
    /// Returns the name under which it is stored that this is typed.
    pub fn name(&self) -> String {
        format!("{} {}", self.pipeline, self.job)
    }
}

/// Whether an agent still is at a rest.
pub type StillRests = Result<(), Dropped>;
