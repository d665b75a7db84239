//! The JSON Schema of `workflow.toml`, generated from the reader's [`keys`](super::keys).

use serde_json::{Map, Value, json};

use super::keys::{
    ARTIFACT, DOCUMENTATION, DefinitionKey, KeyShape, QA, REVIEW, RISK, SECOND_OPINION, STAGE,
};
use super::keys::{Table, WORKFLOW};
use crate::method::Method;
use crate::schemas::ArtifactKind;

/// The pattern of a name.
const NAME: &str = "^[A-Za-z0-9_-]+$";

/// Returns the schema of a workflow, which may name the schemas of a method.
pub fn schema(method: &'static Method) -> Value {
    let whole = table(&WORKFLOW, method);
    let of = |one: &Table| table(one, method);
    let mut stage = of(&STAGE);
    stage["dependentRequired"] = json!({"approval_modes": ["approval"]});
    stage["if"] =
        json!({"properties": {"on_failure": {"const": "rollback"}}, "required": ["on_failure"]});
    stage["then"] = json!({"required": ["rollback_to"]});
    let mut artifact = of(&ARTIFACT);
    artifact["oneOf"] = json!([{"required": ["schema"]}, {"required": ["schema_file"]}]);
    let mut second_opinion = of(&SECOND_OPINION);
    second_opinion["dependentRequired"] = json!({"modes": ["stages"]});
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A workflow",
        "description": whole["description"],
        "type": "object",
        "additionalProperties": false,
        "required": whole["required"],
        "properties": whole["properties"],
        "$defs": {
            "name": {"type": "string", "pattern": NAME},
            "stage": stage,
            "artifact": artifact,
            "review": of(&REVIEW),
            "risk": of(&RISK),
            "qa": of(&QA),
            "documentation": of(&DOCUMENTATION),
            "second_opinion": second_opinion,
        },
    })
}

/// Returns the schema of a table: its keys, and no others.
fn table(table: &Table, method: &'static Method) -> Value {
    let properties: Map<String, Value> =
        table.keys.iter().map(|key| (key.name.to_owned(), of_key(key, method))).collect();
    let mut schema = json!({
        "description": table.about,
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
    });
    let required: Vec<&str> =
        table.keys.iter().filter(|key| key.required).map(|key| key.name).collect();
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/$defs/{name}")})
}

fn of_key(key: &DefinitionKey, method: &'static Method) -> Value {
    let about = key.about;
    match key.shape {
        KeyShape::OwnName(default) => {
            json!({"type": "string", "pattern": NAME, "default": default, "description": about})
        }
        KeyShape::Name => json!({"$ref": "#/$defs/name", "description": about}),
        KeyShape::Names => {
            json!({"type": "array", "items": reference("name"), "description": about})
        }
        KeyShape::Text => json!({"type": "string", "description": about}),
        KeyShape::Filled => json!({"type": "string", "pattern": "\\S", "description": about}),
        KeyShape::Path(default) => {
            let mut schema = json!({
                "type": "string",
                "minLength": 1,
                "not": {"pattern": "^/|//|\\\\|(^|/)\\.\\.?(/|$)"},
                "description": about,
            });
            if let Some(default) = default {
                schema["default"] = json!(default);
            }
            schema
        }
        KeyShape::File => json!({
            "type": "string",
            "pattern": "^[^/\\\\]+$",
            "not": {"enum": [".", ".."]},
            "description": about,
        }),
        KeyShape::Schema => {
            let known: Vec<&str> = method.kinds().map(ArtifactKind::name).collect();
            json!({"enum": known, "description": about})
        }
        KeyShape::Flag(default) => {
            json!({"type": "boolean", "default": default, "description": about})
        }
        KeyShape::Time => json!({"type": "string", "pattern": "^[0-9]", "description": about}),
        KeyShape::Retries => json!({
            "type": "integer", "minimum": 0, "maximum": super::read::RETRIES, "default": 0,
            "description": about,
        }),
        KeyShape::Word(words, default) => {
            let mut schema = json!({"enum": words()});
            if let Some(default) = default {
                schema["default"] = json!(default);
            }
            schema["description"] = json!(about);
            schema
        }
        KeyShape::Words(words) => {
            json!({"type": "array", "items": {"enum": words()}, "description": about})
        }
        KeyShape::One(one) => reference(one.name),
        KeyShape::Named(each) => json!({
            "description": about,
            "type": "object",
            "propertyNames": {"pattern": NAME},
            "additionalProperties": table(each, method),
        }),
        KeyShape::Many(each, least, most) => {
            let mut schema = json!({"description": about, "type": "array"});
            for (key, limit) in [("minItems", least), ("maxItems", most)] {
                if let Some(limit) = limit {
                    schema[key] = json!(limit);
                }
            }
            schema["items"] = reference(each.name);
            schema
        }
    }
}
