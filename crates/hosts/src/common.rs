//! Decodes the payloads of Claude Code and of the hosts that follow its format.

use anyhook_model::event::CallDoubt;
use anyhook_model::open_format::carries_call;
use anyhook_model::{Caller, DecodeError, Event, EventKind, patch_events};
use serde_json::{Value, json};

use crate::payload::{CUT, Payload, assistant_message, repeated_id, stop_events};
use crate::tool::{self, HostTool, NativeTool};

/// How one host uses the common format.
#[derive(Debug)]
pub struct Common {
    /// The host's id.
    pub host: &'static str,
    /// Its tools.
    pub tools: &'static [HostTool],
    /// Its tools without a canonical name.
    pub others: &'static [NativeTool],
    /// Whether prompts indicate who sent them.
    pub prompt: PromptSource,
}

/// Whether prompts indicate who sent them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptSource {
    /// A field `source` distinguishes a person's prompt from the host's own.
    Named,
    /// They do not.
    Anybody,
    /// They do not, and a blocked stop is sent back as a prompt.
    Returned,
}

impl Common {
    /// Decodes a payload; `kind_of` maps the host's event names to kinds.
    pub fn decode(
        &self,
        bytes: &[u8],
        caller: &Caller,
        kind_of: impl Fn(&str) -> Option<EventKind>,
    ) -> Result<Vec<Event>, DecodeError> {
        self.decode_payload(Payload::read(bytes)?, caller, kind_of)
    }

    /// Decodes a payload whose fields have the names of the common format.
    pub fn decode_payload(
        &self,
        mut payload: Payload,
        caller: &Caller,
        kind_of: impl Fn(&str) -> Option<EventKind>,
    ) -> Result<Vec<Event>, DecodeError> {
        let (native, mut event) = payload.begin(self.host, caller)?;
        match kind_of(&native).or_else(|| EventKind::of_agent_alike(&native, &kind_of)) {
            Some(kind) => event.kind = kind,
            // A truncated name may be that of a tool event.
            None if payload.cut => return Err(DecodeError::NotJson(CUT.to_owned())),
            None if carries_call(&payload.fields) => event.doubt = Some(CallDoubt::UnknownEvent),
            None => {}
        }
        self.own_fields(&mut event, &mut payload);
        if event.kind.has_matcher() {
            event.doubt = payload.doubt(payload.fields.get("tool_name"));
            self.tool_call(&mut event, &mut payload);
        }
        event.raw = payload.fields;
        Ok(match event.kind {
            EventKind::BeforeStop => stop_events(event),
            _ => patch_events::of_call(event),
        })
    }

    /// Moves the host's fields under their canonical names.
    fn own_fields(&self, event: &mut Event, payload: &mut Payload) {
        let mut own = |name: &str, value: Value| event.data.insert(name.to_owned(), value);
        let text = |value: Option<String>| value.map_or(Value::Null, Value::String);
        match event.kind {
            EventKind::SessionStart => {
                own("model", payload.value("model").unwrap_or_default());
            }
            EventKind::SessionEnd => {
                own("exit_reason", text(payload.text("reason")));
            }
            EventKind::BeforeAgent => {
                let source = payload.fields.get("source").and_then(Value::as_str);
                let by_person = self.prompt != PromptSource::Named
                    || matches!(source, None | Some("user" | "sdk"));
                let prompt = payload.text("prompt").unwrap_or_default();
                let is_prompt = by_person && !prompt.is_empty();
                event.repeats =
                    repeated_id(&prompt).filter(|_| self.prompt == PromptSource::Returned);
                own("prompt", prompt.into());
                if !is_prompt {
                    // What the host sends itself in order to continue is not a person's prompt.
                    event.kind = EventKind::Other("continuation".to_owned());
                }
            }
            EventKind::BeforeStop => {
                let message = payload
                    .text("last_assistant_message")
                    .or_else(|| payload.text("prompt_response"));
                own("final_message", assistant_message(message));
            }
            EventKind::SubagentStart | EventKind::SubagentStop => {
                own("subagent_type", text(payload.text("agent_type")));
                if event.kind == EventKind::SubagentStop {
                    let message = assistant_message(payload.text("last_assistant_message"));
                    event.data.insert("final_message".to_owned(), message);
                }
            }
            EventKind::PreCompact | EventKind::PostCompact => {
                own("trigger", text(payload.text("trigger")));
            }
            EventKind::Notification => {
                let kind = match payload.fields.get("notification_type").and_then(Value::as_str) {
                    Some("idle_prompt") => "idle",
                    Some("permission_prompt" | "ToolPermission") => "permission_prompt",
                    _ => "other",
                };
                own("kind", kind.into());
                own("message", text(payload.text("message")));
            }
            _ => {}
        }
    }

    /// Moves the tool call from the payload to the event.
    fn tool_call(&self, event: &mut Event, payload: &mut Payload) {
        let name = payload.text("tool_name").unwrap_or_default();
        let input = payload.value("tool_input").unwrap_or_default();
        let use_id = payload.text("tool_use_id");
        let mut call = tool::canonical(self.tools, self.others, name, input, use_id);
        if let Some(mcp) = mcp(&call.name, payload) {
            payload.fields.insert("mcp".to_owned(), mcp);
            "Mcp".clone_into(&mut call.name);
        }
        if payload.mended {
            call.fixed = Some("it could not be parsed exactly");
        }
        event.tool = Some(call);
        let outcome =
            [("tool_response", "tool_output"), ("duration_ms", "duration_ms"), ("error", "error")];
        for (native, canonical) in outcome {
            if let Some(value) = payload.value(native) {
                event.data.insert(canonical.to_owned(), value);
            }
        }
    }
}

/// Notes the server and the tool of an MCP call whose name is no tool of the agent's own, if it can
/// be split into them.
pub fn note_mcp(
    payload: &mut Payload,
    common: &Common,
    split: impl Fn(&str) -> Option<(&str, &str)>,
) {
    let Some(name) = payload.fields.get("tool_name").and_then(Value::as_str) else { return };
    let Some((server, tool)) = split(name).filter(|(_, tool)| !tool.is_empty()) else { return };
    if !tool::is_known(common.tools, common.others, name) {
        let context = json!({"server_name": server, "tool_name": tool});
        payload.fields.insert("mcp_context".to_owned(), context);
    }
}

/// Returns the server and the tool of an MCP call.
fn mcp(name: &str, payload: &Payload) -> Option<Value> {
    if let Some((server, tool)) = name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"))
    {
        return Some(json!({"server": server, "tool": tool}));
    }
    let context = payload.fields.get("mcp_context")?;
    Some(json!({"server": context.get("server_name")?, "tool": context.get("tool_name")?}))
}
