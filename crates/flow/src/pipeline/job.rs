//! Jobs: side effects that a pipeline requests.

use anyhook_model::pipeline::{AgentPlan, ShellStep, StepWork};
use anyhook_model::{PipelinePlan, PromptType};
use serde::{Deserialize, Serialize};

use crate::monitor::Ticket;
use crate::outbox::JobId;

/// Work to be done for a pipeline, or in progress.
///
/// It stays in the state until its result is stored. The component that runs it detects by itself
/// whether it was started before: a job is started at most once, however often it is requested.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Its number in the pipeline, which is never reused.
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
    /// Start an agent, and report when it has ended.
    Agent {
        /// How often it was started, including this time.
        life: u32,
        /// The message besides its prompt when it is restarted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// Whether that comes after its prompt instead of replacing it.
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
    /// Type a message into the agent's session, if it still rests. `agent:input` is emitted before
    /// it is typed, so that what the agent does then comes after it.
    Nudge {
        /// The rest it is for.
        rest: u64,
        /// The message.
        message: String,
    },
    /// Answer the prompt on the agent's screen, if it is still there.
    Answer {
        /// The rest in which the agent is at it.
        rest: u64,
        /// Whether to allow it.
        allow: bool,
        /// What the person was asked about: a different prompt is not answered with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        about: Option<String>,
        /// The type of that prompt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<PromptType>,
        /// The chosen option of a question.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        choose: Option<String>,
    },
    /// Type the prompt of an agent that does not take it on its command line, once it accepts
    /// input.
    Prompt {
        /// The prompt.
        message: String,
    },
    /// End another job and everything that it has started.
    End {
        /// The other job.
        job: u32,
    },
}

impl JobWork {
    /// Returns whether it types into the agent's session.
    pub fn sends_keys(&self) -> bool {
        matches!(self, Self::Nudge { .. } | Self::Answer { .. } | Self::Prompt { .. })
    }
}

/// A job with everything needed to run it.
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
    /// The job whose session the agent runs in, once it is started.
    pub session: Option<u32>,
    /// The agent's own id of its session, by which it can be resumed.
    pub resume: Option<String>,
    /// The job to end.
    pub ends: Option<Job>,
}

impl JobContext {
    /// Returns the identity of the job.
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

    /// Returns the step's command, if it has one.
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

/// The result of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobResult {
    /// An agent runs in its session; the job continues.
    Started {
        /// A warning: hooks that could not be installed for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        warning: Option<String>,
        /// What to type to it before it begins.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to_type: Option<String>,
    },
    /// It is done.
    Done {
        /// A note, if there is something to report.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// A command or an agent has ended.
    Exited {
        /// Its exit code; `None` if it was killed.
        code: Option<i32>,
        /// Whether it timed out.
        #[serde(default)]
        timed_out: bool,
        /// The end of its output.
        #[serde(default)]
        output: String,
    },
    /// It was started and has left no result: it is unknown how far it got.
    InDoubt,
    /// It could not be done.
    Failed {
        /// The reason.
        why: String,
    },
    /// It is no longer needed.
    Obsolete {
        /// The reason.
        why: String,
    },
}

impl JobResult {
    /// Returns whether the job continues after it.
    pub fn goes_on(&self) -> bool {
        matches!(self, Self::Started { .. })
    }
}
