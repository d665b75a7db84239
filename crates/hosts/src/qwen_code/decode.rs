//! Decodes payloads of Qwen Code into events.

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

pub fn decode(bytes: &[u8], caller: &Caller) -> Result<Vec<Event>, DecodeError> {
    let mut payload = Payload::read(bytes)?;
    name_call(&mut payload);
    // Before it continues a turn, it sends an empty prompt, which is not a person's.
    Common { host: "qwen-code", tools: TOOLS, others: OTHER_TOOLS, prompt: PromptSource::Returned }
        .decode_payload(payload, caller, |native| {
            Some(match native {
                "SessionStart" => EventKind::SessionStart,
                "SessionEnd" => EventKind::SessionEnd,
                "UserPromptSubmit" => EventKind::BeforeAgent,
                "PreToolUse" => EventKind::BeforeTool,
                "PermissionRequest" => EventKind::PermissionRequest,
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
        })
}

/// Gives a call the id that the model gave it, by which it is known in the chat, too. The other one is
/// made for hooks alone.
fn name_call(payload: &mut Payload) {
    if let Some(id) = payload.fields.get("tool_call_id").filter(|id| id.is_string()).cloned() {
        payload.fields.insert("tool_use_id".to_owned(), id);
    }
}
