//! The schema of runbooks, from the same table of keys as their parser.

use serde_json::{Map, Value, json};

use super::parts::{NAME, named, object, text};
use crate::agent::FailureKind;
use crate::reaction::Trigger;
use crate::runbook_keys::{DEFINED, NEXT_ABOUT, RUNBOOK, RunbookKey, RunbookValue};

/// Returns the schema of a runbook in TOML; in HCL, blocks with labels are objects in it.
pub fn schema() -> Value {
    let defined: Map<String, Value> =
        DEFINED.iter().map(|(name, value)| ((*name).to_owned(), defined(name, *value))).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A runbook",
        "description": "A file in `.agents/runbooks`, in TOML or HCL; in HCL, `pipeline \"x\" {…}` is `pipeline.x`, and `step \"a\" {…}` is an item of `step` with that name.",
        "type": "object",
        "additionalProperties": false,
        "properties": properties(RUNBOOK),
        "$defs": defined,
    })
}

fn defined(name: &str, value: RunbookValue) -> Value {
    of_value(value, (name == "next").then_some(NEXT_ABOUT))
}

fn properties(keys: &[RunbookKey]) -> Map<String, Value> {
    keys.iter().map(|key| (key.name.to_owned(), of_value(key.value, key.about))).collect()
}

/// Returns the schema of a value, with a description of what it is for.
fn of_value(value: RunbookValue, about: Option<&str>) -> Value {
    let mut schema = match value {
        RunbookValue::Text => json!({"type": "string"}),
        RunbookValue::Name => json!({"type": "string", "pattern": NAME}),
        RunbookValue::Flag(None) => json!({"type": "boolean"}),
        RunbookValue::Flag(Some(default)) => json!({"type": "boolean", "default": default}),
        RunbookValue::Words(words) => json!({"enum": words}),
        RunbookValue::Retired(word) => json!({"const": word, "deprecated": true}),
        RunbookValue::Object(what, keys) => {
            let required: Vec<&str> =
                keys.iter().filter(|key| key.is_required).map(|key| key.name).collect();
            object(what, &required, &properties(keys).into())
        }
        RunbookValue::Named(each) => named(about.unwrap_or_default(), &of_value(*each, None)),
        RunbookValue::List(each) => {
            json!({"type": "array", "minItems": 1, "items": of_value(*each, None)})
        }
        RunbookValue::Either(values) => {
            let values: Vec<Value> = values.iter().map(|value| of_value(*value, None)).collect();
            json!({"anyOf": values})
        }
        RunbookValue::Defined(name) => json!({"$ref": format!("#/$defs/{name}")}),
        RunbookValue::Environment => json!({
            "type": "object",
            "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
            "additionalProperties": {"type": "string"},
        }),
        RunbookValue::Reaction(trigger) => reaction(trigger),
    };
    if let Some(about) = about {
        schema["description"] = about.into();
    }
    schema
}

/// Returns the schema of a reaction to a trigger; for failures, by kind.
fn reaction(trigger: Trigger) -> Value {
    if trigger != Trigger::OnError {
        return action(trigger);
    }
    let kinds = FailureKind::ALL.map(|(_, name)| name);
    let mut rule = action(trigger);
    rule["anyOf"][1]["properties"]["match"] = json!({"enum": kinds});
    json!({"anyOf": [action(trigger), {"type": "array", "items": rule}]})
}

/// Returns the schema of an action for a trigger: a word, or an object.
fn action(trigger: Trigger) -> Value {
    let verbs: Vec<&str> = trigger.verbs().iter().map(|verb| verb.name()).collect();
    let default = verbs[0];
    let object = object(
        "What to do, and how.",
        &["action"],
        &json!({
            "action": {"enum": verbs},
            "message": text("The text: typed, asked, or given as the reason."),
            "append": {"type": "boolean", "description": "Whether to append the message to the default text."},
            "run": text("The gate's command."),
            "attempts": {
                "description": "How many attempts before escalating to a person.",
                "anyOf": [{"type": "integer", "minimum": 1}, {"const": "forever"}],
            },
            "cooldown": text("How long to wait between attempts, such as \"30s\"."),
            "timeout": text("The gate's timeout."),
        }),
    );
    json!({"default": default, "anyOf": [{"enum": verbs}, object]})
}
