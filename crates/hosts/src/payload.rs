//! Parses payloads of the common format: a flat JSON object that names its event.

use std::path::{Path, PathBuf};

use anyhook_model::event::CallDoubt;
use anyhook_model::json::{self, Object, ReadValue, type_name};
use anyhook_model::{Caller, DecodeError, Event, EventKind};
use serde_json::{Value, json};

/// A payload's fields, removed one by one; the remaining ones are the host's own.
#[derive(Debug)]
pub struct Payload {
    /// The fields not yet removed.
    pub fields: Object,
    /// Whether it had to be repaired, so that it is not exact.
    pub mended: bool,
    /// Whether it was truncated, so that it is incomplete.
    pub cut: bool,
}

impl Payload {
    /// Parses a payload.
    pub fn read(bytes: &[u8]) -> Result<Self, DecodeError> {
        let ReadValue { value, repaired: mended, cut } =
            json::read_cut(bytes).map_err(|error| DecodeError::NotJson(error.to_string()))?;
        match value {
            Value::Object(fields) => Ok(Self { fields, mended, cut }),
            _ => Err(DecodeError::NotAnObject("something else")),
        }
    }

    /// Removes and returns a text; a number is converted to its digits, and an empty text counts as
    /// absent.
    pub fn text(&mut self, name: &str) -> Option<String> {
        match json::remove(&mut self.fields, name)? {
            Value::String(text) => Some(text).filter(|text| !text.is_empty()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }

    /// Removes and returns the name of the event, which must be a text.
    pub fn event_name(&mut self, field: &str) -> Result<String, DecodeError> {
        match json::remove(&mut self.fields, field) {
            Some(Value::String(name)) if !name.is_empty() => Ok(name),
            None | Some(Value::String(_)) => Err(DecodeError::NoEventType),
            Some(other) => Err(DecodeError::EventTypeNotText(type_name(&other))),
        }
    }

    /// Returns why it is uncertain which call a payload is about, given its tool's name.
    pub fn doubt(&self, tool: Option<&Value>) -> Option<CallDoubt> {
        let is_named = tool.and_then(Value::as_str).is_some_and(|name| !name.is_empty());
        if self.cut { Some(CallDoubt::Cut) } else { (!is_named).then_some(CallDoubt::Unnamed) }
    }

    /// Gives fields the names that they have in the common format: the host's, the common one. A
    /// field that has the common name already stays.
    pub fn rename(&mut self, names: &[(&str, &str)]) {
        for (native, common) in names {
            if !self.fields.contains_key(*common)
                && let Some(value) = json::remove(&mut self.fields, native)
            {
                self.fields.insert((*common).to_owned(), value);
            }
        }
    }

    /// Removes and returns a value.
    pub fn value(&mut self, name: &str) -> Option<Value> {
        json::remove(&mut self.fields, name)
    }

    /// Starts an event from the fields that Claude Code, Codex and Gemini CLI have in common.
    pub fn begin(&mut self, host: &str, caller: &Caller) -> Result<(String, Event), DecodeError> {
        let native = self.event_name("hook_event_name")?;
        let work_dir = self
            .text("cwd")
            .map_or_else(|| caller.work_dir.clone(), |cwd| caller.work_dir.join(cwd));
        let at = self.text("timestamp").and_then(|text| text.parse().ok()).unwrap_or(caller.now);
        let mut event = Event::new(EventKind::Other(native.clone()), host, &work_dir, at);
        event.native_name = Some(native.clone());
        event.session = self.text("session_id");
        event.agent = self.fields.get("agent_id").and_then(Value::as_str).map(str::to_owned);
        event.project_dir.clone_from(&caller.project_dir);
        Ok((native, event))
    }
}

/// A command that an agent is about to run, in the agent's own names.
#[derive(Clone, Copy, Debug)]
pub struct ShellCall<'call> {
    /// The event.
    pub event: &'call str,
    /// The tool.
    pub tool: &'call str,
    /// The command.
    pub command: &'call str,
    /// The session.
    pub session: &'call str,
    /// The agent's working folder.
    pub work_dir: &'call Path,
}

/// Returns the payload of a shell call in the common format.
pub fn shell_call(call: &ShellCall<'_>) -> Value {
    json!({
        "session_id": call.session,
        "cwd": call.work_dir,
        "hook_event_name": call.event,
        "tool_name": call.tool,
        "tool_input": {"command": call.command},
    })
}

/// The error for a payload that was truncated before it said which event it is.
pub const CUT: &str = "it was cut off";

/// Returns an assistant's message in the specification's format.
pub fn assistant_message(text: Option<String>) -> Value {
    text.map_or(Value::Null, |content| json!({"role": "assistant", "content": content}))
}

/// Returns the events of an agent's stop: the gate, and what follows if it passes.
pub fn stop_events(before_stop: Event) -> Vec<Event> {
    let message = before_stop.data.get("final_message").cloned().unwrap_or_default();
    let mut after_agent = Event { kind: EventKind::AfterAgent, ..before_stop.clone() };
    after_agent.data = Object::new();
    after_agent.data.insert("final_message".to_owned(), message);
    let after_stop = Event { kind: EventKind::AfterStop, ..before_stop.clone() };
    vec![before_stop, after_agent, after_stop]
}

/// The mark at the end of every reason we give, by which it is recognised when it comes back: a
/// host that sends a reason back as a prompt continues a turn and does not start one.
const MARK: &str = "(anyhook log show ";

/// Returns a reason with the id of the journal record that explains it.
pub fn marked(reason: &str, id: Option<&anyhook_model::RecordId>) -> String {
    match id {
        Some(id) => format!("{reason}\n{MARK}{id})"),
        None => reason.to_owned(),
    }
}

/// Returns the id of our own reason that a prompt ends with: some hosts send it back as a prompt.
pub fn repeated_id(prompt: &str) -> Option<String> {
    let id = prompt.lines().last()?.trim_end().strip_prefix(MARK)?.strip_suffix(')')?;
    Some(id.to_owned())
}

/// Returns the project path that a payload or the caller names.
pub fn path(text: Option<String>) -> Option<PathBuf> {
    text.map(PathBuf::from).filter(|path| path.is_absolute())
}
