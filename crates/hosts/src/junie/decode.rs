//! Decodes payloads of Junie into events.

use anyhook_model::json::{FieldRole, OpaqueField};
use anyhook_model::{Caller, DecodeError, Event, EventKind};

use super::capabilities::TOOLS;
use crate::common::{Common, PromptSource};

/// The values in a payload that only hooks need.
pub const OPAQUE_FIELDS: &[OpaqueField] =
    &[OpaqueField { path: &["tool_input"], role: FieldRole::Input }];

pub fn decode(bytes: &[u8], caller: &Caller) -> Result<Vec<Event>, DecodeError> {
    Common { host: "junie", tools: TOOLS, others: &[], prompt: PromptSource::Anybody }
        .decode(bytes, caller, kind)
}

fn kind(native: &str) -> Option<EventKind> {
    Some(match native {
        "SessionStart" => EventKind::SessionStart,
        "SessionEnd" => EventKind::SessionEnd,
        "UserPromptSubmit" => EventKind::BeforeAgent,
        "PreToolUse" => EventKind::BeforeTool,
        "Stop" => EventKind::BeforeStop,
        _ => return None,
    })
}
