//! Our entries in Codex's `hooks.json`, and their trust in its `config.toml`.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::injection;
use crate::agent_package;
use crate::slash_command::{CommandFile, HostCommand};
use crate::spec;
use crate::wiring::codex_trust;
use crate::wiring::json_hooks::{self, Handler};
use crate::wiring::{
    AgentStart, DisplacedSettings, HookInvocation, Injection, JsonSettings, Obstacle,
    SettingsEdits, SettingsError, SettingsScope, SettingsTexts, Unanswered, WiringStatus, is_ours,
};

/// Its settings.
pub(super) struct Settings;

impl spec::SettingsEditor for Settings {
    fn files(&self, scope: &SettingsScope) -> Vec<PathBuf> {
        vec![hooks_file(scope).path, config_file(scope)]
    }

    fn further_files(&self, scope: &SettingsScope) -> Vec<PathBuf> {
        scope.project.iter().map(|_| own_config(scope)).collect()
    }

    fn wire(
        &self,
        scope: &SettingsScope,
        texts: &SettingsTexts,
        call: &HookInvocation,
    ) -> Result<SettingsEdits, SettingsError> {
        let file = hooks_file(scope);
        let config = config_file(scope);
        let handlers: Vec<Handler> = EVENTS.iter().map(|event| handler(event, call, 600)).collect();
        let hooks = file.wire(texts, &handlers)?;
        // Without its hash in the settings, a hook is skipped silently.
        let trusted: Vec<(String, String)> = our_hashes(&file.path, &hooks)?;
        let config_text =
            codex_trust::trust(&config, texts.get(&config).map(String::as_str), &trusted)?;
        Ok(SettingsEdits::from([(file.path, Some(hooks)), (config, Some(config_text))]))
    }

    fn unwire(
        &self,
        scope: &SettingsScope,
        texts: &SettingsTexts,
    ) -> Result<SettingsEdits, SettingsError> {
        let file = hooks_file(scope);
        let config = config_file(scope);
        let mut edits = file.unwire(texts)?;
        if let (Some(hooks), Some(text)) = (texts.get(&file.path), texts.get(&config)) {
            let ours = our_hashes(&file.path, hooks)?;
            let after = codex_trust::untrust(&config, text, &file.path, &ours)?;
            if after != *text {
                edits.insert(config, Some(after));
            }
        }
        Ok(edits)
    }

    fn inspect(
        &self,
        scope: &SettingsScope,
        texts: &SettingsTexts,
    ) -> Result<WiringStatus, SettingsError> {
        let file = hooks_file(scope);
        let config = config_file(scope);
        let mut found = file.inspect(texts, EVENTS)?;
        let config_text = texts.get(&config).map(String::as_str).unwrap_or_default();
        found.packages = codex_trust::enabled_plugins(&config, config_text)?;
        found.packages.retain(|name| name.split('@').next() == Some(agent_package::NAME));
        for package in &found.packages {
            let key = format!("{package}:hooks/hooks.json:pre_tool_use:0:0");
            let is_trusted = codex_trust::trusted_hash(&config, config_text, &key)?.is_some();
            if found.ours.is_empty() && !is_trusted {
                found.obstacles.push(Obstacle {
                    what: format!("the hooks of the plugin {package} are not trusted"),
                    way_out: "start codex and trust them: it asks, or /hooks".to_owned(),
                });
            }
        }
        let own = own_config(scope);
        let own_text = texts.get(&own).map(String::as_str).unwrap_or_default();
        if let Some(feature) = codex_trust::switched_off(&own, own_text)? {
            let setting = format!("[features] {feature} = false");
            found.obstacles.push(Obstacle::setting(&setting, &own));
        }
        if let Some(hooks) = texts.get(&file.path) {
            for (key, hash) in our_hashes(&file.path, hooks)? {
                if codex_trust::trusted_hash(&config, config_text, &key)?.as_deref()
                    != Some(hash.as_str())
                {
                    found.stale.push(format!("{key} is not trusted in {}", config.display()));
                }
            }
        }
        Ok(found)
    }

    fn inject(&self, start: &AgentStart<'_>) -> Result<Injection, SettingsError> {
        injection::inject(start)
    }

    fn displaced(
        &self,
        scope: &SettingsScope,
        _run: &str,
        _variable: &dyn Fn(&str) -> Option<String>,
    ) -> Option<DisplacedSettings> {
        Some(DisplacedSettings::File(config_file(scope)))
    }

    /// Returns a skill: files in `prompts` are no longer read.
    fn command_file(
        &self,
        scope: &SettingsScope,
        command: &HostCommand<'_>,
    ) -> Option<CommandFile> {
        let call = format!("${}", command.name);
        let argument = format!("the text after `{call}`");
        let fields = [("name", command.name), ("description", command.description)];
        Some(CommandFile {
            path: folder(scope).join(format!("skills/{}/SKILL.md", command.name)),
            text: command.markdown(&fields, &argument),
            call,
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
    "PreCompact",
    "PostCompact",
    "SubagentStart",
    "SubagentStop",
    "Stop",
];

/// The events at which an unanswered call is refused if a guard is installed.
const TOOL_EVENTS: &[&str] = &["PreToolUse", "PermissionRequest"];

fn hooks_file(scope: &SettingsScope) -> JsonSettings {
    let path = folder(scope).join("hooks.json");
    JsonSettings { host: "codex", path, tool_events: TOOL_EVENTS }
}

/// Returns its own folder.
fn folder(scope: &SettingsScope) -> PathBuf {
    match &scope.project {
        Some(project) => project.join(".codex"),
        None => scope.folder("CODEX_HOME", ".codex"),
    }
}

/// Returns the settings file of the same level.
fn own_config(scope: &SettingsScope) -> PathBuf {
    folder(scope).join("config.toml")
}

/// Returns the user's settings file: trust belongs to the user, also for a project's hooks.
fn config_file(scope: &SettingsScope) -> PathBuf {
    scope.folder("CODEX_HOME", ".codex").join("config.toml")
}

/// Returns the key and hash of each of our handlers.
fn our_hashes(path: &Path, hooks: &str) -> Result<Vec<(String, String)>, SettingsError> {
    let value = json_hooks::value(path, hooks, &[])?.unwrap_or_default();
    let ours = codex_trust::hashes(path, &value)
        .into_iter()
        .filter(|(_, _, command)| is_ours(command, "codex"));
    Ok(ours.map(|(key, hash, _)| (key, hash)).collect())
}

pub(super) fn handler(
    event: &&'static str,
    call: &HookInvocation,
    permission_seconds: u64,
) -> Handler {
    let seconds = match *event {
        // At the end of a session, the host waits at most three seconds.
        "SessionEnd" => 3,
        "PermissionRequest" => permission_seconds,
        _ => 600,
    };
    let unanswered = if TOOL_EVENTS.contains(event) {
        Unanswered::Refused { otherwise: 1 }
    } else {
        Unanswered::GoesOn
    };
    let command = call.command("codex", seconds * 1000, unanswered);
    Handler { event, handler: json!({"type": "command", "command": command, "timeout": seconds}) }
}
