//! Decodes payloads of Droid into events.

use anyhook_model::json::{self, FieldRole, Object, OpaqueField};
use anyhook_model::{Caller, DecodeError, Event, EventKind, ToolCall};
use serde_json::Value;

use super::capabilities::{OTHER_TOOLS, TOOLS};
use crate::common::{Common, PromptSource, note_mcp};
use crate::payload::Payload;

/// The values in a payload that only hooks need.
pub const OPAQUE_FIELDS: &[OpaqueField] = &[
    OpaqueField { path: &["tool_input"], role: FieldRole::Input },
    OpaqueField { path: &["tool_response"], role: FieldRole::Other },
];

/// Its names of fields of the common format.
const FIELDS: &[(&str, &str)] =
    &[("task_name", "agent_type"), ("task_result", "last_assistant_message")];

/// What the model says of the risk of a command. Droid drops it if a hook changes the command, so
/// it must not be part of what identifies a call.
const RISK: [&str; 2] = ["riskLevel", "riskLevelReason"];

/// Its tool that applies patches.
const PATCH_TOOL: &str = "ApplyPatch";

pub fn decode(bytes: &[u8], caller: &Caller) -> Result<Vec<Event>, DecodeError> {
    let mut payload = Payload::read(bytes)?;
    payload.rename(FIELDS);
    move_risk(&mut payload);
    let is_patch = unwrap_patch(&mut payload);
    let common =
        Common { host: "droid", tools: TOOLS, others: OTHER_TOOLS, prompt: PromptSource::Anybody };
    note_mcp(&mut payload, &common, |name| name.split_once("___"));
    let mut events = common.decode_payload(payload, caller, |native| {
        Some(match native {
            "SessionStart" => EventKind::SessionStart,
            "SessionEnd" => EventKind::SessionEnd,
            "UserPromptSubmit" => EventKind::BeforeAgent,
            "PreToolUse" => EventKind::BeforeTool,
            "PostToolUse" => EventKind::AfterTool,
            "Stop" => EventKind::BeforeStop,
            "SubagentStop" => EventKind::SubagentStop,
            "PreCompact" => EventKind::PreCompact,
            "Notification" => EventKind::Notification,
            _ => return None,
        })
    })?;
    let calls = events.iter_mut().filter_map(|event| event.tool.as_mut());
    for native in calls.filter_map(|call| call.native.as_mut()).filter(|_| is_patch) {
        PATCH_TOOL.clone_into(&mut native.tool_name);
    }
    Ok(events)
}

/// Returns a changed input, which Droid merges into the one that the model gave: a field that was
/// removed would stay.
pub fn merged_input(call: &ToolCall, input: Value) -> Result<Value, String> {
    let native = call.native.as_ref().and_then(|native| native.tool_input.as_object());
    let is_missing = |name: &&String| input.get(name.as_str()).is_none();
    match native.and_then(|fields| fields.keys().find(is_missing)) {
        Some(name) => Err(format!("Droid keeps `{name}`, which a hook cannot remove")),
        None => Ok(input),
    }
}

/// Moves what the model says of a command's risk out of the call, to the other fields of the event.
fn move_risk(payload: &mut Payload) {
    let Some(Value::Object(input)) = payload.fields.get_mut("tool_input") else { return };
    let moved = RISK.map(|name| (name, json::remove(input, name)));
    for (name, value) in moved {
        if let Some(value) = value {
            payload.fields.insert(name.to_owned(), value);
        }
    }
}

/// Gives a patch the name that it has for every agent, so that it is read as one; returns whether
/// this is a patch.
///
/// What the model sends as `{"input": PATCH}` arrives as the text of that object, in another
/// `input`.
fn unwrap_patch(payload: &mut Payload) -> bool {
    if payload.fields.get("tool_name").is_none_or(|name| name != PATCH_TOOL) {
        return false;
    }
    payload.fields.insert("tool_name".to_owned(), "apply_patch".into());
    let inner = |input: &Value| {
        let object: Object = serde_json::from_str(input.get("input")?.as_str()?).ok()?;
        object.get("input").is_some_and(Value::is_string).then_some(object)
    };
    if let Some(inner) = payload.fields.get("tool_input").and_then(inner) {
        payload.fields.insert("tool_input".to_owned(), Value::Object(inner));
    }
    true
}
