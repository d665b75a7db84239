//! What disables Qwen Code's hooks: settings of the machine, the user and the project, and a project
//! that is not trusted.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::settings::{folder, settings};
use crate::wiring::{Obstacle, SettingsError, SettingsScope, SettingsTexts, json_hooks};

/// The settings of the machine's administrator.
const MANAGED: &str = "/etc/qwen-code/settings.json";

/// Returns the files other than the settings that determine whether hooks are called.
pub fn further_files(scope: &SettingsScope) -> Vec<PathBuf> {
    vec![PathBuf::from(MANAGED), users(scope), trusted_folders(scope)]
}

/// Returns what keeps Qwen Code from calling us, according to the texts of all these files;
/// `is_called` says that the scope's own settings contain our entries.
pub fn obstacles(
    scope: &SettingsScope,
    texts: &SettingsTexts,
    is_called: bool,
) -> Result<Vec<Obstacle>, SettingsError> {
    let mut found = Vec::new();
    let value = |path: &Path, keys: &[&str]| match texts.get(path) {
        Some(text) => json_hooks::value(path, text, keys),
        None => Ok(None),
    };
    let managed = PathBuf::from(MANAGED);
    let own = settings(scope).path;
    for path in [&managed, &own] {
        if value(path, &["disableAllHooks"])? == Some(true.into()) {
            found.push(Obstacle::setting("disableAllHooks", path));
        }
    }
    // A project's own setting of a sandbox is ignored.
    for path in [&managed, &users(scope)] {
        if value(path, &["tools", "executionSandbox"])?.is_some_and(|value| value.is_object()) {
            found.push(Obstacle::setting("tools.executionSandbox", path));
        }
    }
    let Some(project) = scope.project.as_deref().filter(|_| is_called) else { return Ok(found) };
    let asks_for_trust =
        value(&users(scope), &["security", "folderTrust", "enabled"])? == Some(true.into());
    let trusted = trusted_folders(scope);
    let folders = value(&trusted, &[])?.unwrap_or_default();
    if asks_for_trust && !is_trusted(project, &folders) {
        found.push(Obstacle {
            what: format!(
                "{} does not trust {}, so hooks in its settings do not run",
                trusted.display(),
                project.display()
            ),
            way_out: "trust the folder (/trust), or run anyhook install qwen-code without \
                      --project"
                .to_owned(),
        });
    }
    Ok(found)
}

/// Returns whether a folder is trusted, by itself or with one that contains it.
fn is_trusted(project: &Path, folders: &Value) -> bool {
    folders.as_object().into_iter().flatten().any(|(folder, level)| {
        let folder = Path::new(folder);
        match level.as_str() {
            Some("TRUST_FOLDER") => project.starts_with(folder),
            Some("TRUST_PARENT") => folder.parent().is_some_and(|it| project.starts_with(it)),
            _ => false,
        }
    })
}

/// Returns the user's settings, even if the scope is the project's.
fn users(scope: &SettingsScope) -> PathBuf {
    user_folder(scope).join("settings.json")
}

fn trusted_folders(scope: &SettingsScope) -> PathBuf {
    user_folder(scope).join("trustedFolders.json")
}

fn user_folder(scope: &SettingsScope) -> PathBuf {
    folder(&SettingsScope { project: None, ..scope.clone() })
}
