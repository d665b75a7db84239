//! Reads the lines of a session's events: what they say about the agent's state, and the calls it has
//! executed.
//!
//! Observed with 1.0.102: a call has a line when it begins, before any hook is asked, and one when it
//! is over. The lines of subagents are in the same file, with their name. Hooks are told no id of a
//! call. A message that ends the turn is written before the stop hooks have run.

use anyhook_model::json::Object;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::HOME_VARIABLE;
use crate::log::{
    Activity, LogFormat, LogLocation, LogObservation, LogRoots, LogState, about, path_part, text,
    time,
};

pub(super) fn places(homes: &LogRoots) -> Vec<LogLocation> {
    vec![LogLocation {
        folder: homes.folder(HOME_VARIABLE, ".copilot").join("session-state"),
        names: &["*", "events.jsonl"],
        form: LogFormat::Lines,
    }]
}

pub(super) fn begin(path: &str) -> LogState {
    let mut state = LogState::default();
    state.name_session(path_part(path, 1));
    state
}

pub(super) fn read_line(state: &mut LogState, line: &str) -> Option<LogObservation> {
    let object = state.object(line)?;
    let data = object.get("data").and_then(Value::as_object)?;
    let at = time(&object, "timestamp");
    let says = match text(&object, "type")? {
        "session.start" => {
            state.name_session(text(data, "sessionId"));
            let context = data.get("context");
            state.name_work_dir(context.and_then(|context| context.get("cwd")?.as_str()));
            return None;
        }
        "tool.execution_start" => {
            begin_call(state, data);
            LogObservation::certain(at, Activity::Working)
        }
        "tool.execution_complete" => {
            end_call(state, data, at);
            return None;
        }
        "user.message" => LogObservation::certain(at, Activity::Working),
        "assistant.message" => match data.get("toolRequests").and_then(Value::as_array) {
            Some(calls) if calls.is_empty() => LogObservation::likely(at, state.rest()),
            _ => return None,
        },
        _ => return None,
    };
    Some(says).filter(|_| !object.contains_key("agentId"))
}

/// What failed may have been refused before any hook was asked; a command that ends with another exit
/// code than 0 has not failed.
fn end_call(state: &mut LogState, result: &Object, at: Option<Timestamp>) {
    let Some(id) = text(result, "toolCallId") else { return };
    let has_succeeded = result.get("success") == Some(&Value::Bool(true));
    if has_succeeded && state.begun_tool(id).is_some() {
        state.end_call(id, at);
    } else {
        state.drop_call(id);
    }
}

fn begin_call(state: &mut LogState, call: &Object) {
    let names = (text(call, "toolCallId"), text(call, "toolName"));
    let (Some(id), Some(tool)) = names else { return };
    let input = call.get("arguments").cloned().unwrap_or_default();
    let about = about(&input);
    let session = state.session.clone();
    let payload = json!({"sessionId": session, "toolName": tool, "toolArgs": input});
    state.begin_call_without_id(id, tool, about, payload);
}
