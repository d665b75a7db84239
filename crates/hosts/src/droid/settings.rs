//! Our entries in Droid's `settings.json`, and in the `hooks.json` next to it.
//!
//! `hooks.json` has the lists by event at its top, and Droid's own screen writes it. An event that is
//! listed there takes the place of the same event in `settings.json`, so each of our entries goes
//! where its event is read.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{FOLDER, HOME_VARIABLE};
use crate::slash_command::{CommandFile, HostCommand};
use crate::spec;
use crate::wiring::json_hooks::{self, Handler, WHOLE_FILE};
use crate::wiring::{
    HookInvocation, JsonSettings, Obstacle, SettingsEdits, SettingsError, SettingsScope,
    SettingsTexts, Unanswered, WiringStatus,
};

/// Its settings.
pub(super) struct Settings;

impl spec::SettingsEditor for Settings {
    fn files(&self, scope: &SettingsScope) -> Vec<PathBuf> {
        [vec![settings(scope).path], hooks_files(scope).to_vec()].concat()
    }

    fn further_files(&self, scope: &SettingsScope) -> Vec<PathBuf> {
        let user = SettingsScope { project: None, ..scope.clone() };
        if scope.project.is_some() { self.files(&user) } else { Vec::new() }
    }

    fn wire(
        &self,
        scope: &SettingsScope,
        texts: &SettingsTexts,
        call: &HookInvocation,
    ) -> Result<SettingsEdits, SettingsError> {
        let file = settings(scope);
        let listed = listed_events(scope, texts)?;
        let (there, here): (Vec<Handler>, Vec<Handler>) = EVENTS
            .iter()
            .map(|event| handler(event, call))
            .partition(|handler| listed.iter().any(|event| event == handler.event));
        let mut edits = SettingsEdits::new();
        let mut before = texts.get(&file.path).cloned();
        if let Some(text) = &mut before {
            *text = without(&file.path, text, &there)?;
        }
        if !here.is_empty() {
            before = Some(json_hooks::wire(&file.path, before.as_deref(), HOST, &here)?);
        }
        if let Some(text) = before {
            edits.insert(file.path, Some(text));
        }
        if let Some((path, text)) = hooks_file(scope, texts) {
            let entries: Vec<(&str, Value)> = there
                .into_iter()
                .map(|handler| (handler.event, json!({"hooks": [handler.handler]})))
                .collect();
            let text = json_hooks::wire_in(&path, Some(text), HOST, WHOLE_FILE, &entries)?;
            edits.insert(path, Some(text));
        }
        Ok(edits)
    }

    fn unwire(
        &self,
        scope: &SettingsScope,
        texts: &SettingsTexts,
    ) -> Result<SettingsEdits, SettingsError> {
        let mut edits = settings(scope).unwire(texts)?;
        for path in hooks_files(scope) {
            let Some(text) = texts.get(&path) else { continue };
            let after = json_hooks::unwire_in(&path, text, HOST, WHOLE_FILE)?;
            if after != *text {
                edits.insert(path, Some(after));
            }
        }
        Ok(edits)
    }

    fn inspect(
        &self,
        scope: &SettingsScope,
        texts: &SettingsTexts,
    ) -> Result<WiringStatus, SettingsError> {
        let file = settings(scope);
        let listed = listed_events(scope, texts)?;
        let mut commands = file.commands(texts)?;
        commands.retain(|(event, _)| !listed.contains(event));
        if let Some((path, text)) = hooks_file(scope, texts) {
            commands.extend(json_hooks::commands_in(&path, text, WHOLE_FILE)?);
        }
        let mut found = file.status(&commands, EVENTS);
        found.obstacles.extend(disabled(scope, texts)?);
        Ok(found)
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

/// Its id.
const HOST: &str = "droid";

/// The events at which we are called: one entry each, without a matcher.
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
    let home = || scope.variables.get(HOME_VARIABLE).unwrap_or(&scope.home);
    scope.project.as_ref().unwrap_or_else(home).join(FOLDER)
}

fn settings(scope: &SettingsScope) -> JsonSettings {
    let path = folder(scope).join("settings.json");
    JsonSettings { host: HOST, path, tool_events: TOOL_EVENTS }
}

/// Returns the files that may list hooks in place of the settings: of those that exist, the first is
/// read.
fn hooks_files(scope: &SettingsScope) -> [PathBuf; 2] {
    let folder = folder(scope);
    [folder.join("hooks.json"), folder.join("hooks/hooks.json")]
}

/// Returns the one that is read, with its text.
fn hooks_file<'texts>(
    scope: &SettingsScope,
    texts: &'texts SettingsTexts,
) -> Option<(PathBuf, &'texts str)> {
    hooks_files(scope).into_iter().find_map(|path| Some((path.clone(), texts.get(&path)?.as_str())))
}

/// Returns the events, and other keys, of the file that is read in place of the settings.
fn listed_events(
    scope: &SettingsScope,
    texts: &SettingsTexts,
) -> Result<Vec<String>, SettingsError> {
    let Some((path, text)) = hooks_file(scope, texts) else { return Ok(Vec::new()) };
    let value = json_hooks::value(&path, text, &[])?.unwrap_or_default();
    Ok(value.as_object().into_iter().flatten().map(|(event, _)| event.clone()).collect())
}

/// Removes our entries from the settings if some are for events that have moved to the other file.
fn without(path: &Path, text: &str, moved: &[Handler]) -> Result<String, SettingsError> {
    let ours = json_hooks::commands(path, text)?;
    let is_moved = |event: &str| moved.iter().any(|handler| handler.event == event);
    if ours.iter().any(|(event, _)| is_moved(event)) {
        return json_hooks::unwire(path, text, HOST);
    }
    Ok(text.to_owned())
}

fn handler(event: &&'static str, call: &HookInvocation) -> Handler {
    // Exit 1 would have the model told what went wrong here.
    let unanswered = if TOOL_EVENTS.contains(event) {
        Unanswered::Refused { otherwise: 0 }
    } else {
        Unanswered::GoesOn
    };
    let command = call.command(HOST, 600_000, unanswered);
    Handler { event, handler: json!({"type": "command", "command": command, "timeout": 600}) }
}

/// Returns what disables all hooks. The project's word comes first, also if it is that they are not
/// disabled.
fn disabled(
    scope: &SettingsScope,
    texts: &SettingsTexts,
) -> Result<Option<Obstacle>, SettingsError> {
    let user = SettingsScope { project: None, ..scope.clone() };
    for scope in scope.project.as_ref().map(|_| scope).into_iter().chain([&user]) {
        let files =
            hooks_file(scope, texts).map(|(path, text)| (path, text, &["hooksDisabled"][..]));
        let path = settings(scope).path;
        let text = texts.get(&path).map(String::as_str);
        let own = text.map(|text| (path, text, &["hooks", "hooksDisabled"][..]));
        for (path, text, keys) in files.into_iter().chain(own) {
            match json_hooks::value(&path, text, keys)? {
                Some(Value::Bool(true)) => {
                    let setting = format!("{} = true", keys.join("."));
                    return Ok(Some(Obstacle::setting(&setting, &path)));
                }
                Some(Value::Bool(false)) => return Ok(None),
                _ => {}
            }
        }
    }
    Ok(None)
}
