//! Reads the lines of a session's chat: what they say about the agent's state.
//!
//! Observed with 0.61.0: a message of the model is written before its tools run and without them,
//! and again with them when they are done. So text alone ends the turn only if nothing follows, and
//! what comes before tools are done, including a permission prompt, cannot be distinguished from
//! it. An error is written only if someone sees the screen. No line contains the working folder.

use anyhook_model::json::Object;
use serde_json::{Value, json};

use super::{FOLDER, HOME_VARIABLE};
use crate::log::{
    Activity, ExecutedCall, LogFormat, LogLocation, LogObservation, LogRoots, LogState, about,
    failure_kind, text, time,
};

pub(super) fn places(homes: &LogRoots) -> Vec<LogLocation> {
    let folder = homes.folder(HOME_VARIABLE, "").join(FOLDER).join("tmp");
    let place = |names| LogLocation { folder: folder.clone(), names, form: LogFormat::Lines };
    // What subagents do is in a folder named after the session.
    vec![place(&["*", "chats", "session-*.jsonl"]), place(&["*", "chats", "*", "*.jsonl"])]
}

/// Hooks are told the session that a subagent works for, which only its folder names.
pub(super) fn begin(path: &str) -> LogState {
    let mut state = LogState::default();
    let mut names = path.rsplit('/').skip(1);
    if let (Some(session), Some("chats")) = (names.next(), names.next()) {
        state.name_hook_session(Some(session));
    }
    state
}

pub(super) fn read_line(state: &mut LogState, line: &str) -> Option<LogObservation> {
    let object = state.object(line)?;
    if let Some(session) = text(&object, "sessionId") {
        state.name_session(Some(session));
        state.is_subagent = text(&object, "kind") == Some("subagent");
        return None;
    }
    calls(state, &object);
    if state.is_subagent {
        return None;
    }
    let at = time(&object, "timestamp");
    let content = object.get("content").map(words).unwrap_or_default();
    match text(&object, "type")? {
        // Also rewritten when a request was cancelled.
        "user" if content.starts_with("<session_context>") => None,
        "user" => Some(LogObservation::certain(at, Activity::Working)),
        "gemini" => Some(match last_call(&object) {
            Some(call) => {
                LogObservation::certain(time(call, "timestamp").or(at), Activity::Working)
            }
            None if content.trim().is_empty() => LogObservation::certain(at, Activity::Working),
            None => LogObservation::likely(at, state.rest()),
        }),
        "info" if content == "Request cancelled." => {
            Some(LogObservation::certain(at, state.break_off()))
        }
        "error" if content.starts_with("[API Error") => Some(LogObservation::certain(
            at,
            state.fail(failure_kind(status(&content), &content), &content),
        )),
        _ => None,
    }
}

/// Records the calls that a message reports as done. A message is written again whenever it changes.
///
/// What failed may have been refused before any hook was asked, and the log does not say which.
fn calls(state: &mut LogState, message: &Object) {
    let calls = message.get("toolCalls").and_then(Value::as_array).into_iter().flatten();
    for call in calls.filter_map(Value::as_object) {
        let (Some(id), Some(tool)) = (text(call, "id"), text(call, "name")) else { continue };
        if text(call, "status") != Some("success") {
            continue;
        }
        // Ids are only unique within a message.
        let message_id = text(message, "id").unwrap_or_default();
        if !state.is_first_result(&format!("{message_id} {id}")) {
            continue;
        }
        let input = call.get("args").cloned().unwrap_or_default();
        let session = state.hook_session.clone().or_else(|| state.session.clone());
        state.executed(ExecutedCall {
            id: Some(format!("{message_id} {id}")),
            tool: Some(tool.to_owned()),
            about: about(&input),
            payload: Some(json!({
                "hook_event_name": "BeforeTool",
                "session_id": session,
                "tool_name": tool,
                "tool_input": input,
            })),
            at: time(call, "timestamp"),
            ..ExecutedCall::default()
        });
    }
}

fn last_call(message: &Object) -> Option<&Object> {
    message.get("toolCalls")?.as_array()?.last()?.as_object()
}

/// Returns the text of a content: the text itself, or its text parts.
fn words(content: &Value) -> String {
    if let Some(text) = content.as_str() {
        return text.to_owned();
    }
    let parts = content.as_array().into_iter().flatten();
    parts.filter_map(|part| part.get("text")?.as_str()).collect()
}

/// Finds a status in an error message, as in `got status: 429` or `"code":429`.
fn status(words: &str) -> Option<u64> {
    ["got status: ", "\"code\":", "(Status: "].into_iter().find_map(|before| {
        let digits = words.split_once(before)?.1.trim_start();
        let end = digits.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(digits.len());
        digits[..end].parse().ok()
    })
}
