//! The installation status of a pack: its hooks at a level, its commands in agents' folders.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhook_engine::{Hook, Level};
use anyhook_hosts::HostSpec;
use anyhook_hosts::slash_command::{CommandFile, has_mark};
use anyhook_hosts::wiring::SettingsScope;

use super::{Pack, PackCommand, PackHook};

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

/// Looks for a pack's hooks in a `hooks` folder.
pub fn hooks<'pack>(pack: &'pack Pack, hooks_folder: &Path) -> Vec<HookPlace<'pack>> {
    let place = |hook: &'pack PackHook| {
        let folder = hooks_folder.join(hook.name());
        let standing = look_at_hook(pack, hook, &folder);
        HookPlace { hook, folder, standing }
    };
    pack.hooks.iter().map(place).collect()
}

/// Looks for a pack's commands in agents' folders.
pub fn commands<'pack>(
    pack: &'pack Pack,
    agents: &[&'static HostSpec],
    scope: &SettingsScope,
) -> Vec<CommandPlace<'pack>> {
    let mut places = Vec::new();
    for agent in agents {
        for command in &pack.commands {
            let Some(file) = agent.settings.command_file(scope, &command.command()) else {
                continue;
            };
            let standing = look_at_command(&file, &command.mark);
            places.push(CommandPlace { agent, command, file, standing });
        }
    }
    places
}

fn look_at_hook(pack: &Pack, hook: &PackHook, folder: &Path) -> PackStatus {
    if folder.symlink_metadata().is_err() {
        return PackStatus::Absent;
    }
    let mut found = BTreeMap::new();
    if collect(folder, Path::new(""), hook.files.len(), &mut found).is_some()
        && is_same(hook, &found)
    {
        return PackStatus::Same;
    }
    let there = Hook::load(folder, Level::User).definition;
    match there.metadata.get("pack") {
        Some(name) if name == pack.name => PackStatus::Changed,
        _ => PackStatus::Foreign,
    }
}

/// Returns whether files are those of a hook: all of them, no others, with executable scripts.
fn is_same(hook: &PackHook, found: &BTreeMap<String, PathBuf>) -> bool {
    found.len() == hook.files.len()
        && hook.files.iter().all(|(inner, bytes)| {
            let Some(path) = found.get(*inner) else { return false };
            let is_runnable =
                |path| fs::metadata(path).is_ok_and(|file| file.permissions().mode() & 0o111 != 0);
            fs::read(path).is_ok_and(|there| there == *bytes) && (!runs(inner) || is_runnable(path))
        })
}

/// Returns whether a hook's file is executable.
pub fn runs(inner: &str) -> bool {
    inner.starts_with("scripts/")
}

/// Finds the files below a folder; `None` if there are more than expected, or something other than
/// files.
fn collect(
    root: &Path,
    inner: &Path,
    limit: usize,
    found: &mut BTreeMap<String, PathBuf>,
) -> Option<()> {
    for entry in fs::read_dir(root.join(inner)).ok()? {
        let entry = entry.ok()?;
        let path = inner.join(entry.file_name());
        let kind = entry.file_type().ok()?;
        if kind.is_dir() {
            collect(root, &path, limit, found)?;
        } else if kind.is_file() && found.len() < limit {
            found.insert(path.to_str()?.to_owned(), entry.path());
        } else {
            return None;
        }
    }
    Some(())
}

fn look_at_command(file: &CommandFile, mark: &str) -> PackStatus {
    if file.path.symlink_metadata().is_err() {
        return PackStatus::Absent;
    }
    match fs::read_to_string(&file.path) {
        Ok(text) if text == file.text => PackStatus::Same,
        Ok(text) if has_mark(&text, mark) => PackStatus::Changed,
        _ => PackStatus::Foreign,
    }
}
