//! Decodes payloads of Letta Code into events.

use anyhook_model::json::{FieldRole, OpaqueField};
use anyhook_model::{Caller, DecodeError, Event, EventKind};
use serde_json::Value;

use super::capabilities::{OTHER_TOOLS, TOOLS};
use crate::common::{Common, PromptSource};
use crate::payload::Payload;

/// The values in a payload that only hooks need; a tool's result is examined, because it shows
/// whether the tool failed.
pub const OPAQUE_FIELDS: &[OpaqueField] =
    &[OpaqueField { path: &["tool_input"], role: FieldRole::Input }];

/// Its names of fields of the common format.
const FIELDS: &[(&str, &str)] = &[
    ("event_type", "hook_event_name"),
    ("working_directory", "cwd"),
    ("tool_call_id", "tool_use_id"),
    ("tool_result", "tool_response"),
    ("error_message", "error"),
    ("subagent_type", "agent_type"),
    ("assistant_message", "last_assistant_message"),
];

pub fn decode(bytes: &[u8], caller: &Caller) -> Result<Vec<Event>, DecodeError> {
    let mut payload = Payload::read(bytes)?;
    payload.rename(FIELDS);
    name_session(&mut payload);
    let common =
        Common { host: "letta", tools: TOOLS, others: OTHER_TOOLS, prompt: PromptSource::Anybody };
    let mut events = common.decode_payload(payload, caller, |native| {
        Some(match native {
            "SessionStart" => EventKind::SessionStart,
            "SessionEnd" => EventKind::SessionEnd,
            "UserPromptSubmit" => EventKind::BeforeAgent,
            "PreToolUse" => EventKind::BeforeTool,
            "PostToolUse" => EventKind::AfterTool,
            "PostToolUseFailure" => EventKind::AfterToolFailure,
            "Stop" => EventKind::BeforeStop,
            "SubagentStop" => EventKind::SubagentStop,
            "PreCompact" => EventKind::PreCompact,
            "Notification" => EventKind::Notification,
            _ => return None,
        })
    })?;
    for event in events.iter_mut().filter(|event| event.kind == EventKind::AfterTool) {
        let output = event.data.get("tool_output");
        if output.and_then(|output| output.get("status")).is_some_and(|status| status == "error") {
            let error = output.and_then(|output| output.get("output")).cloned();
            event.kind = EventKind::AfterToolFailure;
            event.data.insert("error".to_owned(), error.unwrap_or_default());
        }
    }
    Ok(events)
}

/// Names the session after the agent and its folder: no payload of a tool call names a session, and
/// an agent is kept for months and used in many projects. The guards and counts of one project must
/// not apply to another.
///
/// A subagent is an agent of its own, and so a session of its own.
fn name_session(payload: &mut Payload) {
    let text = |name: &str| payload.fields.get(name).and_then(Value::as_str);
    if text("session_id").is_some() {
        return;
    }
    let Some(agent) = text("agent_id") else { return };
    let session = match text("cwd") {
        Some(folder) => format!("{agent}:{folder}"),
        None => agent.to_owned(),
    };
    payload.value("agent_id");
    payload.fields.insert("session_id".to_owned(), session.into());
}
