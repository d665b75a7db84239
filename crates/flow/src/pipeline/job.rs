//! What a pipeline has done in the world.

use anyhook_model::pipeline::{AgentPlan, ShellStep, StepWork};
use anyhook_model::{PipelinePlan, PromptType};
use serde::{Deserialize, Serialize};

use crate::monitor::Ticket;
use crate::outbox::JobId;

/// Something that is to be done for a pipeline, or is under way.
///
/// It stands in the state until its result is stored. Whoever does it finds out for itself whether
/// it was begun before: a job is begun at most once, however often it is asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Its number in the pipeline: never used again.
    pub number: u32,
    /// The visit it is for, if it is for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visit: Option<u32>,
    /// What to do.
    pub work: JobWork,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobWork {
    /// Make the workspace.
    MakeWorkspace,
    /// Remove the workspace, unless something in it would be lost.
    RemoveWorkspace,
    /// Run the command of a step.
    Shell,
    /// Start an agent, and tell when it has ended.
    Agent {
        /// How often it was started, this time among them.
        life: u32,
        /// What it is told beside its prompt when it is started again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// Whether that comes after its prompt, not in its place.
        #[serde(default)]
        append: bool,
    },
    /// Run a gate.
    Gate {
        /// Its name.
        ticket: Ticket,
        /// The command.
        run: String,
        /// The timeout in milliseconds.
        timeout_ms: u64,
    },
    /// Type a message into the agent's session, if it still rests. That it is typed is told as
    /// `agent:input`, before it is: what the agent does then comes after it.
    Nudge {
        /// The rest it is for.
        rest: u64,
        /// The message.
        message: String,
    },
    /// Answer the prompt that is on the agent's screen, if it still is there.
    Answer {
        /// The rest at it.
        rest: u64,
        /// Whether the agent may.
        allow: bool,
        /// What the person was asked about: another prompt is not answered with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        about: Option<String>,
        /// What kind of prompt that was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<PromptType>,
        /// The option of a question that was chosen.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        choose: Option<String>,
    },
    /// Type the prompt of an agent that does not take it on its command line, when it can be typed
    /// to.
    Prompt {
        /// The prompt.
        message: String,
    },
    /// End another job and all that it has started.
    End {
        /// The other job.
        job: u32,
    },
}

impl JobWork {
    /// Tells whether it types into the agent's session.
    pub fn sends_keys(&self) -> bool {
        matches!(self, Self::Nudge { .. } | Self::Answer { .. } | Self::Prompt { .. })
    }
}

/// A job with all that is to be known to do it.
#[derive(Clone, Debug)]
pub struct JobContext {
    /// The pipeline's plan.
    pub plan: PipelinePlan,
    /// What to do.
    pub job: Job,
    /// The step it is for.
    pub step: Option<String>,
    /// The agent that works on the step.
    pub agent: Option<String>,
    /// The job whose session the agent runs in, once that is started.
    pub session: Option<u32>,
    /// The agent's own name of its session, by which it can be resumed.
    pub resume: Option<String>,
    /// The job that is to be ended.
    pub ends: Option<Job>,
}

impl JobContext {
    /// Returns what makes the job the same one.
    pub fn id(&self) -> JobId {
        JobId { pipeline: self.plan.id.clone(), number: self.job.number }
    }

    /// Returns the plan of the step's agent, if an agent works on it.
    pub fn agent_plan(&self) -> Option<&AgentPlan> {
        match self.work()? {
            StepWork::Agent(plan) => Some(plan),
            StepWork::Shell(_) => None,
        }
    }

    /// Returns the step's command, if it is one.
    pub fn shell(&self) -> Option<&ShellStep> {
        match self.work()? {
            StepWork::Shell(shell) => Some(shell),
            StepWork::Agent(_) => None,
        }
    }

    fn work(&self) -> Option<&StepWork> {
        Some(&self.plan.step(self.step.as_deref()?)?.work)
    }
}

/// What became of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobResult {
    /// An agent runs in its session; the job goes on.
    Started {
        /// What is worth knowing: hooks that could not be given to it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        warning: Option<String>,
        /// What is to be typed to it before it begins.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to_type: Option<String>,
    },
    /// It is done.
    Done {
        /// What is worth knowing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// A command or an agent has ended.
    Exited {
        /// Its exit code; none if it was ended.
        code: Option<i32>,
        /// Whether it timed out.
        #[serde(default)]
        timed_out: bool,
        /// The end of what it printed.
        #[serde(default)]
        output: String,
    },
    /// It was begun and has left no result: it is unknown how far it got.
    InDoubt,
    /// It could not be done.
    Failed {
        /// The reason.
        why: String,
    },
    /// It needs not be done any more.
    Obsolete {
        /// The reason.
        why: String,
    },
}

impl JobResult {
    /// Tells whether the job goes on after it.
    pub fn goes_on(&self) -> bool {
        matches!(self, Self::Started { .. })
    }
}
