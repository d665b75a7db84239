//! Our entries in Gemini CLI's `settings.json`.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::{FOLDER, HOME_VARIABLE};
use crate::agent_package;
use crate::slash_command::{CommandFile, HostCommand};
use crate::spec;
use crate::wiring::json_hooks::{self, Handler};
use crate::wiring::{
    AgentStart, HookInvocation, Injection, JsonSettings, Obstacle, SettingsEdits, SettingsError,
    SettingsScope, SettingsTexts, Unanswered, WiringStatus, has_package_call, is_ours,
};

/// Its settings.
pub(super) struct Settings;

impl spec::SettingsEditor for Settings {
    fn files(&self, scope: &SettingsScope) -> Vec<PathBuf> {
        vec![settings(scope).path]
    }

    fn further_files(&self, scope: &SettingsScope) -> Vec<PathBuf> {
        vec![extension_hooks(scope)]
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
        let file = settings(scope);
        let mut found = file.inspect(texts, EVENTS)?;
        let extension = extension_hooks(scope);
        if let Some(text) = texts.get(&extension)
            && has_package_call(&extension, text, "gemini-cli")
        {
            found.packages.push(extension.display().to_string());
        }
        let Some(text) = texts.get(&file.path) else { return Ok(found) };
        if json_hooks::value(&file.path, text, &["hooksConfig", "enabled"])? == Some(false.into()) {
            found.obstacles.push(Obstacle::setting("hooksConfig.enabled = false", &file.path));
        }
        for keys in [["hooksConfig", "disabled"], ["hooks", "disabled"]] {
            let disabled = json_hooks::value(&file.path, text, &keys)?.unwrap_or_default();
            let is_off = |name: &Value| {
                name.as_str().is_some_and(|name| name == NAME || is_ours(name, "gemini-cli"))
            };
            if disabled.as_array().is_some_and(|names| names.iter().any(is_off)) {
                let setting = format!("{}, which lists anyhook,", keys.join("."));
                found.obstacles.push(Obstacle::setting(&setting, &file.path));
            }
        }
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
            path: folder(scope).join(format!("commands/{}.toml", command.name)),
            text: command.toml("{{args}}"),
            call: format!("/{}", command.name),
        })
    }
}

/// The name of our entries, by which the host can disable them.
const NAME: &str = "anyhook";

/// The events at which we are called: one entry each, without a matcher.
const EVENTS: &[&str] = &[
    "SessionStart",
    "SessionEnd",
    "BeforeAgent",
    "AfterAgent",
    "BeforeTool",
    "AfterTool",
    "PreCompress",
    "Notification",
];

/// The events at which an unanswered call is refused if a guard is installed.
const TOOL_EVENTS: &[&str] = &["BeforeTool"];

fn settings(scope: &SettingsScope) -> JsonSettings {
    let path = folder(scope).join("settings.json");
    JsonSettings { host: "gemini-cli", path, tool_events: TOOL_EVENTS }
}

/// Returns the hooks of our extension, which belongs to the user.
fn extension_hooks(scope: &SettingsScope) -> PathBuf {
    let user = SettingsScope { project: None, ..scope.clone() };
    folder(&user).join("extensions").join(agent_package::NAME).join("hooks/hooks.json")
}

/// Returns its own folder.
fn folder(scope: &SettingsScope) -> PathBuf {
    let home = || scope.folder(HOME_VARIABLE, "");
    scope.project.clone().unwrap_or_else(home).join(FOLDER)
}

fn handler(event: &&'static str, call: &HookInvocation) -> Handler {
    // In milliseconds, unlike the other hosts.
    let limit = if *event == "SessionEnd" { 5_000 } else { 600_000 };
    // It treats every exit code above 1 as a block, including that of a shell that does not find a
    // program.
    let unanswered = if TOOL_EVENTS.contains(event) {
        Unanswered::Refused { otherwise: 1 }
    } else {
        Unanswered::Softened
    };
    let command = call.command("gemini-cli", limit, unanswered);
    Handler {
        event,
        handler: json!({"type": "command", "name": NAME, "command": command, "timeout": limit}),
    }
}
