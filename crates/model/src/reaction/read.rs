//! Reads what is to be done from any format that can be made a JSON value.

use std::num::NonZeroU32;

use crate::agent::FailureKind;
use crate::json::Object;
use jiff::SignedDuration;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::{Action, Attempts, ErrorRule, Reactions, Trigger, Verb};

/// The keys of an action.
const KEYS: [&str; 7] = ["action", "message", "append", "run", "attempts", "cooldown", "timeout"];

/// What is wrong in a definition, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct ReactionError {
    /// The key it is about, such as `on_idle.attempts` or `on_error[1].match`.
    pub path: String,
    /// What is wrong with it.
    pub problem: ReactionProblem,
}

/// What is wrong with a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReactionProblem {
    /// The value is of no use there.
    #[error("expected {0}")]
    Expected(&'static str),
    /// There is no such key.
    #[error("no such key; there are {known}")]
    UnknownKey {
        /// Those there are.
        known: String,
    },
    /// There is no such action.
    #[error("no such action as `{name}`; there are {known}")]
    UnknownAction {
        /// What was said.
        name: String,
        /// Those there are for the trigger.
        known: String,
    },
    /// The action cannot be done then.
    #[error("`{name}` is no action for it; there are {known}")]
    OtherTrigger {
        /// What was said.
        name: &'static str,
        /// Those there are for the trigger.
        known: String,
    },
    /// There is no such kind of failure.
    #[error("no such kind of failure as `{name}`; there are {known}")]
    UnknownKind {
        /// What was said.
        name: String,
        /// Those there are.
        known: String,
    },
    /// A key that must be there is not.
    #[error("`{0}` is missing")]
    Missing(&'static str),
    /// The key cannot count there.
    #[error("of no use {0}")]
    NoUse(&'static str),
}

type Read<T> = Result<T, ReactionError>;

fn wrong<T>(path: &str, problem: ReactionProblem) -> Read<T> {
    Err(ReactionError { path: path.to_owned(), problem })
}

fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().collect::<Vec<_>>().join(", ")
}

impl Reactions {
    /// Reads all that a definition says; what it does not say is as it is by default.
    pub fn read(value: &Value) -> Read<Self> {
        let Value::Object(members) = value else {
            return wrong("", ReactionProblem::Expected("an object"));
        };
        let mut reactions = Self::default();
        for (key, value) in members {
            if !reactions.set(key, value)? {
                let known = list(Trigger::ALL.map(Trigger::name));
                return wrong(key, ReactionProblem::UnknownKey { known });
            }
        }
        Ok(reactions)
    }

    /// Takes in one key of a definition; tells whether it is one of ours.
    pub fn set(&mut self, key: &str, value: &Value) -> Read<bool> {
        let Some(trigger) = Trigger::ALL.into_iter().find(|trigger| trigger.name() == key) else {
            return Ok(false);
        };
        let own = match trigger {
            Trigger::OnIdle => &mut self.on_idle,
            Trigger::OnPrompt => &mut self.on_prompt,
            Trigger::OnDead => &mut self.on_dead,
            Trigger::OnStop => &mut self.on_stop,
            Trigger::OnError => {
                self.on_error = error_rules(value)?;
                return Ok(true);
            }
        };
        *own = Action::read(key, trigger, value)?;
        Ok(true)
    }
}

fn error_rules(value: &Value) -> Read<Vec<ErrorRule>> {
    let trigger = Trigger::OnError;
    let Value::Array(rules) = value else {
        let action = Action::read(trigger.name(), trigger, value)?;
        return Ok(vec![ErrorRule { kind: None, action }]);
    };
    let rules = rules.iter().enumerate().map(|(number, rule)| {
        let path = format!("{trigger}[{number}]");
        let Value::Object(members) = rule else {
            return Ok(ErrorRule { kind: None, action: Action::read(&path, trigger, rule)? });
        };
        let mut members = members.clone();
        let kind = members.shift_remove("match");
        let kind = kind.map(|kind| failure_kind(&format!("{path}.match"), &kind)).transpose()?;
        Ok(ErrorRule { kind, action: Action::read(&path, trigger, &Value::Object(members))? })
    });
    rules.collect()
}

fn failure_kind(path: &str, value: &Value) -> Read<FailureKind> {
    let name = text(path, value)?;
    match FailureKind::ALL.into_iter().find(|(_, known)| *known == name) {
        Some((kind, _)) => Ok(kind),
        None => {
            let known = list(FailureKind::ALL.map(|(_, name)| name));
            wrong(path, ReactionProblem::UnknownKind { name, known })
        }
    }
}

impl Action {
    /// Reads an action, a word or an object, that is at `path` of a definition.
    pub fn read(path: &str, trigger: Trigger, value: &Value) -> Read<Self> {
        match value {
            Value::String(name) => verb(path, trigger, name).and_then(|verb| {
                let action = Self::new(verb);
                action.check(path, trigger)?;
                Ok(action)
            }),
            Value::Object(members) => Self::read_members(path, trigger, members),
            _ => wrong(path, ReactionProblem::Expected("an action, a word or an object")),
        }
    }

    fn read_members(path: &str, trigger: Trigger, members: &Object) -> Read<Self> {
        let at = |key: &str| format!("{path}.{key}");
        if let Some(key) = members.keys().find(|key| !KEYS.contains(&key.as_str())) {
            return wrong(&at(key), ReactionProblem::UnknownKey { known: list(KEYS) });
        }
        let Some(name) = members.get("action") else {
            return wrong(path, ReactionProblem::Missing("action"));
        };
        let mut action = Self::new(verb(&at("action"), trigger, &text(&at("action"), name)?)?);
        for (key, value) in members {
            let path = at(key);
            match key.as_str() {
                "message" => action.message = Some(text(&path, value)?),
                "append" => match value {
                    Value::Bool(append) => action.append = *append,
                    _ => return wrong(&path, ReactionProblem::Expected("true or false")),
                },
                "run" => action.run = Some(text(&path, value)?),
                "attempts" => action.attempts = Some(attempts(&path, value)?),
                "cooldown" => action.cooldown = Some(duration(&path, value)?),
                "timeout" => action.timeout = Some(duration(&path, value)?),
                _ => {}
            }
        }
        action.check(path, trigger)?;
        Ok(action)
    }

    /// Whether every key that is there can count, and those that are needed are there.
    fn check(&self, path: &str, trigger: Trigger) -> Read<()> {
        let at = |key: &str| format!("{path}.{key}");
        let is_gate = self.verb == Verb::Gate;
        if is_gate && self.run.as_deref().is_none_or(|run| run.trim().is_empty()) {
            return wrong(path, ReactionProblem::Missing("run"));
        }
        for (key, is_there) in [("run", self.run.is_some()), ("timeout", self.timeout.is_some())] {
            if is_there && !is_gate {
                return wrong(&at(key), ReactionProblem::NoUse("without `action = \"gate\"`"));
            }
        }
        if self.timeout.is_some_and(|timeout| timeout.is_zero()) {
            return wrong(&at("timeout"), ReactionProblem::Expected("some time"));
        }
        if self.append && self.message.is_none() {
            return wrong(&at("append"), ReactionProblem::NoUse("without a `message`"));
        }
        if trigger == Trigger::OnStop && self.cooldown.is_some() {
            // A stop is held or not, at once.
            return wrong(&at("cooldown"), ReactionProblem::NoUse("for a stop"));
        }
        Ok(())
    }
}

fn verb(path: &str, trigger: Trigger, name: &str) -> Read<Verb> {
    let known = || list(trigger.verbs().iter().map(|verb| verb.name()));
    match Verb::from_name(name) {
        None => {
            let name = name.to_owned();
            wrong(path, ReactionProblem::UnknownAction { name, known: known() })
        }
        Some(verb) if trigger.verbs().contains(&verb) => Ok(verb),
        Some(verb) => {
            wrong(path, ReactionProblem::OtherTrigger { name: verb.name(), known: known() })
        }
    }
}

fn text(path: &str, value: &Value) -> Read<String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        _ => wrong(path, ReactionProblem::Expected("a text")),
    }
}

fn attempts(path: &str, value: &Value) -> Read<Attempts> {
    let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
    match (value, number.and_then(NonZeroU32::new)) {
        (Value::String(word), _) if word == "forever" => Ok(Attempts::Forever),
        (_, Some(times)) => Ok(Attempts::Times(times)),
        _ => wrong(path, ReactionProblem::Expected("a whole number from 1 on, or \"forever\"")),
    }
}

fn duration(path: &str, value: &Value) -> Read<SignedDuration> {
    // It begins with a digit: neither less than nothing nor another notation.
    let text = value.as_str().filter(|text| text.starts_with(|first: char| first.is_ascii_digit()));
    let duration = text.and_then(|text| text.parse::<SignedDuration>().ok());
    match duration.filter(|duration| !duration.is_negative()) {
        Some(duration) => Ok(duration),
        None => wrong(path, ReactionProblem::Expected("a time such as \"30s\" or \"5m\"")),
    }
}

impl<'de> Deserialize<'de> for Reactions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::read(&Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}
