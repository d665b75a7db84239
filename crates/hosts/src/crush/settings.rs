//! Our entry in Crush's `crush.json`.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::wiring::{HookInvocation, ListedEntries, SettingsScope, Unanswered, no_obstacle};

/// Its settings.
pub(super) static SETTINGS: ListedEntries = ListedEntries {
    host: "crush",
    path,
    object: "hooks",
    new_file: None,
    events: EVENTS,
    tool_events: TOOL_EVENTS,
    entry,
    obstacle: no_obstacle,
};

/// The events at which we are called.
const EVENTS: &[&str] = &["PreToolUse"];

/// The events at which an unanswered call is refused if a guard is installed.
const TOOL_EVENTS: &[&str] = &["PreToolUse"];

fn path(scope: &SettingsScope) -> PathBuf {
    match &scope.project {
        Some(project) => project.join("crush.json"),
        None => scope.config_home.join("crush/crush.json"),
    }
}

fn entry(event: &'static str, call: &HookInvocation) -> Value {
    let unanswered = Unanswered::Refused { otherwise: 1 };
    debug_assert!(TOOL_EVENTS.contains(&event), "its only event");
    let command = call.command("crush", SECONDS * 1000, unanswered);
    json!({"name": "anyhook", "command": command, "timeout": SECONDS})
}

/// How long Crush waits.
const SECONDS: u64 = 600;
