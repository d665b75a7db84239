//! Reads the lines of a session's updates: what they say about the agent's state, and the calls it
//! has executed.
//!
//! Observed with 1.0.41: a call has a line when it begins and one or more when it is over. Only the
//! result of an executed call has output for a program to read. The folder above a session's is the
//! working folder, with its slashes escaped. A subagent is a session of its own, for hooks, too.

use anyhook_model::json::Object;
use jiff::Timestamp;
use serde_json::Value;

use crate::log::{
    Activity, LogFormat, LogLocation, LogObservation, LogRoots, LogState, about, milliseconds,
    path_part, text,
};

pub(super) fn places(homes: &LogRoots) -> Vec<LogLocation> {
    vec![LogLocation {
        folder: homes.folder("GROK_HOME", ".grok").join("sessions"),
        names: &["*", "*", "updates.jsonl"],
        form: LogFormat::Lines,
    }]
}

pub(super) fn begin(path: &str) -> LogState {
    let mut state = LogState::default();
    state.name_session(path_part(path, 1));
    let folder = path_part(path, 2).and_then(unescaped);
    state.name_work_dir(folder.as_deref().filter(|folder| folder.starts_with('/')));
    state
}

pub(super) fn read_line(state: &mut LogState, line: &str) -> Option<LogObservation> {
    let object = state.object(line)?;
    let parameters = object.get("params").and_then(Value::as_object)?;
    state.name_session(text(parameters, "sessionId"));
    let update = parameters.get("update").and_then(Value::as_object)?;
    let at = milliseconds(parameters.get("_meta").and_then(|meta| meta.get("agentTimestampMs")));
    let doing = match text(update, "sessionUpdate")? {
        "tool_call" => {
            begin_call(state, update);
            return None;
        }
        "tool_call_update" => {
            end_call(state, update, at);
            return None;
        }
        "user_message_chunk" => Activity::Working,
        "turn_completed" if text(update, "stop_reason") == Some("cancelled") => state.break_off(),
        "turn_completed" => state.rest(),
        _ => return None,
    };
    Some(LogObservation::certain(at, doing))
}

fn begin_call(state: &mut LogState, call: &Object) {
    let Some(id) = text(call, "toolCallId") else { return };
    let tool = call.get("_meta").and_then(|meta| meta.get("x.ai/tool")?.get("name")?.as_str());
    let tool = tool.or_else(|| text(call, "title")).unwrap_or_default();
    state.begin_call(id, tool, call.get("rawInput").and_then(about));
}

fn end_call(state: &mut LogState, call: &Object, at: Option<Timestamp>) {
    let Some(id) = text(call, "toolCallId") else { return };
    match text(call, "status") {
        Some("completed") => state.end_call(id, at),
        Some("failed") if call.contains_key("rawOutput") => state.end_call(id, at),
        Some("failed") => state.drop_call(id),
        _ => {}
    }
}

/// Replaces escapes as in `%2Fhome`.
fn unescaped(name: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let mut digit = || char::from(rest.next()?).to_digit(16);
            let (high, low) = (digit()?, digit()?);
            bytes.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}
