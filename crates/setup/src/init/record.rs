//! What was done, so that exactly that can be undone: `init/ID.json` in the state folder.

use std::fs;
use std::path::{Path, PathBuf};

use anyhook_engine::atomic_file::{AtomicFile, create_private_dir};
use anyhook_engine::{Level, new_id, now};
use anyhook_hook::environment::Environment;
use anyhook_model::StateDir;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::SetupError;

/// The version of the format.
///
/// - 1: agents, packs and folders.
/// - 2: imports.
pub const VERSION: u32 = 2;

/// What was done.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct InitRecord {
    /// The version of this file.
    pub v: u32,
    /// Its id, which is in the file's name.
    pub id: String,
    /// When it was begun.
    pub at: Timestamp,
    /// The project's folder, or where it was run.
    pub root: PathBuf,
    /// The agents that did not call anyhook before, by id.
    pub agents: Vec<String>,
    /// The agents whose own hooks were imported, by id.
    #[serde(default)]
    pub imports: Vec<String>,
    /// The packs that were not there before.
    pub packs: Vec<RecordedPack>,
    /// The folders that were not there before, the outer ones first.
    pub folders: Vec<PathBuf>,
}

/// A pack that was added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedPack {
    /// Its name.
    pub name: String,
    /// Whether it was added to the project, and not to the user's level.
    pub project: bool,
}

impl RecordedPack {
    /// Returns the level it was added to.
    pub fn level(&self) -> Level {
        if self.project { Level::Project } else { Level::User }
    }
}

impl InitRecord {
    /// Begins a record: nothing is done yet, and nothing written.
    pub fn begin(root: PathBuf) -> Self {
        Self {
            v: VERSION,
            id: new_id().to_string(),
            at: now(),
            root,
            agents: Vec::new(),
            imports: Vec::new(),
            packs: Vec::new(),
            folders: Vec::new(),
        }
    }

    /// Returns the newest record, if there is one.
    pub fn newest(state: &Path) -> Result<Option<Self>, SetupError> {
        let folder = StateDir::new(state).init();
        let mut newest: Option<Self> = None;
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            let record = Self::read(&path)?;
            if newest.as_ref().is_none_or(|newest| newest.at < record.at) {
                newest = Some(record);
            }
        }
        Ok(newest)
    }

    fn read(path: &Path) -> Result<Self, SetupError> {
        let broken = |why: String| SetupError::BrokenRecord { path: path.to_owned(), why };
        let bytes = fs::read(path).map_err(SetupError::unusable(path))?;
        let record: Self =
            serde_json::from_slice(&bytes).map_err(|error| broken(error.to_string()))?;
        if record.v > VERSION {
            return Err(broken(format!("version {} is newer than this anyhook", record.v)));
        }
        Ok(record)
    }

    /// Writes the record. It is written before each step, so that it never lacks what was done.
    pub fn keep(&self, state: &Path) -> Result<(), SetupError> {
        let path = self.path(state);
        let folder = path.parent().unwrap_or(&path);
        create_private_dir(folder).map_err(SetupError::unusable(folder))?;
        let text = serde_json::to_string_pretty(self).map_err(std::io::Error::other);
        let text = text.map_err(SetupError::unusable(&path))?;
        let file = AtomicFile::new(&path).mode(0o600).synced(true);
        file.replace(text.as_bytes()).map_err(SetupError::unusable(&path))
    }

    /// Removes the record.
    pub fn forget(&self, state: &Path) -> Result<(), SetupError> {
        let path = self.path(state);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(SetupError::unusable(&path)(error))
            }
            _ => Ok(()),
        }
    }

    fn path(&self, state: &Path) -> PathBuf {
        StateDir::new(state).init().join(format!("{}.json", self.id))
    }

    /// Returns the environment as it was: in the folder where it was run.
    pub fn environment(&self, now: &Environment) -> Environment {
        Environment { work_dir: self.root.clone(), ..now.clone() }
    }

    /// Notes that a folder is about to be made, and those above it that do not exist.
    pub fn note_folder(&mut self, folder: &Path) {
        let missing: Vec<&Path> = folder.ancestors().take_while(|above| !above.exists()).collect();
        for folder in missing.into_iter().rev() {
            if !self.folders.iter().any(|known| known == folder) {
                self.folders.push(folder.to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_is_found_and_can_be_forgotten() {
        let state = tempfile::tempdir().unwrap();
        assert!(InitRecord::newest(state.path()).unwrap().is_none());
        let mut old = InitRecord::begin("/p".into());
        old.at = Timestamp::UNIX_EPOCH;
        let mut new = InitRecord::begin("/p".into());
        new.agents.push("codex".to_owned());
        for record in [&old, &new] {
            record.keep(state.path()).unwrap();
        }
        let newest = || InitRecord::newest(state.path()).unwrap().map(|record| record.id);
        assert_eq!(newest().as_ref(), Some(&new.id));
        new.forget(state.path()).unwrap();
        new.forget(state.path()).unwrap();
        assert_eq!(newest().as_ref(), Some(&old.id));
    }

    #[test]
    fn a_newer_version_is_refused() {
        let state = tempfile::tempdir().unwrap();
        let record = InitRecord { v: VERSION + 1, ..InitRecord::begin("/p".into()) };
        record.keep(state.path()).unwrap();
        let error = InitRecord::newest(state.path()).unwrap_err().to_string();
        assert!(error.contains("newer than this anyhook"), "{error}");
    }

    #[test]
    fn only_missing_folders_are_noted() {
        let there = tempfile::tempdir().unwrap();
        let mut record = InitRecord::begin("/p".into());
        record.note_folder(&there.path().join("a/b"));
        record.note_folder(&there.path().join("a"));
        record.note_folder(there.path());
        assert_eq!(record.folders, [there.path().join("a"), there.path().join("a/b")]);
    }
}
