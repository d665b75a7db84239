//! Test cases of a hook: an event in, an expected verdict out (`anyhook test`).

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::json::Object;

/// One file of a hook's `tests/` folder.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// What the case shows.
    #[serde(default)]
    pub description: Option<String>,
    /// The event, in the open format; `work_dir` is the scratch project unless given.
    pub event: Object,
    /// Files of the scratch project, created before the run.
    #[serde(default)]
    pub files: BTreeMap<String, CaseFile>,
    /// Added to the script's environment; `${PROJECT}` and `${NAME}` from anyhook's own environment
    /// are expanded.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The expected result.
    pub expect: Expectation,
}

/// A file in a scratch project: its text, or its text and whether it is executable.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum CaseFile {
    /// The text.
    Text(String),
    /// The text of a program.
    Program {
        /// The text.
        content: String,
        /// Whether it is executable.
        #[serde(default)]
        executable: bool,
    },
}

/// What a case expects.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// The hook's decision, or `skipped` or `failed`.
    pub decision: ExpectedDecision,
    /// The exact reason.
    #[serde(default)]
    pub reason: Option<String>,
    /// Text the reason must contain.
    #[serde(default)]
    pub reason_contains: Option<String>,
    /// The tool's whole input after the change.
    #[serde(default)]
    pub modified_input: Option<Object>,
    /// The exact added context.
    #[serde(default)]
    pub additional_context: Option<String>,
    /// Files of the scratch project after the run; null for one that must not exist.
    #[serde(default)]
    pub files: BTreeMap<String, Option<String>>,
}

/// The hook's decision, or `skipped` or `failed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ExpectedDecision {
    /// It blocks.
    Deny,
    /// It asks.
    Ask,
    /// It allows.
    Allow,
    /// It runs and makes no decision.
    None,
    /// It does not run, because its trigger or matcher does not match.
    Skipped,
    /// It fails.
    Failed,
}

impl ExpectedDecision {
    /// Returns the word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Ask => "ask",
            Self::Allow => "allow",
            Self::None => "none",
            Self::Skipped => "skipped",
            Self::Failed => "failed",
        }
    }
}
