//! The answer that a HOOK.md gives by itself, without a script.

use serde::{Deserialize, Serialize};

use crate::decision::Effect;
use crate::json::Object;

/// What a declarative hook answers whenever it matches. Its texts may contain placeholders such as
/// `{path}`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeclaredAnswer {
    /// Its decision.
    #[serde(rename = "decision", default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<Effect>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Fields to set in the tool's input; null removes a field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified_input: Option<Object>,
    /// Text for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub additional_context: Option<String>,
}

/// The placeholders of an answer, and what they stand for. `input.FIELD` is one, too.
pub const PLACEHOLDERS: [(&str, &str); 9] = [
    ("command", "the simple command that matched, or the whole command line"),
    ("program", "the program of that command"),
    ("argument", "the argument that matched"),
    ("path", "the file that matched"),
    ("url", "the URL that matched"),
    ("server", "the MCP server"),
    ("tool", "the tool"),
    ("project", "the project's folder"),
    ("work_dir", "the folder in which the agent works"),
];

/// The beginning of a placeholder that stands for a field of the tool's input.
pub const INPUT_PLACEHOLDER: &str = "input.";
