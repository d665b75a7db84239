//! A payload of Gemini CLI as events.

use anyhook_model::{Caller, DecodeError, Event, EventKind};
use serde_json::Value;

use super::facts::TOOLS;
use crate::common::{Common, PromptSource};

pub fn decode(bytes: &[u8], caller: &Caller) -> Result<Vec<Event>, DecodeError> {
    let mut events = Common { host: "gemini-cli", tools: TOOLS, prompt: PromptSource::Anybody }
        .decode(bytes, caller, |native| {
            Some(match native {
                "SessionStart" => EventKind::SessionStart,
                "SessionEnd" => EventKind::SessionEnd,
                "BeforeAgent" => EventKind::BeforeAgent,
                "BeforeTool" => EventKind::BeforeTool,
                "AfterTool" => EventKind::AfterTool,
                "AfterAgent" => EventKind::BeforeStop,
                "PreCompress" => EventKind::PreCompact,
                "Notification" => EventKind::Notification,
                _ => return None,
            })
        })?;
    for event in &mut events {
        mend(event);
    }
    Ok(events)
}

/// Makes an event what it is, where the host's name for it says something else.
fn mend(event: &mut Event) {
    match event.kind {
        // The host checks before every model call whether to compress; only a person's wish is one.
        EventKind::PreCompact
            if event.data.get("trigger").and_then(Value::as_str) != Some("manual") =>
        {
            event.kind = EventKind::Other("PreCompress".to_owned());
        }
        EventKind::AfterTool => {
            let error =
                event.data.get("tool_output").and_then(|output| output.get("error")).cloned();
            if let Some(error) = error.filter(|error| !error.is_null()) {
                let message = error.get("message").cloned().unwrap_or(error);
                event.kind = EventKind::AfterToolFailure;
                event.data.insert("error".to_owned(), message);
            }
        }
        _ => {}
    }
}
