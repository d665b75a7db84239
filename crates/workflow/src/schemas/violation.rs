//! Schema violations: what is wrong with an artifact, in words that its author can act on.

use std::fmt;

use anyhook_model::truncate::ellipsized;
use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde_json::Value;

/// Maximum length of a value that is shown; more is not needed to find it.
const SHOWN: usize = 60;

/// A violation of a schema.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SchemaViolation {
    /// The location, as a JSON pointer; empty for the whole file.
    pub pointer: String,
    /// What is wrong.
    pub message: String,
}

impl SchemaViolation {
    /// Makes a violation.
    pub fn new(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), message: message.into() }
    }
}

impl fmt::Display for SchemaViolation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pointer = if self.pointer.is_empty() { "/" } else { &self.pointer };
        write!(out, "{pointer}: {}", self.message)
    }
}

/// Translates an error of the validator; each unknown key is a separate violation.
pub(super) fn faults(error: &ValidationError<'_>) -> Vec<SchemaViolation> {
    let pointer = error.instance_path().as_str().to_owned();
    let value = error.instance();
    let message = match error.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            let fault = |key: &String| {
                let key_pointer = format!("{pointer}/{}", escaped(key));
                SchemaViolation::new(key_pointer, format!("unknown key `{key}`; remove it"))
            };
            return unexpected.iter().map(fault).collect();
        }
        ValidationErrorKind::Required { property } => {
            format!("{} is missing", name(property))
        }
        ValidationErrorKind::Enum { options } => {
            let options: Vec<String> = match options.as_ref() {
                Value::Array(options) => options.iter().map(name).collect(),
                other => vec![name(other)],
            };
            format!("is {}, not one of {}", shown(value), options.join(", "))
        }
        ValidationErrorKind::Constant { expected_value } => {
            format!("is {}, not {}", shown(value), name(expected_value))
        }
        ValidationErrorKind::Type { kind } => {
            let types: Vec<String> = match kind {
                TypeKind::Single(one) => vec![one.to_string()],
                TypeKind::Multiple(all) => all.iter().map(|one| one.to_string()).collect(),
            };
            format!("is {}, but must be of type {}", shown(value), types.join(" or "))
        }
        ValidationErrorKind::MinLength { limit: 1 } => "is empty".to_owned(),
        ValidationErrorKind::MinItems { limit: 1 } => "needs at least one entry".to_owned(),
        ValidationErrorKind::MinItems { limit } => {
            format!("needs at least {limit} entries")
        }
        ValidationErrorKind::UniqueItems => "contains a duplicate entry".to_owned(),
        ValidationErrorKind::Format { format } if format == "date-time" => {
            format!("is {}, not a time such as `2026-01-31T12:00:00Z`", shown(value))
        }
        ValidationErrorKind::Minimum { limit } => {
            format!("is {}, less than {limit}", shown(value))
        }
        ValidationErrorKind::Maximum { limit } => {
            format!("is {}, more than {limit}", shown(value))
        }
        _ => error.masked_with("the value").to_string(),
    };
    vec![SchemaViolation { pointer, message }]
}

fn name(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), |text| format!("`{text}`"))
}

/// Returns a value, truncated to a useful length.
fn shown(value: &Value) -> String {
    match value {
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::String(text) => format!("`{}`", ellipsized(text, SHOWN)),
        other => name(other),
    }
}

fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
