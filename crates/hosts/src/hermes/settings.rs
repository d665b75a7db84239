//! Our plugin among those of Hermes Agent, and in the list of those that are enabled.

use std::path::PathBuf;

use serde_json::Value;

use super::{FOLDER, HOME_VARIABLE};
use crate::spec;
use crate::wiring::{
    AgentStart, HookInvocation, Injection, Obstacle, SettingsEdits, SettingsError, SettingsScope,
    SettingsTexts, WiringStatus, YamlList, folders_in, plugin_lines,
};

/// The plugin's source; names like `@BINARY@` are placeholders that `install` fills in.
const PLUGIN: &str = include_str!("plugin.py");

/// Says what it is.
const MANIFEST: &str = "\
# anyhook for Hermes Agent, written by `anyhook install hermes`.
name: anyhook
version: \"1\"
description: Runs the hooks of anyhook.
";

/// How both files begin.
const MARK: &str = "# anyhook for Hermes Agent";

/// The name of our plugin.
const NAME: &str = "anyhook";

/// The plugins that it loads.
const ENABLED: YamlList = YamlList { section: "plugins", key: "enabled" };
/// The plugins that it does not load although they are enabled.
const DISABLED: YamlList = YamlList { section: "plugins", key: "disabled" };

/// How long a hook may take.
const LIMIT_MS: u64 = 600_000;
/// The same at the end of a session.
const END_LIMIT_MS: u64 = 60_000;

/// Its settings.
pub(super) struct Settings;

impl spec::SettingsEditor for Settings {
    fn files(&self, scope: &SettingsScope) -> Vec<PathBuf> {
        vec![config(scope), program(scope), manifest(scope)]
    }

    fn further_files(&self, scope: &SettingsScope) -> Vec<PathBuf> {
        replacements(scope)
    }

    fn wire(
        &self,
        scope: &SettingsScope,
        texts: &SettingsTexts,
        call: &HookInvocation,
    ) -> Result<SettingsEdits, SettingsError> {
        for path in [program(scope), manifest(scope)] {
            if texts.get(&path).is_some_and(|text| !is_ours(text)) {
                let (what, expected) = ("the file".to_owned(), "our plugin");
                return Err(SettingsError::Unexpected { path, what, expected });
            }
        }
        let config = config(scope);
        let text = texts.get(&config).map_or("", String::as_str);
        let enabled = ENABLED.add(&config, text, NAME)?;
        Ok(SettingsEdits::from([
            (config, Some(enabled)),
            (program(scope), Some(plugin(call))),
            (manifest(scope), Some(MANIFEST.to_owned())),
        ]))
    }

    fn unwire(
        &self,
        scope: &SettingsScope,
        texts: &SettingsTexts,
    ) -> Result<SettingsEdits, SettingsError> {
        let ours = [program(scope), manifest(scope)].into_iter();
        let ours = ours.filter(|path| texts.get(path).is_some_and(|text| is_ours(text)));
        let mut edits: SettingsEdits = ours.map(|path| (path, None)).collect();
        let config = config(scope);
        if let Some(text) = texts.get(&config) {
            let is_theirs = texts.get(&program(scope)).is_some_and(|text| !is_ours(text));
            let after = ENABLED.remove(&config, text, NAME)?;
            if after != *text && !is_theirs {
                // It did not exist, or was empty.
                edits.insert(config, Some(after).filter(|after| !after.is_empty()));
            }
        }
        Ok(edits)
    }

