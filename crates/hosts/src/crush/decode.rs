//! Decodes payloads of Crush into events.

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
const NAMES: &[(&str, &str)] = &[("event", "hook_event_name")];

pub fn decode(bytes: &[u8], caller: &Caller) -> Result<Vec<Event>, DecodeError> {
    let mut payload = Payload::read(bytes)?;
    payload.rename(NAMES);
    Common { host: "crush", tools: TOOLS, others: OTHER_TOOLS, prompt: PromptSource::Anybody }
        .decode_payload(payload, caller, kind)
}

fn kind(native: &str) -> Option<EventKind> {
    Some(match native {
        "PreToolUse" => EventKind::BeforeTool,
        _ => return None,
    })
}
