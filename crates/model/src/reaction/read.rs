//! Parses reactions from any format that can be converted to a JSON value.

use std::num::NonZeroU32;

use crate::agent::FailureKind;
use crate::json::{self, Object};
use jiff::SignedDuration;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::{Action, Attempts, ErrorRule, Reactions, Trigger, Verb};

/// The key that selects the kind of failure in a list of actions.
const MATCH: &str = "match";
/// The keys of an action.
const KEYS: [&str; 7] = ["action", "message", "append", "run", "attempts", "cooldown", "timeout"];

/// An error in a definition, and its location.
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
    /// The value has the wrong type or form.
    #[error("expected {0}")]
    Expected(&'static str),
    /// There is no such key.
    #[error("unknown key; expected one of {known}")]
    UnknownKey {
        /// The known keys.
        known: String,
    },
    /// There is no such action.
    #[error("unknown action `{name}`; expected one of {known}")]
    UnknownAction {
        /// The unknown name.
        name: String,
        /// The actions that are possible for the trigger.
        known: String,
    },
    /// The action is not possible for the trigger.
    #[error("`{name}` is not allowed here; expected one of {known}")]
    OtherTrigger {
        /// The action.
        name: &'static str,
        /// The actions that are possible for the trigger.
        known: String,
    },
    /// There is no such kind of failure.
    #[error("unknown kind of failure `{name}`; expected one of {known}")]
    UnknownKind {
        /// The unknown name.
        name: String,
        /// The known kinds.
        known: String,
    },
    /// A required key is missing.
    #[error("`{0}` is missing")]
    Missing(&'static str),
    /// The key has no effect there.
    #[error("has no effect {0}")]
    NoUse(&'static str),
}

/// A value, or every error in it.
type Read<T> = Result<T, Vec<ReactionError>>;
/// A value that can have only one error.
type ReadOne<T> = Result<T, ReactionError>;

fn wrong<T>(path: &str, problem: ReactionProblem) -> ReadOne<T> {
    Err(ReactionError { path: path.to_owned(), problem })
}

fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().collect::<Vec<_>>().join(", ")
}

/// Collects errors and continues parsing, so that all of them are reported at once.
#[derive(Default)]
struct Mistakes {
    errors: Vec<ReactionError>,
}

impl Mistakes {
    fn add(&mut self, path: &str, problem: ReactionProblem) {
        self.errors.push(ReactionError { path: path.to_owned(), problem });
    }

    /// Returns the value, or records its error.
    fn one<T>(&mut self, read: ReadOne<T>) -> Option<T> {
        read.map_err(|error| self.errors.push(error)).ok()
    }

    /// Returns the value, or records all its errors.
    fn all<T>(&mut self, read: Read<T>) -> Option<T> {
        read.map_err(|errors| self.errors.extend(errors)).ok()
    }

    /// Returns the value if there were no errors.
    fn unless_any<T>(self, value: T) -> Read<T> {
        if self.errors.is_empty() { Ok(value) } else { Err(self.errors) }
    }
}

impl Reactions {
    /// Parses a whole definition; anything absent gets its default.
    pub fn read(value: &Value) -> Read<Self> {
        let mut mistakes = Mistakes::default();
        let mut reactions = Self::default();
        let Value::Object(members) = value else {
            mistakes.add("", ReactionProblem::Expected("an object"));
            return mistakes.unless_any(reactions);
        };
        for (key, value) in members {
            if mistakes.all(reactions.set(key, value)) == Some(false) {
                let known = list(Trigger::ALL.map(Trigger::name));
                mistakes.add(key, ReactionProblem::UnknownKey { known });
            }
        }
        mistakes.unless_any(reactions)
    }

    /// Parses one key of a definition; returns whether it is one of ours.
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
    let mut mistakes = Mistakes::default();
    let mut found = Vec::new();
    for (number, rule) in rules.iter().enumerate() {
        found.extend(mistakes.all(error_rule(&format!("{trigger}[{number}]"), rule)));
    }
    mistakes.unless_any(found)
}

fn error_rule(path: &str, rule: &Value) -> Read<ErrorRule> {
    let trigger = Trigger::OnError;
    let Value::Object(members) = rule else {
        return Ok(ErrorRule { kind: None, action: Action::read(path, trigger, rule)? });
    };
    let mut mistakes = Mistakes::default();
    let mut members = members.clone();
    let kind = json::remove(&mut members, MATCH);
    let kind = kind.and_then(|kind| mistakes.one(failure_kind(&format!("{path}.{MATCH}"), &kind)));
    let action = mistakes.all(Action::read_members(path, trigger, &members, &[MATCH]));
    // A missing action has already been reported as an error.
    let action = action.unwrap_or_else(|| Action::new(trigger.verbs()[0]));
    mistakes.unless_any(ErrorRule { kind, action })
}

fn failure_kind(path: &str, value: &Value) -> ReadOne<FailureKind> {
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
    /// Parses an action, as a string or an object, at `path` of a definition.
    pub fn read(path: &str, trigger: Trigger, value: &Value) -> Read<Self> {
        let mut mistakes = Mistakes::default();
        match value {
            Value::String(name) => {
                let verb = verb(path, trigger, name).map_err(|error| vec![error])?;
                if verb == Verb::Gate {
                    mistakes.add(path, ReactionProblem::Missing("run"));
                }
                mistakes.unless_any(Self::new(verb))
            }
            Value::Object(members) => Self::read_members(path, trigger, members, &[]),
            _ => {
                let problem = ReactionProblem::Expected("an action, as a string or an object");
                wrong(path, problem).map_err(|error| vec![error])
            }
        }
    }

    /// Parses an object; `more` are keys that were already removed from it.
    fn read_members(path: &str, trigger: Trigger, members: &Object, more: &[&str]) -> Read<Self> {
        let at = |key: &str| format!("{path}.{key}");
        let mut mistakes = Mistakes::default();
        let verb = match members.get("action") {
            Some(name) => {
                let path = at("action");
                mistakes.one(text(&path, name).and_then(|name| verb(&path, trigger, &name)))
            }
            None => {
                mistakes.add(path, ReactionProblem::Missing("action"));
                None
            }
        };
        if verb == Some(Verb::Gate) && !members.contains_key("run") {
            mistakes.add(path, ReactionProblem::Missing("run"));
        }
        // If the action is unknown, nothing is reported about its other keys.
        let mut action = Self::new(verb.unwrap_or(trigger.verbs()[0]));
        for (key, value) in members {
            let path = at(key);
            if let Some(why) = no_use(key, trigger, verb, members) {
                mistakes.add(&path, ReactionProblem::NoUse(why));
                continue;
            }
            match key.as_str() {
                "action" => {}
                "message" => action.message = mistakes.one(text(&path, value)),
                "append" => action.append = mistakes.one(flag(&path, value)).unwrap_or_default(),
                "run" => action.run = mistakes.one(command(&path, value)),
                "attempts" => action.attempts = mistakes.one(attempts(&path, value)),
                "cooldown" => action.cooldown = mistakes.one(duration(&path, value)),
                "timeout" => action.timeout = mistakes.one(some_time(&path, value)),
                _ => {
                    let known = list(more.iter().copied().chain(KEYS));
                    mistakes.add(&path, ReactionProblem::UnknownKey { known });
                }
            }
        }
        mistakes.unless_any(action)
    }
}

/// Returns why a key has no effect in an action.
fn no_use(
    key: &str,
    trigger: Trigger,
    verb: Option<Verb>,
    members: &Object,
) -> Option<&'static str> {
    match key {
        "run" | "timeout" if verb.is_some_and(|verb| verb != Verb::Gate) => {
            Some("without `action = \"gate\"`")
        }
        "append"
            if members.get(key) == Some(&Value::Bool(true)) && !members.contains_key("message") =>
        {
            Some("without a `message`")
        }
        // A stop is blocked or not, at once.
        "cooldown" if trigger == Trigger::OnStop => Some("for a stop"),
        _ => None,
    }
}

