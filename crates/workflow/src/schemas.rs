//! What artifacts must be: a JSON Schema for every kind, and what is wrong with one that does not
//! keep to it.

mod fault;

use std::fmt;
use std::sync::OnceLock;

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

pub use fault::Fault;

/// A kind of artifact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind(usize);

/// What is known about a kind of artifact.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The kind's name, such as `qa-output`.
    pub name: &'static str,
    /// Its JSON Schema.
    pub text: &'static str,
    /// The file it is in.
    pub file: &'static str,
    /// The agent that writes it; none if anyhook or a person does, or if every agent does.
    pub agent: Option<&'static str>,
    /// The stage or review it comes from.
    pub stage: Option<&'static str>,
}

macro_rules! kinds {
    ($($constant:ident $name:literal $file:literal $agent:expr, $stage:expr;)+) => {
        /// Every kind of artifact.
        pub const KINDS: &[Row] = &[$(Row {
            name: $name,
            text: include_str!(concat!("schemas/", $name, ".json")),
            file: $file,
            agent: $agent,
            stage: $stage,
        }),+];
        kinds!(@number 0usize, $($constant $name,)+);
    };
    (@number $number:expr, $constant:ident $name:literal, $($rest:tt)*) => {
        impl Kind {
            #[doc = concat!("`", $name, "`.")]
            pub const $constant: Self = Self($number);
        }
        kinds!(@number $number + 1, $($rest)*);
    };
    (@number $number:expr,) => {};
}

kinds! {
    PM "pm-output" "product-requirements-packet.json" Some("product_manager"), Some("requirements");
    ARCHITECT "architect-output" "architecture-handover-packet.json" Some("system_architect"), Some("architecture");
    ASSESSMENT "architecture-assessment" "architecture-assessment.json" Some("system_architect"), Some("architecture");
    FRONTEND "frontend-output" "frontend-implementation-report.json" Some("frontend_engineer"), Some("frontend_implementation");
    BACKEND "backend-output" "backend-implementation-report.json" Some("backend_engineer"), Some("backend_implementation");
    AI_ENGINEER "ai-engineer-output" "ai-implementation-report.json" Some("ai_engineer"), Some("ai_implementation");
    QA "qa-output" "qa-test-report.json" Some("qa_engineer"), Some("qa_testing");
    DEVOPS "devops-output" "deployment-report.json" Some("devops_engineer"), Some("deployment");
    SAFETY "safety-output" "safety-review.json" Some("safety_agent"), Some("safety_review");
    GOVERNANCE "governance-output" "governance-review.json" Some("governance_agent"), Some("governance_review");
    CODE_HEALTH "code-health-output" "code-health-report.json" Some("code_health_agent"), Some("code_health_review");
    SIGNAL "stage-completion-signal" "stage-completion-signal.json" None, None;
    STATE "workflow-state" "workflow-state.json" None, None;
    PROJECT "project-config" "project-config.json" None, None;
    CONTEXT_REFRESH "context-refresh-report" "context-refresh-report.json" None, None;
    SECOND_OPINION "second-opinion-review" "second-opinion-review.json" None, None;
}

impl Kind {
    /// Goes through every kind.
    pub fn all() -> impl Iterator<Item = Self> + Clone {
        (0..KINDS.len()).map(Self)
    }

    /// Finds a kind by its name.
    pub fn find(name: &str) -> Option<Self> {
        Self::all().find(|kind| kind.row().name == name)
    }

    /// Finds the kind of a file by its name, wherever the file is.
    pub fn of_file(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        Self::all().find(|kind| kind.row().file == name)
    }

    /// Returns what is known about it.
    pub fn row(self) -> &'static Row {
        &KINDS[self.0]
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.row().name)
    }
}

/// A schema that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// It is no JSON.
    #[error("the schema is not valid JSON: {0}")]
    Json(String),
    /// It is JSON, but no schema, or refers to what is not in it.
    #[error("the schema cannot be used: {0}")]
    Schema(String),
}

/// A JSON Schema that is ready to be used.
#[derive(Clone, Debug)]
pub struct Schema(Validator);

impl Schema {
    /// Takes a JSON Schema, draft-07 or later. All of it must be in its text: nothing is fetched.
    pub fn new(text: &str) -> Result<Self, SchemaError> {
        let value: Value =
            serde_json::from_str(text).map_err(|error| SchemaError::Json(error.to_string()))?;
        jsonschema::options()
            .offline()
            .should_validate_formats(true)
            // In linear time, whatever the expression is.
            .with_pattern_options(PatternOptions::regex())
            .build(&value)
            .map(Self)
            .map_err(|error| SchemaError::Schema(error.to_string()))
    }

    /// Returns everything that is wrong with a value, by place.
    pub fn validate(&self, value: &Value) -> Vec<Fault> {
        let mut faults: Vec<Fault> =
            self.0.iter_errors(value).flat_map(|error| fault::faults(&error)).collect();
        faults.sort();
        faults.dedup();
        faults
    }
}

/// Schemas that were needed: a hook needs one or two, and getting one ready takes time.
static BUILT_IN: [OnceLock<Option<Schema>>; KINDS.len()] = [const { OnceLock::new() }; KINDS.len()];

/// Returns everything that is wrong with an artifact of a kind; nothing, if it is as it must be.
pub fn validate(kind: Kind, value: &Value) -> Vec<Fault> {
    let schema = BUILT_IN[kind.0].get_or_init(|| Schema::new(kind.row().text).ok());
    match schema {
        Some(schema) => schema.validate(value),
        // What cannot be checked does not pass.
        None => vec![Fault::new("", format!("there is no schema for `{kind}`"))],
    }
}

/// Returns everything that is wrong with a file of a workflow, known by its name.
///
/// A file that has no schema is at fault: it never passes.
pub fn validate_file(path: &str, value: &Value) -> Vec<Fault> {
    match Kind::of_file(path) {
        Some(kind) => validate(kind, value),
        None => vec![Fault::new("", format!("there is no schema for `{path}`"))],
    }
}

#[cfg(test)]
mod tests;
