//! The actions of the monitor, and the reasons for ignoring an event.

use anyhook_model::approval_request::Choice;
use anyhook_model::{FailureKind, PromptType};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::agents::DropReason;

/// Identifies a decision or a gate run, so that its result can be matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Ticket {
    /// The visit it belongs to.
    pub visit: u32,
    /// Its number there.
    pub number: u32,
}

/// An action to carry out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum MonitorAction {
    /// Type a message into the session, if [`Monitor::may_nudge`](super::Monitor::may_nudge) allows
    /// it just before. The process that types emits `agent:input`, so that the next rest is a new
    /// one.
    Nudge {
        /// The rest it is for.
        rest: u64,
        /// What to type.
        message: String,
    },
    /// The step completed: continue with the next.
    Advance {
        /// The reason.
        why: String,
    },
    /// The step failed.
    Fail {
        /// The reason.
        why: String,
    },
    /// Create a decision and notify; the step waits for it.
    Escalate {
        /// Its name.
        decision: Ticket,
        /// What it is about.
        about: DecisionSubject,
        /// What is asked.
        question: String,
        /// The options, numbered from 1.
        options: Vec<Choice>,
    },
    /// The open decision no longer needs an answer.
    DismissDecision {
        /// Its name.
        decision: Ticket,
    },
    /// Run a command in the workspace.
    RunGate {
        /// Its name.
        gate: Ticket,
        /// The command.
        run: String,
        /// How long it may take.
        timeout: SignedDuration,
    },
    /// Restart the agent in its session, and call [`Monitor::started`](super::Monitor::started)
    /// when it runs and the former process is gone.
    Recover {
        /// The message it is prompted with.
        message: Option<String>,
        /// Whether that comes after its own prompt instead of replacing it.
        append: bool,
    },
    /// The agent wants to stop: hold it.
    BlockStop {
        /// The message for the agent.
        message: String,
    },
    /// Call [`Monitor::timer_fired`](super::Monitor::timer_fired) at this time.
    WaitUntil(Timestamp),
    /// Answer the prompt the agent is at, if it is still the same.
    Answer {
        /// The rest in which it is at the prompt.
        rest: u64,
        /// Whether to allow it.
        allow: bool,
        /// What the person said.
        message: Option<String>,
    },
    /// Show the person the session.
    Attach,
}

impl MonitorAction {
    /// Returns whether this action ends the step.
    pub fn ends_step(&self) -> bool {
        matches!(self, Self::Advance { .. } | Self::Fail { .. })
    }
}

/// What a decision is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecisionSubject {
    /// The agent is idle.
    Idle,
    /// The agent asks.
    Prompt(PromptType),
    /// The agent ended.
    Dead,
    /// The agent's turn failed.
    Error(FailureKind),
    /// The agent wants to stop.
    Stop,
    /// A gate failed.
    Gate,
    /// The agent asked for a person.
    Signal,
}

impl DecisionSubject {
    /// Returns the options.
    pub fn options(self) -> Vec<Choice> {
        let options: &[(&str, &str)] = match self {
            Self::Idle | Self::Stop | Self::Signal => &[
                ("nudge", "the agent is told to continue, or your message"),
                ("done", "the step is marked done, and the next one starts"),
                ("fail", "the step fails"),
                ("dismiss", "nothing happens, and the step continues"),
            ],
            // The agent's own answers are offered by the component that can deliver them.
            Self::Prompt(PromptType::Question) => {
                &[("attach", "you answer in its session"), ("fail", "the step fails")]
            }
            Self::Prompt(_) => &[
                ("allow", "the agent is allowed to"),
                ("deny", "the agent is denied"),
                ("attach", "you answer in its session"),
                ("fail", "the step fails"),
            ],
            Self::Gate => &[
                ("retry", "the gate is run again"),
                ("skip", "the step is marked done, and the next one starts"),
                ("fail", "the step fails"),
            ],
            Self::Dead | Self::Error(_) => &[
                ("retry", "the agent is restarted in its session"),
                ("skip", "the step is marked done, and the next one starts"),
                ("fail", "the step fails"),
            ],
        };
        options.iter().map(|(name, does)| Choice::new(name, does)).collect()
    }
}

/// Why an event is ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IgnoreReason {
    /// It is not about an agent.
    NoAgent,
    /// The agent does not belong to any step.
    UnknownAgent,
    /// The pipeline is over.
    Ended,
    /// The agent is not the one that works on the step.
    Stale,
    /// The agent has signalled.
    SignalStored,
    /// The step waits for a person.
    Waiting,
    /// This rest has already been handled.
    Duplicate,
    /// The agent registry dropped it.
    Uncounted(DropReason),
    /// It is older than the agent's current run.
    EarlierRun,
    /// A gate is running, and its result is awaited.
    GateRuns,
    /// It waits until the cooldown is over.
    CoolingDown,
    /// The agent may not have read yet what was typed to it.
    Settling,
    /// The rest it was for is over.
    RestOver,
    /// There is no such pending timer.
    NoTimer,
    /// No such gate is running.
    NoGate,
    /// No such decision is open.
    NoDecision,
    /// The decision has no such option.
    NoSuchChoice,
}

impl IgnoreReason {
    /// Returns it as text.
    pub fn words(self) -> &'static str {
        match self {
            Self::NoAgent => "it does not concern an agent",
            Self::UnknownAgent => "no step uses this agent",
            Self::Ended => "the pipeline has ended",
            Self::Stale => "the agent is not working on the current step",
            Self::SignalStored => "the agent has already signaled",
            Self::Waiting => "the step waits for a person",
            Self::Duplicate => "this idle period has already been handled",
            Self::Uncounted(why) => why.words(),
            Self::EarlierRun => "it is older than the agent's current run",
            Self::GateRuns => "a gate is running, and its result is pending",
            Self::CoolingDown => "waiting for the cooldown to end",
            Self::Settling => "the agent may not have read its input yet",
            Self::RestOver => "the agent is already doing something else",
            Self::NoTimer => "no such timer is pending",
            Self::NoGate => "no such gate is running",
            Self::NoDecision => "no such decision is open",
            Self::NoSuchChoice => "the decision has no such option",
        }
    }
}
