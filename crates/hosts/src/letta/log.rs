//! Reads the lines of a conversation of the local backend: what they say about the agent's state, and
//! the calls it has executed.
//!
//! Observed with 0.25.9: hooks are told an agent and a folder. The agent is in each message, the
//! folder only in what the agent is told about its surroundings when a person connects: so the calls
//! of a conversation without that, such as a subagent's, cannot be joined with anything. Only the
//! result of a call with an input that the tool does not take is marked as failed, and many
//! times count from a fixed date.

use anyhook_model::json::Object;
use serde_json::Value;

use super::FOLDER;
use crate::log::{
    Activity, ExecutedCall, LogFormat, LogLocation, LogObservation, LogRoots, LogState, about, text,
};

/// How results begin of calls that were not executed.
const NOT_EXECUTED: [&str; 4] = [
    "Error: Tool execution blocked by hook.",
    "Error: request to call tool denied.",
    "Tool execution denied.",
    "Tool not found: ",
];

/// What is before the folder in what an agent is told about its surroundings.
const BEFORE_FOLDER: &str = "\n- **Current working directory**: ";

pub(super) fn places(homes: &LogRoots) -> Vec<LogLocation> {
    vec![LogLocation {
        folder: homes.home.join(FOLDER).join("lc-local-backend/conversations"),
        names: &["*", "messages.jsonl"],
        form: LogFormat::Lines,
    }]
}

pub(super) fn read_line(state: &mut LogState, line: &str) -> Option<LogObservation> {
    let message = state.object(line)?;
    let content = message.get("content").and_then(Value::as_array)?;
    let blocks = content.iter().filter_map(Value::as_object);
    match text(&message, "role")? {
        "user" => {
            let texts = blocks.filter_map(|block| text(block, "text"));
            if let Some(folder) = texts.filter_map(folder_in).next_back() {
                state.name_work_dir(Some(folder));
                let session = session(state, &message);
                state.name_session(session.as_deref());
            }
        }
        "assistant" => {
            let mut has_call = false;
            for call in blocks.filter(|block| text(block, "type") == Some("toolCall")) {
                let (id, tool) = (text(call, "id")?, text(call, "name")?);
                has_call = true;
                state.begin_call(id, tool, call.get("arguments").and_then(about));
            }
            return Some(if has_call {
                LogObservation::certain(None, Activity::Working)
            } else {
                LogObservation::likely(None, state.rest())
            });
        }
        "toolResult" => {
            let id = text(&message, "toolCallId")?;
            let said: String = blocks.filter_map(|block| text(block, "text")).collect();
            end_call(state, &message, id, &said);
        }
        _ => {}
    }
    None
}

fn end_call(state: &mut LogState, message: &Object, id: &str, said: &str) {
    let is_refused = message.get("isError") == Some(&Value::Bool(true))
        || NOT_EXECUTED.iter().any(|start| said.starts_with(start));
    let session = session(state, message).filter(|_| !is_refused);
    let Some(session) = session else { return state.drop_call(id) };
    let begun = state.begun.iter().find(|begun| begun.id == id);
    let about = begun.and_then(|begun| begun.about.clone());
    state.drop_call(id);
    state.executed(ExecutedCall {
        id: Some(id.to_owned()),
        tool: text(message, "toolName").map(str::to_owned),
        about,
        session: Some(session),
        ..ExecutedCall::default()
    });
}

/// Returns the session that hooks are told, if the folder is known.
fn session(state: &LogState, message: &Object) -> Option<String> {
    let agent = message.get("metadata")?.get("agent_id")?.as_str()?;
    Some(format!("{agent}:{}", state.work_dir.as_deref()?))
}

/// Finds the folder in what an agent is told about its surroundings.
fn folder_in(told: &str) -> Option<&str> {
    let told = told.strip_prefix("<system-reminder>")?;
    let (_, rest) = told.split_once(BEFORE_FOLDER)?;
    rest.lines().next().map(str::trim)
}
