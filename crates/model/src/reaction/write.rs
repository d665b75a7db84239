//! Writes reactions in the format from which they are parsed.

use crate::json::Object;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{Action, Attempts, Reactions};

impl Action {
    /// Returns it as a word, or as an object if a word is not enough.
    pub fn to_value(&self) -> Value {
        let mut members = self.to_members();
        if members.len() == 1 {
            members.remove("action").unwrap_or_default()
        } else {
            members.into()
        }
    }

    fn to_members(&self) -> Object {
        let mut members = Object::new();
        let mut put = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                members.insert(key.to_owned(), value);
            }
        };
        put("action", Some(self.verb.name().into()));
        put("message", self.message.clone().map(Value::from));
        put("append", self.append.then_some(Value::Bool(true)));
        put("run", self.run.clone().map(Value::from));
        put(
            "attempts",
            self.attempts.map(|attempts| match attempts {
                Attempts::Times(times) => times.get().into(),
                Attempts::Forever => "forever".into(),
            }),
        );
        put("cooldown", self.cooldown.map(|long| format!("{long:#}").into()));
        put("timeout", self.timeout.map(|long| format!("{long:#}").into()));
        members
    }
}

impl Reactions {
    /// Returns everything as an object.
    pub fn to_value(&self) -> Value {
        let on_error = match self.on_error.as_slice() {
            [rule] if rule.kind.is_none() => rule.action.to_value(),
            rules => rules
                .iter()
                .map(|rule| {
                    let mut members = Object::new();
                    if let Some(kind) = rule.kind {
                        members.insert("match".to_owned(), kind.name().into());
                    }
                    members.extend(rule.action.to_members());
                    Value::Object(members)
                })
                .collect(),
        };
        let members = [
            ("on_idle", self.on_idle.to_value()),
            ("on_prompt", self.on_prompt.to_value()),
            ("on_dead", self.on_dead.to_value()),
            ("on_error", on_error),
            ("on_stop", self.on_stop.to_value()),
        ];
        Value::Object(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }
}

impl Serialize for Reactions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_value().serialize(serializer)
    }
}
