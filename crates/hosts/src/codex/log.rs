//! Reads the lines of a session's rollout: what they say about the agent's state.
//!
//! Observed with 0.166.0: a turn has a line for its start and one for its end, and everything
//! written in between is work. After its end there may be more lines, such as the result of a
//! command that was left running, which are not work. A permission prompt leaves no line. Earlier
//! versions wrote no line for the end of a turn: their idle state is not detected.

use anyhook_model::json::Object;
use anyhook_model::{FailureKind, PromptType};
use jiff::Timestamp;
use serde_json::Value;

use crate::log::{
    Activity, LogFormat, LogLocation, LogObservation, LogRoots, LogState, about, failure_kind,
    text, time,
};

pub(super) fn places(homes: &LogRoots) -> Vec<LogLocation> {
    vec![LogLocation {
        folder: homes.folder("CODEX_HOME", ".codex").join("sessions"),
        names: &["*", "*", "*", "rollout-*.jsonl"],
        form: LogFormat::Lines,
    }]
}

/// The session's id is at the end of the name, after the time.
pub(super) fn begin(file_name: &str) -> LogState {
    let stem = file_name.trim_end_matches(".jsonl");
    let id = stem.len().checked_sub(ID_LENGTH).and_then(|start| stem.get(start..));
    id.map_or_else(LogState::default, LogState::of_session)
}

/// The length of a session's id.
const ID_LENGTH: usize = 36;

pub(super) fn read_line(state: &mut LogState, line: &str) -> Option<LogObservation> {
    let object = state.object(line)?;
    let payload = object.get("payload")?.as_object()?;
    let kind = text(&object, "type")?;
    if kind == "session_meta" {
        // A session that continues another also contains that one's line, further down.
        if text(payload, "id") == state.session.as_deref() || state.session.is_none() {
            state.name_session(text(payload, "id"));
            state.is_subagent = is_subagent(payload);
            state.name_hook_session(text(payload, "session_id"));
            state.copied_from = text(payload, "forked_from_id").map(str::to_owned);
        }
        state.name_work_dir(text(payload, "cwd"));
    }
    let at = time(&object, "timestamp");
    match (kind, text(payload, "type")) {
        ("event_msg", Some("item_completed")) => {
            if let Some(item) = payload.get("item").and_then(Value::as_object) {
                item_completed(state, item, at);
            }
        }
        ("response_item", Some(item)) => call_of_item(state, item, payload, at),
        _ => {}
    }
    if state.is_subagent {
        return None;
    }
    let doing = match (kind, text(payload, "type")) {
        ("turn_context", _) => {
            state.name_work_dir(text(payload, "cwd"));
            return None;
        }
        ("event_msg", Some(event)) => event_says(state, event, payload)?,
        ("response_item", Some(item)) if state.in_turn != Some(false) => {
            item_says(state, item, payload)?
        }
        _ => return None,
    };
    Some(LogObservation::certain(at, doing))
}

fn is_subagent(meta: &Object) -> bool {
    text(meta, "thread_source") == Some("subagent")
        || meta.get("source").is_some_and(|source| source.get("subagent").is_some())
}

/// Records a call of the model, or its result.
///
/// Hooks are asked about commands, patches and tools of MCP servers, and what is typed into a
/// running command is a command, too. Other tools only concern the agent itself.
fn call_of_item(state: &mut LogState, item: &str, payload: &Object, at: Option<Timestamp>) {
    let Some(id) = text(payload, "call_id") else { return };
    match item {
        "function_call" | "custom_tool_call" => {
            let tool = text(payload, "name").unwrap_or_default();
            let arguments = payload.get("arguments").or_else(|| payload.get("input"));
            let arguments = arguments.and_then(Value::as_str).unwrap_or_default();
            let input: Value = serde_json::from_str(arguments).unwrap_or_else(|_| arguments.into());
            // Keys such as Ctrl-C, and looking at what was printed since, are no commands.
            if tool != TYPING || types_line(&input) {
                state.begin_call(id, tool, about(&input));
            }
        }
        "function_call_output" | "custom_tool_call_output" => {
            // The text, or an object with it.
            let output =
                payload.get("output").map(|output| output.get("content").unwrap_or(output));
            let output = output.and_then(Value::as_str).unwrap_or_default();
            let has_run = match state.begun_tool(id) {
                Some(tool) if COMMANDS.contains(&tool) => {
                    output.starts_with("Chunk ID:") || output.starts_with("Exit code:")
                }
                Some(PATCH) => output.starts_with("Exit code:"),
                // What became of other calls is only in the item that is completed.
                _ => false,
            };
            if has_run { state.end_call(id, at) } else { state.drop_call(id) }
        }
        _ => {}
    }
}

