//! Reactions of an agent's definition: what to do when it is idle, asks, dies, fails or stops.
//!
//! A definition is validated when it is read: every action is possible at its trigger, every key
//! has an effect, and an error names the key it is about.

use std::fmt;
use std::num::NonZeroU32;

use crate::agent::FailureKind;
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

mod read;
mod write;

pub use read::{ReactionError, ReactionProblem};

/// How long a gate may take by default.
const GATE_TIMEOUT: SignedDuration = SignedDuration::from_secs(30);

/// When to react.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// The agent's turn is over.
    OnIdle,
    /// The agent asks for something.
    OnPrompt,
    /// The agent ended, in an orderly way or not.
    OnDead,
    /// The agent's turn failed.
    OnError,
    /// The agent wants to stop.
    OnStop,
}

impl Trigger {
    /// Every trigger.
    pub const ALL: [Self; 5] =
        [Self::OnIdle, Self::OnPrompt, Self::OnDead, Self::OnError, Self::OnStop];

    /// Returns its key in a definition.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OnIdle => "on_idle",
            Self::OnPrompt => "on_prompt",
            Self::OnDead => "on_dead",
            Self::OnError => "on_error",
            Self::OnStop => "on_stop",
        }
    }

    /// Returns the possible actions for this trigger; the first is the default.
    pub fn verbs(self) -> &'static [Verb] {
        match self {
            Self::OnIdle => &[Verb::Nudge, Verb::Done, Verb::Fail, Verb::Escalate, Verb::Gate],
            Self::OnPrompt => &[Verb::Escalate, Verb::Done, Verb::Fail, Verb::Gate],
            Self::OnDead => &[Verb::Escalate, Verb::Recover, Verb::Done, Verb::Fail, Verb::Gate],
            Self::OnError => &[Verb::Escalate, Verb::Fail, Verb::Gate, Verb::Recover],
            Self::OnStop => &[Verb::Idle, Verb::Signal, Verb::Escalate],
        }
    }
}

impl fmt::Display for Trigger {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// What can be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    /// Type a message into the session.
    Nudge,
    /// Continue with the next step.
    Done,
    /// Let the step fail.
    Fail,
    /// Ask a person.
    Escalate,
    /// Run a command: if it succeeds, continue; otherwise ask a person.
    Gate,
    /// Restart the agent in its session.
    Recover,
    /// Block the stop until the agent signals.
    Signal,
    /// Let it stop: then it is idle.
    Idle,
}

impl Verb {
    /// Every verb, by name.
    pub const ALL: [(Self, &'static str); 8] = [
        (Self::Nudge, "nudge"),
        (Self::Done, "done"),
        (Self::Fail, "fail"),
        (Self::Escalate, "escalate"),
        (Self::Gate, "gate"),
        (Self::Recover, "recover"),
        (Self::Signal, "signal"),
        (Self::Idle, "idle"),
    ];

    /// Parses a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(verb, _)| *verb)
    }

    /// Returns the name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(verb, _)| *verb == self).map_or("", |(_, name)| name)
    }
}

/// How often something is done before a person is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Attempts {
    /// At most this often.
    Times(NonZeroU32),
    /// Without limit.
    Forever,
}

impl Attempts {
    /// Returns whether it may be done again after it was done this many times.
    pub fn allow(self, done: u32) -> bool {
        match self {
            Self::Times(times) => done < times.get(),
            Self::Forever => true,
        }
    }
}

/// What to do, and how.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Action {
    /// The action.
    pub verb: Verb,
    /// The text: typed, asked, or given as the reason.
    pub message: Option<String>,
    /// Whether the message is appended to the default text instead of replacing it.
    pub append: bool,
    /// The gate's command.
    pub run: Option<String>,
    /// How often; see [`Self::attempts`].
    pub attempts: Option<Attempts>,
    /// How long to wait before the next attempt.
    pub cooldown: Option<SignedDuration>,
    /// How long a gate may take; see [`Self::timeout`].
    pub timeout: Option<SignedDuration>,
}

impl Action {
    /// Creates an action from a verb alone.
    pub fn new(verb: Verb) -> Self {
        Self {
            verb,
            message: None,
            append: false,
            run: None,
            attempts: None,
            cooldown: None,
            timeout: None,
        }
    }

    /// Returns how often it is done: once, except that a stop is blocked until a signal comes.
    pub fn attempts(&self) -> Attempts {
        self.attempts.unwrap_or(match self.verb {
            Verb::Signal => Attempts::Forever,
            _ => Attempts::Times(NonZeroU32::MIN),
        })
    }

    /// Returns how long a gate may take.
    pub fn timeout(&self) -> SignedDuration {
        self.timeout.unwrap_or(GATE_TIMEOUT)
    }

    /// Returns the text to use, given the text `own` that would be used without a message.
    pub fn say(&self, own: &str) -> String {
        match &self.message {
            None => own.to_owned(),
            Some(message) if self.append => format!("{own}\n{message}"),
            Some(message) => message.clone(),
        }
    }
}

/// What to do about a kind of failure.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ErrorRule {
    /// The kind; any, if absent.
    pub kind: Option<FailureKind>,
    /// What to do.
    pub action: Action,
}

/// What to do about an agent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reactions {
    /// When its turn is over.
    pub on_idle: Action,
    /// When it asks.
    pub on_prompt: Action,
    /// When it ended.
    pub on_dead: Action,
    /// When its turn failed: the first rule for the kind applies.
    pub on_error: Vec<ErrorRule>,
    /// When it wants to stop.
    pub on_stop: Action,
}

impl Default for Reactions {
    fn default() -> Self {
        let action = |trigger: Trigger| Action::new(trigger.verbs()[0]);
        Self {
            on_idle: action(Trigger::OnIdle),
            on_prompt: action(Trigger::OnPrompt),
            on_dead: action(Trigger::OnDead),
            on_error: vec![ErrorRule { kind: None, action: action(Trigger::OnError) }],
            on_stop: action(Trigger::OnStop),
        }
    }
}

impl Reactions {
    /// Returns the rule for a failure: its index and its action. A failure without a rule is
    /// escalated to a person.
    pub fn on_error(&self, kind: FailureKind) -> (usize, Action) {
        let rule = self.on_error.iter().position(|rule| rule.kind.is_none_or(|of| of == kind));
        rule.map_or_else(
            || (self.on_error.len(), Action::new(Verb::Escalate)),
            |number| (number, self.on_error[number].action.clone()),
        )
    }
}

#[cfg(test)]
mod tests;
