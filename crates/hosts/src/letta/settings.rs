//! Our entries in Letta Code's `settings.json`, and the script that one of them runs.
//!
//! A denial shows the model the command line of the hook. The line that refuses a call for want of
//! an answer contains the text that it says then, which the model must not take for the reason of
//! every denial. So it is in a script, and the entry of tool calls only names this.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::FOLDER;
use crate::spec;
use crate::wiring::json_hooks::{self, Handler};
use crate::wiring::{
    AgentStart, HookInvocation, Injection, JsonSettings, Obstacle, SettingsEdits, SettingsError,
    SettingsScope, SettingsTexts, Unanswered, WiringStatus, is_entry_script, script_command,
    script_name,
};

/// Its settings.
pub(super) struct Settings;

impl spec::SettingsEditor for Settings {
    fn files(&self, scope: &SettingsScope) -> Vec<PathBuf> {
        vec![settings(scope).path, script(scope)]
    }

    fn further_files(&self, scope: &SettingsScope) -> Vec<PathBuf> {
        let users = scope.home.join(FOLDER).join(FILE);
        let local = folder(scope).join("settings.local.json");
        if scope.project.is_some() { vec![users, local] } else { Vec::new() }
    }

    fn wire(
        &self,
        scope: &SettingsScope,
        texts: &SettingsTexts,
        call: &HookInvocation,
    ) -> Result<SettingsEdits, SettingsError> {
        let (file, script) = (settings(scope), script(scope));
        let there = texts.get(&script);
        let is_ours = there.is_some_and(|text| is_our_script(text));
        let mut edits = SettingsEdits::new();
        let has_script = call.folders().is_some() && script.to_str().is_some();
        if has_script {
            if there.is_some() && !is_ours {
                let what = "the file".to_owned();
                return Err(SettingsError::Unexpected {
                    path: script,
                    what,
                    expected: "our script",
                });
            }
            edits.insert(script.clone(), Some(script_text(&tool_line(call))));
        } else if is_ours {
            edits.insert(script.clone(), None);
        }
        let handlers: Vec<Handler> = EVENTS
            .iter()
            .map(|event| {
                let command = match (TOOL_EVENTS.contains(event), has_script) {
                    (true, true) => script_command(&script.to_string_lossy()),
                    (true, false) => tool_line(call),
                    (false, _) => call.command(HOST, LIMIT_MS, Unanswered::GoesOn),
                };
                let handler = json!({"type": "command", "command": command, "timeout": LIMIT_MS});
                Handler { event, handler }
            })
            .collect();
        edits.insert(file.path.clone(), Some(file.wire(texts, &handlers)?));
        Ok(edits)
    }

    fn unwire(
        &self,
        scope: &SettingsScope,
        texts: &SettingsTexts,
    ) -> Result<SettingsEdits, SettingsError> {
        let mut edits = settings(scope).unwire(texts)?;
        let script = script(scope);
        if texts.get(&script).is_some_and(|text| is_our_script(text)) {
            edits.insert(script, None);
        }
        Ok(edits)
    }

    fn inspect(
        &self,
        scope: &SettingsScope,
        texts: &SettingsTexts,
    ) -> Result<WiringStatus, SettingsError> {
        let file = settings(scope);
        let line = texts.get(&script(scope)).and_then(|text| line_of(text));
        // An entry is what its script does; one whose script is missing calls nobody.
        let mut commands = file.commands(texts)?;
        commands.retain(|(_, command)| line.is_some() || !is_entry_script(command, HOST));
        for (_, command) in &mut commands {
            if is_entry_script(command, HOST)
                && let Some(line) = line
            {
                line.clone_into(command);
            }
        }
        let mut found = file.status(&commands, EVENTS);
        found.obstacles.extend(disabled(scope, texts)?);
        Ok(found)
    }

    fn inject(&self, _start: &AgentStart<'_>) -> Result<Injection, SettingsError> {
        let why = "it only reads hooks from its settings files";
        Ok(Injection { why_not: Some(why), ..Injection::default() })
    }
}

/// Its id.
const HOST: &str = "letta";
/// The file of its settings in its folder.
const FILE: &str = "settings.json";
/// How long it waits for a hook.
const LIMIT_MS: u64 = 600_000;

/// The events at which we are called: one entry each, without a matcher.
///
/// Not `PermissionRequest`, where silence approves, nor `PostToolUseFailure`, which repeats
/// `PostToolUse`.
const EVENTS: &[&str] = &[
    "SessionStart",
    "SessionEnd",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "Stop",
    "SubagentStop",
    "PreCompact",
    "Notification",
];

/// The events at which an unanswered call is refused if a guard is installed.
const TOOL_EVENTS: &[&str] = &["PreToolUse"];

/// Returns its own folder.
fn folder(scope: &SettingsScope) -> PathBuf {
    scope.project.as_ref().unwrap_or(&scope.home).join(FOLDER)
}

fn settings(scope: &SettingsScope) -> JsonSettings {
    JsonSettings { host: HOST, path: folder(scope).join(FILE), tool_events: TOOL_EVENTS }
}

fn script(scope: &SettingsScope) -> PathBuf {
    folder(scope).join(script_name(HOST))
}

/// Returns the command line of a tool call.
///
/// What is not answered and not refused ends with exit 0: the entry takes anything else for a
/// script that is missing.
fn tool_line(call: &HookInvocation) -> String {
    call.command(HOST, LIMIT_MS, Unanswered::Refused { otherwise: 0 })
}

/// The first lines of the script.
const HEADER: &str = "#!/bin/sh\n# anyhook for Letta Code: made by `anyhook install letta`, called before each tool call.\n";

fn script_text(line: &str) -> String {
    format!("{HEADER}{line}\n")
}

fn is_our_script(text: &str) -> bool {
    text.starts_with(HEADER)
}

/// Returns the command line in our script.
fn line_of(text: &str) -> Option<&str> {
    text.strip_prefix(HEADER).map(str::trim_end)
}

/// Returns what disables all hooks. The user's word comes first, also if it is that they are not
/// disabled.
fn disabled(
    scope: &SettingsScope,
    texts: &SettingsTexts,
) -> Result<Option<Obstacle>, SettingsError> {
    let users = scope.home.join(FOLDER).join(FILE);
    let project = [folder(scope).join(FILE), folder(scope).join("settings.local.json")];
    for path in [users.clone()].iter().chain(&project) {
        let Some(text) = texts.get(path) else { continue };
        match json_hooks::value(path, text, &["hooks", "disabled"])? {
            Some(Value::Bool(true)) => {
                return Ok(Some(Obstacle::setting("hooks.disabled = true", path)));
            }
            Some(Value::Bool(false)) if *path == users => return Ok(None),
            _ => {}
        }
    }
    Ok(None)
}
