//! What artifacts must be: a JSON Schema for every kind, and what is wrong with one that does not
//! keep to it.

mod violation;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

pub use violation::SchemaViolation;

/// A kind of artifact: one that anyhook itself reads or writes, or one of a method.
#[derive(Clone, Copy, Debug)]
pub struct ArtifactKind(&'static KindRow);

/// What is known about a kind of artifact.
#[derive(Clone, Copy, Debug)]
pub struct KindRow {
    /// The kind's name, such as `qa-output`.
    pub name: &'static str,
    /// Its JSON Schema.
    pub text: &'static str,
    /// The file that anyhook knows it by; of other kinds the workflow says it.
    pub file: Option<&'static str>,
}

macro_rules! kinds {
    ($($constant:ident $name:literal $file:literal;)+) => {
        /// Every kind of artifact that anyhook itself reads or writes.
        pub const OWN_KINDS: &[ArtifactKind] = &[$(ArtifactKind::$constant),+];

        impl ArtifactKind {
            $(
                #[doc = concat!("`", $name, "`.")]
                pub const $constant: Self = Self(&KindRow {
                    name: $name,
                    text: include_str!(concat!("schemas/", $name, ".json")),
                    file: Some($file),
                });
            )+
        }
    };
}

kinds! {
    QA "qa-output" "qa-test-report.json";
    DEVOPS "devops-output" "deployment-report.json";
    SIGNAL "stage-completion-signal" "stage-completion-signal.json";
    STATE "workflow-state" "workflow-state.json";
    PROJECT "project-config" "project-config.json";
    CONTEXT_REFRESH "context-refresh-report" "context-refresh-report.json";
    SECOND_OPINION "second-opinion-review" "second-opinion-review.json";
}

impl ArtifactKind {
    /// Makes a kind of a method.
    pub(crate) fn new(row: &'static KindRow) -> Self {
        Self(row)
    }

    /// Returns its name.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// Returns its JSON Schema.
    pub fn text(self) -> &'static str {
        self.0.text
    }

    /// Returns the name of the file that anyhook knows it by; of a kind of a method, which has none,
    /// the kind's name.
    pub fn file(self) -> &'static str {
        self.0.file.unwrap_or(self.0.name)
    }
}

impl PartialEq for ArtifactKind {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for ArtifactKind {}

impl fmt::Display for ArtifactKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// A schema that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// It is no JSON.
    #[error("the schema is not valid JSON: {0}")]
    Json(String),
    /// It is JSON, but no schema, or refers to what is not in it.
    #[error("{0}")]
    Schema(String),
}

/// A JSON Schema that is ready to be used.
#[derive(Clone, Debug)]
pub struct ArtifactSchema(Validator);

impl ArtifactSchema {
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
    pub fn validate(&self, value: &Value) -> Vec<SchemaViolation> {
        let mut faults: Vec<SchemaViolation> =
            self.0.iter_errors(value).flat_map(|error| violation::faults(&error)).collect();
        faults.sort();
        faults.dedup();
        faults
    }
}

/// Schemas that were needed, by their texts: a hook needs one or two, and getting one ready takes
/// time.
static READY: LazyLock<Mutex<ReadySchemas>> = LazyLock::new(Mutex::default);

/// A schema that cannot be read is none.
type ReadySchemas = HashMap<&'static str, Option<Arc<ArtifactSchema>>>;

fn ready(kind: ArtifactKind) -> Option<Arc<ArtifactSchema>> {
    let mut ready = READY.lock().unwrap_or_else(PoisonError::into_inner);
    let schema = ready.entry(kind.text());
    schema.or_insert_with(|| ArtifactSchema::new(kind.text()).ok().map(Arc::new)).clone()
}

/// Returns everything that is wrong with an artifact of a kind; nothing, if it is as it must be.
pub fn validate(kind: ArtifactKind, value: &Value) -> Vec<SchemaViolation> {
    match ready(kind) {
        Some(schema) => schema.validate(value),
        // What cannot be checked does not pass.
        None => vec![SchemaViolation::new("", format!("there is no schema for `{kind}`"))],
    }
}

#[cfg(test)]
mod tests;
