//! The schema of a HOOK.md's front matter, from the same table of keys as its parser.

use serde_json::{Map, Value, json};

use crate::hook::keys::{
    ConditionForm, ConditionKeys, FILES, HookKey, KEYS, KeyValue, KeyWord, MATCHER, MCP,
    NumberRange, SHELL,
};
use crate::kind::EventKind;

/// Returns the schema.
pub fn schema() -> Value {
    let required: Vec<&str> =
        KEYS.iter().filter(|key| key.is_required).map(|key| key.name).collect();
    let conditions: Map<String, Value> =
        [MATCHER, SHELL, FILES, MCP].iter().map(condition).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The front matter of a HOOK.md",
        "description": "The part between the two `---` lines at the top of a HOOK.md.",
        "type": "object",
        "required": required,
        "properties": properties(KEYS),
        "$defs": conditions,
    })
}

/// Returns an object of conditions, by the name under which others refer to it.
fn condition(of: &ConditionKeys) -> (String, Value) {
    let properties = properties((of.keys)());
    // A condition that is misspelt would make the hook match other calls than its author means.
    let schema = json!({"type": "object", "properties": properties, "additionalProperties": false});
    (of.name.to_owned(), schema)
}

fn properties(keys: &[HookKey]) -> Map<String, Value> {
    keys.iter().map(|key| (key.name.to_owned(), property(key))).collect()
}

fn property(key: &HookKey) -> Value {
    let mut property = match key.value {
        KeyValue::Text(None) => json!({"type": "string"}),
        KeyValue::Text(Some(most)) => json!({"type": "string", "minLength": 1, "maxLength": most}),
        KeyValue::Events => {
            let names: Vec<&str> = EventKind::all_names().collect();
            json!({"anyOf": [{"enum": names}, {"type": "array", "minItems": 1, "items": {"enum": names}}]})
        }
        KeyValue::Number(NumberRange { least, most, default }) => {
            json!({"type": "integer", "minimum": least, "maximum": most, "default": default})
        }
        KeyValue::Words(words) => {
            json!({"oneOf": choices(words), "default": words.first().map(|word| word.word)})
        }
        KeyValue::Choice(words) => json!({"oneOf": choices(words)}),
        KeyValue::Pattern => json!({"type": "string", "format": "regex"}),
        KeyValue::Condition(of, form) => {
            let one = json!({"$ref": format!("#/$defs/{}", of.name)});
            match form {
                ConditionForm::One => json!({"allOf": [one]}),
                ConditionForm::Many => {
                    json!({"anyOf": [one, {"type": "array", "minItems": 1, "items": one}]})
                }
                ConditionForm::Texts => {
                    let texts =
                        json!({"type": "array", "minItems": 1, "items": {"type": "string"}});
                    json!({"anyOf": [{"type": "string"}, texts, one]})
                }
            }
        }
        KeyValue::Boolean => json!({"type": "boolean"}),
        KeyValue::Flag => json!({"type": "boolean", "default": false}),
        KeyValue::Texts(form) => {
            let mut item = json!({"type": "string"});
            if let Some(form) = form {
                item["pattern"] = form.into();
            }
            json!({"anyOf": [{"type": "string"}, {"type": "array", "items": item}]})
        }
        KeyValue::OwnObject => json!({"type": "object"}),
        KeyValue::Any => json!({}),
    };
    property["description"] = key.about.into();
    property
}

fn choices(words: &[KeyWord]) -> Vec<Value> {
    let one = |KeyWord { word, about }: &KeyWord| json!({"const": word, "description": about});
    words.iter().map(one).collect()
}
