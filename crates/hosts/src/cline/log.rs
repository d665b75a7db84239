//! Reads the messages of a session: what they say about the agent's state, and the calls it has
//! executed.
//!
//! Observed with 3.0.65: the file of a session, and that of each of its subagents in the same folder,
//! is written anew with every message. Hooks are told the session that names the folder. The result of
//! a call is a list with an item for each of its parts, or the text of one. Nothing in the messages
//! contains the working folder.

use anyhook_model::json::Object;
use serde_json::Value;

use super::{FOLDER, FOLDER_VARIABLE};
use crate::log::{
    Activity, LogFormat, LogLocation, LogObservation, LogRoots, LogState, about, milliseconds,
    path_part, text,
};

pub(super) fn places(homes: &LogRoots) -> Vec<LogLocation> {
    vec![LogLocation {
        folder: homes.folder(FOLDER_VARIABLE, FOLDER).join("data/sessions"),
        names: &["*", "*.messages.json"],
        form: LogFormat::Document("messages"),
    }]
}

pub(super) fn begin(path: &str) -> LogState {
    let mut state = LogState::default();
    state.name_session(path_part(path, 1));
    state.is_subagent = path_part(path, 0).is_some_and(|name| name.starts_with("agent_"));
    state
}

pub(super) fn read_line(state: &mut LogState, line: &str) -> Option<LogObservation> {
    let message = state.object(line)?;
    let content = message.get("content").and_then(Value::as_array)?;
    let at = milliseconds(message.get("ts"));
    let mut has_call = false;
    for block in content.iter().filter_map(Value::as_object) {
        match text(block, "type") {
            Some("tool_use") => {
                let (id, tool) = (text(block, "id")?, text(block, "name")?);
                has_call = true;
                state.begin_call(id, tool, block.get("input").and_then(about_input));
            }
            Some("tool_result") => {
                let id = text(block, "tool_use_id")?;
                if block.get("content").is_some_and(was_executed) {
                    state.end_call(id, at);
                } else {
                    state.drop_call(id);
                }
            }
            _ => {}
        }
    }
    let says = match text(&message, "role")? {
        "assistant" if !has_call => LogObservation::likely(at, state.rest()),
        "assistant" | "user" => LogObservation::certain(at, Activity::Working),
        _ => return None,
    };
    Some(says).filter(|_| !state.is_subagent)
}

fn about_input(input: &Value) -> Option<String> {
    let commands = input.get("commands").and_then(Value::as_array);
    match commands.map(|commands| commands.iter().filter_map(Value::as_str).collect::<Vec<_>>()) {
        Some(commands) if !commands.is_empty() => about(&commands.join("; ").into()),
        _ => about(input),
    }
}

/// What failed may have been refused before any hook was asked; a command has an exit code.
fn was_executed(result: &Value) -> bool {
    let parsed = result.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    match parsed.as_ref().unwrap_or(result) {
        Value::Array(parts) => parts.is_empty() || parts.iter().any(has_done_something),
        part => has_done_something(part),
    }
}

fn has_done_something(part: &Value) -> bool {
    let Some(part) = part.as_object() else { return true };
    !failed(part)
        || text(part, "error").is_some_and(|error| error.starts_with("Command exited with code "))
}

fn failed(part: &Object) -> bool {
    part.get("success").map_or(part.contains_key("error"), |success| *success == Value::Bool(false))
}
