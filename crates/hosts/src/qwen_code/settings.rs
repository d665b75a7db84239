//! Our entries in Qwen Code's `settings.json`.

use std::path::PathBuf;

use serde_json::json;

use super::{FOLDER, HOME_VARIABLE, disabled};
use crate::slash_command::{CommandFile, HostCommand};
use crate::spec;
use crate::wiring::json_hooks::Handler;
use crate::wiring::{
    AgentStart, HookInvocation, Injection, JsonSettings, SettingsEdits, SettingsError,
    SettingsScope, SettingsTexts, Unanswered, WiringStatus,
};

/// Its settings.
pub(super) struct Settings;

impl spec::SettingsEditor for Settings {
    fn files(&self, scope: &SettingsScope) -> Vec<PathBuf> {
        vec![settings(scope).path]
    }

    fn further_files(&self, scope: &SettingsScope) -> Vec<PathBuf> {
        disabled::further_files(scope)
    }

    fn wire(
        &self,
        scope: &SettingsScope,
        texts: &SettingsTexts,
        call: &HookInvocation,
    ) -> Result<SettingsEdits, SettingsError> {
        let file = settings(scope);
        let handlers: Vec<Handler> = EVENTS.iter().map(|event| handler(event, call)).collect();
        let text = file.wire(texts, &handlers)?;
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
        let mut found = settings(scope).inspect(texts, EVENTS)?;
        found.obstacles = disabled::obstacles(scope, texts, !found.ours.is_empty())?;
        Ok(found)
    }

    fn inject(&self, _start: &AgentStart<'_>) -> Result<Injection, SettingsError> {
        let why = "it only reads hooks from its settings files";
        Ok(Injection { why_not: Some(why), ..Injection::default() })
    }

    fn command_file(
        &self,
        scope: &SettingsScope,
        command: &HostCommand<'_>,
    ) -> Option<CommandFile> {
        Some(CommandFile {
            path: folder(scope).join(format!("commands/{}.md", command.name)),
            text: command.markdown(&[("description", command.description)], "{{args}}"),
            call: format!("/{}", command.name),
        })
    }
}

/// The events at which we are called: one entry each, without a matcher.
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

/// The events at which an unanswered call is refused if a guard is installed. At a request for a
/// permission, exit 2 is no answer: a person decides.
const TOOL_EVENTS: &[&str] = &["PreToolUse"];

pub(super) fn settings(scope: &SettingsScope) -> JsonSettings {
    let path = folder(scope).join("settings.json");
    JsonSettings { host: "qwen-code", path, tool_events: TOOL_EVENTS }
}

/// Returns its own folder.
pub(super) fn folder(scope: &SettingsScope) -> PathBuf {
    match &scope.project {
        Some(project) => project.join(FOLDER),
        None => scope.folder(HOME_VARIABLE, FOLDER),
    }
}

fn handler(event: &&'static str, call: &HookInvocation) -> Handler {
    // From 1000 on, it reads a timeout as milliseconds.
    let limit = if *event == "SessionEnd" { 5_000 } else { 600_000 };
    let unanswered = if TOOL_EVENTS.contains(event) {
        Unanswered::Refused { otherwise: 1 }
    } else {
        Unanswered::GoesOn
    };
    let command = call.command("qwen-code", limit, unanswered);
    Handler { event, handler: json!({"type": "command", "command": command, "timeout": limit}) }
}
