//! Reads the lines of a session's file: what they say about the agent's state, and the calls it has
//! executed.
//!
//! Observed with 0.215.0: a message of the model has the calls, and one of the user their results.
//! Hooks are told no id of a call. A message without content reports what a hook did. One of the model
//! that ends the turn is written before the stop hooks have run.

use anyhook_model::json::Object;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{FOLDER, HOME_VARIABLE};
use crate::log::{
    Activity, LogFormat, LogLocation, LogObservation, LogRoots, LogState, about, path_part, text,
    time,
};

pub(super) fn places(homes: &LogRoots) -> Vec<LogLocation> {
    vec![LogLocation {
        // The variable names the home folder.
        folder: homes.folder(HOME_VARIABLE, "").join(FOLDER).join("sessions"),
        names: &["*", "*.jsonl"],
        form: LogFormat::Lines,
    }]
}

pub(super) fn begin(path: &str) -> LogState {
    let name = path_part(path, 0).unwrap_or_default();
    LogState::of_session(name.trim_end_matches(".jsonl"))
}

pub(super) fn read_line(state: &mut LogState, line: &str) -> Option<LogObservation> {
    let object = state.object(line)?;
    if text(&object, "type") == Some("session_start") {
        state.name_work_dir(text(&object, "cwd"));
        return None;
    }
    let message = object.get("message").and_then(Value::as_object)?;
    let content = message.get("content").and_then(Value::as_array)?;
    let at = time(&object, "timestamp");
    let mut has_call = false;
    for block in content.iter().filter_map(Value::as_object) {
        match text(block, "type") {
            Some("tool_use") => {
                has_call = true;
                begin_call(state, block);
            }
            Some("tool_result") => end_call(state, block, at),
            _ => {}
        }
    }
    match text(message, "role")? {
        _ if content.is_empty() => None,
        "assistant" if !has_call => Some(LogObservation::likely(at, state.rest())),
        "assistant" | "user" => Some(LogObservation::certain(at, Activity::Working)),
        _ => None,
    }
}

fn begin_call(state: &mut LogState, call: &Object) {
    let (Some(id), Some(tool)) = (text(call, "id"), text(call, "name")) else { return };
    let input = call.get("input").cloned().unwrap_or_default();
    let about = about(&input);
    let payload = json!({
        "hook_event_name": "PreToolUse",
        "session_id": state.session,
        "tool_name": tool,
        "tool_input": input,
    });
    state.begin_call_without_id(id, tool, about, payload);
}

fn end_call(state: &mut LogState, result: &Object, at: Option<Timestamp>) {
    let Some(id) = text(result, "tool_use_id") else { return };
    if was_executed(result) && state.begun_tool(id).is_some() {
        state.end_call(id, at);
    } else {
        state.drop_call(id);
    }
}

/// What failed may have been refused before any hook was asked; a command has an exit code.
fn was_executed(result: &Object) -> bool {
    let has_failed = result.get("is_error") == Some(&Value::Bool(true));
    let content = text(result, "content").unwrap_or_default();
    !has_failed || content.starts_with("Error: Command failed (exit code: ")
}
