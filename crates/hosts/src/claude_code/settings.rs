//! Our entries in Claude Code's `settings.json`.

use std::path::PathBuf;

use serde_json::json;

use super::{disabled, injection};
use crate::slash_command::{CommandFile, HostCommand};
use crate::spec;
use crate::wiring::json_hooks::Handler;
use crate::wiring::{
    AgentStart, DisplacedSettings, HookInvocation, Injection, JsonSettings, SettingsEdits,
    SettingsError, SettingsScope, SettingsTexts, Unanswered, WiringStatus,
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

    fn files_named_in(&self, scope: &SettingsScope, texts: &SettingsTexts) -> Vec<PathBuf> {
        disabled::plugin_files(scope, texts)
    }

    fn wire(
        &self,
        scope: &SettingsScope,
        texts: &SettingsTexts,
        call: &HookInvocation,
    ) -> Result<SettingsEdits, SettingsError> {
        let file = settings(scope);
        let handlers: Vec<Handler> = EVENTS.iter().map(|event| handler(event, call, 600)).collect();
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
        found.obstacles = disabled::obstacles(scope, texts)?;
        found.packages = disabled::packages(texts);
        Ok(found)
    }

    fn inject(&self, start: &AgentStart<'_>) -> Result<Injection, SettingsError> {
        injection::inject(start)
    }

    fn displaced(
        &self,
        _scope: &SettingsScope,
        run: &str,
        _variable: &dyn Fn(&str) -> Option<String>,
    ) -> Option<DisplacedSettings> {
        injection::displaced(run)
    }

    fn command_file(
        &self,
        scope: &SettingsScope,
        command: &HostCommand<'_>,
    ) -> Option<CommandFile> {
        let fields =
            [("description", command.description), ("argument-hint", command.argument_hint)];
        Some(CommandFile {
            path: folder(scope).join(format!("commands/{}.md", command.name)),
            text: command.markdown(&fields, "$ARGUMENTS"),
            call: format!("/{}", command.name),
        })
    }
}

/// The events at which we are called: one entry each, without a matcher.
pub(super) const EVENTS: &[&str] = &[
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
const TOOL_EVENTS: &[&str] = &["PreToolUse", "PermissionRequest"];

pub(super) fn settings(scope: &SettingsScope) -> JsonSettings {
    let path = folder(scope).join("settings.json");
    JsonSettings { host: "claude-code", path, tool_events: TOOL_EVENTS }
}

/// Returns its own folder.
pub(super) fn folder(scope: &SettingsScope) -> PathBuf {
    match &scope.project {
        Some(project) => project.join(".claude"),
        None => scope.folder("CLAUDE_CONFIG_DIR", ".claude"),
    }
}

pub(super) fn handler(
    event: &&'static str,
    call: &HookInvocation,
    permission_seconds: u64,
) -> Handler {
    let seconds = match *event {
        // At the end of a session, the host waits only briefly.
        "SessionEnd" => 5,
        "PermissionRequest" => permission_seconds,
        _ => 600,
    };
    let mut handler = json!({"type": "command"});
    if TOOL_EVENTS.contains(event) {
        // Everything that it considers a failure blocks, so without a guard there must be none. It
        // also covers what no entry can: that we did not answer within the host's own limit.
        let unanswered = Unanswered::Refused { otherwise: 0 };
        handler["command"] = call.command("claude-code", seconds * 1000, unanswered).into();
        handler["timeout"] = seconds.into();
        handler["onFailure"] = "block".into();
    } else {
        // A missing program must not block a prompt.
        handler["command"] = call.command("claude-code", seconds * 1000, Unanswered::GoesOn).into();
        handler["timeout"] = seconds.into();
    }
    Handler { event, handler }
}
