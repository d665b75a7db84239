//! Our named hook in the `hooks.json` of Antigravity CLI.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::wiring::{HookInvocation, ListedEntries, SettingsScope, Unanswered, no_obstacle};

/// Its settings.
pub(super) static SETTINGS: ListedEntries = ListedEntries {
    host: "antigravity",
    path,
    object: "anyhook",
    new_file: None,
    events: EVENTS,
    tool_events: TOOL_EVENTS,
    entry,
    obstacle: no_obstacle,
};

/// The events at which we are called.
const EVENTS: &[&str] = &["PreToolUse", "PostToolUse", "Stop"];

/// The events at which an unanswered call is refused if a guard is installed.
const TOOL_EVENTS: &[&str] = &["PreToolUse"];

fn path(scope: &SettingsScope) -> PathBuf {
    match &scope.project {
        Some(project) => project.join(".agents/hooks.json"),
        None => scope.home.join(".gemini/config/hooks.json"),
    }
}

fn entry(event: &'static str, call: &HookInvocation) -> Value {
    // It takes a refusal from standard output alone.
    let unanswered = if TOOL_EVENTS.contains(&event) {
        Unanswered::RefusedWith { reply: NO_ANSWER, otherwise: 0 }
    } else {
        Unanswered::GoesOn
    };
    let command = call.command("antigravity", SECONDS * 1000, unanswered);
    let handler = json!({"type": "command", "command": command, "timeout": SECONDS});
    if event == "Stop" { handler } else { json!({"matcher": "*", "hooks": [handler]}) }
}

/// A refusal where a guard is installed and anyhook did not answer.
const NO_ANSWER: &str =
    r#"{"decision": "deny", "reason": "anyhook did not answer; run anyhook doctor in a terminal"}"#;

/// How long Antigravity CLI waits.
const SECONDS: u64 = 600;
