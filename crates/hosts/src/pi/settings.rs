//! Our extension among pi's, and whether pi loads it.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::extension::{Extension, SOURCE};
use crate::slash_command::{CommandFile, HostCommand};
use crate::spec;
use crate::wiring::{
    AgentStart, HookInvocation, Injection, Obstacle, SettingsEdits, SettingsError, SettingsScope,
    SettingsTexts, WiringStatus, json_hooks,
};

const EXTENSION: Extension = Extension {
    source: SOURCE,
    host: "pi",
    title: "pi",
    limit_ms: 600_000,
    end_limit_ms: 60_000,
    prompts_at_start: false,
};

/// Its settings.
pub(super) struct Settings;

impl spec::SettingsEditor for Settings {
    fn files(&self, scope: &SettingsScope) -> Vec<PathBuf> {
        vec![extension(scope)]
    }

    fn further_files(&self, scope: &SettingsScope) -> Vec<PathBuf> {
        vec![trust(scope), user_settings(scope)]
    }

    fn wire(
        &self,
        scope: &SettingsScope,
        texts: &SettingsTexts,
        call: &HookInvocation,
    ) -> Result<SettingsEdits, SettingsError> {
        EXTENSION.wire(extension(scope), texts, call)
    }

    fn unwire(
        &self,
        scope: &SettingsScope,
        texts: &SettingsTexts,
    ) -> Result<SettingsEdits, SettingsError> {
        Ok(EXTENSION.unwire(extension(scope), texts))
    }

    fn inspect(
        &self,
        scope: &SettingsScope,
        texts: &SettingsTexts,
    ) -> Result<WiringStatus, SettingsError> {
        let mut found = EXTENSION.inspect(&extension(scope), texts);
        if !found.ours.is_empty() {
            found.obstacles.extend(obstacle(scope, texts)?);
        }
        Ok(found)
    }

    fn inject(&self, start: &AgentStart<'_>) -> Result<Injection, SettingsError> {
        Ok(EXTENSION.inject(start))
    }

    fn command_file(
        &self,
        scope: &SettingsScope,
        command: &HostCommand<'_>,
    ) -> Option<CommandFile> {
        let fields =
            [("description", command.description), ("argument-hint", command.argument_hint)];
        Some(CommandFile {
            path: folder(scope).join(format!("prompts/{}.md", command.name)),
            text: command.markdown(&fields, "$ARGUMENTS"),
            call: format!("/{}", command.name),
        })
    }
}

/// The variable that names its own folder.
pub(super) const FOLDER_VARIABLE: &str = "PI_CODING_AGENT_DIR";

/// Returns its own folder in the user's home.
fn user_folder(scope: &SettingsScope) -> PathBuf {
    scope.folder(FOLDER_VARIABLE, ".pi/agent")
}

/// Returns its own folder at this level.
fn folder(scope: &SettingsScope) -> PathBuf {
    match &scope.project {
        Some(project) => project.join(".pi"),
        None => user_folder(scope),
    }
}

fn extension(scope: &SettingsScope) -> PathBuf {
    folder(scope).join("extensions/anyhook.js")
}

fn trust(scope: &SettingsScope) -> PathBuf {
    user_folder(scope).join("trust.json")
}

fn user_settings(scope: &SettingsScope) -> PathBuf {
    user_folder(scope).join("settings.json")
}

/// Returns what keeps pi from loading our extension.
fn obstacle(
    scope: &SettingsScope,
    texts: &SettingsTexts,
) -> Result<Option<Obstacle>, SettingsError> {
    let read = |path: &Path| match texts.get(path) {
        Some(text) => json_hooks::value(path, text, &[]),
        None => Ok(None),
    };
    let settings = read(&user_settings(scope))?.unwrap_or_default();
    let Some(project) = &scope.project else {
        let is_excluded = entries(&settings).any(|entry| {
            entry.strip_prefix('-').is_some_and(|path| extension(scope).ends_with(path))
        });
        let obstacle = || Obstacle::setting("`extensions`", &user_settings(scope));
        return Ok(is_excluded.then(obstacle));
    };
    // The decision about the closest folder counts.
    let trusted = read(&trust(scope))?.unwrap_or_default();
    let decision = project.ancestors().find_map(|folder| trusted.get(folder.to_str()?)?.as_bool());
    let by_default = settings.get("defaultProjectTrust").and_then(Value::as_str) == Some("always");
    if decision.unwrap_or(by_default) {
        return Ok(None);
    }
    Ok(Some(Obstacle {
        what: format!("{} is not trusted, so pi ignores its extensions", project.display()),
        way_out: "run pi there and choose Trust, or start it with --approve".to_owned(),
    }))
}

fn entries(settings: &Value) -> impl Iterator<Item = &str> {
    let entries = settings.get("extensions").and_then(Value::as_array);
    entries.into_iter().flatten().filter_map(Value::as_str)
}
