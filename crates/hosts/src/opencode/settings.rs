//! Installs our plugin among the plugins of OpenCode or of a fork of it.

use std::path::PathBuf;

use anyhook_model::EventKind;
use serde_json::Value;

use super::flavour::Flavour;
use super::injection;
use crate::agent_package;
use crate::slash_command::{CommandFile, HostCommand};
use crate::spec;
use crate::wiring::{
    AgentStart, DisplacedSettings, HookInvocation, Injection, PERMISSION_SECONDS, SettingsEdits,
    SettingsError, SettingsScope, SettingsTexts, WiringStatus, folders_in, json_hooks,
    plugin_lines,
};

/// The plugin's source; names like `@BINARY@` are placeholders that `install` fills in.
const PLUGIN: &str = include_str!("plugin.js");

/// Its settings.
pub(crate) struct Settings(pub(crate) &'static Flavour);

impl spec::SettingsEditor for Settings {
    fn files(&self, scope: &SettingsScope) -> Vec<PathBuf> {
        vec![self.plugin_file(scope)]
    }

    fn further_files(&self, scope: &SettingsScope) -> Vec<PathBuf> {
        self.config_files(scope)
    }

    fn wire(
        &self,
        scope: &SettingsScope,
        texts: &SettingsTexts,
        call: &HookInvocation,
    ) -> Result<SettingsEdits, SettingsError> {
        let path = self.plugin_file(scope);
        if texts.get(&path).is_some_and(|text| !self.is_our_plugin(text)) {
            return Err(SettingsError::Unexpected {
                path,
                what: "the file".to_owned(),
                expected: "our plugin",
            });
        }
        Ok(SettingsEdits::from([(path, Some(plugin(self.0, call)))]))
    }

    fn unwire(
        &self,
        scope: &SettingsScope,
        texts: &SettingsTexts,
    ) -> Result<SettingsEdits, SettingsError> {
        let path = self.plugin_file(scope);
        let is_ours = texts.get(&path).is_some_and(|text| self.is_our_plugin(text));
        Ok(if is_ours { SettingsEdits::from([(path, None)]) } else { SettingsEdits::new() })
    }

    fn inspect(
        &self,
        scope: &SettingsScope,
        texts: &SettingsTexts,
    ) -> Result<WiringStatus, SettingsError> {
        let path = self.plugin_file(scope);
        let mut found = WiringStatus::default();
        match texts.get(&path).and_then(|text| binary_of(text)) {
            Some(binary) => {
                let arguments = texts.get(&path).map(|text| arguments_of(text)).unwrap_or_default();
                found.plugin_folders = folders_in(&arguments);
                let event = crate::find(self.0.id)
                    .and_then(|spec| spec.native_name(&EventKind::BeforeTool));
                found.entries = plugin_lines(&binary, &arguments, event);
                found.before_tool = found.entries.first().map(|entry| entry.line.clone());
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
        for config in self.config_files(scope) {
            let Some(text) = texts.get(&config) else { continue };
            let plugins = json_hooks::value(&config, text, &["plugin"])?.unwrap_or_default();
            let is_package = |name: &Value| {
                name.as_str().is_some_and(|name| name.contains(agent_package::OPENCODE_PACKAGE))
            };
            if plugins.as_array().is_some_and(|plugins| plugins.iter().any(is_package)) {
                found.packages.push(config.display().to_string());
            }
        }
        Ok(found)
    }

    fn inject(&self, start: &AgentStart<'_>) -> Result<Injection, SettingsError> {
        injection::inject(self.0, start)
    }

    fn displaced(
        &self,
        _scope: &SettingsScope,
        _run: &str,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Option<DisplacedSettings> {
        variable(self.0.settings_variable).map(DisplacedSettings::Text)
    }

    fn command_file(
        &self,
        scope: &SettingsScope,
        command: &HostCommand<'_>,
    ) -> Option<CommandFile> {
        Some(CommandFile {
            path: self.folder(scope).join(format!("commands/{}.md", command.name)),
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
pub(super) fn plugin(flavour: &Flavour, call: &HookInvocation) -> String {
    let marker = call.folders().map(|folders| folders.marker().to_string_lossy().into_owned());
    let values: [Value; 4] = [
        call.answering().to_string_lossy().into(),
        call.arguments(flavour.id, LIMIT_MS).into(),
        call.arguments(flavour.id, DIALOG_LIMIT_MS).into(),
        marker.unwrap_or_default().into(),
    ];
    filled(flavour, &values.map(|value| value.to_string()))
}

/// Returns the plugin as a module of our package, in which another module finds the program.
pub(super) fn package_module(flavour: &Flavour) -> String {
    let call = HookInvocation::in_package("");
    let arguments = |limit| Value::from(call.arguments(flavour.id, limit)).to_string();
    let values = [
        "program".to_owned(),
        arguments(LIMIT_MS),
        arguments(DIALOG_LIMIT_MS),
        "marker".to_owned(),
    ];
    let text = filled(flavour, &values).replace(WRITTEN_BY, MADE_BY);
    let import = "import { spawn } from";
    text.replacen(import, &format!("import {{ marker, program }} from \"./find.js\";\n{import}"), 1)
}

/// The line of the plugin that is not true of the package.
const WRITTEN_BY: &str =
    "// Written by `anyhook install opencode`, taken away by `anyhook uninstall opencode`.";
const MADE_BY: &str = "// Made by `cargo xtask generate`; changes here are lost.";

/// Returns the plugin with these expressions in the places of its program, its arguments, those of
/// a dialog, and the marker.
fn filled(flavour: &Flavour, values: &[String; 4]) -> String {
    let text = PLUGIN
        .replace("@ID@", flavour.id)
        .replace("@TITLE@", flavour.title)
        .replace("@LIMIT_MS@", &LIMIT_MS.to_string())
        .replace("@DIALOG_LIMIT_MS@", &DIALOG_LIMIT_MS.to_string());
    let places = ["\"@BINARY@\"", "\"@ARGUMENTS@\"", "\"@DIALOG_ARGUMENTS@\"", "\"@MARKER@\""];
    // Each placeholder precedes what the earlier ones are replaced with, so that no path is
    // mistaken for a placeholder.
    places.iter().zip(values).fold(text, |text, (place, value)| text.replacen(place, value, 1))
}

impl Settings {
    fn plugin_file(&self, scope: &SettingsScope) -> PathBuf {
        self.folder(scope).join(self.0.plugins).join("anyhook.js")
    }

    /// Returns the settings files that name packages.
    fn config_files(&self, scope: &SettingsScope) -> Vec<PathBuf> {
        let folder = scope.project.clone().unwrap_or_else(|| self.folder(scope));
        ["json", "jsonc"].map(|ending| folder.join(format!("{}.{ending}", self.0.id))).to_vec()
    }

    /// Returns the agent's own folder.
    fn folder(&self, scope: &SettingsScope) -> PathBuf {
        match &scope.project {
            Some(project) => project.join(self.0.project_folder),
            None => scope.config_home.join(self.0.folder),
        }
    }

    fn is_our_plugin(&self, text: &str) -> bool {
        text.strip_prefix("// anyhook for ").is_some_and(|rest| rest.starts_with(self.0.title))
    }
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
