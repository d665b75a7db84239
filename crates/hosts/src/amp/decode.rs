//! Decodes what our plugin in Amp sends into events.

use anyhook_model::{Caller, DecodeError, Event, EventKind};
use serde_json::Value;

use super::capabilities::{OTHER_TOOLS, TOOLS};
use crate::common::{Common, PromptSource};
use crate::extension::events;

const COMMON: Common =
    Common { host: "amp", tools: TOOLS, others: OTHER_TOOLS, prompt: PromptSource::Returned };

pub fn decode(bytes: &[u8], caller: &Caller) -> Result<Vec<Event>, DecodeError> {
    let mut events = COMMON.decode(bytes, caller, |native| {
        Some(match native {
            "session.start" => EventKind::SessionStart,
            "agent.start" => EventKind::BeforeAgent,
            "tool.call" => EventKind::BeforeTool,
            "tool.result" => EventKind::AfterTool,
            "agent.end" => EventKind::BeforeStop,
            _ => return None,
        })
    })?;
    for event in &mut events {
        events::correct(event);
        read_command(event);
    }
    Ok(events)
}

/// Reads the command of a shell call that has it under its other name.
fn read_command(event: &mut Event) {
    let Some(tool) = event.tool.as_mut().filter(|tool| tool.name == "Shell") else { return };
    if tool.input.get("command").is_some() {
        return;
    }
    if let Some(command) = tool.input.get("cmd").and_then(Value::as_str).map(str::to_owned) {
        tool.input["command"] = command.into();
        tool.fixed = Some("its command has another name");
    }
}
