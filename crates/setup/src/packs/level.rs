//! The packs of a level: where its hooks and commands are, and what `packs.lock` says.

use std::path::PathBuf;

use anyhook_engine::Level;
use anyhook_hook::environment::Environment;
use anyhook_hosts::wiring::SettingsScope;
use anyhook_model::pack::LockedPack;

use super::lock::LockFile;
use super::{Pack, PackFiles};
use crate::error::SetupError;
use crate::hooks::hooks_folder;
use crate::settings;

/// A level's packs.
#[derive(Debug)]
pub struct PackLevel {
    /// The level.
    pub level: Level,
    /// Its `hooks` folder.
    pub hooks_folder: PathBuf,
    /// Where its agents' commands are.
    pub scope: SettingsScope,
    /// Its `packs.lock`.
    pub lock: LockFile,
}

impl PackLevel {
    /// Reads what is at a level.
    pub fn read(level: Level, environment: &Environment) -> Result<Self, SetupError> {
        let hooks_folder = hooks_folder(level, environment)?;
        let scope = settings::scope(environment, level == Level::Project)?;
        let lock = LockFile::read(&hooks_folder)?;
        Ok(Self { level, hooks_folder, scope, lock })
    }

    /// Reads the level that was asked for, or those of the user and the project that there are.
    pub fn all(asked: Option<Level>, environment: &Environment) -> Result<Vec<Self>, SetupError> {
        if let Some(level) = asked {
            return Ok(vec![Self::read(level, environment)?]);
        }
        let mut levels = Vec::new();
        for level in [Level::User, Level::Project] {
            match Self::read(level, environment) {
                Ok(found) => levels.push(found),
                Err(error @ SetupError::Pack(_)) => return Err(error),
                // Without a home folder there is only the project.
                Err(_) => {}
            }
        }
        Ok(levels)
    }

    /// Returns what was added under a name.
    pub fn locked(&self, name: &str) -> Option<&LockedPack> {
        self.lock.find(name)
    }

    /// Returns a pack as it was added here, otherwise as it comes with the program.
    pub fn pack(&self, name: &str, files: PackFiles) -> Option<Pack> {
        let locked = || self.locked(name).map(|locked| Pack::of_lock(locked, &self.hooks_folder));
        locked().or_else(|| super::all(files).into_iter().find(|pack| pack.name == name))
    }
}
