//! Reads the lines of a session's chat: what they say about the agent's state.
//!
//! Observed with 0.61.0: a message of the model is written before its tools run and without them,
//! and again with them when they are done. So text alone ends the turn only if nothing follows, and
//! what comes before tools are done, including a permission prompt, cannot be distinguished from
//! it. An error is written only if someone sees the screen. No line contains the working folder.

use anyhook_model::json::Object;
use serde_json::Value;

use super::{FOLDER, HOME_VARIABLE};
use crate::log::{
    Activity, LogFormat, LogLocation, LogObservation, LogRoots, LogState, failure_kind, text, time,
};

pub(super) fn places(homes: &LogRoots) -> Vec<LogLocation> {
    vec![LogLocation {
        folder: homes.folder(HOME_VARIABLE, "").join(FOLDER).join("tmp"),
        names: &["*", "chats", "session-*.jsonl"],
        form: LogFormat::Lines,
    }]
}

pub(super) fn read_line(state: &mut LogState, line: &str) -> Option<LogObservation> {
    let object = state.object(line)?;
    if let Some(session) = text(&object, "sessionId") {
        state.name_session(Some(session));
        state.is_subagent = text(&object, "kind") == Some("subagent");
        return None;
    }
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
