//! Builds replies: JSON for a host, and a list of what could not be expressed.

use anyhook_model::json::{Object, insert_at, to_spaced};
use anyhook_model::{DecodeError, Lost, Reply, Verdict, exit_code};
use serde_json::Value;

use crate::payload::marked;

/// A reply under construction.
#[derive(Debug, Default)]
pub struct ReplyBuilder {
    /// Top-level fields.
    pub fields: Object,
    /// Fields of `hookSpecificOutput`.
    pub specific: Object,
    /// What could not be expressed.
    pub lost: Vec<Lost>,
}

impl ReplyBuilder {
    /// Sets a top-level field.
    pub fn set(&mut self, key: &str, value: impl Into<Value>) {
        self.fields.insert(key.to_owned(), value.into());
    }

    /// Sets a field of `hookSpecificOutput`.
    pub fn say_specific(&mut self, key: &str, value: impl Into<Value>) {
        self.specific.insert(key.to_owned(), value.into());
    }

    /// Records that a part of the verdict could not be expressed.
    pub fn record_loss(&mut self, what: &str, instead: &str) {
        self.lost.push(Lost { what: what.to_owned(), instead: instead.to_owned() });
    }

    /// Adds the context, for a host that accepts it.
    pub fn say_context(&mut self, verdict: &Verdict) {
        if let Some(context) = &verdict.context {
            self.say_specific("additionalContext", context.as_str());
        }
    }

    /// Records the loss of a context that the host does not accept at this event.
    pub fn record_context_loss(&mut self, verdict: &Verdict) {
        if verdict.context.is_some() {
            self.record_loss("additional_context", "nothing");
        }
    }

    /// Adds warnings for the user, unless there is a message for them already.
    pub fn warn(&mut self, verdict: &Verdict) {
        if !verdict.warnings.is_empty() && !self.fields.contains_key("systemMessage") {
            self.set("systemMessage", format!("anyhook: {}", verdict.warnings.join("\n")));
        }
    }

    /// Finishes with exit 0; without any fields, the reply is empty.
    pub fn reply(mut self, native_event: &str) -> Reply {
        if !self.specific.is_empty() {
            insert_at(&mut self.specific, 0, "hookEventName", native_event.into());
            self.fields.insert("hookSpecificOutput".to_owned(), Value::Object(self.specific));
        }
        let stdout =
            if self.fields.is_empty() { String::new() } else { to_spaced(&self.fields) + "\n" };
        Reply { stdout, lost: self.lost, ..Reply::default() }
    }

    /// Finishes with exit 2 and the reason on standard error.
    pub fn block(self, reason: &str) -> Reply {
        Reply {
            stderr: format!("{reason}\n"),
            exit_code: exit_code::BLOCKED,
            lost: self.lost,
            ..Reply::default()
        }
    }
}

/// Returns the reason of a verdict, never empty, with the id of the journal record.
pub fn reason(verdict: &Verdict) -> String {
    marked(&bare_reason(verdict), verdict.id.as_ref())
}

/// Returns the reason followed by the context, for hosts that accept only one text.
pub fn reason_and_context(verdict: &Verdict) -> String {
    match &verdict.context {
        // The mark stays at the end, where it is looked for when the text comes back.
        Some(context) => {
            marked(&format!("{}\n\n{context}", bare_reason(verdict)), verdict.id.as_ref())
        }
        None => reason(verdict),
    }
}

fn bare_reason(verdict: &Verdict) -> String {
    let text = verdict.reason.as_deref().map(str::trim).filter(|text| !text.is_empty());
    match (text, &verdict.by) {
        (Some(text), _) => text.to_owned(),
        (None, Some(by)) => format!("blocked by hook {by}"),
        (None, None) => "blocked".to_owned(),
    }
}

/// Returns the message for a payload that could not be parsed and must not bypass a guard.
pub fn unreadable(error: &DecodeError) -> String {
    format!(
        "{error}; a hook with on_failure: block is installed, so calls it cannot check are denied"
    )
}

/// Replies to a payload that could not be parsed: with a block if a guard is installed, otherwise
/// with a failure, which hosts report and then ignore.
pub fn refuse(error: &DecodeError, guarded: bool) -> Reply {
    if guarded {
        return ReplyBuilder::default().block(&unreadable(error));
    }
    Reply {
        stderr: format!("anyhook: {error}\n"),
        exit_code: exit_code::PROBLEM,
        ..Reply::default()
    }
}
