//! Our file among the hooks of Kiro.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::spec;
use crate::wiring::{
    HookInvocation, SettingsEdits, SettingsError, SettingsScope, SettingsTexts, Unanswered,
    WiringStatus, is_ours, json_hooks, status,
};

/// Its settings.
pub(super) static SETTINGS: Settings = Settings;

/// A file that is entirely ours.
pub(super) struct Settings;

/// The events at which we are called.
const EVENTS: &[&str] = &["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"];

/// The events at which an unanswered call is refused if a guard is installed: any other exit code
/// but 0 would block there, too.
const BLOCKING: &[&str] = &["UserPromptSubmit", "PreToolUse"];

/// How long Kiro waits.
const SECONDS: u64 = 600;

impl spec::SettingsEditor for Settings {
    fn files(&self, scope: &SettingsScope) -> Vec<PathBuf> {
        vec![path(scope)]
    }

    fn wire(
        &self,
        scope: &SettingsScope,
        texts: &SettingsTexts,
        call: &HookInvocation,
    ) -> Result<SettingsEdits, SettingsError> {
        let path = path(scope);
        if let Some(text) = texts.get(&path)
            && !is_our_file(&path, text)?
        {
            let what = "the file".to_owned();
            return Err(SettingsError::Unexpected { path, what, expected: "ours" });
        }
        let hooks: Vec<Value> = EVENTS.iter().map(|event| hook(event, call)).collect();
        let text = format!("{:#}\n", json!({"version": "v1", "hooks": hooks}));
        Ok(SettingsEdits::from([(path, Some(text))]))
    }

    fn unwire(
        &self,
        scope: &SettingsScope,
        texts: &SettingsTexts,
    ) -> Result<SettingsEdits, SettingsError> {
        let path = path(scope);
        let is_ours = match texts.get(&path) {
            Some(text) => is_our_file(&path, text)?,
            None => false,
        };
        Ok(if is_ours { SettingsEdits::from([(path, None)]) } else { SettingsEdits::new() })
    }

    fn inspect(
        &self,
        scope: &SettingsScope,
        texts: &SettingsTexts,
    ) -> Result<WiringStatus, SettingsError> {
        let path = path(scope);
        let commands = match texts.get(&path) {
            Some(text) => commands(&path, text)?,
            None => Vec::new(),
        };
        Ok(status("kiro", BLOCKING, &commands, EVENTS))
    }
}

fn path(scope: &SettingsScope) -> PathBuf {
    let folder = scope.project.as_ref().unwrap_or(&scope.home);
    folder.join(".kiro/hooks/anyhook.json")
}

fn hook(event: &str, call: &HookInvocation) -> Value {
    let unanswered = if BLOCKING.contains(&event) {
        Unanswered::Refused { otherwise: 0 }
    } else {
        Unanswered::GoesOn
    };
    json!({
        "name": format!("anyhook-{event}"),
        "trigger": event,
        "action": {"type": "command", "command": call.command("kiro", SECONDS * 1000, unanswered)},
        "timeout": SECONDS,
        "enabled": true,
    })
}

/// Returns the commands of the hooks in a file, with their events.
fn commands(path: &Path, text: &str) -> Result<Vec<(String, String)>, SettingsError> {
    let hooks = json_hooks::value(path, text, &["hooks"])?.unwrap_or_default();
    let command = |hook: &Value| {
        let is_on = hook.get("enabled") != Some(&Value::Bool(false));
        let text = |value: Option<&Value>| Some(value?.as_str()?.to_owned());
        let command = text(hook.get("action").and_then(|action| action.get("command")))?;
        Some((text(hook.get("trigger"))?, command)).filter(|_| is_on)
    };
    Ok(hooks.as_array().into_iter().flatten().filter_map(command).collect())
}

/// Returns whether a file has our hooks and no others.
fn is_our_file(path: &Path, text: &str) -> Result<bool, SettingsError> {
    let hooks = json_hooks::value(path, text, &["hooks"])?.unwrap_or_default();
    let count = hooks.as_array().map_or(0, Vec::len);
    let commands = commands(path, text)?;
    Ok(count > 0
        && commands.len() == count
        && commands.iter().all(|(_, command)| is_ours(command, "kiro")))
}
