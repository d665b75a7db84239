//! Our plugin for Goose: a file with hooks.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::wiring::{HookInvocation, ListedEntries, SettingsScope, Unanswered, no_obstacle};

/// Its settings.
pub(super) static SETTINGS: ListedEntries = ListedEntries {
    host: "goose",
    path,
    object: "hooks",
    new_file: None,
    events: EVENTS,
    tool_events: TOOL_EVENTS,
    entry,
    obstacle: no_obstacle,
};

/// The events at which we are called.
const EVENTS: &[&str] = &[
    "SessionStart",
    "SessionEnd",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "Stop",
];

/// The events at which an unanswered call is refused if a guard is installed.
const TOOL_EVENTS: &[&str] = &["PreToolUse"];

fn path(scope: &SettingsScope) -> PathBuf {
    let folder = scope.project.as_ref().unwrap_or(&scope.home);
    folder.join(".agents/plugins/anyhook/hooks/hooks.json")
}

fn entry(event: &'static str, call: &HookInvocation) -> Value {
    let mut handler = json!({"type": "command", "timeout": SECONDS});
    if TOOL_EVENTS.contains(&event) {
        // What it takes for a failure blocks, so without a guard there must be none.
        let unanswered = Unanswered::Refused { otherwise: 0 };
        handler["command"] = call.command("goose", SECONDS * 1000, unanswered).into();
        handler["on_failure"] = "block".into();
    } else {
        handler["command"] = call.command("goose", SECONDS * 1000, Unanswered::Softened).into();
    }
    json!({"hooks": [handler]})
}

/// How long Goose waits.
const SECONDS: u64 = 600;
