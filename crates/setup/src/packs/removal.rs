//! Removes a pack from a level: its hooks and commands are moved to where they are kept.

use std::path::{Path, PathBuf};

use anyhook_engine::now;
use anyhook_engine::trust::{TrustStore, absolute};
use anyhook_hosts::AGENTS;
use anyhook_model::StateDir;

use super::Pack;
use super::apply;
use super::level::PackLevel;
use super::lock::{self, LockFile};
use super::status::{self, CommandPlace, HookPlace, PackStatus};
use crate::error::SetupError;

/// The parts of a pack that are at a level.
#[derive(Debug)]
pub struct InstalledParts<'pack> {
    /// The level.
    pub level: &'pack PackLevel,
    /// The pack.
    pub pack: &'pack Pack,
    /// Its hooks, and what is at their places.
    pub hooks: Vec<HookPlace<'pack>>,
    /// Its commands, and what is at their places.
    pub commands: Vec<CommandPlace<'pack>>,
}

/// What was removed.
#[derive(Debug)]
pub struct RemovedParts {
    /// Where they were.
    pub paths: Vec<PathBuf>,
    /// The folder in which they are kept.
    pub kept: PathBuf,
}

impl<'pack> InstalledParts<'pack> {
    /// Looks for a pack at a level; `None` if no part of it is there and none was added.
    pub fn find(level: &'pack PackLevel, pack: &'pack Pack) -> Option<Self> {
        let locked = level.locked(&pack.name);
        let hooks = status::hooks(pack, &level.hooks_folder, locked);
        let commands = status::commands(pack, &AGENTS, &level.scope, locked);
        let is_there = hooks.iter().any(|place| place.standing.is_ours())
            || commands.iter().any(|place| place.standing.is_ours());
        (is_there || locked.is_some()).then_some(Self { level, pack, hooks, commands })
    }

    /// Returns the hooks that are the pack's.
    pub fn our_hooks(&self) -> impl Iterator<Item = &HookPlace<'pack>> {
        self.hooks.iter().filter(|place| place.standing.is_ours())
    }

    /// Returns the commands that are the pack's.
    pub fn our_commands(&self) -> impl Iterator<Item = &CommandPlace<'pack>> {
        self.commands.iter().filter(|place| place.standing.is_ours())
    }

    /// Returns the paths at which something of this kind is.
    pub fn paths(&self, wanted: PackStatus) -> Vec<&Path> {
        let hooks = self.hooks.iter().filter(|place| place.standing == wanted);
        let files = self.commands.iter().filter(|place| place.standing == wanted);
        let hooks = hooks.map(|place| place.folder.as_path());
        hooks.chain(files.map(|place| place.file.path.as_path())).collect()
    }

    /// Removes what is the pack's; a copy is kept in the state folder.
    pub fn remove(&self, state: &Path) -> Result<RemovedParts, SetupError> {
        let stamp = now().to_string().replace(':', "");
        let kept = StateDir::new(state).removed().join(format!("{}-{stamp}", self.pack.name));
        let sources: Vec<PathBuf> =
            self.our_hooks().map(|place| absolute(&place.folder)).collect::<Result<_, _>>()?;
        let moves = self.moves(&kept);
        apply::take(&moves)?;
        // A removed hook must not be reported as missing.
        for source in sources {
            TrustStore::new(state).forget(&source)?;
        }
        for place in self.our_commands() {
            // A folder that only the command used; one with anything else in it is kept.
            let _ = place.file.path.parent().map(std::fs::remove_dir);
        }
        let hooks_folder = &self.level.hooks_folder;
        let _held = lock::hold(hooks_folder)?;
        LockFile::read(hooks_folder)?.remove(&self.pack.name)?;
        Ok(RemovedParts { paths: moves.into_iter().map(|(from, _)| from).collect(), kept })
    }

    /// Returns what is moved, and to where.
    fn moves(&self, kept: &Path) -> Vec<(PathBuf, PathBuf)> {
        let hook = |place: &HookPlace<'_>| {
            (place.folder.clone(), kept.join("hooks").join(place.hook.name()))
        };
        let command = |place: &CommandPlace<'_>| {
            let path = &place.file.path;
            let extension = path.extension().unwrap_or_default().to_string_lossy();
            let name = format!("{}.{extension}", place.command.name);
            (path.clone(), kept.join("commands").join(place.agent.id()).join(name))
        };
        self.our_hooks().map(hook).chain(self.our_commands().map(command)).collect()
    }
}