    fn inspect(
        &self,
        scope: &SettingsScope,
        texts: &SettingsTexts,
    ) -> Result<WiringStatus, SettingsError> {
        let mut found = WiringStatus::default();
        let text = texts.get(&program(scope)).filter(|text| is_ours(text));
        let Some((text, binary)) = text.and_then(|text| Some((text, binary_of(text)?))) else {
            found.missing.push("all".to_owned());
            return Ok(found);
        };
        let config = config(scope);
        let settings = texts.get(&config).map_or("", String::as_str);
        let names = |list: YamlList| list.names(&config, settings);
        if !texts.contains_key(&manifest(scope)) {
            found.stale.push(format!("{} is missing", manifest(scope).display()));
        }
        if !names(ENABLED)?.iter().any(|name| name == NAME) {
            found.stale.push(format!("`plugins.enabled` in {} lacks {NAME}", config.display()));
        }
        if names(DISABLED)?.iter().any(|name| name == NAME) {
            found.obstacles.push(Obstacle::setting("`plugins.disabled`", &config));
        }
        let replaced = replacements(scope).into_iter().filter(|path| texts.contains_key(path));
        found.obstacles.extend(replaced.map(|path| Obstacle {
            what: format!(
                "{} replaces the user's plugin of anyhook if HERMES_ENABLE_PROJECT_PLUGINS is set",
                path.display()
            ),
            way_out: format!("remove {}, then run anyhook doctor", path.display()),
        }));
        let arguments = arguments_of(text);
        found.plugin_folders = folders_in(&arguments);
        found.entries = plugin_lines(&binary, &arguments, Some("pre_tool_call"));
        found.before_tool = found.entries.first().map(|entry| entry.line.clone());
        found.ours.push(binary);
        if !text.contains("\"--state\"") {
            found.outdated.push("all".to_owned());
        }
        Ok(found)
    }

    fn inject(&self, _start: &AgentStart<'_>) -> Result<Injection, SettingsError> {
        let why = "it only loads plugins that its settings enable";
        Ok(Injection { why_not: Some(why), ..Injection::default() })
    }
}

/// Returns its own folder, also for a project: it reads no settings of a project.
fn folder(scope: &SettingsScope) -> PathBuf {
    scope.folder(HOME_VARIABLE, FOLDER)
}

fn config(scope: &SettingsScope) -> PathBuf {
    folder(scope).join("config.yaml")
}

fn program(scope: &SettingsScope) -> PathBuf {
    folder(scope).join("plugins").join(NAME).join("__init__.py")
}

fn manifest(scope: &SettingsScope) -> PathBuf {
    folder(scope).join("plugins").join(NAME).join("plugin.yaml")
}

/// Returns the files of a project that would replace our plugin.
fn replacements(scope: &SettingsScope) -> Vec<PathBuf> {
    let project = scope.project.iter();
    let folders = project.map(|project| project.join(FOLDER).join("plugins").join(NAME));
    folders.flat_map(|folder| ["plugin.yaml", "plugin.yml"].map(|file| folder.join(file))).collect()
}

/// Returns the plugin that calls us.
fn plugin(call: &HookInvocation) -> String {
    let marker = call.folders().map(|folders| folders.marker().to_string_lossy().into_owned());
    // What is a text or a list in JSON is the same in Python.
    let values: [(&str, Value); 4] = [
        ("\"@BINARY@\"", call.answering().to_string_lossy().into()),
        ("\"@ARGUMENTS@\"", call.arguments("hermes", LIMIT_MS).into()),
        ("\"@END_ARGUMENTS@\"", call.arguments("hermes", END_LIMIT_MS).into()),
        ("\"@MARKER@\"", marker.unwrap_or_default().into()),
    ];
    let text = PLUGIN
        .replace("@LIMIT_MS@", &LIMIT_MS.to_string())
        .replace("@END_LIMIT_MS@", &END_LIMIT_MS.to_string());
    // Each placeholder precedes what the earlier ones are replaced with, so that no path is
    // mistaken for a placeholder.
    values.iter().fold(text, |text, (place, value)| text.replacen(place, &value.to_string(), 1))
}

fn is_ours(text: &str) -> bool {
    text.strip_prefix(MARK).is_some_and(|rest| rest.starts_with([':', ',']))
}

/// Returns the value of a constant of our plugin.
fn constant<Type: serde::de::DeserializeOwned>(text: &str, name: &str) -> Option<Type> {
    let value = |line: &str| Some(line.strip_prefix(name)?.strip_prefix(" = ")?.to_owned());
    serde_json::from_str(&text.lines().find_map(value)?).ok()
}

/// Returns the arguments with which our plugin calls its program.
fn arguments_of(text: &str) -> Vec<String> {
    constant(text, "ARGUMENTS").unwrap_or_default()
}

/// Returns the program that our plugin calls.
fn binary_of(text: &str) -> Option<String> {
    constant(text, "BINARY")
}
