//! Options of guards: `metadata.options` in a hook's HOOK.md.

use std::io;
use std::path::{Path, PathBuf};

use anyhook_engine::definition;
use regex::Regex;
use serde::de::{DeserializeOwned, Deserializer, Error as _};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Why a guard cannot decide.
#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    /// An option is wrong.
    #[error("`metadata.options` is invalid: {0}")]
    Options(String),
    /// A file cannot be read or written.
    #[error("cannot access `{}`: {error}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// There is no state folder.
    #[error("no state folder to count in")]
    NoState,
    /// A program cannot be run.
    #[error("cannot run `{program}`: {error}")]
    Program {
        /// Which program.
        program: String,
        /// Why not.
        error: io::Error,
    },
    /// Something else was tried and failed.
    #[error("{0}")]
    Failed(String),
}

impl GuardError {
    /// A file cannot be read or written.
    pub fn at(path: &Path, error: io::Error) -> Self {
        Self::File { path: path.to_owned(), error }
    }
}

/// Reads a guard's options; missing and empty ones have their defaults, unknown ones are errors.
pub fn read<T: DeserializeOwned + Default>(options: &Value) -> Result<T, GuardError> {
    if options.is_null() {
        return Ok(T::default());
    }
    let Some(options) = options.as_object() else {
        return Err(GuardError::Options("it must be a mapping".to_owned()));
    };
    let given: Map<String, Value> =
        options.iter().filter_map(|(name, value)| Some((name.clone(), given(value)?))).collect();
    T::deserialize(Value::Object(given)).map_err(|error| GuardError::Options(error.to_string()))
}

/// Returns the value of an option that was given. The options of a pack have no value for "none" and
/// no mappings: an empty text is no value, and a text may be a mapping in JSON.
fn given(value: &Value) -> Option<Value> {
    match value.as_str() {
        Some("") => None,
        Some(text) if text.starts_with('{') => {
            Some(serde_json::from_str(text).unwrap_or_else(|_| value.clone()))
        }
        _ => Some(value.clone()),
    }
}

/// Returns `metadata.options` of a HOOK.md; null if it has none.
pub fn of_hook(hook_file: &[u8], folder_name: &str) -> Value {
    let definition = definition::read(hook_file, folder_name).definition;
    definition.metadata.get("options").cloned().unwrap_or_default()
}

/// A regular expression as an option.
#[derive(Clone, Debug)]
pub struct Pattern(pub Regex);

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Regex::new(&text).map(Self).map_err(|error| {
            let why = error.to_string();
            let why = why.lines().last().unwrap_or_default();
            D::Error::custom(format!("`{text}` is not a regular expression: {why}"))
        })
    }
}

/// What happens to an operation that a guard objects to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// It is blocked.
    Deny,
    /// A person decides.
    Ask,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    #[derive(Debug, Default, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    struct Sample {
        allow: Vec<Pattern>,
        action: Option<Action>,
        limits: BTreeMap<String, u64>,
        file: Option<String>,
    }

    #[test]
    fn options_are_those_of_the_front_matter() {
        let file = b"---\nname: x\ndescription: x\ntrigger: before_tool\nmetadata:\n  options:\n    action: ask\n    allow: ['^a+$']\n---\n";
        let options = of_hook(file, "x");
        assert_eq!(options, json!({"action": "ask", "allow": ["^a+$"]}));
        let sample: Sample = read(&options).unwrap();
        assert!(sample.allow[0].0.is_match("aa") && sample.action == Some(Action::Ask));
        assert_eq!(of_hook(b"---\nname: x\n---\n", "x"), Value::Null);
        assert!(read::<Sample>(&Value::Null).unwrap().allow.is_empty());
    }

    #[test]
    fn options_of_a_pack_are_texts() {
        let options =
            json!({"action": "", "limits": "{\"calls\": 3}", "file": "{date}.md", "allow": []});
        let sample: Sample = read(&options).unwrap();
        assert!(sample.action.is_none() && sample.limits["calls"] == 3);
        assert_eq!(sample.file.as_deref(), Some("{date}.md"));
        let error = read::<Sample>(&json!({"limits": "{calls: 3}"})).unwrap_err().to_string();
        assert!(error.contains("invalid type: string \"{calls: 3}\", expected a map"), "{error}");
    }

    #[test]
    fn wrong_options_are_named() {
        for (options, expected) in [
            (json!({"permit": []}), "unknown field `permit`, expected one of `allow`, `action`"),
            (json!({"action": "maybe"}), "unknown variant `maybe`, expected `deny` or `ask`"),
            (json!({"allow": ["("]}), "`(` is not a regular expression: error: unclosed group"),
            (json!([]), "it must be a mapping"),
        ] {
            let error = read::<Sample>(&options).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
