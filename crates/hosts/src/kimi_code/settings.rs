//! Our hooks in Kimi Code's `config.toml`.

use std::path::PathBuf;

use super::{FOLDER, HOME_VARIABLE, disabled};
use crate::spec;
use crate::wiring::toml_hooks::TomlHook;
use crate::wiring::{
    AgentStart, HookInvocation, Injection, SettingsEdits, SettingsError, SettingsScope,
    SettingsTexts, TomlSettings, Unanswered, WiringStatus,
};

/// Its settings.
pub(super) struct Settings;

impl spec::SettingsEditor for Settings {
    fn files(&self, scope: &SettingsScope) -> Vec<PathBuf> {
        vec![settings(scope).path]
    }

    fn wire(
        &self,
        scope: &SettingsScope,
        texts: &SettingsTexts,
        call: &HookInvocation,
    ) -> Result<SettingsEdits, SettingsError> {
        let file = settings(scope);
        let hooks: Vec<TomlHook> = EVENTS.iter().map(|event| hook(event, call)).collect();
        let text = file.wire(texts, &hooks)?;
        Ok(SettingsEdits::from([(file.path, Some(text))]))
    }

    fn unwire(
        &self,
        scope: &SettingsScope,
        texts: &SettingsTexts,
    ) -> Result<SettingsEdits, SettingsError> {
        settings(scope).unwire(texts)
    }

    fn inspect(
        &self,
        scope: &SettingsScope,
        texts: &SettingsTexts,
    ) -> Result<WiringStatus, SettingsError> {
        let file = settings(scope);
        let mut found = file.inspect(texts, EVENTS)?;
        found.obstacles = texts
            .get(&file.path)
            .map(|text| disabled::obstacles(&file.path, text))
            .unwrap_or_default();
        Ok(found)
    }

    fn inject(&self, _start: &AgentStart<'_>) -> Result<Injection, SettingsError> {
        let why = "it only reads hooks from its settings file";
        Ok(Injection { why_not: Some(why), ..Injection::default() })
    }
}

/// The events at which we are called: one hook each, without a matcher.
const EVENTS: &[&str] = &[
    "SessionStart",
    "SessionEnd",
    "UserPromptSubmit",
    "PreToolUse",
    "PermissionRequest",
    "PostToolUse",
    "PostToolUseFailure",
    "Stop",
    "StopFailure",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "PostCompact",
    "Notification",
];

/// The events at which an unanswered call is refused if a guard is installed.
const TOOL_EVENTS: &[&str] = &["PreToolUse"];

/// Returns the user's settings, also for a project: a project has none.
fn settings(scope: &SettingsScope) -> TomlSettings {
    let path = scope.folder(HOME_VARIABLE, FOLDER).join("config.toml");
    TomlSettings { host: "kimi-code", path, tool_events: TOOL_EVENTS }
}

fn hook(event: &&'static str, call: &HookInvocation) -> TomlHook {
    // It accepts at most ten minutes.
    let seconds = 600;
    let unanswered = if TOOL_EVENTS.contains(event) {
        Unanswered::Refused { otherwise: 1 }
    } else {
        Unanswered::GoesOn
    };
    let command = call.command("kimi-code", seconds * 1000, unanswered);
    TomlHook { event, command, seconds }
}
