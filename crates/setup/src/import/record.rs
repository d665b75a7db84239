//! What was taken out of an agent's settings, so that it can be put back: `parked/AGENT-PLACE.json`
//! in the state folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhook_hosts::HostSpec;
use anyhook_hosts::native_hooks::Parked;
use anyhook_hosts::wiring::SettingsScope;
use anyhook_model::StateDir;
use serde::{Deserialize, Serialize};

use super::ImportError;
use crate::error::SetupError;
use crate::settings::{self, RecordedChange};

/// The version of the format.
///
/// - 1: files before and after, and hooks.
pub const VERSION: u32 = 1;

/// What was taken out of an agent's settings.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ParkedRecord {
    /// The version of this file.
    pub v: u32,
    /// Each file, before and after.
    pub files: BTreeMap<PathBuf, RecordedChange>,
    /// The hooks that were taken out, in their order.
    pub hooks: Vec<ParkedHook>,
}

/// A hook that was taken out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ParkedHook {
    /// The settings file.
    pub file: PathBuf,
    /// The name of the hook that it became.
    pub name: String,
    /// What was taken out.
    #[serde(flatten)]
    pub parked: Parked,
}

impl Default for ParkedRecord {
    fn default() -> Self {
        Self { v: VERSION, files: BTreeMap::new(), hooks: Vec::new() }
    }
}

impl ParkedRecord {
    fn path(state: &Path, agent: &HostSpec, scope: &SettingsScope) -> PathBuf {
        let name = settings::place_name(agent, scope);
        StateDir::new(state).parked().join(format!("{name}.json"))
    }

    /// Reads the record of an agent's settings, if there is one.
    pub fn load(
        state: &Path,
        agent: &HostSpec,
        scope: &SettingsScope,
    ) -> Result<Option<Self>, ImportError> {
        let path = Self::path(state, agent, scope);
        let broken = |why: String| ImportError::Record { path: path.clone(), why };
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(broken(error.to_string())),
        };
        let record: Self =
            serde_json::from_slice(&bytes).map_err(|error| broken(error.to_string()))?;
        if record.v > VERSION {
            return Err(broken(format!("version {} is newer than this anyhook", record.v)));
        }
        Ok(Some(record))
    }

    /// Stores the record. It contains whole settings files, and those may contain keys.
    pub fn keep(
        &self,
        state: &Path,
        agent: &HostSpec,
        scope: &SettingsScope,
    ) -> Result<(), SetupError> {
        settings::keep_private(&Self::path(state, agent, scope), self)
    }

    /// Removes the record.
    pub fn forget(state: &Path, agent: &HostSpec, scope: &SettingsScope) -> Result<(), SetupError> {
        let path = Self::path(state, agent, scope);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(SetupError::unusable(&path)(error))
            }
            _ => Ok(()),
        }
    }

    /// Returns the hooks that were taken out of a file.
    pub fn of_file(&self, file: &Path) -> Vec<Parked> {
        let is_there = |hook: &&ParkedHook| hook.file == file;
        self.hooks.iter().filter(is_there).map(|hook| hook.parked.clone()).collect()
    }
}
