//! Where a command puts or looks for hooks: at the user's level or the project's.

use std::path::PathBuf;

use anyhook_engine::Level;
use anyhook_engine::places::{HOOKS, PROJECT_LEVEL, find_root};
use clap::Args;

use crate::environment::Environment;
use crate::error::Trouble;

/// `--user` or `--project`.
#[derive(Args, Debug, Clone, Copy)]
pub struct LevelArgs {
    /// At the user's level (~/.config/agents/hooks); this is the default
    #[arg(long, conflicts_with = "project")]
    pub user: bool,
    /// At the project's level (.agents/hooks of the repository)
    #[arg(long)]
    pub project: bool,
}

impl LevelArgs {
    /// Returns the level that was asked for, if one was.
    pub fn asked(self) -> Option<Level> {
        match (self.user, self.project) {
            (true, _) => Some(Level::User),
            (_, true) => Some(Level::Project),
            _ => None,
        }
    }

    /// Returns the `hooks` folder of the level; the user's unless the project's was asked for.
    pub fn hooks_folder(self, environment: &Environment) -> Result<PathBuf, Trouble> {
        hooks_folder(self.asked().unwrap_or(Level::User), environment)
    }
}

/// Returns the `hooks` folder of a level.
pub fn hooks_folder(level: Level, environment: &Environment) -> Result<PathBuf, Trouble> {
    let places = &environment.places;
    match level {
        Level::Managed => Ok(places.managed.join(HOOKS)),
        Level::User => places.user.as_ref().map(|user| user.join(HOOKS)).ok_or_else(|| {
            Trouble::problem("there is no user's level: `HOME` is not set")
                .hint("set HOME, or use --project")
        }),
        Level::Project | Level::Program => {
            let root = find_root(&environment.work_dir, places.home.as_deref());
            Ok(root.unwrap_or_else(|| environment.work_dir.clone()).join(PROJECT_LEVEL).join(HOOKS))
        }
    }
}
