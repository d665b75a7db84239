//! Alarms: what a person has to be told, regardless of the decisions of an event's hooks.

use serde::{Deserialize, Serialize};

/// Something that bypassed a guard, changed one, or keeps one from working.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Alarm {
    /// The kind of alarm.
    pub kind: AlarmKind,
    /// The hook it is about, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hook: Option<String>,
    /// What happened and what to do about it, as text.
    pub text: String,
}

/// The kinds of alarms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AlarmKind {
    /// A call ran although it was denied.
    DeniedButRan,
    /// A call ran without an event beforehand.
    RanUnasked,
    /// A guard was removed, weakened or changed during the session.
    GuardChanged,
    /// anyhook's entries were removed from an agent's settings during the session.
    EntryRemoved,
    /// The anyhook program was replaced during the session.
    ProgramChanged,
    /// Hooks are off; reported when a session starts.
    HooksOff,
}

impl Alarm {
    /// Creates an alarm that is not about a hook.
    pub fn new(kind: AlarmKind, text: impl Into<String>) -> Self {
        Self { kind, hook: None, text: text.into() }
    }

    /// Creates an alarm about a hook.
    pub fn about(kind: AlarmKind, hook: &str, text: impl Into<String>) -> Self {
        Self { kind, hook: Some(hook.to_owned()), text: text.into() }
    }
}
