//! What an agent makes of the output of its own hook, in our terms.

use anyhook_model::Effect;
use anyhook_model::json::Object;
use serde_json::{Value, json};

use crate::spec::Protocol;
use crate::tool;

/// How a hook ended, and what it wrote.
#[derive(Clone, Copy, Debug, Default)]
pub struct NativeOutcome<'text> {
    /// Its exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// Its standard output.
    pub stdout: &'text str,
    /// Its standard error.
    pub stderr: &'text str,
}

impl NativeOutcome<'_> {
    /// Returns the object that the standard output consists of.
    pub(super) fn object(&self) -> Option<Object> {
        object(self.stdout)
    }

    /// Returns the standard error without surrounding blanks, unless nothing is left.
    pub(super) fn error_text(&self) -> Option<String> {
        told(self.stderr)
    }

    /// Returns what went wrong.
    pub(super) fn failure(&self) -> String {
        let how = match self.code {
            Some(code) => format!("exit code {code}"),
            None => "ended by a signal".to_owned(),
        };
        match self.error_text() {
            Some(text) => format!("{how}: {text}"),
            None => how,
        }
    }
}

/// Returns the object that a text consists of.
pub(super) fn object(text: &str) -> Option<Object> {
    let text = text.trim();
    if !text.starts_with('{') {
        return None;
    }
    serde_json::from_str(text).ok()
}

/// Returns a text without surrounding blanks, unless nothing is left.
pub(super) fn told(text: &str) -> Option<String> {
    Some(text.trim()).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// What an agent does because of a hook.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NativeAnswer {
    /// What was decided.
    pub effect: Option<Effect>,
    /// Why.
    pub reason: Option<String>,
    /// The whole new input of the tool, in the agent's own names.
    pub input: Option<Object>,
    /// What the model is told in addition.
    pub context: Option<String>,
    /// What the person is told.
    pub told: Option<String>,
    /// Why the agent treats it as a failure.
    pub failure: Option<String>,
    /// What the agent does in addition, and anyhook cannot make it do.
    pub lost: Vec<&'static str>,
    /// Whether one of these is to stop working.
    pub stops: bool,
}

impl NativeAnswer {
    /// Makes the answer of a hook that failed.
    pub(super) fn failed(why: impl Into<String>) -> Self {
        Self { failure: Some(why.into()), ..Self::default() }
    }

    /// Decides; a stronger effect stays.
    pub(super) fn decide(&mut self, effect: Effect, reason: Option<String>) {
        if Some(effect) > self.effect {
            self.effect = Some(effect);
            self.reason = reason;
        }
    }

    /// The agent stops working, which anyhook cannot make it do.
    pub(super) fn stop(&mut self, what: &'static str, why: Option<String>) {
        self.lost.push(what);
        self.stops = true;
        if self.effect.is_none() {
            self.reason = why;
        }
    }

    /// Makes it a refusal.
    pub fn refuse(&mut self, why: impl Into<String>) {
        if self.effect != Some(Effect::Deny) {
            self.effect = Some(Effect::Deny);
            self.reason = Some(why.into());
        }
        self.input = None;
    }

    /// Returns the answer in the open format; an empty object says nothing. The input that the tool
    /// had decides which of its fields are removed.
    pub fn to_json(&self, protocol: &Protocol, tool: &str, before: &Object) -> Object {
        let mut answer = Object::new();
        let mut set = |key: &str, value: Value| answer.insert(key.to_owned(), value);
        // What stops the agent at least refuses the call.
        let (effect, reason) = match self.effect {
            Some(effect) if effect == Effect::Deny || !self.stops => (Some(effect), None),
            _ if self.stops => (Some(Effect::Deny), Some("the hook ends the agent's work")),
            effect => (effect, None),
        };
        if let Some(effect) = effect {
            set("decision", effect.word().into());
        }
        if let Some(reason) = self.reason.as_deref().or(reason) {
            set("reason", reason.into());
        }
        if let Some(input) = &self.input {
            let canonical = |input: &Object| {
                let input = Value::Object(input.clone());
                tool::canonical(protocol.tools, &[], tool.to_owned(), input, None).input
            };
            let (mut changed, before) = (canonical(input), canonical(before));
            let removed: Vec<String> = before
                .as_object()
                .into_iter()
                .flat_map(Object::keys)
                .filter(|key| changed.get(key.as_str()).is_none())
                .cloned()
                .collect();
            for key in removed {
                changed[key] = Value::Null;
            }
            set("modified_input", changed);
        }
        if let Some(context) = &self.context {
            set("additional_context", context.as_str().into());
        }
        if let Some(told) = &self.told {
            set("systemMessage", told.as_str().into());
        }
        if !self.lost.is_empty() {
            let lost = self.lost.join(", ");
            set("log", json!(format!("the agent would also have done: {lost}")));
        }
        answer
    }
}

/// Reads the members of a hook's object by their keys.
pub(super) struct Members<'object>(pub &'object Object);

impl<'object> Members<'object> {
    /// Returns a text that is not blank.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        told(self.0.get(key)?.as_str()?)
    }

    /// Returns a word.
    pub(super) fn word(&self, key: &str) -> Option<&'object str> {
        self.0.get(key)?.as_str()
    }

    /// Returns an object.
    pub(super) fn object(&self, key: &str) -> Option<&'object Object> {
        self.0.get(key)?.as_object()
    }

    /// Returns whether a member is exactly this.
    pub(super) fn is(&self, key: &str, value: bool) -> bool {
        self.0.get(key) == Some(&Value::Bool(value))
    }

    /// Returns whether a member is there and says something.
    pub(super) fn has(&self, key: &str) -> bool {
        self.0.get(key).is_some_and(|value| !matches!(value, Value::Null | Value::Bool(false)))
    }
}
