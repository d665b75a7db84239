//! Reads the lines of a session's transcript: what they say about the agent's state.
//!
//! Observed with 2.1.325: a permission prompt leaves no line, nor does the end of the program. A
//! message that ends the turn is written before the stop hooks have run, and one of them may make
//! the agent continue: only the line with the turn's duration, which is not written in every mode
//! of operation, makes it certain.

use anyhook_model::json::Object;
use anyhook_model::{FailureKind, Host};
use jiff::Timestamp;

use super::PROTOCOL;
use super::transcript::entry::{CallFate, TranscriptEntry, UserLine, text_of};
use crate::log::{
    Activity, LogFormat, LogLocation, LogObservation, LogRoots, LogState, about, failure_kind,
};

pub(super) fn places(homes: &LogRoots) -> Vec<LogLocation> {
    let folder = homes.folder("CLAUDE_CONFIG_DIR", ".claude").join("projects");
    let place = |names| LogLocation { folder: folder.clone(), names, form: LogFormat::Lines };
    // What subagents do is in a folder of the session.
    vec![place(&["*", "*.jsonl"]), place(&["*", "*", "subagents", "agent-*.jsonl"])]
}

pub(super) fn begin(path: &str) -> LogState {
    let name = path.rsplit('/').next().unwrap_or_default();
    // A subagent's lines name the session it works for.
    if name.starts_with("agent-") {
        return LogState::default();
    }
    LogState::of_session(name.trim_end_matches(".jsonl"))
}

pub(super) fn read_line(state: &mut LogState, line: &str) -> Option<LogObservation> {
    let entry = TranscriptEntry { line: 0, fields: state.object(line)? };
    let is_sidechain = entry.flag("isSidechain");
    if !is_sidechain || state.session.is_none() {
        state.name_session(entry.text("sessionId"));
        state.name_work_dir(entry.text("cwd"));
    }
    let at = entry.at();
    calls(state, &entry, at);
    if is_sidechain {
        return None;
    }
    match entry.text("type")? {
        "user" => user(state, &entry, at),
        "assistant" => assistant(state, &entry, at),
        "system" if entry.text("subtype") == Some("turn_duration") => {
            // Also written after a turn that failed, which does not mean idle.
            let is_over = state.in_turn != Some(false);
            state.in_turn = Some(false);
            is_over.then(|| LogObservation::certain(at, state.rest()))
        }
        _ => None,
    }
}

/// Records the calls of a line, and how they ended.
fn calls(state: &mut LogState, entry: &TranscriptEntry, at: Option<Timestamp>) {
    match entry.text("type") {
        Some("assistant") => {
            for block in entry.blocks().filter(|block| text_of(block, "type") == Some("tool_use")) {
                let (id, tool) = (text_of(block, "id"), text_of(block, "name"));
                if let (Some(id), Some(tool)) = (id, tool) {
                    state.begin_call(id, tool, block.get("input").and_then(about));
                }
            }
        }
        Some("user") => {
            for result in entry.results() {
                let Some(id) = text_of(result, "tool_use_id") else { continue };
                let tool = state.begun_tool(id).unwrap_or_default();
                match entry.fate(result, tool) {
                    // A fork begins with the lines of the session that it continues.
                    _ if entry.fields.contains_key("forkedFrom") => state.drop_call(id),
                    CallFate::Done | CallFate::Failed => state.end_call(id, at),
                    CallFate::Denied | CallFate::Refused => state.drop_call(id),
                }
            }
        }
        _ => {}
    }
}

fn user(
    state: &mut LogState,
    entry: &TranscriptEntry,
    at: Option<Timestamp>,
) -> Option<LogObservation> {
    let mut has_result = false;
    for result in entry.results() {
        has_result = true;
        if let Some(call) = text_of(result, "tool_use_id") {
            state.answered(call);
        }
    }
    if !has_result {
        match entry.said() {
            UserLine::Prompt(_) | UserLine::StopFeedback => state.waits.clear(),
            UserLine::Interruption => {
                state.in_turn = Some(false);
                return Some(LogObservation::certain(at, state.break_off()));
            }
            // A compaction may or may not be part of a turn; the host's own commands are not.
            UserLine::Summary(_) | UserLine::Command { .. } | UserLine::Nothing => return None,
        }
    }
    state.in_turn = Some(true);
    Some(LogObservation::certain(at, state.at_work()))
}

fn assistant(
    state: &mut LogState,
    entry: &TranscriptEntry,
    at: Option<Timestamp>,
) -> Option<LogObservation> {
    let message = entry.message()?;
    if entry.flag("isApiErrorMessage") {
        state.in_turn = Some(false);
        return Some(LogObservation::certain(at, failure(state, entry)));
    }
    if text_of(message, "model") == Some("<synthetic>") {
        return None;
    }
    let mut calls = false;
    for block in entry.blocks().filter(|block| text_of(block, "type") == Some("tool_use")) {
        calls = true;
        if let Some(prompt) = text_of(block, "name").and_then(|tool| PROTOCOL.prompt_tool(tool))
            && let Some(call) = text_of(block, "id")
        {
            state.wait(call, prompt);
        }
    }
    state.in_turn = Some(true);
    if !calls && ends_turn(message) {
        return Some(LogObservation::likely(at, state.rest()));
    }
    Some(LogObservation::certain(at, state.at_work()))
}

fn ends_turn(message: &Object) -> bool {
    matches!(text_of(message, "stop_reason"), Some("end_turn" | "stop_sequence" | "refusal"))
}

fn failure(state: &mut LogState, entry: &TranscriptEntry) -> Activity {
    let words = entry.blocks().find_map(|block| text_of(block, "text")).unwrap_or_default();
    let status = entry.fields.get("apiErrorStatus").and_then(serde_json::Value::as_u64);
    let kind = match entry.text("error") {
        Some("authentication_failed" | "oauth_org_not_allowed") => FailureKind::Unauthorized,
        Some("billing_error") => FailureKind::OutOfCredits,
        Some("rate_limit") if status.is_none() => FailureKind::RateLimited,
        _ => failure_kind(status, words),
    };
    state.fail(kind, words)
}

/// Returns whether a line of a transcript is a person's prompt.
pub(super) fn is_prompt(fields: &Object) -> bool {
    if text_of(fields, "type") != Some("user") {
        return false;
    }
    let entry = TranscriptEntry { line: 0, fields: fields.clone() };
    !entry.flag("isSidechain")
        && entry.results().next().is_none()
        && matches!(entry.said(), UserLine::Prompt(_))
}
