//! Decodes payloads of Copilot CLI into events, in both of its dialects.

use anyhook_model::json::{self, FieldRole, OpaqueField};
use anyhook_model::{Caller, DecodeError, Event, EventKind};
use serde_json::Value;

use super::capabilities::{OTHER_TOOLS, TOOLS};
use crate::common::{Common, PromptSource, note_mcp};
use crate::payload::Payload;

/// The values in a payload that only hooks need; a tool's output is examined, because it shows
/// whether a command failed.
pub const OPAQUE_FIELDS: &[OpaqueField] = &[
    OpaqueField { path: &["tool_input"], role: FieldRole::Input },
    OpaqueField { path: &["toolArgs"], role: FieldRole::Input },
    OpaqueField { path: &["toolInput"], role: FieldRole::Input },
];

const COMMON: Common = Common {
    host: "copilot",
    tools: TOOLS,
    others: OTHER_TOOLS,
    // A stop that was blocked is continued with the reason as a prompt.
    prompt: PromptSource::Returned,
};

/// Fields that the common format reads and that have other names here.
const RENAMED: [(&str, &str); 9] = [
    ("sessionId", "session_id"),
    ("toolName", "tool_name"),
    ("toolArgs", "tool_input"),
    ("toolInput", "tool_input"),
    ("toolResult", "tool_response"),
    ("tool_result", "tool_response"),
    ("agentId", "agent_id"),
    ("agentType", "agent_type"),
    ("response", "last_assistant_message"),
];

pub fn decode(bytes: &[u8], caller: &Caller) -> Result<Vec<Event>, DecodeError> {
    let mut payload = Payload::read(bytes)?;
    if !payload.fields.contains_key("hook_event_name")
        && let Some(name) = event_name(&payload)
    {
        payload.fields.insert("hook_event_name".to_owned(), name);
    }
    for (native, common) in RENAMED {
        if !payload.fields.contains_key(common)
            && let Some(value) = json::remove(&mut payload.fields, native)
        {
            payload.fields.insert(common.to_owned(), value);
        }
    }
    name_patch(&mut payload);
    note_mcp(&mut payload, &COMMON, server_and_tool);
    let is_subagent = payload.fields.get("agent_id").is_some_and(Value::is_string);
    let parent = ["parent_agent_id", "parentAgentId"]
        .into_iter()
        .find_map(|name| payload.fields.get(name).and_then(Value::as_str).map(str::to_owned));
    let mut events = COMMON.decode_payload(payload, caller, |native| {
        Some(match native {
            "SessionStart" | "sessionStart" => EventKind::SessionStart,
            "SessionEnd" | "sessionEnd" => EventKind::SessionEnd,
            // What a subagent is sent and how its turn ends; its end is reported on its own.
            "UserPromptSubmit" | "userPromptSubmitted" if is_subagent => other("subagent_prompt"),
            "Stop" | "agentStop" if is_subagent => other("subagent_turn_end"),
            "UserPromptSubmit" | "userPromptSubmitted" => EventKind::BeforeAgent,
            "Stop" | "agentStop" => EventKind::BeforeStop,
            "PreToolUse" | "preToolUse" => EventKind::BeforeTool,
            "PermissionRequest" | "permissionRequest" => EventKind::PermissionRequest,
            "PostToolUse" | "postToolUse" => EventKind::AfterTool,
            "PostToolUseFailure" | "postToolUseFailure" => EventKind::AfterToolFailure,
            "SubagentStart" | "subagentStart" => EventKind::SubagentStart,
            "SubagentStop" | "subagentStop" => EventKind::SubagentStop,
            "PreCompact" | "preCompact" => EventKind::PreCompact,
            "Notification" | "notification" => EventKind::Notification,
            "userPromptTransformed" => other("prompt_transformed"),
            "ErrorOccurred" | "errorOccurred" => other("ErrorOccurred"),
            _ => return None,
        })
    })?;
    for event in &mut events {
        // A subagent has a session of its own; for hooks it is part of the parent's session.
        if let Some(parent) = &parent {
            event.session = Some(parent.clone());
        }
        find_failure(event);
    }
    Ok(events)
}

fn other(name: &str) -> EventKind {
    EventKind::Other(name.to_owned())
}

/// Returns the name of the event that a payload is about, if the payload does not contain it: only
/// its fields differ. A payload with a tool and no result is about a call that has yet to run.
fn event_name(payload: &Payload) -> Option<Value> {
    let has = |name: &str| payload.fields.contains_key(name);
    if let Some(name) = payload.fields.get("hookName") {
        return Some(name.clone());
    }
    let is_stop = has("stopReason") || has("stop_reason");
    let name = if has("toolName") || has("toolArgs") {
        match () {
            () if has("toolResult") => "postToolUse",
            () if has("error") => "postToolUseFailure",
            () => "preToolUse",
        }
    } else if has("transformedPrompt") {
        "userPromptTransformed"
    } else if has("prompt") {
        "userPromptSubmitted"
    } else if has("errorContext") {
        "errorOccurred"
    } else if has("agentName") {
        if is_stop { "subagentStop" } else { "SubagentStart" }
    } else if is_stop {
        "agentStop"
    } else if has("trigger") {
        "preCompact"
    } else if has("reason") {
        "sessionEnd"
    } else if has("source") {
        "sessionStart"
    } else {
        return None;
    };
    Some(name.into())
}

/// Gives a patch the name of its tool: in one dialect it is called `Edit`, as the tool that replaces
/// a text is, but its input is a text.
fn name_patch(payload: &mut Payload) {
    if payload.fields.get("tool_input").is_some_and(Value::is_string)
        && payload.fields.get("tool_name").is_some_and(|name| name == "Edit")
    {
        payload.fields.insert("tool_name".to_owned(), "apply_patch".into());
    }
}

/// Returns the server and the tool in the name of an MCP tool. Both may contain what is between them:
/// apart from its own server, a server is taken to end at the first dash.
fn server_and_tool(name: &str) -> Option<(&str, &str)> {
    match name.strip_prefix(OWN_SERVER).and_then(|rest| rest.strip_prefix('-')) {
        Some(tool) => Some((OWN_SERVER, tool)),
        None => name.split_once('-'),
    }
}

/// The MCP server that comes with it.
const OWN_SERVER: &str = "github-mcp-server";

/// Changes the kind of an event if the tool is a shell and its command failed: the agent considers
/// that a success and reports the exit code in the last line of the result.
fn find_failure(event: &mut Event) {
    if event.kind != EventKind::AfterTool {
        return;
    }
    let is_shell = event.tool.as_ref().is_some_and(|tool| tool.name == "Shell");
    let output = event.data.get("tool_output");
    let text = output.and_then(|output| {
        let text = output.get("text_result_for_llm").or_else(|| output.get("textResultForLlm"));
        text?.as_str()
    });
    let code = text.filter(|_| is_shell).and_then(exit_code);
    if let Some(code) = code.filter(|code| *code != 0) {
        event.kind = EventKind::AfterToolFailure;
        event.data.insert("error".to_owned(), format!("exit {code}").into());
    }
}

/// Extracts the exit code from a line such as `<shellId: 0 completed with exit code 3>`.
fn exit_code(text: &str) -> Option<i64> {
    let line = text.trim_end().lines().next_back()?;
    let line = line.strip_prefix("<shellId: ")?.strip_suffix('>')?;
    line.split_once(" completed with exit code ")?.1.parse().ok()
}
