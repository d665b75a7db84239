//! The decision of one hook about one event.

use serde::{Deserialize, Serialize};

use crate::json::Object;

/// The decision of a hook, or of all hooks together. Absent if there is no opinion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// Allow, without asking.
    Allow,
    /// Ask the user.
    Ask,
    /// Deny.
    Deny,
}

impl Effect {
    /// Parses a hook's `decision`, ignoring case; `block` means `deny`.
    pub fn from_word(word: &str) -> Option<Self> {
        match word.trim().to_ascii_lowercase().as_str() {
            "allow" => Some(Self::Allow),
            "ask" => Some(Self::Ask),
            "deny" | "block" => Some(Self::Deny),
            _ => None,
        }
    }

    /// Returns the word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// One hook's decision about one event. The default is no opinion.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Decision {
    /// The hook's decision.
    #[serde(rename = "decision", default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<Effect>,
    /// Why, for the model and the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Fields to set in the tool's input; null removes a field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified_input: Option<Object>,
    /// Text for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub additional_context: Option<String>,
    /// Text for the journal only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
}

impl Decision {
    /// Creates a decision that blocks for the given reason.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self { effect: Some(Effect::Deny), reason: Some(reason.into()), ..Self::default() }
    }

    /// Returns whether the hook expressed nothing at all.
    pub fn is_silent(&self) -> bool {
        *self == Self::default()
    }
}
