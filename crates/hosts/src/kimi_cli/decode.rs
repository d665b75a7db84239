//! Decodes payloads of Kimi CLI into events.

use anyhook_model::json::{FieldRole, OpaqueField};
use anyhook_model::{Caller, DecodeError, Event, EventKind};
use serde_json::Value;

use super::capabilities::{OTHER_TOOLS, TOOLS};
use crate::common::{Common, PromptSource, note_mcp};
use crate::payload::Payload;

/// The values in a payload that only hooks need; a tool's output is examined, because it shows
/// whether the tool failed.
pub const OPAQUE_FIELDS: &[OpaqueField] =
    &[OpaqueField { path: &["tool_input"], role: FieldRole::Input }];

/// Its names of fields of the common format.
const FIELDS: &[(&str, &str)] = &[
    ("tool_call_id", "tool_use_id"),
    ("tool_output", "tool_response"),
    ("agent_name", "agent_type"),
    ("response", "last_assistant_message"),
    ("body", "message"),
];

pub fn decode(bytes: &[u8], caller: &Caller) -> Result<Vec<Event>, DecodeError> {
    let mut payload = Payload::read(bytes)?;
    payload.rename(FIELDS);
    let common = Common {
        host: "kimi-cli",
        tools: TOOLS,
        others: OTHER_TOOLS,
        prompt: PromptSource::Anybody,
    };
    // A tool of an MCP server has its bare name, and what it knows itself is in the tables.
    note_mcp(&mut payload, &common, |name| Some(("", name)));
    let mut events = common.decode_payload(payload, caller, |native| {
        Some(match native {
            "SessionStart" => EventKind::SessionStart,
            "SessionEnd" => EventKind::SessionEnd,
            "UserPromptSubmit" => EventKind::BeforeAgent,
            "PreToolUse" => EventKind::BeforeTool,
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
    for event in events.iter_mut().filter(|event| event.kind == EventKind::AfterTool) {
        if let Some(error) = event.data.get("tool_output").and_then(failure) {
            event.kind = EventKind::AfterToolFailure;
            event.data.insert("error".to_owned(), error.into());
        }
    }
    Ok(events)
}

/// Returns why a tool failed, if it did: only an exception in it is an event of its own.
///
/// The output is the text of a Python object, of which only the beginning is sent:
/// `is_error=True output='…' message='…' display=[…] extras=None`.
fn failure(output: &Value) -> Option<String> {
    let rest = output.as_str()?.strip_prefix("is_error=True output=")?;
    let after_output = literal(rest).map_or(rest, |(_, rest)| rest);
    let message = after_output.find("message=").and_then(|place| {
        let (message, _) = literal(&after_output[place + "message=".len()..])?;
        Some(message).filter(|message| !message.is_empty())
    });
    Some(message.unwrap_or_else(|| rest.to_owned()))
}

/// Reads the text at the beginning of a Python expression, and returns what follows it. A text that
/// was cut off ends there.
fn literal(expression: &str) -> Option<(String, &str)> {
    let mut letters = expression.char_indices();
    let (_, quote) = letters.next().filter(|(_, quote)| matches!(quote, '\'' | '"'))?;
    let mut text = String::new();
    while let Some((place, letter)) = letters.next() {
        match letter {
            _ if letter == quote => return Some((text, &expression[place + 1..])),
            '\\' => match letters.next() {
                Some((_, 'n')) => text.push('\n'),
                Some((_, 't')) => text.push('\t'),
                Some((_, escaped)) => text.push(escaped),
                None => {}
            },
            _ => text.push(letter),
        }
    }
    Some((text, ""))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tool_that_failed_says_why() {
        let told = |output: &str| failure(&json!(output));
        assert_eq!(told("is_error=False output='message=no' message='' display=[]"), None);
        assert_eq!(
            told("is_error=True output='' message='Command failed with exit code: 3.' display=[]"),
            Some("Command failed with exit code: 3.".to_owned())
        );
        assert_eq!(
            told(r#"is_error=True output=" message='no'\n" message="it's\nlost" display=[]"#),
            Some("it's\nlost".to_owned())
        );
        let parts = "is_error=True output=[TextPart(type='text', text='x')] message='bad' display";
        assert_eq!(told(parts), Some("bad".to_owned()));
        assert_eq!(told("is_error=True output='cut o"), Some("'cut o".to_owned()));
        assert_eq!(failure(&json!({"is_error": true})), None);
    }
}
