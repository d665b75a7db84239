//! Reads the lines of an agent's wire: what they say about its state, and the calls it has executed.
//!
//! Observed with 1.52.0: a session's folder has a wire, and one for each of its subagents, whose
//! calls the first one repeats; hooks are told the session. A turn has a line for its start and one
//! for its end. No line contains the working folder.

use anyhook_model::json::Object;
use jiff::Timestamp;
use serde_json::Value;

use super::{FOLDER, HOME_VARIABLE};
use crate::log::{
    Activity, LogFormat, LogLocation, LogObservation, LogRoots, LogState, about, path_part,
    seconds, text,
};

pub(super) fn places(homes: &LogRoots) -> Vec<LogLocation> {
    let folder = homes.folder(HOME_VARIABLE, FOLDER).join("sessions");
    let place = |names| LogLocation { folder: folder.clone(), names, form: LogFormat::Lines };
    vec![place(&["*", "*", "wire.jsonl"]), place(&["*", "*", "subagents", "*", "wire.jsonl"])]
}

pub(super) fn begin(path: &str) -> LogState {
    let mut state = LogState::default();
    state.is_subagent = path_part(path, 2) == Some("subagents");
    state.name_session(path_part(path, if state.is_subagent { 3 } else { 1 }));
    state
}

pub(super) fn read_line(state: &mut LogState, line: &str) -> Option<LogObservation> {
    let object = state.object(line)?;
    let message = object.get("message")?.as_object()?;
    let at = seconds(object.get("timestamp"));
    let payload = message.get("payload").and_then(Value::as_object)?;
    let doing = match text(message, "type")? {
        "ToolCall" => {
            begin_call(state, payload);
            return None;
        }
        "ToolResult" => {
            end_call(state, payload, at);
            return None;
        }
        "TurnBegin" => Activity::Working,
        "TurnEnd" => state.rest(),
        _ => return None,
    };
    (!state.is_subagent).then(|| LogObservation::certain(at, doing))
}

fn begin_call(state: &mut LogState, call: &Object) {
    let function = call.get("function").and_then(Value::as_object);
    if let (Some(id), Some(function)) = (text(call, "id"), function) {
        let arguments = text(function, "arguments").unwrap_or_default();
        let input = serde_json::from_str(arguments).unwrap_or_else(|_| Value::from(arguments));
        state.begin_call(id, text(function, "name").unwrap_or_default(), about(&input));
    }
}

fn end_call(state: &mut LogState, result: &Object, at: Option<Timestamp>) {
    let Some(id) = text(result, "tool_call_id") else { return };
    let value = result.get("return_value").and_then(Value::as_object);
    if value.is_some_and(was_executed) {
        state.end_call(id, at);
    } else {
        state.drop_call(id);
    }
}

/// What failed may have been refused before any hook was asked; a command has an exit code.
fn was_executed(result: &Object) -> bool {
    let has_failed = result.get("is_error") == Some(&Value::Bool(true));
    let message = text(result, "message").unwrap_or_default();
    !has_failed || message.starts_with("Command failed with exit code: ")
}
