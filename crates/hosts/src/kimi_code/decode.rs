//! Decodes payloads of Kimi Code into events.

use anyhook_model::json::{FieldRole, OpaqueField};
use anyhook_model::{Caller, DecodeError, Event, EventKind};
use serde_json::Value;

use super::capabilities::{OTHER_TOOLS, TOOLS};
use crate::common::{Common, PromptSource};
use crate::payload::Payload;

/// The values in a payload that only hooks need.
pub const OPAQUE_FIELDS: &[OpaqueField] = &[
    OpaqueField { path: &["tool_input"], role: FieldRole::Input },
    OpaqueField { path: &["tool_output"], role: FieldRole::Other },
];

/// Its names of fields of the common format.
const FIELDS: &[(&str, &str)] = &[
    ("tool_call_id", "tool_use_id"),
    ("tool_output", "tool_response"),
    ("agent_name", "agent_type"),
    ("response", "last_assistant_message"),
    ("body", "message"),
];

/// The agent that the person talks to; others are its subagents.
const MAIN_AGENT: &str = "main";

pub fn decode(bytes: &[u8], caller: &Caller) -> Result<Vec<Event>, DecodeError> {
    let mut payload = Payload::read(bytes)?;
    payload.rename(FIELDS);
    if let Some(prompt) = payload.fields.get("prompt").and_then(prompt_text) {
        payload.fields.insert("prompt".to_owned(), prompt.into());
    }
    let message = payload.fields.get("error").and_then(|error| error.get("message")).cloned();
    if let Some(message) = message {
        payload.fields.insert("error".to_owned(), message);
    }
    let common = Common {
        host: "kimi-code",
        tools: TOOLS,
        others: OTHER_TOOLS,
        prompt: PromptSource::Anybody,
    };
    let mut events = common.decode_payload(payload, caller, |native| {
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
    })?;
    for event in &mut events {
        event.agent.take_if(|agent| agent == MAIN_AGENT);
        if was_not_accepted(event) {
            event.kind = EventKind::Other("call_not_accepted".to_owned());
        }
    }
    Ok(events)
}

/// Returns whether an event is about a call of a tool that does not exist, or with an input that the tool
/// does not take: no hook is asked about it, and nothing was executed that could have failed.
fn was_not_accepted(event: &Event) -> bool {
    let error = event.data.get("error").and_then(Value::as_str);
    let (Some(tool), Some(error)) = (&event.tool, error) else { return false };
    let native = tool.native.as_ref().map_or(&tool.name, |native| &native.tool_name);
    event.kind == EventKind::AfterToolFailure
        && (error == format!("Tool \"{native}\" not found")
            || error.starts_with(&format!("Invalid args for tool \"{native}\": ")))
}

/// Returns the text of a prompt that is a list of parts.
fn prompt_text(prompt: &Value) -> Option<String> {
    let parts = prompt.as_array()?.iter();
    let texts: Vec<&str> = parts.filter_map(|part| part.get("text")?.as_str()).collect();
    Some(texts.join("\n"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_prompt_is_what_the_person_wrote() {
        let parts = json!([
            {"type": "text", "text": "look at"}, {"type": "image_url", "image_url": {"url": "x"}},
            {"type": "text", "text": "this"},
        ]);
        assert_eq!(prompt_text(&parts).as_deref(), Some("look at\nthis"));
        assert_eq!(prompt_text(&json!("text")), None);
    }
}
