//! Our entries among Copilot CLI's hooks: a file of our own in its folder of hook files.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::HOME_VARIABLE;
use crate::spec;
use crate::wiring::json_hooks::{self, Handler};
use crate::wiring::{
    HookInvocation, JsonSettings, Obstacle, SettingsEdits, SettingsError, SettingsScope,
    SettingsTexts, Unanswered, WiringStatus,
};

/// Its settings.
pub(super) struct Settings;

impl spec::SettingsEditor for Settings {
    fn files(&self, scope: &SettingsScope) -> Vec<PathBuf> {
        vec![settings(scope).path]
    }

    fn further_files(&self, scope: &SettingsScope) -> Vec<PathBuf> {
        let switches = switches(scope);
        if switches.is_empty() { switches } else { [switches, vec![config(scope)]].concat() }
    }

    fn wire(
        &self,
        scope: &SettingsScope,
        texts: &SettingsTexts,
        call: &HookInvocation,
    ) -> Result<SettingsEdits, SettingsError> {
        let file = settings(scope);
        let mut texts = texts.clone();
        texts.entry(file.path.clone()).or_insert_with(|| EMPTY.to_owned());
        let handlers: Vec<Handler> = EVENTS.iter().map(|event| handler(event, call)).collect();
        let text = file.wire(&texts, &handlers)?;
        Ok(SettingsEdits::from([(file.path, Some(text))]))
    }

    fn unwire(
        &self,
        scope: &SettingsScope,
        texts: &SettingsTexts,
    ) -> Result<SettingsEdits, SettingsError> {
        let file = settings(scope);
        let mut edits = file.unwire(texts)?;
        // What is left of a file that we made is removed.
        if let Some(text) = edits.get_mut(&file.path)
            && text.as_deref().is_some_and(is_empty)
        {
            *text = None;
        }
        Ok(edits)
    }

    fn inspect(
        &self,
        scope: &SettingsScope,
        texts: &SettingsTexts,
    ) -> Result<WiringStatus, SettingsError> {
        let file = settings(scope);
        let mut found = file.inspect(texts, EVENTS)?;
        if let Some(text) = texts.get(&file.path)
            && serde_json::from_str::<Value>(text).is_err()
        {
            let path = file.path.display();
            found.obstacles.push(Obstacle {
                what: format!("{path} is not plain JSON, so Copilot CLI ignores it"),
                way_out: format!("remove comments and the like from {path}"),
            });
        }
        for path in [vec![file.path], switches(scope)].concat() {
            let Some(text) = texts.get(&path) else { continue };
            if json_hooks::value(&path, text, &[SWITCH])? == Some(true.into()) {
                found.obstacles.push(Obstacle::setting(SWITCH, &path));
            }
        }
        if !found.ours.is_empty() && !is_trusted(scope, texts)? {
            found.obstacles.push(Obstacle {
                what: format!(
                    "the project is not among trustedFolders in {}, so hooks in it do not run",
                    config(scope).display()
                ),
                way_out: "start copilot in the project and trust the folder".to_owned(),
            });
        }
        Ok(found)
    }
}

/// A hook file without any hooks. It must be plain JSON.
const EMPTY: &str = "{\n  \"version\": 1\n}\n";

/// The setting that disables hooks: all of them in a project's settings, those of the same file in
/// a file of hooks.
const SWITCH: &str = "disableAllHooks";

/// The events at which we are called: one entry each, without a matcher.
///
/// `PermissionRequest` is not among them: it fires before every shell command, also where the user
/// is not asked.
const EVENTS: &[&str] = &[
    "SessionStart",
    "SessionEnd",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "Stop",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "Notification",
    "ErrorOccurred",
];

/// The events at which an unanswered call is refused if a guard is installed.
const TOOL_EVENTS: &[&str] = &["PreToolUse"];

/// What it is told of a call that was not answered: it passes on no standard error.
const NO_ANSWER: &str = r#"{"permissionDecision": "deny", "permissionDecisionReason": "anyhook did not answer, and a guard that blocks on failure is installed, so this call is refused. To recover, in a terminal: run anyhook doctor to diagnose it, or anyhook install to restore the program"}"#;

fn settings(scope: &SettingsScope) -> JsonSettings {
    let folder = match &scope.project {
        Some(project) => project.join(".github"),
        None => user_folder(scope),
    };
    let path = folder.join("hooks/anyhook.json");
    JsonSettings { host: "copilot", path, tool_events: TOOL_EVENTS }
}

fn user_folder(scope: &SettingsScope) -> PathBuf {
    scope.folder(HOME_VARIABLE, ".copilot")
}

/// Returns the file in which it keeps the folders that the user trusts.
fn config(scope: &SettingsScope) -> PathBuf {
    user_folder(scope).join("config.json")
}

/// Returns a project's settings files, each of which can disable all hooks, also the user's.
fn switches(scope: &SettingsScope) -> Vec<PathBuf> {
    let files = [
        ".github/copilot/settings.json",
        ".github/copilot/settings.local.json",
        ".claude/settings.json",
        ".claude/settings.local.json",
    ];
    scope.project.iter().flat_map(|project| files.map(|file| project.join(file))).collect()
}

/// Returns whether hooks in the project run. Before its first start, there is nothing that it could
/// have been told.
fn is_trusted(scope: &SettingsScope, texts: &SettingsTexts) -> Result<bool, SettingsError> {
    let path = config(scope);
    let (Some(project), Some(text)) = (&scope.project, texts.get(&path)) else { return Ok(true) };
    let lists = ["trustedFolders", "trusted_folders"];
    for list in lists {
        let folders = json_hooks::value(&path, text, &[list])?.unwrap_or_default();
        let folders = folders.as_array().into_iter().flatten().filter_map(Value::as_str);
        if folders.map(Path::new).any(|folder| project.starts_with(folder)) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn is_empty(text: &str) -> bool {
    let empty = serde_json::from_str::<Value>(EMPTY).ok();
    empty.is_some() && serde_json::from_str::<Value>(text).ok() == empty
}

fn handler(event: &&'static str, call: &HookInvocation) -> Handler {
    let seconds = 600;
    // Before a tool, every exit code but 0 denies.
    let unanswered = if TOOL_EVENTS.contains(event) {
        Unanswered::RefusedWith { reply: NO_ANSWER, otherwise: 0 }
    } else {
        Unanswered::GoesOn
    };
    let command = call.command("copilot", seconds * 1000, unanswered);
    Handler { event, handler: json!({"type": "command", "command": command, "timeout": seconds}) }
}
