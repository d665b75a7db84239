//! Decodes what our extension sends into events.

use anyhook_model::json::{FieldRole, OpaqueField};
use anyhook_model::{Caller, DecodeError, Event, EventKind};
use serde_json::Value;

use crate::common::Common;

/// The values in a payload that only hooks need.
pub(crate) const OPAQUE_FIELDS: &[OpaqueField] = &[
    OpaqueField { path: &["tool_input"], role: FieldRole::Input },
    OpaqueField { path: &["tool_response"], role: FieldRole::Other },
];

/// Decodes a payload.
pub(crate) fn decode(
    common: &Common,
    bytes: &[u8],
    caller: &Caller,
) -> Result<Vec<Event>, DecodeError> {
    let mut events = common.decode(bytes, caller, |native| {
        Some(match native {
            "session_start" => EventKind::SessionStart,
            "session_shutdown" => EventKind::SessionEnd,
            "input" | "before_agent_start" => EventKind::BeforeAgent,
            "tool_call" => EventKind::BeforeTool,
            "tool_result" => EventKind::AfterTool,
            "agent_before_settle" | "session_stop" => EventKind::BeforeStop,
            "session_before_compact" => EventKind::PreCompact,
            "session_compact" => EventKind::PostCompact,
            "tool_approval_requested" => EventKind::Notification,
            _ => return None,
        })
    })?;
    for event in &mut events {
        correct(event);
    }
    Ok(events)
}

/// Corrects an event that is more special than its name says.
pub(crate) fn correct(event: &mut Event) {
    match event.kind {
        EventKind::SessionStart if event.agent.is_some() => event.kind = EventKind::SubagentStart,
        EventKind::SessionEnd if event.agent.is_some() => event.kind = EventKind::SubagentStop,
        EventKind::AfterTool if event.raw.get("is_error") == Some(&Value::Bool(true)) => {
            event.kind = EventKind::AfterToolFailure;
            let error = match event.raw.get("exit_code").and_then(Value::as_i64) {
                Some(code) => format!("exit {code}").into(),
                None => event.data.get("tool_output").cloned().unwrap_or_default(),
            };
            event.data.insert("error".to_owned(), error);
        }
        _ => {}
    }
}
