//! Looks at an agent's own hooks and at those that were imported. Nothing is written.

use std::fs;
use std::path::{Path, PathBuf};

use anyhook_engine::Level;
use anyhook_hook::environment::Environment;
use anyhook_hosts::HostSpec;
use anyhook_hosts::native_hooks::{self, NativeFormat, NativeHook};
use anyhook_hosts::wiring::{SettingsScope, SettingsTexts};

use super::ImportError;
use super::definition::NativeDefinition;
use super::record::ParkedRecord;
use crate::error::SetupError;
use crate::{hooks, settings};

/// An agent's hooks at a level.
#[derive(Debug)]
pub struct ImportSurvey {
    /// The agent.
    pub agent: &'static HostSpec,
    /// How its hooks are written.
    pub format: &'static NativeFormat,
    /// Where its settings are.
    pub scope: SettingsScope,
    /// Where its hooks go.
    pub hooks_folder: PathBuf,
    /// Its settings files with hooks.
    pub texts: SettingsTexts,
    /// The hooks in them that are not ours, in their order.
    pub natives: Vec<NativeHook>,
    /// The hooks that were imported.
    pub imported: Vec<ImportedFolder>,
    /// What was taken out of the settings.
    pub parked: Option<ParkedRecord>,
    /// Whether the agent calls anyhook.
    pub is_called: bool,
}

/// The folder of a hook that was imported.
#[derive(Clone, Debug)]
pub struct ImportedFolder {
    /// Its folder.
    pub folder: PathBuf,
    /// What it was.
    pub definition: NativeDefinition,
}

impl ImportedFolder {
    /// Returns its name.
    pub fn name(&self) -> String {
        self.folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

impl ImportSurvey {
    /// Looks at an agent's settings, the user's or the project's.
    pub fn look(
        agent: &'static HostSpec,
        project: bool,
        environment: &Environment,
    ) -> Result<Self, SetupError> {
        let format = native_hooks::find(agent.id())
            .ok_or_else(|| ImportError::UnknownFormat(agent.title.to_owned()))?;
        let scope = settings::scope(environment, project)?;
        let level = if project { Level::Project } else { Level::User };
        let hooks_folder = hooks::hooks_folder(level, environment)?;
        let mut texts = SettingsTexts::new();
        let mut natives = Vec::new();
        for path in files(format, &scope) {
            let read = settings::read_bounded(&path);
            let read =
                read.map_err(|cause| SetupError::Unreadable { path: path.clone(), cause })?;
            if let Some(text) = read {
                natives.extend(native_hooks::read(format, &path, &text)?);
                texts.insert(path, text);
            }
        }
        let state = environment.places.state.as_deref();
        let parked = state.map(|state| ParkedRecord::load(state, agent, &scope)).transpose()?;
        Ok(Self {
            imported: imported(&hooks_folder, agent.id(), project)?,
            is_called: settings::is_wired(agent, environment),
            parked: parked.flatten(),
            agent,
            format,
            scope,
            hooks_folder,
            texts,
            natives,
        })
    }

    /// Returns whether the project's settings are meant, and not the user's.
    pub fn is_project(&self) -> bool {
        self.scope.project.is_some()
    }
}

/// Returns the files with an agent's hooks.
fn files(format: &NativeFormat, scope: &SettingsScope) -> Vec<PathBuf> {
    let mut files = (format.files)(scope);
    for folder in (format.folders)(scope) {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let is_settings =
            |path: &PathBuf| path.extension().is_some_and(|extension| extension == "json");
        let mut inner: Vec<PathBuf> =
            entries.map(|entry| entry.path()).filter(is_settings).collect();
        inner.sort();
        files.extend(inner);
    }
    files
}

/// Returns the folders of hooks that were imported from an agent.
fn imported(
    hooks_folder: &Path,
    host: &str,
    project: bool,
) -> Result<Vec<ImportedFolder>, ImportError> {
    let mut found = Vec::new();
    let entries = fs::read_dir(hooks_folder).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    folders.sort();
    for folder in folders {
        let is_hidden = folder.file_name().is_none_or(|name| name.as_encoded_bytes()[0] == b'.');
        if is_hidden || !folder.is_dir() {
            continue;
        }
        let definition = NativeDefinition::read(&folder)?;
        let is_of = |found: &NativeDefinition| found.host == host && found.project == project;
        found.extend(
            definition.filter(is_of).map(|definition| ImportedFolder { folder, definition }),
        );
    }
    Ok(found)
}
