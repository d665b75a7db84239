//! What is known about packs: those that come with the program and those that were added, and where
//! they are installed.

use anyhook_hosts::AGENTS;
use anyhook_model::report::packs::{InstalledPack, ListedPack, PackedCommand, PackedHook};

use super::level::PackLevel;
use super::status::{self, PackStatus};
use super::{FoundPack, Pack, PackCommand, PackFiles, PackHook, lock};
use crate::error::SetupError;

/// Returns the packs that come with the program, then those that were added from elsewhere.
pub fn known(levels: &[PackLevel], files: PackFiles) -> Vec<Pack> {
    let mut packs = super::all(files);
    for level in levels {
        for locked in &level.lock.lock.packs {
            if packs.iter().all(|pack| pack.name != locked.name) {
                packs.push(Pack::of_lock(locked, &level.hooks_folder));
            }
        }
    }
    packs
}

/// Finds a pack by name; as it was added, if it was.
pub fn find(name: &str, levels: &[PackLevel], files: PackFiles) -> Result<Pack, SetupError> {
    let found = levels.iter().rev().find_map(|level| level.pack(name, files));
    found.ok_or_else(|| {
        let known = known(levels, files).into_iter().map(|pack| pack.name).collect();
        SetupError::UnknownPack { name: name.to_owned(), known }
    })
}

/// Returns what is known about a pack; if `asks`, also whether its source has another content now.
pub fn listed(
    pack: &Pack,
    levels: &[PackLevel],
    files: PackFiles,
    asks: bool,
) -> Result<ListedPack, SetupError> {
    let hook = |hook: &PackHook| PackedHook {
        name: hook.name().to_owned(),
        triggers: hook.definition.triggers.iter().map(|trigger| trigger.kind.to_string()).collect(),
        description: hook.definition.description.clone(),
    };
    let command = |command: &PackCommand| PackedCommand {
        name: command.name.clone(),
        argument: command.argument_hint.clone(),
        description: command.description.clone(),
    };
    let mut places = Vec::new();
    for level in levels {
        let Some(mut place) = installed(&pack.name, level, files) else { continue };
        if let Some(locked) = level.locked(&pack.name).filter(|_| asks) {
            let found = FoundPack::of_place(&lock::place(locked)?, files)?;
            place.update_available = Some(found.digest != locked.digest);
        }
        places.push(place);
    }
    Ok(ListedPack {
        name: pack.name.clone(),
        description: pack.description.clone(),
        hooks: pack.hooks.iter().map(hook).collect(),
        commands: pack.commands.iter().map(command).collect(),
        options: pack.options.iter().map(|option| option.option.clone()).collect(),
        installed: places,
    })
}

/// Returns which parts of a pack are at a level, if any.
fn installed(name: &str, level: &PackLevel, files: PackFiles) -> Option<InstalledPack> {
    let (pack, locked) = (&level.pack(name, files)?, level.locked(name));
    let hooks = status::hooks(pack, &level.hooks_folder, locked);
    let commands = status::commands(pack, &AGENTS, &level.scope, locked);
    let our_files = commands.iter().filter(|place| place.standing.is_ours());
    let command_files: Vec<String> =
        our_files.map(|place| place.file.path.to_string_lossy().into_owned()).collect();
    let is_ours = !command_files.is_empty() || hooks.iter().any(|place| place.standing.is_ours());
    if !is_ours && locked.is_none() {
        return None;
    }
    let missing = hooks.iter().filter(|place| !place.standing.is_ours());
    let missing: Vec<String> = missing.map(|place| place.hook.name().to_owned()).collect();
    let changed = hooks.iter().filter(|place| place.standing == PackStatus::Changed);
    let changed_hooks = changed.map(|place| place.hook.name().to_owned());
    let changed = commands.iter().filter(|place| place.standing == PackStatus::Changed);
    let changed_commands = changed.map(|place| place.file.path.to_string_lossy().into_owned());
    let changed: Vec<String> = changed_hooks.chain(changed_commands).collect();
    let state = match (missing.is_empty(), changed.is_empty()) {
        (_, false) => "changed",
        (false, true) => "missing",
        (true, true) => "same",
    };
    Some(InstalledPack {
        level: level.level.word().to_owned(),
        folder: level.hooks_folder.to_string_lossy().into_owned(),
        state: state.to_owned(),
        source: locked.map(|locked| locked.source.clone()),
        reference: locked.and_then(|locked| locked.reference.clone()),
        commit: locked.and_then(|locked| locked.commit.clone()),
        digest: locked.map(|locked| locked.digest.clone()),
        update_available: None,
        options: locked.map(|locked| locked.options.clone()).unwrap_or_default(),
        missing,
        changed,
        command_files,
    })
}
