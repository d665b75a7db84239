//! Our entries in Cursor's `hooks.json`.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::wiring::{HookInvocation, ListedEntries, SettingsScope, Unanswered, no_obstacle};

/// Its settings.
pub(super) static SETTINGS: ListedEntries = ListedEntries {
    host: "cursor",
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
    "sessionStart",
    "sessionEnd",
    "beforeSubmitPrompt",
    "preToolUse",
    "postToolUse",
    "postToolUseFailure",
    "stop",
    "subagentStart",
    "subagentStop",
    "preCompact",
];

/// The events at which an unanswered call is refused if a guard is installed.
const TOOL_EVENTS: &[&str] = &["preToolUse"];

fn path(scope: &SettingsScope) -> PathBuf {
    match &scope.project {
        Some(project) => project.join(".cursor/hooks.json"),
        None => scope.home.join(".cursor/hooks.json"),
    }
}

fn entry(event: &'static str, call: &HookInvocation) -> Value {
    let unanswered = if TOOL_EVENTS.contains(&event) {
        Unanswered::Refused { otherwise: 1 }
    } else {
        Unanswered::Softened
    };
    let mut entry =
        json!({"command": call.command("cursor", SECONDS * 1000, unanswered), "timeout": SECONDS});
    if event == "stop" {
        // anyhook counts stops itself.
        entry["loop_limit"] = Value::Null;
    }
    entry
}

/// How long Cursor waits.
const SECONDS: u64 = 600;
