//! Reads the lines of a session's chat: what they say about the agent's state, and the calls it has
//! executed.
//!
//! Observed with 0.24.4: each call has a line of its own when it is over, also the calls of
//! subagents, and that line says whether it was executed. The results, which follow, do not say that
//! for subagents. A message that ends the turn is written before the stop hooks have run.

use anyhook_model::json::Object;
use jiff::Timestamp;
use serde_json::Value;

use super::{FOLDER, HOME_VARIABLE};
use crate::log::{
    Activity, LogFormat, LogLocation, LogObservation, LogRoots, LogState, about, path_part, text,
    time,
};

pub(super) fn places(homes: &LogRoots) -> Vec<LogLocation> {
    vec![LogLocation {
        folder: homes.folder(HOME_VARIABLE, FOLDER).join("projects"),
        names: &["*", "chats", "*.jsonl"],
        form: LogFormat::Lines,
    }]
}

pub(super) fn begin(path: &str) -> LogState {
    let name = path_part(path, 0).unwrap_or_default();
    LogState::of_session(name.trim_end_matches(".jsonl"))
}

pub(super) fn read_line(state: &mut LogState, line: &str) -> Option<LogObservation> {
    let object = state.object(line)?;
    state.name_work_dir(text(&object, "cwd"));
    let at = time(&object, "timestamp");
    if let Some(call) = call(&object) {
        end_call(state, call, at);
    }
    match text(&object, "type")? {
        "user" | "tool_result" => Some(LogObservation::certain(at, Activity::Working)),
        "assistant" if calls_tool(&object) => Some(LogObservation::certain(at, Activity::Working)),
        "assistant" => Some(LogObservation::likely(at, state.rest())),
        _ => None,
    }
}

fn calls_tool(line: &Object) -> bool {
    let parts = line.get("message").and_then(|message| message.get("parts")?.as_array());
    parts.into_iter().flatten().any(|part| part.get("functionCall").is_some())
}

/// Records a call that is over. One that was not executed has the status `not_started`.
fn end_call(state: &mut LogState, call: &Object, at: Option<Timestamp>) {
    let Some(id) = text(call, "call_id") else { return };
    if matches!(text(call, "execution_status"), Some("success" | "error")) {
        let tool = text(call, "function_name").unwrap_or_default();
        state.begin_call(id, tool, call.get("function_args").and_then(about));
        state.end_call(id, at);
    }
}

/// Returns what a line says about a call that is over.
fn call(line: &Object) -> Option<&Object> {
    if text(line, "subtype") != Some("ui_telemetry") {
        return None;
    }
    let event = line.get("systemPayload")?.get("uiEvent").and_then(Value::as_object)?;
    (text(event, "event.name") == Some("qwen-code.tool_call")).then_some(event)
}
