//! Decodes Cascade's payloads into events: the event says which tool it is.

use anyhook_model::json::{FieldRole, OpaqueField};
use anyhook_model::{Caller, DecodeError, Event, EventKind};
use serde_json::{Value, json};

use super::capabilities::{OTHER_TOOLS, TOOLS};
use crate::common::{Common, PromptSource};
use crate::payload::{Payload, assistant_message};

/// The values in a payload that only hooks need.
pub const OPAQUE_FIELDS: &[OpaqueField] =
    &[OpaqueField { path: &["tool_info"], role: FieldRole::Input }];

/// Its names of fields that have another name in the common format.
const NAMES: &[(&str, &str)] =
    &[("agent_action_name", "hook_event_name"), ("trajectory_id", "session_id")];

pub fn decode(bytes: &[u8], caller: &Caller) -> Result<Vec<Event>, DecodeError> {
    let mut payload = Payload::read(bytes)?;
    payload.rename(NAMES);
    let action = payload.fields.get("hook_event_name").and_then(Value::as_str);
    let action = action.unwrap_or_default().to_owned();
    let info = payload.value("tool_info");
    let said = |name: &str| info.as_ref().and_then(|info| info.get(name)).cloned();
    let response = said("response").and_then(|text| Some(text.as_str()?.to_owned()));
    for (native, common) in
        [("cwd", "cwd"), ("user_prompt", "prompt"), ("mcp_result", "tool_response")]
    {
        if let Some(value) = said(native) {
            payload.fields.insert(common.to_owned(), value);
        }
    }
    if let Some((name, input)) = info.and_then(|info| call(&action, info)) {
        payload.fields.insert("tool_name".to_owned(), name.into());
        payload.fields.insert("tool_input".to_owned(), input);
    }
    let common = Common {
        host: "windsurf",
        tools: TOOLS,
        others: OTHER_TOOLS,
        prompt: PromptSource::Anybody,
    };
    let mut events = common.decode_payload(payload, caller, kind)?;
    for event in events.iter_mut().filter(|event| event.kind == EventKind::AfterAgent) {
        event.data.insert("final_message".to_owned(), assistant_message(response.clone()));
    }
    Ok(events)
}

/// Returns the tool and the input that an action is.
fn call(action: &str, info: Value) -> Option<(String, Value)> {
    let tool = action.strip_prefix("pre_").or_else(|| action.strip_prefix("post_"))?;
    if tool != "mcp_tool_use" {
        let is_tool = TOOLS.iter().any(|known| known.native == tool);
        return is_tool.then(|| (tool.to_owned(), info));
    }
    let text = |name: &str| info.get(name).and_then(Value::as_str).unwrap_or_default();
    let name = format!("mcp__{}__{}", text("mcp_server_name"), text("mcp_tool_name"));
    let input = info.get("mcp_tool_arguments").cloned().unwrap_or_else(|| json!({}));
    Some((name, input))
}

fn kind(native: &str) -> Option<EventKind> {
    Some(match native {
        "pre_user_prompt" => EventKind::BeforeAgent,
        "pre_run_command" | "pre_read_code" | "pre_write_code" | "pre_mcp_tool_use" => {
            EventKind::BeforeTool
        }
        "post_run_command" | "post_read_code" | "post_write_code" | "post_mcp_tool_use" => {
            EventKind::AfterTool
        }
        "post_cascade_response" => EventKind::AfterAgent,
        _ => return None,
    })
}
