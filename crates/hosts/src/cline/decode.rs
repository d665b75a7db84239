//! Decodes payloads of Cline into events.
//!
//! A payload has Cline's internal name of the event, and the call in an object of its own; an input
//! that is there a second time, with texts for all values, is dropped.

use anyhook_model::event::CallDoubt;
use anyhook_model::json::{FieldRole, Object, OpaqueField, remove};
use anyhook_model::{Caller, DecodeError, Event, EventKind, ToolCall};
use serde_json::{Value, json};

use super::capabilities::{OTHER_TOOLS, TOOLS};
use super::parts::Parts;
use super::refusal;
use crate::common::{Common, PromptSource};
use crate::payload::{Payload, assistant_message};
use crate::tool;

/// The values in a payload that only hooks need: what is repeated. The call itself is examined.
pub const OPAQUE_FIELDS: &[OpaqueField] = &[
    OpaqueField { path: &["preToolUse"], role: FieldRole::Other },
    OpaqueField { path: &["postToolUse"], role: FieldRole::Other },
];

/// Its internal names of events, and those of the files that are called.
const EVENTS: [(&str, &str); 9] = [
    ("agent_start", "TaskStart"),
    ("agent_resume", "TaskResume"),
    ("agent_end", "TaskComplete"),
    ("agent_error", "TaskError"),
    ("agent_abort", "TaskCancel"),
    ("prompt_submit", "UserPromptSubmit"),
    ("tool_call", "PreToolUse"),
    ("tool_result", "PostToolUse"),
    ("session_shutdown", "SessionShutdown"),
];

/// The fields of a call, and their names in the common format.
const CALL_FIELDS: [(&str, &str); 5] = [
    ("id", "tool_use_id"),
    ("name", "tool_name"),
    ("output", "tool_response"),
    ("error", "error"),
    ("durationMs", "duration_ms"),
];

const COMMON: Common =
    Common { host: "cline", tools: TOOLS, others: OTHER_TOOLS, prompt: PromptSource::Anybody };

/// What a payload's call does besides the first thing.
struct FurtherParts {
    tool: String,
    inputs: Vec<Value>,
    fixed: Option<&'static str>,
    /// Whether there are as many results as things that it does.
    has_results: bool,
    /// Whether it does more than is examined.
    is_cut: bool,
    /// Whether it is one that we refused, and which has failed for that.
    is_refused: bool,
}

/// How many things of a call are examined; one that does more is denied by guards that must not fail.
const MOST_PARTS: usize = 256;

pub fn decode(bytes: &[u8], caller: &Caller) -> Result<Vec<Event>, DecodeError> {
    let mut payload = Payload::read(bytes)?;
    name_event(&mut payload);
    let is_subagent = name_agent(&mut payload);
    let message = own_fields(&mut payload);
    let further = take_call(&mut payload);
    let mut events = COMMON.decode_payload(payload, caller, |native| kind(native, is_subagent))?;
    for event in &mut events {
        if matches!(event.kind, EventKind::AfterAgent | EventKind::SubagentStop) {
            event.data.insert("final_message".to_owned(), assistant_message(message.clone()));
        }
    }
    if let Some(further) = further {
        add_parts(&mut events, further);
    }
    Ok(events)
}

fn kind(native: &str, is_subagent: bool) -> Option<EventKind> {
    Some(match native {
        "TaskStart" | "TaskResume" if is_subagent => EventKind::SubagentStart,
        "TaskComplete" | "TaskError" | "TaskCancel" if is_subagent => EventKind::SubagentStop,
        "TaskStart" | "TaskResume" => EventKind::SessionStart,
        "TaskComplete" | "TaskError" | "TaskCancel" => EventKind::AfterAgent,
        "UserPromptSubmit" => EventKind::BeforeAgent,
        "PreToolUse" => EventKind::BeforeTool,
        "PostToolUse" => EventKind::AfterTool,
        _ => return None,
    })
}

/// Gives the event the name of the file that is called.
fn name_event(payload: &mut Payload) {
    if payload.fields.contains_key("hook_event_name") {
        return;
    }
    let Some(name) = payload.value("hookName") else { return };
    let known = EVENTS.iter().find(|(own, _)| name == *own);
    let name = known.map_or(name, |(_, file)| (*file).into());
    payload.fields.insert("hook_event_name".to_owned(), name);
}

/// Leaves the agent's id only if it is a subagent, which has a parent; returns whether it is one.
fn name_agent(payload: &mut Payload) -> bool {
    let is_subagent = payload.fields.get("parent_agent_id").is_some_and(Value::is_string);
    if !is_subagent && let Some(id) = payload.value("agent_id") {
        payload.fields.insert("main_agent_id".to_owned(), id);
    }
    is_subagent
}

