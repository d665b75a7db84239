//! Our hook file for VS Code, in the folder of hook files that it shares with Copilot CLI.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::wiring::{HookInvocation, ListedEntries, SettingsScope, Unanswered, no_obstacle};

/// Its settings.
pub(super) static SETTINGS: ListedEntries = ListedEntries {
    host: "vscode",
    path,
    object: "hooks",
    new_file: Some(r#"{"version": 1}"#),
    events: EVENTS,
    tool_events: TOOL_EVENTS,
    entry,
    obstacle: no_obstacle,
};

/// The events at which we are called.
const EVENTS: &[&str] = &[
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "Stop",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
];

/// The events at which an unanswered call is refused if a guard is installed.
const TOOL_EVENTS: &[&str] = &["PreToolUse"];

fn path(scope: &SettingsScope) -> PathBuf {
    match &scope.project {
        Some(project) => project.join(".github/hooks/anyhook-vscode.json"),
        None => scope.home.join(".copilot/hooks/anyhook-vscode.json"),
    }
}

fn entry(event: &'static str, call: &HookInvocation) -> Value {
    let unanswered = if TOOL_EVENTS.contains(&event) {
        Unanswered::Refused { otherwise: 1 }
    } else {
        Unanswered::Softened
    };
    let command = call.command("vscode", SECONDS * 1000, unanswered);
    json!({"type": "command", "command": command, "timeout": SECONDS})
}

/// How long VS Code waits.
const SECONDS: u64 = 600;
