//! Our entries in a hook file of their own in Grok's settings.

use std::path::{Path, PathBuf};

use serde_json::json;
use toml_edit::{DocumentMut, Item};

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
        let policies = policies(scope);
        policies.into_iter().chain([disabled_hooks(scope), claudes_policy()]).collect()
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
        found.obstacles = obstacles(scope, texts);
        Ok(found)
    }
}

/// The events at which we are called: one entry each, without a matcher.
const EVENTS: &[&str] = &[
    "SessionStart",
    "SessionEnd",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "Stop",
    "StopFailure",
    "StopCancelled",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "PostCompact",
    "Notification",
];

/// The events at which an unanswered call is refused if a guard is installed.
const TOOL_EVENTS: &[&str] = &["PreToolUse"];

/// The name of our file, by which Grok names our hooks.
const NAME: &str = "anyhook";

fn settings(scope: &SettingsScope) -> JsonSettings {
    let path = folder(scope).join(format!("hooks/{NAME}.json"));
    JsonSettings { host: "grok", path, tool_events: TOOL_EVENTS }
}

/// Returns its own folder.
fn folder(scope: &SettingsScope) -> PathBuf {
    match &scope.project {
        Some(project) => project.join(".grok"),
        None => user_folder(scope),
    }
}

fn user_folder(scope: &SettingsScope) -> PathBuf {
    scope.folder("GROK_HOME", ".grok")
}

fn handler(event: &&'static str, call: &HookInvocation) -> Handler {
    // Its own limit is five seconds at most events.
    let seconds = if *event == "SessionEnd" { 5 } else { 600 };
    let unanswered = if TOOL_EVENTS.contains(event) {
        Unanswered::RefusedWith { reply: NO_ANSWER, otherwise: 1 }
    } else {
        // A missing program must not block a prompt.
        Unanswered::GoesOn
    };
    let command = call.command("grok", seconds * 1000, unanswered);
    Handler { event, handler: json!({"type": "command", "command": command, "timeout": seconds}) }
}

/// What the model is told of a call that was not answered. Of standard error it is told the first line
/// alone, which may be the shell's own about a program that was killed.
const NO_ANSWER: &str = r#"{"decision": "deny", "reason": "anyhook did not answer, and a guard that blocks on failure is installed, so this call is refused. To recover, in a terminal: run anyhook doctor to diagnose it, or anyhook install to restore the program"}"#;

/// Returns the files in which an administrator may restrict hooks to the managed ones.
fn policies(scope: &SettingsScope) -> Vec<PathBuf> {
    let folders = [user_folder(scope), PathBuf::from("/etc/grok")];
    let files = ["requirements.toml", "managed_config.toml"];
    folders.iter().flat_map(|folder| files.map(|file| folder.join(file))).collect()
}

/// Returns the managed settings of Claude Code, which it reads, too.
fn claudes_policy() -> PathBuf {
    PathBuf::from("/etc/claude-code/managed-settings.json")
}

/// Returns the list of the hooks that a person disabled on its screen.
fn disabled_hooks(scope: &SettingsScope) -> PathBuf {
    user_folder(scope).join("disabled-hooks")
}

/// Returns what keeps Grok from calling us. A file that it cannot read does not either.
fn obstacles(scope: &SettingsScope, texts: &SettingsTexts) -> Vec<Obstacle> {
    let mut found = Vec::new();
    for path in policies(scope) {
        let setting = texts.get(&path).and_then(|text| managed_only(text));
        found.extend(setting.map(|setting| Obstacle::setting(setting, &path)));
    }
    let claudes = claudes_policy();
    if let Some(text) = texts.get(&claudes) {
        let value = json_hooks::value(&claudes, text, &[MANAGED_ONLY[1]]).ok().flatten();
        if value.is_some_and(|value| value != false) {
            found.push(Obstacle::setting(MANAGED_ONLY[1], &claudes));
        }
    }
    let disabled = disabled_hooks(scope);
    if texts.get(&disabled).is_some_and(|text| names_ours(text)) {
        found.push(disabled_by_person(&disabled));
    }
    found
}

/// The setting that restricts hooks to the managed ones.
const MANAGED_ONLY: [&str; 2] = ["allow_managed_hooks_only", "allowManagedHooksOnly"];

/// Returns the name under which a policy restricts hooks; anything but `false` does.
fn managed_only(text: &str) -> Option<&'static str> {
    let policy: DocumentMut = text.parse().ok()?;
    let is_on = |name: &&str| policy.get(name).is_some_and(|item| item.as_bool() != Some(false));
    MANAGED_ONLY
        .into_iter()
        .find(|name| is_on(name) && policy.get(name).is_some_and(Item::is_value))
}

/// Returns whether a list of disabled hooks names one of ours, such as
/// `global/anyhook:pre_tool_use[0].hooks[0]`.
fn names_ours(text: &str) -> bool {
    text.contains(&format!("/{NAME}:"))
}

fn disabled_by_person(path: &Path) -> Obstacle {
    Obstacle {
        what: format!("hooks of anyhook are disabled in {}", path.display()),
        way_out: "enable them in Grok: /hooks, then Space".to_owned(),
    }
}
