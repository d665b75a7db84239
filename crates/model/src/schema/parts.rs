//! What the schemas written by hand are made of.

use serde_json::{Value, json};

/// What a name looks like.
pub const NAME: &str = "^[A-Za-z0-9_-]+$";

/// Returns an object with these keys and no other.
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

/// Returns an object whose keys are names.
pub fn named(description: &str, each: &Value) -> Value {
    json!({
        "description": description,
        "type": "object",
        "propertyNames": {"pattern": NAME},
        "additionalProperties": each,
    })
}

/// Returns any text.
pub fn text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}
