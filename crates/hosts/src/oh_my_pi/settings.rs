//! Our extension among oh-my-pi's, and whether oh-my-pi loads it.

use std::path::PathBuf;

use crate::extension::{Extension, SOURCE};
use crate::spec;
use crate::wiring::{
    AgentStart, HookInvocation, Injection, Obstacle, SettingsEdits, SettingsError, SettingsScope,
    SettingsTexts, WiringStatus,
};

const EXTENSION: Extension = Extension {
    source: SOURCE,
    host: "oh-my-pi",
    title: "oh-my-pi",
    limit_ms: 28_000,
    end_limit_ms: 1_900,
    prompts_at_start: true,
};

/// Its settings.
pub(super) struct Settings;

impl spec::SettingsEditor for Settings {
    fn files(&self, scope: &SettingsScope) -> Vec<PathBuf> {
        vec![extension(scope)]
    }

    fn further_files(&self, scope: &SettingsScope) -> Vec<PathBuf> {
        replacements(scope).into_iter().chain(configurations(scope)).collect()
    }

    fn wire(
        &self,
        scope: &SettingsScope,
        texts: &SettingsTexts,
        call: &HookInvocation,
    ) -> Result<SettingsEdits, SettingsError> {
        EXTENSION.wire(extension(scope), texts, call)
    }

    fn unwire(
        &self,
        scope: &SettingsScope,
        texts: &SettingsTexts,
    ) -> Result<SettingsEdits, SettingsError> {
        Ok(EXTENSION.unwire(extension(scope), texts))
    }

    fn inspect(
        &self,
        scope: &SettingsScope,
        texts: &SettingsTexts,
    ) -> Result<WiringStatus, SettingsError> {
        let mut found = EXTENSION.inspect(&extension(scope), texts);
        let replaced = replacements(scope).into_iter().filter(|path| texts.contains_key(path));
        found.obstacles.extend(replaced.map(|path| Obstacle {
            what: format!("{} replaces the user's extension of anyhook", path.display()),
            way_out: format!("remove {}, then run anyhook doctor", path.display()),
        }));
        for path in configurations(scope) {
            let names = [user_name(scope), PROJECT_NAME.to_owned()];
            let disables = |text: &String| {
                names.iter().any(|name| has_word(text, &format!("extension-module:{name}")))
            };
            if texts.get(&path).is_some_and(disables) {
                found.obstacles.push(Obstacle::setting("disabledExtensions", &path));
            }
        }
        Ok(found)
    }

    fn inject(&self, start: &AgentStart<'_>) -> Result<Injection, SettingsError> {
        Ok(EXTENSION.inject(start))
    }
}

/// The variable that names its own folder.
pub(super) const FOLDER_VARIABLE: &str = "PI_CODING_AGENT_DIR";

/// The name of a project's extension.
const PROJECT_NAME: &str = "anyhook";

/// Returns the name of the user's extension: one that a project does not have by chance, nor can
/// know without knowing the home folder, because a project's extension replaces it.
fn user_name(scope: &SettingsScope) -> String {
    // FNV-1a.
    let home = scope.home.to_string_lossy();
    let hash = home.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{PROJECT_NAME}-{hash:016x}")
}

fn user_folder(scope: &SettingsScope) -> PathBuf {
    scope.folder(FOLDER_VARIABLE, ".omp/agent")
}

fn extension(scope: &SettingsScope) -> PathBuf {
    match &scope.project {
        Some(project) => project.join(format!(".omp/extensions/{PROJECT_NAME}.js")),
        None => user_folder(scope).join(format!("extensions/{}.js", user_name(scope))),
    }
}

/// Returns the files of a project that would replace the user's extension.
fn replacements(scope: &SettingsScope) -> Vec<PathBuf> {
    let Some(project) = &scope.project else { return Vec::new() };
    let folder = project.join(".omp/extensions");
    let name = user_name(scope);
    [
        format!("{name}.js"),
        format!("{name}.ts"),
        format!("{name}/index.js"),
        format!("{name}/index.ts"),
    ]
    .map(|file| folder.join(file))
    .to_vec()
}

/// Returns the settings of the same level.
fn configurations(scope: &SettingsScope) -> Vec<PathBuf> {
    let folder = match &scope.project {
        Some(project) => project.join(".omp"),
        None => user_folder(scope),
    };
    ["config.yml", "config.yaml", "settings.json"].map(|file| folder.join(file)).to_vec()
}

/// Returns whether a text contains a word, and not only as a part of a longer one.
fn has_word(text: &str, word: &str) -> bool {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    text.match_indices(word).any(|(at, _)| !text[at + word.len()..].starts_with(is_part))
}
