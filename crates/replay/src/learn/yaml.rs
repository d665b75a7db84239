//! Writes a matcher as YAML, as a person would write it.

use anyhook_model::hook::MatcherDefinition;
use serde_json::Value;

/// Returns a matcher as lines of YAML, below its key.
pub fn matcher(definition: &MatcherDefinition) -> String {
    let value = serde_json::to_value(definition).unwrap_or_default();
    let mut text = String::from("matcher:\n");
    write(&value, 2, &mut text);
    text
}

/// Writes the items of a mapping or a list, each on lines of its own.
fn write(value: &Value, indent: usize, text: &mut String) {
    let blanks = " ".repeat(indent);
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                text.push_str(&format!("{blanks}{name}:"));
                write_value(value, indent, text);
            }
        }
        Value::Array(items) => {
            for item in items {
                let mut inner = String::new();
                write(item, indent + 2, &mut inner);
                text.push_str(&format!("{blanks}- {}", inner.trim_start()));
            }
        }
        scalar => text.push_str(&format!("{blanks}{}\n", scalar_text(scalar))),
    }
}

/// Writes what follows a key: on its line if possible.
fn write_value(value: &Value, indent: usize, text: &mut String) {
    match value {
        // One stands for a list of one.
        Value::Array(items) if items.len() == 1 => write_value(&items[0], indent, text),
        Value::Array(items) if items.iter().all(|item| !item.is_object()) => {
            let items: Vec<String> = items.iter().map(scalar_text).collect();
            text.push_str(&format!(" [{}]\n", items.join(", ")));
        }
        Value::Object(_) | Value::Array(_) => {
            text.push('\n');
            write(value, indent + 2, text);
        }
        scalar => text.push_str(&format!(" {}\n", scalar_text(scalar))),
    }
}

fn scalar_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), quoted)
}

/// Returns a text as YAML: plain if it can only be read as itself.
pub fn quoted(text: &str) -> String {
    let is_plain = text.starts_with(|letter: char| letter.is_ascii_lowercase())
        && text.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-' || letter == ' ')
        && !text.ends_with(' ')
        && !["true", "false", "null", "yes", "no", "on", "off", "y", "n"].contains(&text);
    if is_plain { text.to_owned() } else { format!("'{}'", text.replace('\'', "''")) }
}
