//! The state of an agent: what it is doing, as far as can be observed from outside.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

/// A prompt at which an agent waits for the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PromptType {
    /// It asks for permission.
    Permission,
    /// It is done and waits for the next prompt: not a prompt, but [`AgentState::Idle`].
    Idle,
    /// It asks to have its plan approved.
    PlanApproval,
    /// It asks a question.
    Question,
    /// Anything else.
    #[default]
    Other,
}

impl PromptType {
    /// Every type, by name.
    pub const ALL: [(Self, &'static str); 5] = [
        (Self::Permission, "permission"),
        (Self::Idle, "idle"),
        (Self::PlanApproval, "plan_approval"),
        (Self::Question, "question"),
        (Self::Other, "other"),
    ];

    /// Parses a name; an unknown one means [`Self::Other`].
    pub fn from_name(name: &str) -> Self {
        Self::ALL.iter().find(|(_, known)| *known == name).map_or(Self::Other, |(kind, _)| *kind)
    }

    /// Returns the name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or("other", |(_, name)| name)
    }
}

impl<'de> Deserialize<'de> for PromptType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // A newer version may know more types: an unknown one is still a prompt.
        let name = serde_json::Value::deserialize(deserializer)?;
        Ok(name.as_str().map_or(Self::Other, Self::from_name))
    }
}

/// Why an agent's turn failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// Its API key or login was rejected.
    Unauthorized,
    /// It has run out of credits.
    OutOfCredits,
    /// The model cannot be reached.
    NoNetwork,
    /// It was rate-limited.
    RateLimited,
    /// Anything else.
    #[default]
    Other,
}

impl FailureKind {
    /// Every kind, by name.
    pub const ALL: [(Self, &'static str); 5] = [
        (Self::Unauthorized, "unauthorized"),
        (Self::OutOfCredits, "out_of_credits"),
        (Self::NoNetwork, "no_network"),
        (Self::RateLimited, "rate_limited"),
        (Self::Other, "other"),
    ];

    /// Parses a name; an unknown one means [`Self::Other`].
    pub fn from_name(name: &str) -> Self {
        Self::ALL.iter().find(|(_, known)| *known == name).map_or(Self::Other, |(kind, _)| *kind)
    }

    /// Returns the name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or("other", |(_, name)| name)
    }
}

impl<'de> Deserialize<'de> for FailureKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = serde_json::Value::deserialize(deserializer)?;
        Ok(name.as_str().map_or(Self::Other, Self::from_name))
    }
}

/// What an agent is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AgentState {
    /// It is working.
    Working,
    /// It is done and waits for the user.
    Idle,
    /// It cannot continue without a person.
    Prompting(PromptType),
    /// Its turn failed.
    Failed(FailureKind),
    /// It ended in an orderly way: its session is over, or its process reported how it ended.
    Exited,
    /// Its process vanished without reporting an end.
    Gone,
}

impl AgentState {
    /// Returns the name, without the kind of prompt or failure.
    pub fn name(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::Idle => "idle",
            Self::Prompting(_) => "prompting",
            Self::Failed(_) => "failed",
            Self::Exited => "exited",
            Self::Gone => "gone",
        }
    }

    /// Returns whether the agent has ended.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Exited | Self::Gone)
    }

    /// Returns whether the agent cannot continue without a person.
    pub fn needs_person(self) -> bool {
        matches!(self, Self::Idle | Self::Prompting(_) | Self::Failed(_))
    }
}

impl fmt::Display for AgentState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prompting(kind) => write!(formatter, "prompting ({})", kind.name()),
            Self::Failed(kind) => write!(formatter, "failed ({})", kind.name()),
            state => formatter.write_str(state.name()),
        }
    }
}

/// Where a state comes from, in order of precedence.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StateSource {
    /// A signal from the agent, or sent on its behalf (`agent:signal`).
    Signal,
    /// A native hook event of its host.
    Hook,
    /// A notification hook that calls `anyhook emit`.
    #[default]
    Notification,
    /// The log file its host writes.
    Log,
    /// What it shows on its screen, if there is no other source.
    Screen,
    /// Its process.
    Process,
}

impl StateSource {
    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Signal => "signal",
            Self::Hook => "hook",
            Self::Notification => "notification",
            Self::Log => "log",
            Self::Screen => "screen",
            Self::Process => "process",
        }
    }
}

/// A process, identified even if its pid is reused later.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessName {
    /// Its process id.
    pub pid: u32,
    /// When it was started, in system clock ticks since boot.
    pub started: u64,
    /// The PID namespace, if the system has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// The process that did something, and its ancestors, kept for auditing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallerProcess {
    /// Its process id.
    pub pid: u32,
    /// The path of its program, if available.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// Its ancestor processes, nearest first; a long chain is truncated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ancestors: Vec<Ancestor>,
}

/// An ancestor process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ancestor {
    /// Its process id.
    pub pid: u32,
    /// Its process name.
    pub name: String,
}

impl fmt::Display for CallerProcess {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let program = self.program.as_deref().unwrap_or("an unknown program");
        write!(formatter, "process {} ({program})", self.pid)?;
        for ancestor in &self.ancestors {
            write!(formatter, " < {} {}", ancestor.name, ancestor.pid)?;
        }
        Ok(())
    }
}

/// Returns the id of an agent that was not given one: its host and its session.
pub fn agent_id(host: &str, session: &str) -> String {
    format!("{host}:{session}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_prompt_type_survives_json() {
        for (kind, name) in PromptType::ALL {
            let text = serde_json::to_string(&kind).unwrap();
            assert_eq!(text, format!("\"{name}\""));
            assert_eq!(serde_json::from_str::<PromptType>(&text).unwrap(), kind);
        }
        for unknown in ["\"elicitation\"", "null", "7", "{}"] {
            assert_eq!(serde_json::from_str::<PromptType>(unknown).unwrap(), PromptType::Other);
        }
    }

    #[test]
    fn every_failure_survives_json() {
        for (kind, name) in FailureKind::ALL {
            let text = serde_json::to_string(&kind).unwrap();
            assert_eq!(text, format!("\"{name}\""));
            assert_eq!(serde_json::from_str::<FailureKind>(&text).unwrap(), kind);
        }
    }
}
