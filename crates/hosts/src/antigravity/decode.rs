//! Decodes payloads of Antigravity CLI, which do not name their event, into events.

use anyhook_model::json::{FieldRole, OpaqueField};
use anyhook_model::{Caller, DecodeError, Event, EventKind};

use super::capabilities::{OTHER_TOOLS, TOOLS};
use crate::common::{Common, PromptSource};
use crate::payload::Payload;

/// The values in a payload that only hooks need.
pub const OPAQUE_FIELDS: &[OpaqueField] =
    &[OpaqueField { path: &["toolCall", "args"], role: FieldRole::Input }];

/// Its names of fields that have another name in the common format.
const NAMES: &[(&str, &str)] = &[("conversationId", "session_id")];

pub fn decode(bytes: &[u8], caller: &Caller) -> Result<Vec<Event>, DecodeError> {
    let mut payload = Payload::read(bytes)?;
    payload.rename(NAMES);
    if !payload.fields.contains_key("hook_event_name")
        && let Some(event) = event(&payload)
    {
        payload.fields.insert("hook_event_name".to_owned(), event.into());
    }
    if let Some(root) = payload.fields.get("workspacePaths").and_then(|paths| paths.get(0)) {
        let root = root.clone();
        payload.fields.insert("cwd".to_owned(), root);
    }
    if let Some(mut call) = payload.value("toolCall") {
        for (native, common) in [("name", "tool_name"), ("args", "tool_input")] {
            if let Some(value) = call.get_mut(native) {
                payload.fields.insert(common.to_owned(), value.take());
            }
        }
    }
    let common = Common {
        host: "antigravity",
        tools: TOOLS,
        others: OTHER_TOOLS,
        prompt: PromptSource::Anybody,
    };
    common.decode_payload(payload, caller, kind)
}

/// Returns which event a payload is about, by its fields.
fn event(payload: &Payload) -> Option<&'static str> {
    let has = |name: &str| payload.fields.contains_key(name);
    if has("terminationReason") || has("fullyIdle") {
        return Some("Stop");
    }
    match (has("toolCall") || has("stepIdx"), has("error")) {
        (true, true) => Some("PostToolUse"),
        (true, false) => Some("PreToolUse"),
        (false, _) => None,
    }
}

fn kind(native: &str) -> Option<EventKind> {
    Some(match native {
        "PreToolUse" => EventKind::BeforeTool,
        "PostToolUse" => EventKind::AfterTool,
        "Stop" => EventKind::BeforeStop,
        _ => return None,
    })
}