/// Moves fields out of their objects, and drops what is repeated; returns the agent's last message.
fn own_fields(payload: &mut Payload) -> Option<String> {
    let fields = &mut payload.fields;
    let inner = |object: &str, name: &str| fields.get(object)?.get(name)?.as_str();
    let folder = fields.get("workspaceRoots").and_then(|roots| roots.get(0)?.as_str());
    let message = inner("turn", "outputText").map(str::to_owned);
    let moved = [
        ("session_id", inner("sessionContext", "rootSessionId")),
        ("cwd", folder),
        ("prompt", inner("userPromptSubmit", "prompt")),
    ]
    .map(|(name, value)| (name, value.map(str::to_owned)));
    for (name, value) in moved {
        if let Some(value) = value.filter(|_| !fields.contains_key(name)) {
            fields.insert(name.to_owned(), value.into());
        }
    }
    for repeated in ["preToolUse", "postToolUse"] {
        remove(fields, repeated);
    }
    message
}

/// Moves the call out of its object, as the first thing that it does; returns what else it does.
fn take_call(payload: &mut Payload) -> Option<FurtherParts> {
    let object = ["tool_call", "tool_result"].into_iter().find_map(|name| payload.value(name))?;
    let Value::Object(mut call) = object else { return None };
    let text = |call: &Object, name: &str| {
        call.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let (tool, call_id) = (text(&call, "name"), text(&call, "id"));
    let input = remove(&mut call, "input").unwrap_or_default();
    let is_refused = call.contains_key("output") && refusal::is_refused(&tool, &call_id, &input);
    if let Some((server, name)) = mcp(&tool) {
        let context = json!({"server_name": server, "tool_name": name});
        payload.fields.insert("mcp_context".to_owned(), context);
    }
    for (own, common) in CALL_FIELDS {
        if let Some(value) = remove(&mut call, own) {
            payload.fields.insert(common.to_owned(), value);
        }
    }
    payload.fields.extend(call);
    let Parts { mut inputs, fixed, is_list } = Parts::of(&tool, input);
    let results = payload.fields.get("tool_response").and_then(Value::as_array).map(Vec::len);
    let has_results = is_list && results == Some(inputs.len());
    let is_cut = inputs.len() > MOST_PARTS;
    inputs.truncate(MOST_PARTS);
    payload.fields.insert("tool_input".to_owned(), inputs.remove(0));
    Some(FurtherParts { tool, inputs, fixed, has_results, is_cut, is_refused })
}

/// Returns the server and the tool, if a tool is one of an MCP server.
fn mcp(tool: &str) -> Option<(&str, &str)> {
    let is_known = tool::is_known(TOOLS, OTHER_TOOLS, tool);
    tool.split_once("__").filter(|(server, _)| !is_known && !server.is_empty())
}

/// Adds an event for each further thing that a call does.
fn add_parts(events: &mut Vec<Event>, further: FurtherParts) {
    let Some(first) = events.first().filter(|event| event.tool.is_some()).cloned() else { return };
    if further.is_refused {
        // It has not run, so nothing has failed.
        events.truncate(1);
        events[0].kind = EventKind::Other("refused_call".to_owned());
        return;
    }
    let use_id = first.tool.as_ref().and_then(|call| call.use_id.clone());
    for input in further.inputs {
        let name = further.tool.clone();
        let call = tool::canonical(TOOLS, OTHER_TOOLS, name, input, use_id.clone());
        events.push(Event { tool: Some(call), ..first.clone() });
    }
    let results = match first.data.get("tool_output") {
        Some(Value::Array(results)) if further.has_results => results.clone(),
        _ => Vec::new(),
    };
    let mut results = results.into_iter();
    for event in events {
        if let Some(result) = results.next() {
            event.data.insert("tool_output".to_owned(), result);
        }
        if further.is_cut {
            event.doubt = event.doubt.or(Some(CallDoubt::Cut));
        }
        find_failure(event);
        let Some(call) = &mut event.tool else { continue };
        call.fixed = call.fixed.or(further.fixed);
        name_new_file(call);
    }
}

/// Changes the kind of an event if the tool failed.
fn find_failure(event: &mut Event) {
    if event.kind != EventKind::AfterTool {
        return;
    }
    let output = event.data.get("tool_output");
    let has_failed = output.and_then(|output| output.get("success")) == Some(&Value::Bool(false));
    let error = output.and_then(|output| output.get("error")).cloned();
    if has_failed && let Some(error) = error {
        event.data.insert("error".to_owned(), error);
    }
    if has_failed || event.data.contains_key("error") {
        event.kind = EventKind::AfterToolFailure;
    }
}

/// Makes an edit that replaces nothing the creation of a file, which it is.
fn name_new_file(call: &mut ToolCall) {
    if call.native.as_ref().is_none_or(|native| native.tool_name != "editor") {
        return;
    }
    let Value::Object(input) = &mut call.input else { return };
    let is_absent = |name: &str| input.get(name).is_none_or(Value::is_null);
    if is_absent("old") && is_absent("insert_line") {
        "WriteFile".clone_into(&mut call.name);
        if let Some(content) = remove(input, "new") {
            input.insert("content".to_owned(), content);
        }
    }
}
