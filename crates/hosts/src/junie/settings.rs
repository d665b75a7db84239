//! Our entries in Junie's `config.json`.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::wiring::{HookInvocation, ListedEntries, SettingsScope, Unanswered, no_obstacle};

/// Its settings.
pub(super) static SETTINGS: ListedEntries = ListedEntries {
    host: "junie",
    path,
    object: "hooks",
    new_file: None,
    events: EVENTS,
    tool_events: TOOL_EVENTS,
    entry,
    obstacle: no_obstacle,
};

/// The events at which we are called.
const EVENTS: &[&str] = &["SessionStart", "SessionEnd", "UserPromptSubmit", "PreToolUse", "Stop"];

/// The events at which an unanswered call is refused if a guard is installed.
const TOOL_EVENTS: &[&str] = &["PreToolUse"];

/// Returns the user's settings, also for a project: it ignores those of a project.
fn path(scope: &SettingsScope) -> PathBuf {
    scope.home.join(".junie/config.json")
}

fn entry(event: &'static str, call: &HookInvocation) -> Value {
    let mut handler = json!({"type": "command", "timeout": SECONDS});
    if TOOL_EVENTS.contains(&event) {
        // What it takes for an error blocks, so without a guard there must be none.
        let unanswered = Unanswered::Refused { otherwise: 0 };
        handler["command"] = call.command("junie", SECONDS * 1000, unanswered).into();
        handler["blockOnError"] = true.into();
    } else {
        handler["command"] = call.command("junie", SECONDS * 1000, Unanswered::Softened).into();
    }
    json!({"hooks": [handler]})
}

/// How long Junie waits.
const SECONDS: u64 = 600;
