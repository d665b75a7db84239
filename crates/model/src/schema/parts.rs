//! Building blocks of the hand-written schemas.

use serde_json::{Value, json};

/// The pattern of a name.
pub const NAME: &str = "^[A-Za-z0-9_-]+$";

/// Returns the schema of an object with these keys and no others.
pub fn object(description: &str, required: &[&str], properties: &Value) -> Value {
    let mut schema = json!({
        "description": description,
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
    });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// Returns the schema of an object whose keys are names.
pub fn named(description: &str, each: &Value) -> Value {
    json!({
        "description": description,
        "type": "object",
        "propertyNames": {"pattern": NAME},
        "additionalProperties": each,
    })
}

/// Returns the schema of any text.
pub fn text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}