/// The tools that run a command or type into one.
const COMMANDS: [&str; 5] = ["exec_command", "shell_command", "shell", "local_shell", TYPING];
/// The tool that types into a running command.
const TYPING: &str = "write_stdin";
/// The tool that changes files.
const PATCH: &str = "apply_patch";

/// Returns whether what is typed into a running command is a line of text.
fn types_line(input: &Value) -> bool {
    let typed = input.get("chars").and_then(Value::as_str).unwrap_or_default();
    let is_line = typed.contains(['\n', '\r']);
    is_line && typed.chars().any(|letter| !letter.is_control() && !letter.is_whitespace())
}

/// Records what was done, as the program itself reports it: also what a script of code mode called.
fn item_completed(state: &mut LogState, item: &Object, at: Option<Timestamp>) {
    let (kind, Some(id)) = (text(item, "type"), text(item, "id")) else { return };
    let status = text(item, "status");
    let (tool, about) = match kind {
        // What a person ran on its screen is not the model's.
        Some("CommandExecution") if text(item, "source") == Some("user_shell") => return,
        Some("CommandExecution") => (
            "exec_command",
            item.get("command").and_then(|command| {
                let last = command.as_array()?.last()?;
                about(last)
            }),
        ),
        Some("FileChange") => (PATCH, None),
        Some("McpToolCall") => (text(item, "tool").unwrap_or("mcp"), None),
        _ => return,
    };
    if !matches!(status, Some("completed" | "failed"))
        || (kind != Some("CommandExecution") && status != Some("completed"))
    {
        return;
    }
    if state.begun_tool(id).is_none() {
        // Its result was read before, or a script called it.
        if !id.starts_with("exec-") {
            return;
        }
        state.begin_call(id, tool, about);
    }
    state.end_call(id, at);
}

fn event_says(state: &mut LogState, event: &str, payload: &Object) -> Option<Activity> {
    match event {
        "task_started" | "turn_started" | "user_message" => {
            state.in_turn = Some(true);
            state.waits.clear();
            Some(Activity::Working)
        }
        "task_complete" | "turn_complete" => {
            state.in_turn = Some(false);
            let error = payload.get("error").and_then(Value::as_object);
            Some(match error {
                Some(error) => failure(state, error),
                None => state.rest(),
            })
        }
        "turn_aborted" => {
            state.in_turn = Some(false);
            Some(state.break_off())
        }
        _ => None,
    }
}

fn item_says(state: &mut LogState, item: &str, payload: &Object) -> Option<Activity> {
    let call = text(payload, "call_id").unwrap_or_default();
    match item {
        "function_call" | "custom_tool_call" | "local_shell_call" | "web_search_call" => {
            match text(payload, "name") {
                Some("request_user_input") => state.wait(call, PromptType::Question),
                Some("request_permissions") => state.wait(call, PromptType::Permission),
                _ => {}
            }
        }
        "function_call_output" | "custom_tool_call_output" => state.answered(call),
        "reasoning" => {}
        // The host's own messages to the model are not work.
        "message" if text(payload, "role") == Some("assistant") => {}
        _ => return None,
    }
    Some(state.at_work())
}

fn failure(state: &mut LogState, error: &Object) -> Activity {
    let words = text(error, "message").unwrap_or_default();
    let info = error.get("codex_error_info").unwrap_or(&Value::Null);
    // A word, or an object with one member that is named by it.
    let member = info.as_object().and_then(|info| info.iter().next());
    let name = info.as_str().or(member.map(|(name, _)| name.as_str())).unwrap_or_default();
    let status = member.and_then(|(_, details)| details.get("http_status_code")?.as_u64());
    let kind = match (name, status) {
        ("unauthorized", _) => FailureKind::Unauthorized,
        ("usage_limit_exceeded" | "session_budget_exceeded", _) => FailureKind::RateLimited,
        ("quota_exceeded", _) => FailureKind::OutOfCredits,
        ("http_connection_failed" | "response_stream_connection_failed", None) => {
            FailureKind::NoNetwork
        }
        (_, status) => failure_kind(status, words),
    };
    state.fail(kind, words)
}
