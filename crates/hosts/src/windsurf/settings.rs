//! Our entries in Windsurf's `hooks.json`.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::wiring::{HookInvocation, ListedEntries, SettingsScope, Unanswered, no_obstacle};

/// Its settings.
pub(super) static SETTINGS: ListedEntries = ListedEntries {
    host: "windsurf",
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
    "pre_user_prompt",
    "pre_run_command",
    "pre_read_code",
    "pre_write_code",
    "pre_mcp_tool_use",
    "post_run_command",
    "post_read_code",
    "post_write_code",
    "post_mcp_tool_use",
    "post_cascade_response",
];

/// The events at which an unanswered call is refused if a guard is installed.
const TOOL_EVENTS: &[&str] =
    &["pre_run_command", "pre_read_code", "pre_write_code", "pre_mcp_tool_use"];

fn path(scope: &SettingsScope) -> PathBuf {
    match &scope.project {
        Some(project) => project.join(".windsurf/hooks.json"),
        None => scope.home.join(".codeium/windsurf/hooks.json"),
    }
}

fn entry(event: &'static str, call: &HookInvocation) -> Value {
    let unanswered = if TOOL_EVENTS.contains(&event) {
        Unanswered::Refused { otherwise: 1 }
    } else {
        Unanswered::Softened
    };
    json!({"command": call.command("windsurf", LIMIT_MS, unanswered), "show_output": false})
}

/// How long a hook may take; no limit of Windsurf's is documented.
const LIMIT_MS: u64 = 60_000;
