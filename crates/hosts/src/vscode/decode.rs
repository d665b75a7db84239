//! Decodes payloads of VS Code into events.

use anyhook_model::json::{FieldRole, OpaqueField};
use anyhook_model::{Caller, DecodeError, Event, EventKind};

use super::capabilities::{OTHER_TOOLS, TOOLS};
use crate::common::{Common, PromptSource};

/// The values in a payload that only hooks need.
pub const OPAQUE_FIELDS: &[OpaqueField] = &[
    OpaqueField { path: &["tool_input"], role: FieldRole::Input },
    OpaqueField { path: &["tool_response"], role: FieldRole::Other },
];

pub fn decode(bytes: &[u8], caller: &Caller) -> Result<Vec<Event>, DecodeError> {
    Common { host: "vscode", tools: TOOLS, others: OTHER_TOOLS, prompt: PromptSource::Anybody }
        .decode(bytes, caller, kind)
}

fn kind(native: &str) -> Option<EventKind> {
    Some(match native {
        "SessionStart" => EventKind::SessionStart,
        "UserPromptSubmit" => EventKind::BeforeAgent,
        "PreToolUse" => EventKind::BeforeTool,
        "PostToolUse" => EventKind::AfterTool,
        "Stop" => EventKind::BeforeStop,
        "SubagentStart" => EventKind::SubagentStart,
        "SubagentStop" => EventKind::SubagentStop,
        "PreCompact" => EventKind::PreCompact,
        _ => return None,
    })
}
