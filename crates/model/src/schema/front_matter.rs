//! The schema of a HOOK.md's front matter, from the same table of keys as its parser.

use serde_json::{Map, Value, json};

use crate::hook::keys::{HookKey, KEYS, KeyValue, KeyWord, NumberRange};
use crate::kind::EventKind;

/// Returns the schema.
pub fn schema() -> Value {
    let required: Vec<&str> =
        KEYS.iter().filter(|key| key.is_required).map(|key| key.name).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The front matter of a HOOK.md",
        "description": "The part between the two `---` lines at the top of a HOOK.md.",
        "type": "object",
        "required": required,
        "properties": properties(KEYS),
    })
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
            let one =
                |KeyWord { word, about }: &KeyWord| json!({"const": word, "description": about});
            let all: Vec<Value> = words.iter().map(one).collect();
            json!({"oneOf": all, "default": words.first().map(|word| word.word)})
        }
        KeyValue::Flag => json!({"type": "boolean", "default": false}),
        KeyValue::Texts(form) => {
            let mut item = json!({"type": "string"});
            if let Some(form) = form {
                item["pattern"] = form.into();
            }
            json!({"anyOf": [{"type": "string"}, {"type": "array", "items": item}]})
        }
        KeyValue::Object(keys) => json!({"type": "object", "properties": properties(keys)}),
        KeyValue::OwnObject => json!({"type": "object"}),
        KeyValue::Any => json!({}),
    };
    property["description"] = key.about.into();
    property
}
