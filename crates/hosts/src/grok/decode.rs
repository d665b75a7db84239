//! Decodes payloads of Grok into events.
//!
//! It sends most fields twice: under its own names (`toolInput`) and under Claude Code's
//! (`tool_input`). Some are there under its own names only.

use std::path::PathBuf;

use anyhook_model::event::CallDoubt;
use anyhook_model::json::{FieldRole, Object, OpaqueField};
use anyhook_model::{Caller, DecodeError, Event, EventKind, ToolCall};
use serde_json::{Value, json};

use super::capabilities::{OTHER_TOOLS, TOOLS};
use crate::common::{Common, PromptSource};
use crate::payload::{Payload, assistant_message};

/// The values in a payload that only hooks need.
pub const OPAQUE_FIELDS: &[OpaqueField] = &[
    OpaqueField { path: &["tool_input"], role: FieldRole::Input },
    OpaqueField { path: &["tool_response"], role: FieldRole::Other },
    OpaqueField { path: &["toolInput"], role: FieldRole::Other },
    OpaqueField { path: &["toolResult"], role: FieldRole::Other },
];

pub fn decode(bytes: &[u8], caller: &Caller) -> Result<Vec<Event>, DecodeError> {
    let common =
        Common { host: "grok", tools: TOOLS, others: OTHER_TOOLS, prompt: PromptSource::Anybody };
    let mut events = common.decode(bytes, caller, |native| {
        Some(match native {
            "SessionStart" => EventKind::SessionStart,
            "SessionEnd" => EventKind::SessionEnd,
            "UserPromptSubmit" => EventKind::BeforeAgent,
            "PreToolUse" => EventKind::BeforeTool,
            "PostToolUse" => EventKind::AfterTool,
            "PostToolUseFailure" => EventKind::AfterToolFailure,
            "Stop" => EventKind::BeforeStop,
            "SubagentStart" => EventKind::SubagentStart,
            "SubagentStop" => EventKind::SubagentStop,
            "PreCompact" => EventKind::PreCompact,
            "PostCompact" => EventKind::PostCompact,
            "Notification" => EventKind::Notification,
            _ => return None,
        })
    })?;
    if events.first().is_some_and(is_end_of_session) {
        // Nothing follows it that could be held back.
        events.truncate(1);
        for event in &mut events {
            event.kind = EventKind::Other("shutdown".to_owned());
        }
    }
    events.iter_mut().for_each(own_fields);
    Ok(events)
}

/// Returns whether a payload is one of Grok: Claude Code's have no second name for the event.
pub fn is_own(bytes: &[u8]) -> bool {
    Payload::read(bytes).is_ok_and(|payload| payload.fields.contains_key("hookEventName"))
}

/// Puts a changed input of an MCP tool back into the call that contains it.
pub fn wrapped_input(call: &ToolCall, input: Value) -> Value {
    match &call.native {
        Some(native) if inner_call(&native.tool_name, &native.tool_input).is_some() => {
            json!({"tool_name": native.tool_name, "tool_input": input})
        }
        _ => input,
    }
}

/// Returns whether this is the second `Stop`, at the end of a session.
fn is_end_of_session(event: &Event) -> bool {
    let reason = event.raw.get("reason").and_then(Value::as_str);
    event.kind == EventKind::BeforeStop && matches!(reason, Some("shutdown" | "channel_closed"))
}

/// Moves the fields that are there under its own names only.
fn own_fields(event: &mut Event) {
    // They are sent with a slash at the end.
    let plain = |path: &PathBuf| path.components().collect();
    event.project_dir = event.project_dir.as_ref().map(plain);
    let is_repeated = |fields: &Object, own: &str, common: &Value| fields.get(own) == Some(common);
    if let Some(call) = &mut event.tool {
        // The same again: it is in the call already.
        let native = call.native.as_ref().map(|native| &native.tool_input);
        if native.is_some_and(|input| is_repeated(&event.raw, "toolInput", input)) {
            event.raw.remove("toolInput");
        }
        if event.raw.get("toolInputTruncated") == Some(&Value::Bool(true)) {
            event.doubt = event.doubt.or(Some(CallDoubt::Cut));
        }
        mcp(call, &mut event.raw);
    }
    if event.data.get("tool_output").is_some_and(|own| is_repeated(&event.raw, "toolResult", own)) {
        event.raw.remove("toolResult");
    }
    let text = |name: &str| match event.raw.get(name) {
        Some(Value::String(text)) if !text.is_empty() => Some(text.clone()),
        _ => None,
    };
    let subagent = text("subagentType");
    let id = text("subagentId");
    let message = text("lastAssistantMessage");
    let notification = text("notificationType");
    let trigger = text("source");
    let task = text("description");
    if event.agent.is_none() {
        // A subagent has a session of its own, and its parent tells of its start.
        event.agent = id.or_else(|| subagent.clone());
    }
    let mut fill = |name: &str, value: Value| event.data.insert(name.to_owned(), value);
    match event.kind {
        // What an agent tells its subagent is not a person's prompt.
        EventKind::BeforeAgent if subagent.is_some() => {
            event.kind = EventKind::Other("continuation".to_owned());
        }
        EventKind::BeforeStop | EventKind::AfterAgent => {
            fill("final_message", assistant_message(message));
        }
        EventKind::SubagentStart | EventKind::SubagentStop => {
            fill("subagent_type", subagent.map_or(Value::Null, Value::String));
            fill("task_description", task.map_or(Value::Null, Value::String));
            if event.kind == EventKind::SubagentStop {
                fill("final_message", assistant_message(message));
            }
        }
        EventKind::PreCompact | EventKind::PostCompact => {
            fill("trigger", trigger.map_or(Value::Null, Value::String));
        }
        EventKind::Notification => {
            let kind = match notification.as_deref() {
                Some("idle_prompt") => "idle",
                Some("permission_prompt") => "permission_prompt",
                _ => "other",
            };
            fill("kind", kind.into());
        }
        _ => {}
    }
}

/// Makes a call of an MCP tool one in canonical names: its own arguments are one level down.
fn mcp(call: &mut ToolCall, raw: &mut Object) {
    let Some(native) = &call.native else { return };
    let Some((server, tool, input)) = inner_call(&native.tool_name, &native.tool_input) else {
        return;
    };
    raw.insert("mcp".to_owned(), json!({"server": server, "tool": tool}));
    let input = input.clone();
    "Mcp".clone_into(&mut call.name);
    call.also = &[];
    call.input = input;
}

/// Returns the server, the tool and the arguments of a call of an MCP tool.
fn inner_call<'call>(
    name: &'call str,
    input: &'call Value,
) -> Option<(&'call str, &'call str, &'call Value)> {
    let (server, tool) = name.split_once("__")?;
    let is_wrapped = input.as_object()?.len() == 2 && input.get("tool_name")? == name;
    let inner = input.get("tool_input").filter(|inner| inner.is_object())?;
    is_wrapped.then_some((server, tool, inner))
}
