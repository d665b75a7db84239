//! Installs our plugin among OpenCode's plugins.

use std::iter;
use std::path::PathBuf;

use serde_json::Value;

use super::injection;
use crate::slash_command::{CommandFile, HostCommand};
use crate::spec;
use crate::wiring::{
    AgentStart, DisplacedSettings, HookInvocation, Injection, PERMISSION_SECONDS, SettingsEdits,
    SettingsError, SettingsScope, SettingsTexts, TOOL_EVENT, WiringStatus, command_line,
    folders_in,
};

/// The plugin's source; names like `@BINARY@` are placeholders that `install` fills in.
const PLUGIN: &str = include_str!("plugin.js");

/// Its settings.
pub(super) struct Settings;

impl spec::SettingsEditor for Settings {
    fn files(&self, scope: &SettingsScope) -> Vec<PathBuf> {
        vec![plugin_file(scope)]
    }

    fn wire(
        &self,
        scope: &SettingsScope,
        texts: &SettingsTexts,
        call: &HookInvocation,
    ) -> Result<SettingsEdits, SettingsError> {
        let path = plugin_file(scope);
        if texts.get(&path).is_some_and(|text| !is_our_plugin(text)) {
            return Err(SettingsError::Unexpected {
                path,
                what: "the file".to_owned(),
                expected: "our plugin",
            });
        }
        Ok(SettingsEdits::from([(path, Some(plugin(call)))]))
    }

    fn unwire(
        &self,
        scope: &SettingsScope,
        texts: &SettingsTexts,
    ) -> Result<SettingsEdits, SettingsError> {
        let path = plugin_file(scope);
        let is_ours = texts.get(&path).is_some_and(|text| is_our_plugin(text));
        Ok(if is_ours { SettingsEdits::from([(path, None)]) } else { SettingsEdits::new() })
    }

    fn inspect(
        &self,
        scope: &SettingsScope,
        texts: &SettingsTexts,
    ) -> Result<WiringStatus, SettingsError> {
        let path = plugin_file(scope);
        let mut found = WiringStatus::default();
        match texts.get(&path).and_then(|text| binary_of(text)) {
            Some(binary) => {
                let arguments = texts.get(&path).map(|text| arguments_of(text)).unwrap_or_default();
                found.plugin_folders = folders_in(&arguments);
                let words = iter::once(&binary).chain(&arguments).map(String::as_str);
                found.before_tool = Some(command_line(words.chain([TOOL_EVENT])));
                found.ours.push(binary);
                // An earlier version lacks at least one of them.
                let marks = ["\"--state\"", "const DIALOG_ARGUMENTS"];
                let is_newest = |text: &String| marks.iter().all(|mark| text.contains(mark));
                if !texts.get(&path).is_some_and(is_newest) {
                    found.outdated.push("all".to_owned());
                }
            }
            None => found.missing.push("all".to_owned()),
        }
        Ok(found)
    }

    fn inject(&self, start: &AgentStart<'_>) -> Result<Injection, SettingsError> {
        injection::inject(start)
    }

    fn displaced(
        &self,
        _scope: &SettingsScope,
        _run: &str,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Option<DisplacedSettings> {
        variable(injection::VARIABLE).map(DisplacedSettings::Text)
    }

    fn command_file(
        &self,
        scope: &SettingsScope,
        command: &HostCommand<'_>,
    ) -> Option<CommandFile> {
        Some(CommandFile {
            path: folder(scope).join(format!("commands/{}.md", command.name)),
            text: command.markdown(&[("description", command.description)], "$ARGUMENTS"),
            call: format!("/{}", command.name),
        })
    }
}

/// How long a hook may take.
const LIMIT_MS: u64 = 600_000;
/// How long a dialog may wait for an answer from elsewhere.
const DIALOG_LIMIT_MS: u64 = PERMISSION_SECONDS * 1000;

/// Returns the plugin that calls us.
pub(super) fn plugin(call: &HookInvocation) -> String {
    let marker = call.folders().map(|folders| folders.marker().to_string_lossy().into_owned());
    let values: [(&str, Value); 4] = [
        ("\"@BINARY@\"", call.answering().to_string_lossy().into()),
        ("\"@ARGUMENTS@\"", call.arguments("opencode", LIMIT_MS).into()),
        ("\"@DIALOG_ARGUMENTS@\"", call.arguments("opencode", DIALOG_LIMIT_MS).into()),
        ("\"@MARKER@\"", marker.unwrap_or_default().into()),
    ];
    let text = PLUGIN
        .replace("@LIMIT_MS@", &LIMIT_MS.to_string())
        .replace("@DIALOG_LIMIT_MS@", &DIALOG_LIMIT_MS.to_string());
    // Each placeholder precedes what the earlier ones are replaced with, so that no path is
    // mistaken for a placeholder.
    values.iter().fold(text, |text, (place, value)| text.replacen(place, &value.to_string(), 1))
}

fn plugin_file(scope: &SettingsScope) -> PathBuf {
    folder(scope).join("plugins/anyhook.js")
}

/// Returns its own folder.
fn folder(scope: &SettingsScope) -> PathBuf {
    match &scope.project {
        Some(project) => project.join(".opencode"),
        None => scope.config_home.join("opencode"),
    }
}

fn is_our_plugin(text: &str) -> bool {
    text.starts_with("// anyhook for OpenCode")
}

/// Returns the arguments with which our plugin calls its program.
fn arguments_of(text: &str) -> Vec<String> {
    let line = text.lines().find_map(|line| line.strip_prefix("const ARGUMENTS = "));
    let read = line.map(|line| serde_json::from_str(line.trim_end_matches(';')));
    read.and_then(Result::ok).unwrap_or_default()
}

/// Returns the program that our plugin calls.
fn binary_of(text: &str) -> Option<String> {
    let line = text.lines().find_map(|line| line.strip_prefix("const BINARY = "))?;
    serde_json::from_str(line.trim_end_matches(';')).ok()
}
