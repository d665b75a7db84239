//! Decodes payloads of Gemini CLI into events.

use anyhook_model::json::{FieldRole, OpaqueField};
use anyhook_model::{Caller, DecodeError, Event, EventKind};
use serde_json::Value;

use super::capabilities::{OTHER_TOOLS, TOOLS};
use crate::common::{Common, PromptSource};

/// The values in a payload that only hooks need; a tool's output is examined, because it shows
/// whether the tool failed.
pub const OPAQUE_FIELDS: &[OpaqueField] =
    &[OpaqueField { path: &["tool_input"], role: FieldRole::Input }];

pub fn decode(bytes: &[u8], caller: &Caller) -> Result<Vec<Event>, DecodeError> {
    let mut events = Common {
        host: "gemini-cli",
        tools: TOOLS,
        others: OTHER_TOOLS,
        prompt: PromptSource::Returned,
    }
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
        correct(event);
    }
    Ok(events)
}

/// Corrects an event where the host's name for it is misleading.
fn correct(event: &mut Event) {
    match event.kind {
        // The host checks before every model call whether to compress; only a user's request is a
        // compaction.
        EventKind::PreCompact
            if event.data.get("trigger").and_then(Value::as_str) != Some("manual") =>
        {
            // Under its own name it would be mistaken for an event of another agent.
            event.kind = EventKind::Other("compression_check".to_owned());
        }
        EventKind::BeforeAgent => {
            if let Some(Value::String(prompt)) = event.data.get_mut("prompt")
                && let Some(own) = without_context(prompt)
            {
                *prompt = own.to_owned();
            }
        }
        EventKind::AfterTool => {
            if let Some(error) = event.data.get("tool_output").and_then(failure) {
                event.kind = EventKind::AfterToolFailure;
                event.data.insert("error".to_owned(), error);
            }
        }
        _ => {}
    }
}

/// Returns what the user wrote, without what hooks added at the session's start.
fn without_context(prompt: &str) -> Option<&str> {
    let (_, own) = prompt.strip_prefix("<hook_context>")?.split_once("</hook_context>\n\n")?;
    Some(own).filter(|own| !own.is_empty())
}

/// Returns why a tool failed, if it did.
fn failure(output: &Value) -> Option<Value> {
    match output.get("error") {
        None | Some(Value::Null) => shell_failure(output).map(Value::from),
        Some(error) => Some(error.get("message").unwrap_or(error).clone()),
    }
}

/// Returns how a shell command failed: the host reports it only in lines after the output.
fn shell_failure(output: &Value) -> Option<String> {
    let text = output.get("llmContent")?.as_str()?;
    let display = output.get("returnDisplay").and_then(Value::as_str).unwrap_or_default();
    let host_lines = text.trim_end().trim_end_matches("</untrusted_context>").trim_end();
    host_lines
        .lines()
        .rev()
        .take_while(|line| SHELL_LINES.iter().any(|start| line.starts_with(start)))
        .filter(|line| line.starts_with("Exit Code: ") || line.starts_with("Signal: "))
        // Some versions write these lines after every command.
        .find(|line| {
            !matches!(*line, "Exit Code: 0" | "Exit Code: (none)" | "Signal: (none)" | "Signal: 0")
        })
        // Such a line may also be the last of a command's own output.
        .filter(|line| !display.trim_end().ends_with(line))
        .map(str::to_lowercase)
}

/// The beginnings of the lines that the host writes after a command's output.
const SHELL_LINES: [&str; 4] =
    ["Exit Code: ", "Signal: ", "Background PIDs: ", "Process Group PGID: "];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_command_that_fails_is_known_by_its_exit_code() {
        let output = |text: &str, display: &str| {
            let text =
                format!("<untrusted_context>\n{text}\nProcess Group PGID: 7\n</untrusted_context>");
            failure(&json!({"llmContent": text, "returnDisplay": display}))
        };
        assert_eq!(output("Output: hi", "hi"), None);
        assert_eq!(output("Output: hi\nExit Code: 3", "hi"), Some(json!("exit code: 3")));
        assert_eq!(output("Output: (empty)\nSignal: 9", ""), Some(json!("signal: 9")));
        assert_eq!(output("Output: hi\nExit Code: 0\nSignal: (none)", "hi"), None);
        let ended = output("Output: hi\nExit Code: (none)\nSignal: 15", "hi");
        assert_eq!(ended, Some(json!("signal: 15")));
        assert_eq!(
            output("Output: hi\nExit Code: 1\nSignal: (none)", "hi"),
            Some(json!("exit code: 1"))
        );
        assert_eq!(output("Output: hi\nExit Code: 3", "hi\nExit Code: 3\n"), None);
        assert_eq!(output("Output: Exit Code: 3\nhi", "Exit Code: 3\nhi"), None);
    }

    #[test]
    fn a_prompt_is_what_the_person_wrote() {
        assert_eq!(without_context("<hook_context>x</hook_context>\n\ndo it"), Some("do it"));
        assert_eq!(without_context("<hook_context>x</hook_context>\n\n"), None);
        assert_eq!(without_context("do it"), None);
    }
}
