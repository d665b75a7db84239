//! Decodes payloads of Cursor into events.

use anyhook_model::json::{FieldRole, OpaqueField};
use anyhook_model::{Caller, DecodeError, Event, EventKind};

use super::capabilities::{OTHER_TOOLS, TOOLS};
use crate::common::{Common, PromptSource};
use crate::payload::Payload;

/// The values in a payload that only hooks need.
pub const OPAQUE_FIELDS: &[OpaqueField] = &[
    OpaqueField { path: &["tool_input"], role: FieldRole::Input },
    OpaqueField { path: &["tool_response"], role: FieldRole::Other },
];

/// Its names of fields that have another name in the common format.
const NAMES: &[(&str, &str)] = &[
    ("conversation_id", "session_id"),
    ("tool_output", "tool_response"),
    ("error_message", "error"),
    ("duration", "duration_ms"),
    ("subagent_type", "agent_type"),
];

pub fn decode(bytes: &[u8], caller: &Caller) -> Result<Vec<Event>, DecodeError> {
    let mut payload = Payload::read(bytes)?;
    payload.rename(NAMES);
    if !payload.fields.contains_key("cwd")
        && let Some(root) = payload.fields.get("workspace_roots").and_then(|roots| roots.get(0))
    {
        let root = root.clone();
        payload.fields.insert("cwd".to_owned(), root);
    }
    Common { host: "cursor", tools: TOOLS, others: OTHER_TOOLS, prompt: PromptSource::Returned }
        .decode_payload(payload, caller, kind)
}

fn kind(native: &str) -> Option<EventKind> {
    Some(match native {
        "sessionStart" => EventKind::SessionStart,
        "sessionEnd" => EventKind::SessionEnd,
        "beforeSubmitPrompt" => EventKind::BeforeAgent,
        "preToolUse" => EventKind::BeforeTool,
        "postToolUse" => EventKind::AfterTool,
        "postToolUseFailure" => EventKind::AfterToolFailure,
        "stop" => EventKind::BeforeStop,
        "subagentStart" => EventKind::SubagentStart,
        "subagentStop" => EventKind::SubagentStop,
        "preCompact" => EventKind::PreCompact,
        _ => return None,
    })
}