fn verb(path: &str, trigger: Trigger, name: &str) -> ReadOne<Verb> {
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

fn text(path: &str, value: &Value) -> ReadOne<String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        _ => wrong(path, ReactionProblem::Expected("a string")),
    }
}

fn command(path: &str, value: &Value) -> ReadOne<String> {
    let command = text(path, value)?;
    if command.trim().is_empty() {
        return wrong(path, ReactionProblem::Expected("a command"));
    }
    Ok(command)
}

fn flag(path: &str, value: &Value) -> ReadOne<bool> {
    match value {
        Value::Bool(flag) => Ok(*flag),
        _ => wrong(path, ReactionProblem::Expected("true or false")),
    }
}

fn attempts(path: &str, value: &Value) -> ReadOne<Attempts> {
    let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
    match (value, number.and_then(NonZeroU32::new)) {
        (Value::String(word), _) if word == "forever" => Ok(Attempts::Forever),
        (_, Some(times)) => Ok(Attempts::Times(times)),
        _ => wrong(path, ReactionProblem::Expected("a positive integer, or \"forever\"")),
    }
}

fn duration(path: &str, value: &Value) -> ReadOne<SignedDuration> {
    // It starts with a digit: neither a negative duration nor another notation.
    let text = value.as_str().filter(|text| text.starts_with(|first: char| first.is_ascii_digit()));
    let duration = text.and_then(|text| text.parse::<SignedDuration>().ok());
    match duration.filter(|duration| !duration.is_negative()) {
        Some(duration) => Ok(duration),
        None => wrong(path, ReactionProblem::Expected("a duration such as \"30s\" or \"5m\"")),
    }
}

/// Parses a duration that must not be zero.
fn some_time(path: &str, value: &Value) -> ReadOne<SignedDuration> {
    let duration = duration(path, value)?;
    if duration.is_zero() {
        return wrong(path, ReactionProblem::Expected("some time"));
    }
    Ok(duration)
}

impl<'de> Deserialize<'de> for Reactions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::read(&Value::deserialize(deserializer)?).map_err(|errors| {
            let errors: Vec<String> = errors.iter().map(ReactionError::to_string).collect();
            D::Error::custom(errors.join("; "))
        })
    }
}
