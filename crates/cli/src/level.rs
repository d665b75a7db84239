//! The level at which a command installs or looks for hooks: the user's or the project's.

use std::path::PathBuf;

use anyhook_engine::Level;
use anyhook_setup::hooks::hooks_folder;
use clap::{Args, ValueEnum};

use crate::environment::Environment;
use crate::error::CommandError;

/// `--user` or `--project`.
#[derive(Args, Debug, Clone, Copy)]
pub struct LevelArgs {
    /// At the user level (~/.config/agents/hooks); this is the default
    #[arg(long, conflicts_with = "project")]
    pub user: bool,
    /// At the project level (.agents/hooks in the repository)
    #[arg(long)]
    pub project: bool,
}

impl LevelArgs {
    /// Returns the requested level, if any.
    pub fn asked(self) -> Option<Level> {
        match (self.user, self.project) {
            (true, _) => Some(Level::User),
            (_, true) => Some(Level::Project),
            _ => None,
        }
    }

    /// Returns the `hooks` folder of the level; the user's unless the project's was requested.
    pub fn hooks_folder(self, environment: &Environment) -> Result<PathBuf, CommandError> {
        Ok(hooks_folder(self.asked().unwrap_or(Level::User), environment)?)
    }
}

/// The value of `--level`, for commands with another `--project`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LevelName {
    User,
    Project,
}

impl From<LevelName> for Level {
    fn from(level: LevelName) -> Self {
        match level {
            LevelName::User => Self::User,
            LevelName::Project => Self::Project,
        }
    }
}
