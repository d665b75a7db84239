//! The installation status of a pack: its hooks at a level, its commands in agents' folders.

use std::fs;
use std::path::{Path, PathBuf};

use anyhook_engine::trust::{copy_folder, digest};
use anyhook_engine::{Hook, Level, sha256_hex};
use anyhook_hosts::HostSpec;
use anyhook_hosts::slash_command::{CommandFile, has_mark};
use anyhook_hosts::wiring::SettingsScope;
use anyhook_model::pack::{LockedCommand, LockedHook, LockedPack};

use super::source::DIGEST;
use super::tree::HOOK_FILE;
use super::{Pack, PackCommand, PackHook, PackTree};
use crate::error::SetupError;
use crate::shadow::in_shadow;

/// What is at the path of a pack's item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackStatus {
    /// Nothing.
    Absent,
    /// The pack's item.
    Same,
    /// An item that the pack has or had, changed by someone.
    Changed,
    /// Something else.
    Foreign,
}

impl PackStatus {
    /// Returns whether it is the pack's.
    pub fn is_ours(self) -> bool {
        matches!(self, Self::Same | Self::Changed)
    }

    /// Returns whether it is in the pack's way.
    pub fn is_in_the_way(self) -> bool {
        matches!(self, Self::Changed | Self::Foreign)
    }
}

/// The path of a pack's hook, and what is there.
#[derive(Debug)]
pub struct HookPlace<'pack> {
    /// The hook.
    pub hook: &'pack PackHook,
    /// Its folder.
    pub folder: PathBuf,
    /// What is there.
    pub standing: PackStatus,
}

/// The path of a pack's command for one agent, and what is there.
pub struct CommandPlace<'pack> {
    /// The agent.
    pub agent: &'static HostSpec,
    /// The command.
    pub command: &'pack PackCommand,
    /// Its file.
    pub file: CommandFile,
    /// What is there.
    pub standing: PackStatus,
}

impl std::fmt::Debug for CommandPlace<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("CommandPlace");
        let shown = shown.field("agent", &self.agent.id()).field("command", &self.command.name);
        shown
            .field("path", &self.file.path)
            .field("standing", &self.standing)
            .finish_non_exhaustive()
    }
}

/// Looks for a pack's hooks in a `hooks` folder. With a record of what was added they are compared
/// with that, otherwise with the pack.
pub fn hooks<'pack>(
    pack: &'pack Pack,
    hooks_folder: &Path,
    locked: Option<&LockedPack>,
) -> Vec<HookPlace<'pack>> {
    let place = |hook: &'pack PackHook| {
        let folder = hooks_folder.join(hook.name());
        let known =
            locked.and_then(|pack| pack.hooks.iter().find(|known| known.name == hook.name()));
        let standing = match known {
            Some(known) => look_at_locked(&pack.name, known, &folder, is_built_in(locked)),
            None => look_at_hook(pack, hook, &folder),
        };
        HookPlace { hook, folder, standing }
    };
    pack.hooks.iter().map(place).collect()
}

/// Returns whether a pack comes with the program.
pub(super) fn is_built_in(locked: Option<&LockedPack>) -> bool {
    locked.is_none_or(|pack| pack.source.starts_with(super::PREFIX))
}

/// Looks for a pack's commands in agents' folders.
pub fn commands<'pack>(
    pack: &'pack Pack,
    agents: &[&'static HostSpec],
    scope: &SettingsScope,
    locked: Option<&LockedPack>,
) -> Vec<CommandPlace<'pack>> {
    let mut places = Vec::new();
    for agent in agents {
        for command in &pack.commands {
            let Some(file) = agent.settings.command_file(scope, &command.command()) else {
                continue;
            };
            let is_it =
                |known: &&LockedCommand| known.agent == agent.id() && known.name == command.name;
            let known = locked.and_then(|pack| pack.commands.iter().find(is_it));
            let standing = look_at_command(&file, &command.mark, known);
            places.push(CommandPlace { agent, command, file, standing });
        }
    }
    places
}

/// Looks at a hook that was added.
pub(super) fn look_at_locked(
    pack: &str,
    known: &LockedHook,
    folder: &Path,
    is_built_in: bool,
) -> PackStatus {
    if folder.symlink_metadata().is_err() {
        return PackStatus::Absent;
    }
    if digest_of(folder) == known.digest || is_promoted(known, folder) {
        return PackStatus::Same;
    }
    let there = Hook::load(folder, Level::User).definition;
    match there.metadata.get("pack") {
        Some(name) if name == pack => PackStatus::Changed,
        // Hooks of other packs need not name theirs.
        None if !is_built_in => PackStatus::Changed,
        _ => PackStatus::Foreign,
    }
}

/// Returns the digest of a folder's content; empty if it has none.
pub(super) fn digest_of(folder: &Path) -> String {
    digest(folder).map_or_else(|_| String::new(), |digest| format!("{DIGEST}{digest}"))
}

/// Returns whether a hook that was added in shadow mode is enforced now, and nothing else about it
/// has changed.
fn is_promoted(known: &LockedHook, folder: &Path) -> bool {
    let in_shadow = || -> Result<String, SetupError> {
        let scratch = tempfile::tempdir().map_err(SetupError::unusable(folder))?;
        let copy = scratch.path().join(&known.name);
        copy_folder(folder, &copy)?;
        let file = copy.join(HOOK_FILE);
        let text = fs::read(&file).map_err(SetupError::unusable(&file))?;
        let text = in_shadow(&text, &known.name).unwrap_or(text);
        fs::write(&file, text).map_err(SetupError::unusable(&file))?;
        Ok(digest_of(&copy))
    };
    known.shadow && in_shadow().is_ok_and(|digest| digest == known.digest)
}

fn look_at_hook(pack: &Pack, hook: &PackHook, folder: &Path) -> PackStatus {
    if folder.symlink_metadata().is_err() {
        return PackStatus::Absent;
    }
    if PackTree::of_hook(folder).is_ok_and(|tree| *tree.files() == hook.files) {
        return PackStatus::Same;
    }
    let there = Hook::load(folder, Level::User).definition;
    match there.metadata.get("pack") {
        Some(name) if *name == pack.name.as_str() => PackStatus::Changed,
        _ => PackStatus::Foreign,
    }
}

/// Returns whether a file of a hook that comes with the program is executable.
pub fn runs(inner: &str) -> bool {
    inner.starts_with("scripts/")
}

/// Returns the digest that `packs.lock` records of a command's file.
pub(super) fn digest_of_command(text: &str) -> String {
    format!("{DIGEST}{}", sha256_hex(text.as_bytes()))
}

fn look_at_command(file: &CommandFile, mark: &str, known: Option<&LockedCommand>) -> PackStatus {
    if file.path.symlink_metadata().is_err() {
        return PackStatus::Absent;
    }
    let text = fs::read_to_string(&file.path);
    if let (Ok(text), Some(known)) = (&text, known)
        && digest_of_command(text) == known.digest
    {
        return PackStatus::Same;
    }
    match text {
        Ok(text) if text == file.text => PackStatus::Same,
        Ok(text) if has_mark(&text, mark) => PackStatus::Changed,
        _ => PackStatus::Foreign,
    }
}
