//! What a person has to be told, whatever the hooks of an event said.

use serde::{Deserialize, Serialize};

/// Something that went past a guard, or changed one, or keeps one from guarding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Alarm {
    /// What kind of thing it is.
    pub kind: AlarmKind,
    /// The hook it is about, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hook: Option<String>,
    /// What happened, and what to do about it, for people.
    pub text: String,
}

/// The kinds of alarms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AlarmKind {
    /// A call ran although it was denied.
    DeniedButRan,
    /// A call ran, and no event asked about it before.
    RanUnasked,
    /// A guard is gone, weaker or different since its session began.
    GuardChanged,
    /// An agent's settings no longer have our entries, since its session began.
    EntryRemoved,
    /// Our own program is another one since the session began.
    ProgramChanged,
    /// Hooks are off: told when a session begins.
    HooksOff,
}

impl Alarm {
    /// Makes an alarm that is about no hook.
    pub fn new(kind: AlarmKind, text: impl Into<String>) -> Self {
        Self { kind, hook: None, text: text.into() }
    }

    /// Makes an alarm about a hook.
    pub fn about(kind: AlarmKind, hook: &str, text: impl Into<String>) -> Self {
        Self { kind, hook: Some(hook.to_owned()), text: text.into() }
    }
}
