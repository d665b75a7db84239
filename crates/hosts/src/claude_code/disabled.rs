//! What disables Claude Code's hooks: settings of the machine, the user and the project, and
//! plugins whose modules answer hook events before settings hooks are asked.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::settings::{folder, settings};
use crate::wiring::{
    Obstacle, SettingsError, SettingsScope, SettingsTexts, has_package_call, json_hooks,
};

/// The settings of the machine's administrator.
const MANAGED: &str = "/etc/claude-code/managed-settings.json";

/// The maximum number of plugins that are examined.
const MOST_PLUGINS: usize = 200;

/// Returns the files other than the settings that determine whether hooks are called.
pub fn further_files(scope: &SettingsScope) -> Vec<PathBuf> {
    let local = scope.project.is_some().then(|| local(scope));
    local.into_iter().chain([PathBuf::from(MANAGED), users(scope), installed(scope)]).collect()
}

/// Returns the hook files of the plugins that are installed and that a settings file enables.
pub fn plugin_files(scope: &SettingsScope, texts: &SettingsTexts) -> Vec<PathBuf> {
    let read = |path: &Path| json_hooks::value(path, texts.get(path)?, &[]).ok().flatten();
    let enabled: Vec<Value> =
        [settings(scope).path, local(scope), users(scope), PathBuf::from(MANAGED)]
            .iter()
            .filter_map(|path| read(path)?.get("enabledPlugins").cloned())
            .collect();
    let is_enabled = |name: &str| enabled.iter().any(|list| list.get(name) == Some(&true.into()));
    let installed = read(&installed(scope));
    let plugins = installed.as_ref().and_then(|installed| installed.get("plugins")?.as_object());
    let folders = plugins.into_iter().flatten().filter(|(name, _)| is_enabled(name)).flat_map(
        |(_, places)| {
            // One location in the first format of the file, a list of them in the second.
            let places = places.as_array().cloned().unwrap_or_else(|| vec![places.clone()]);
            places
                .into_iter()
                .filter_map(|place| Some(place.get("installPath")?.as_str()?.to_owned()))
        },
    );
    let hooks = folders.map(PathBuf::from).filter(|folder| folder.is_absolute());
    hooks.map(|folder| folder.join(PLUGIN_HOOKS)).take(MOST_PLUGINS).collect()
}

/// Returns what keeps Claude Code from calling us, according to the texts of all these files.
pub fn obstacles(
    scope: &SettingsScope,
    texts: &SettingsTexts,
) -> Result<Vec<Obstacle>, SettingsError> {
    let mut found = Vec::new();
    let is_on = |path: &Path, key: &str| match texts.get(path) {
        Some(text) => Ok(json_hooks::value(path, text, &[key])?.and_then(|value| value.as_bool())),
        None => Ok::<_, SettingsError>(None),
    };
    let managed = PathBuf::from(MANAGED);
    let own = settings(scope).path;
    for key in ["disableAllHooks", "allowManagedHooksOnly"] {
        if is_on(&managed, key)? == Some(true) {
            found.push(Obstacle::setting(key, &managed));
        }
        // Of the project's two files, the local one takes precedence.
        let local = local(scope);
        let files = if scope.project.is_some() { vec![&local, &own] } else { vec![&own] };
        for path in files {
            let Some(is_on) = is_on(path, key)? else { continue };
            if is_on {
                found.push(Obstacle::setting(key, path));
            }
            break;
        }
    }
    // If there are any settings of the machine, Claude Code runs settings hooks first.
    let plugins = texts
        .iter()
        .filter(|(path, _)| path.ends_with(PLUGIN_HOOKS) && !texts.contains_key(&managed));
    for (path, text) in plugins {
        let modules = json_hooks::value(path, text, &["modules"])?.unwrap_or_default();
        if modules.as_array().is_some_and(|modules| !modules.is_empty()) {
            let path = path.display();
            found.push(Obstacle {
                what: format!(
                    "the plugin in {path} has modules, which may answer events before anyhook"
                ),
                way_out: format!(
                    "disable the plugin (/plugin), or as root write `{{}}` to {MANAGED}, so that \
                     Claude Code runs settings hooks first"
                ),
            });
        }
    }
    Ok(found)
}

/// Returns the hook files of plugins that are our packages, among the texts of all these files.
pub fn packages(texts: &SettingsTexts) -> Vec<String> {
    let plugins = texts.iter().filter(|(path, _)| path.ends_with(PLUGIN_HOOKS));
    let ours = plugins.filter(|(path, text)| has_package_call(path, text, "claude-code"));
    ours.map(|(path, _)| path.display().to_string()).collect()
}

/// The path of a plugin's hooks.
const PLUGIN_HOOKS: &str = "hooks/hooks.json";

fn local(scope: &SettingsScope) -> PathBuf {
    folder(scope).join("settings.local.json")
}

/// Returns the user's settings, even if the scope is the project's.
fn users(scope: &SettingsScope) -> PathBuf {
    user_folder(scope).join("settings.json")
}

fn installed(scope: &SettingsScope) -> PathBuf {
    user_folder(scope).join("plugins/installed_plugins.json")
}

fn user_folder(scope: &SettingsScope) -> PathBuf {
    folder(&SettingsScope { project: None, ..scope.clone() })
}
