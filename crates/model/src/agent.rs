//! What an agent does, as far as anybody can tell from outside.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

/// What an agent shows the person and waits at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PromptType {
    /// It wants to be allowed something.
    Permission,
    /// It is done and waits for the next prompt: no prompt but [`AgentState::Idle`].
    Idle,
    /// It has a plan and wants to begin.
    PlanApproval,
    /// It asks something.
    Question,
    /// Whatever else.
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

    /// Reads a name; an unknown one is some other prompt.
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
        // A newer version may know more: what it says is a prompt all the same.
        let name = serde_json::Value::deserialize(deserializer)?;
        Ok(name.as_str().map_or(Self::Other, Self::from_name))
    }
}

/// Why an agent's turn failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// Its key or login is not accepted.
    Unauthorized,
    /// Nobody pays.
    OutOfCredits,
    /// The model cannot be reached.
    NoNetwork,
    /// It asked too often.
    RateLimited,
    /// Whatever else.
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

    /// Reads a name; an unknown one is some other failure.
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

/// What an agent does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AgentState {
    /// It works.
    Working,
    /// It is done, and it is the person's turn.
    Idle,
    /// It cannot go on without the person.
    Prompting(PromptType),
    /// Its turn failed.
    Failed(FailureKind),
    /// It ended in order: its session is over, or its process said how it ended.
    Exited,
    /// Its process vanished without a word.
    Gone,
}

impl AgentState {
    /// Returns the name, without what kind of prompt or failure it is.
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

    /// Tells whether the agent is no more.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Exited | Self::Gone)
    }

    /// Tells whether the agent cannot go on without a person.
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

/// Where a state is known from; the first outranks the others.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The agent, or somebody for it, said so (`agent:signal`).
    Signal,
    /// A native hook event of its host.
    Hook,
    /// A notification hook that calls `anyhook emit`.
    #[default]
    Notification,
    /// The log its host writes.
    Log,
    /// What it shows on its screen, where nothing else tells of it.
    Screen,
    /// Its process.
    Process,
}

impl Source {
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

/// A process that cannot be taken for another one that later gets its number.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessName {
    /// Its number.
    pub pid: u32,
    /// When it was started, in the system's own ticks since the machine was.
    pub started: u64,
    /// The namespace its number counts in, where the system has such.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// Which process did something, and which started it: kept where it matters who that was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallerProcess {
    /// Its number.
    pub pid: u32,
    /// The path of its program, where the system tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The processes above it, nearest first; of a long chain the nearest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ancestors: Vec<Ancestor>,
}

/// A process above another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ancestor {
    /// Its number.
    pub pid: u32,
    /// The name the system has of it.
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

/// Returns the id of an agent that nobody gave one: its host and its session.
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
