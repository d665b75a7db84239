//! Decodes what our plugin in Hermes Agent sends into events.

use anyhook_model::json::Object;
use anyhook_model::{Caller, DecodeError, Event, EventKind, patch_events};
use serde_json::{Value, json};

use super::capabilities::{OTHER_TOOLS, TOOLS};
use crate::common::{Common, PromptSource};
use crate::extension::events;
use crate::payload::assistant_message;

const COMMON: Common =
    Common { host: "hermes", tools: TOOLS, others: OTHER_TOOLS, prompt: PromptSource::Anybody };

pub fn decode(bytes: &[u8], caller: &Caller) -> Result<Vec<Event>, DecodeError> {
    let events = COMMON.decode(bytes, caller, |native| {
        Some(match native {
            "on_session_start" => EventKind::SessionStart,
            "on_session_finalize" => EventKind::SessionEnd,
            "pre_llm_call" => EventKind::BeforeAgent,
            "pre_tool_call" => EventKind::BeforeTool,
            "post_tool_call" => EventKind::AfterTool,
            "pre_verify" => EventKind::BeforeStop,
            "post_llm_call" => EventKind::AfterAgent,
            "subagent_start" => EventKind::SubagentStart,
            "subagent_stop" => EventKind::SubagentStop,
            "pre_approval_request" => EventKind::Notification,
            _ => return None,
        })
    })?;
    if let [event] = &events[..]
        && event.kind == EventKind::AfterAgent
    {
        return Ok(of_answer(event.clone()));
    }
    Ok(events.into_iter().flat_map(of_call).collect())
}

/// Returns the events of an answer that nothing could hold back.
fn of_answer(mut event: Event) -> Vec<Event> {
    let message = event.raw.get("last_assistant_message").and_then(Value::as_str);
    let message = assistant_message(message.map(str::to_owned));
    event.raw.retain(|name, _| name != "last_assistant_message");
    event.data.insert("final_message".to_owned(), message);
    let mut after_stop = Event { kind: EventKind::AfterStop, ..event.clone() };
    after_stop.data = Object::new();
    vec![event, after_stop]
}

/// Returns the events of a call that is more special than its tool's name says.
fn of_call(mut event: Event) -> Vec<Event> {
    events::correct(&mut event);
    let Some(tool) = &mut event.tool else { return vec![event] };
    let native = tool.native.as_ref().map(|native| native.tool_name.as_str());
    let text = |field: &str| tool.input.get(field).and_then(Value::as_str);
    match native.unwrap_or_default() {
        "patch" if text("mode") == Some("patch") => {
            let patch = text("patch").unwrap_or_default().to_owned();
            "apply_patch".clone_into(&mut tool.name);
            tool.input = json!({"input": patch});
            return patch_events::of_call(event);
        }
        "process" => {
            let typed = text("data").map(str::to_owned);
            if let Some(typed) = typed.filter(|typed| !typed.is_empty()) {
                tool.also = &["Shell"];
                tool.input["command"] = typed.into();
                tool.fixed = Some("it is typed into a program that is running");
            }
        }
        "search_files" if text("target") == Some("files") => tool.also = &["Glob"],
        _ => {}
    }
    vec![event]
}
