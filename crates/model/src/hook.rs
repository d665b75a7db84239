//! A hook's definition, as described by its HOOK.md.

pub mod answer;
pub mod keys;
pub mod matcher;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::answer::DeclaredAnswer;
pub use self::matcher::{FileCondition, MatcherDefinition, McpCondition, ShellCondition};
use crate::kind::{EventKind, Spelling};

/// Limits and defaults of the front matter's fields.
pub mod limits {
    /// Longest name, in characters.
    pub const NAME: usize = 64;
    /// Longest description, in characters.
    pub const DESCRIPTION: usize = 1024;
    /// Shortest timeout, in milliseconds.
    pub const TIMEOUT_MIN: u64 = 100;
    /// Longest timeout, in milliseconds.
    pub const TIMEOUT_MAX: u64 = 600_000;
    /// Timeout if none is given, in milliseconds.
    pub const TIMEOUT_DEFAULT: u64 = 30_000;
    /// Highest priority.
    pub const PRIORITY_MAX: u16 = 1000;
    /// Priority if none is given.
    pub const PRIORITY_DEFAULT: u16 = 100;
}

/// The contents of a HOOK.md's front matter, with defaults filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HookDefinition {
    /// The hook's identifier.
    pub name: String,
    /// A short description.
    pub description: String,
    /// The events it runs at.
    pub triggers: Vec<HookTrigger>,
    /// Which tool calls trigger it.
    pub matcher: MatcherDefinition,
    /// The timeout in milliseconds.
    pub timeout_ms: u64,
    /// Whether it runs in the background, where it cannot block.
    #[serde(rename = "async")]
    pub is_async: bool,
    /// Its priority; higher runs first.
    pub priority: u16,
    /// What happens when it fails.
    pub on_failure: FailMode,
    /// Whether its decision is enforced.
    pub mode: Mode,
    /// The hosts it runs in; all if empty.
    pub hosts: Vec<String>,
    /// What it reads on standard input.
    #[serde(default, skip_serializing_if = "StdinForm::is_default")]
    pub stdin: StdinForm,
    /// How plain text on its stdout is used.
    pub stdout: StdoutUse,
    /// Which of its caller's environment variables a guard receives.
    #[serde(default, skip_serializing_if = "EnvAccess::is_default")]
    pub env: EnvAccess,
    /// What it answers without a script, if it is declarative.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<DeclaredAnswer>,
    /// The author's own notes.
    pub metadata: Value,
}

impl HookDefinition {
    /// Creates a definition with only a name and defaults.
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            description: String::new(),
            triggers: Vec::new(),
            matcher: MatcherDefinition::default(),
            timeout_ms: limits::TIMEOUT_DEFAULT,
            is_async: false,
            priority: limits::PRIORITY_DEFAULT,
            on_failure: FailMode::default(),
            mode: Mode::default(),
            hosts: Vec::new(),
            stdin: StdinForm::default(),
            stdout: StdoutUse::default(),
            env: EnvAccess::default(),
            answer: None,
            metadata: Value::Null,
        }
    }

    /// Returns the spelling in which the hook names `kind`, if that is one of its triggers.
    pub fn spelling_of(&self, kind: &EventKind) -> Option<Spelling> {
        self.triggers.iter().find(|trigger| trigger.kind == *kind).map(|trigger| trigger.spelling)
    }

    /// Returns whether a project's hook cannot override a user's hook of this name.
    ///
    /// `metadata.locked` decides; without it, a guard (`on_failure: block`) is locked.
    pub fn is_locked(&self) -> bool {
        match self.metadata.get("locked") {
            Some(Value::Bool(locked)) => *locked,
            _ => self.on_failure == FailMode::Block && !self.is_async,
        }
    }
}

/// An event a hook runs at, in the spelling its author used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "String"))]
pub struct HookTrigger {
    /// The event.
    pub kind: EventKind,
    /// How the author spelled it.
    pub spelling: Spelling,
}

impl Serialize for HookTrigger {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.kind.name(self.spelling))
    }
}

impl<'de> Deserialize<'de> for HookTrigger {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let (kind, spelling) = EventKind::known(&name)
            .ok_or_else(|| serde::de::Error::custom(format!("`{name}` is not an event")))?;
        Ok(Self { kind, spelling })
    }
}

/// What happens when the hook fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum FailMode {
    /// The operation continues, with a warning in the journal.
    #[default]
    Allow,
    /// The operation is blocked.
    Block,
}

/// Whether the hook's decision is enforced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// The decision is enforced.
    #[default]
    Enforce,
    /// The hook runs and is journaled, but its decision is ignored.
    Shadow,
}

/// What the hook reads on standard input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum StdinForm {
    /// The event of the open format.
    #[default]
    Event,
    /// The agent's own payload, once for each payload.
    Native,
}

impl StdinForm {
    /// Returns whether it is the form of the open format.
    pub fn is_default(&self) -> bool {
        *self == Self::Event
    }
}

/// How plain text on the hook's stdout is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum StdoutUse {
    /// A note for the journal.
    #[default]
    Log,
    /// Context for the model.
    Context,
}

/// Which of its caller's environment variables a guard (a hook with `on_failure: block`) receives,
/// in addition to those every guard receives.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "Value"))]
pub enum EnvAccess {
    /// These variables.
    Named(Vec<String>),
    /// All except those that can replace its code.
    Inherit,
}

impl EnvAccess {
    /// The word that stands for the whole environment.
    pub const INHERIT: &str = "inherit";

    /// Returns whether no variable is named.
    pub fn is_default(&self) -> bool {
        matches!(self, Self::Named(names) if names.is_empty())
    }
}

impl Default for EnvAccess {
    fn default() -> Self {
        Self::Named(Vec::new())
    }
}

impl Serialize for EnvAccess {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Named(names) => names.serialize(serializer),
            Self::Inherit => serializer.serialize_str(Self::INHERIT),
        }
    }
}

impl<'de> Deserialize<'de> for EnvAccess {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(word) if word == Self::INHERIT => Ok(Self::Inherit),
            list @ Value::Array(_) => {
                serde_json::from_value(list).map(Self::Named).map_err(serde::de::Error::custom)
            }
            _ => Err(serde::de::Error::custom("expected `inherit` or a list of names")),
        }
    }
}

/// Returns whether a variable can replace the code of a program before its first line runs:
/// libraries that are loaded into it, files and functions that a shell reads first, and options
/// that prevent it from running anything (`SHELLOPTS=noexec`). No hook inherits such a variable.
pub fn replaces_code(name: &[u8]) -> bool {
    [&b"BASH_ENV"[..], b"ENV", b"SHELLOPTS", b"BASHOPTS", b"PS4"].contains(&name)
        || [&b"LD_"[..], b"DYLD_", b"BASH_FUNC_"].iter().any(|start| name.starts_with(start))
}
