//! Decodes what our extension in oh-my-pi sends into events.

use anyhook_model::event::CallDoubt;
use anyhook_model::{Caller, DecodeError, Event, patch_events};
use serde_json::{Value, json};

use super::capabilities::{OTHER_TOOLS, TOOLS};
use super::patch;
use crate::common::{Common, PromptSource};
use crate::extension::events;

const COMMON: Common =
    Common { host: "oh-my-pi", tools: TOOLS, others: OTHER_TOOLS, prompt: PromptSource::Returned };

pub fn decode(bytes: &[u8], caller: &Caller) -> Result<Vec<Event>, DecodeError> {
    let events = events::decode(&COMMON, bytes, caller)?;
    Ok(events.into_iter().flat_map(of_call).collect())
}

/// Returns the events of a call that is more special than its tool's name says.
fn of_call(mut event: Event) -> Vec<Event> {
    let Some(tool) = &mut event.tool else { return vec![event] };
    let native = tool.native.as_ref().map(|native| native.tool_name.as_str());
    match native.unwrap_or_default() {
        "edit" => {
            let text = tool.input.get("input").and_then(Value::as_str).unwrap_or_default();
            let is_common = || !anyhook_model::patch::read(text).is_empty();
            let own = patch::in_common_format(text);
            let Some(text) = own.or_else(|| is_common().then(|| text.to_owned())) else {
                if tool.files.is_null() {
                    event.doubt = event.doubt.or(Some(CallDoubt::Files));
                }
                return vec![event];
            };
            "apply_patch".clone_into(&mut tool.name);
            tool.input = json!({"input": text});
            return patch_events::of_call(event);
        }
        "hub" => {
            if let Some(command) = started_program(&tool.input) {
                tool.also = &["Shell"];
                tool.input["command"] = command.into();
                tool.fixed = Some("it starts a program without a shell");
            }
        }
        name => {
            let mcp = name.strip_prefix("mcp__").and_then(|name| name.split_once('_'));
            if let Some((server, name)) = mcp.filter(|_| tool.name != "Mcp") {
                let mcp = json!({"server": server, "tool": name});
                "Mcp".clone_into(&mut tool.name);
                event.raw.insert("mcp".to_owned(), mcp);
            }
        }
    }
    vec![event]
}

/// Returns the program that a call starts, with its arguments, as a command.
fn started_program(input: &Value) -> Option<String> {
    let program = input.get("application")?.as_str()?;
    let arguments = input.get("args").and_then(Value::as_array);
    let arguments = arguments.into_iter().flatten().filter_map(Value::as_str);
    Some(crate::wiring::command_line([program].into_iter().chain(arguments)))
}
