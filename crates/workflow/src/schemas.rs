//! JSON Schemas of artifacts: one for every kind, and the violations of an artifact that does not
//! match it.

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
    /// The file name that anyhook knows it by; for other kinds the workflow defines it.
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
    /// Makes a kind for a method.
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

    /// Returns the file name that anyhook knows it by; for a kind of a method, which has none, the
    /// kind's name.
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
    /// It is not JSON.
    #[error("the schema is not valid JSON: {0}")]
    Json(String),
    /// It is JSON, but not a schema, or refers to something that is not in it.
    #[error("{0}")]
    Schema(String),
}

/// A compiled JSON Schema.
#[derive(Clone, Debug)]
pub struct ArtifactSchema(Validator);

impl ArtifactSchema {
    /// Compiles a JSON Schema, draft-07 or later. It must be self-contained: nothing is fetched.
    pub fn new(text: &str) -> Result<Self, SchemaError> {
        let value: Value =
            serde_json::from_str(text).map_err(|error| SchemaError::Json(error.to_string()))?;
        jsonschema::options()
            .offline()
            .should_validate_formats(true)
            // Linear time, whatever the expression is.
            .with_pattern_options(PatternOptions::regex())
            .build(&value)
            .map(Self)
            .map_err(|error| SchemaError::Schema(error.to_string()))
    }

    /// Returns everything that is wrong with a value, by location.
    pub fn validate(&self, value: &Value) -> Vec<SchemaViolation> {
        let mut faults: Vec<SchemaViolation> =
            self.0.iter_errors(value).flat_map(|error| violation::faults(&error)).collect();
        faults.sort();
        faults.dedup();
        faults
    }
}

/// Cache of compiled schemas, by their texts: a hook needs one or two, and compiling one takes
/// time.
static READY: LazyLock<Mutex<ReadySchemas>> = LazyLock::new(Mutex::default);

/// `None` for a schema that cannot be read.
type ReadySchemas = HashMap<&'static str, Option<Arc<ArtifactSchema>>>;

fn ready(kind: ArtifactKind) -> Option<Arc<ArtifactSchema>> {
    let mut ready = READY.lock().unwrap_or_else(PoisonError::into_inner);
    let schema = ready.entry(kind.text());
    schema.or_insert_with(|| ArtifactSchema::new(kind.text()).ok().map(Arc::new)).clone()
}

/// Returns everything that is wrong with an artifact of a kind; empty if it is valid.
pub fn validate(kind: ArtifactKind, value: &Value) -> Vec<SchemaViolation> {
    match ready(kind) {
        Some(schema) => schema.validate(value),
        // What cannot be checked does not pass.
        None => vec![SchemaViolation::new("", format!("there is no schema for `{kind}`"))],
    }
}

#[cfg(test)]
mod tests;
