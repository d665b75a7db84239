//! What `packs` and `add` report of a pack.

use anyhook_engine::Level;
use anyhook_hook::environment::Environment;
use anyhook_hosts::AGENTS;
use anyhook_model::report::changes::{AddReport, PlacedCommand, PlacedHook};
use anyhook_model::report::packs::{InstalledPack, ListedPack, PackedCommand, PackedHook};

use crate::hooks::hooks_folder;
use crate::packs::status::{self, CommandPlace, HookPlace, PackStatus};
use crate::packs::{Pack, PackCommand, PackHook};
use crate::settings;

/// Reports a pack, and where it is installed.
pub fn listed(pack: &Pack, environment: &Environment) -> ListedPack {
    let hook = |hook: &PackHook| PackedHook {
        name: hook.name().to_owned(),
        triggers: hook.definition.triggers.iter().map(|trigger| trigger.kind.to_string()).collect(),
        description: hook.definition.description.clone(),
    };
    let command = |command: &PackCommand| PackedCommand {
        name: command.name.to_owned(),
        argument: command.argument_hint.clone(),
        description: command.description.clone(),
    };
    ListedPack {
        name: pack.name.to_owned(),
        description: pack.description.clone(),
        hooks: pack.hooks.iter().map(hook).collect(),
        commands: pack.commands.iter().map(command).collect(),
        installed: [Level::User, Level::Project]
            .into_iter()
            .filter_map(|level| installed(pack, level, environment))
            .collect(),
    }
}

/// Returns which parts of a pack are at a level, if any.
fn installed(pack: &Pack, level: Level, environment: &Environment) -> Option<InstalledPack> {
    let folder = hooks_folder(level, environment).ok()?;
    let hooks = status::hooks(pack, &folder);
    let commands = match settings::scope(environment, level == Level::Project) {
        Ok(scope) => status::commands(pack, &AGENTS, &scope),
        Err(_) => Vec::new(),
    };
    let our_files = commands.iter().filter(|place| place.standing.is_ours());
    let command_files: Vec<String> =
        our_files.map(|place| place.file.path.to_string_lossy().into_owned()).collect();
    if command_files.is_empty() && !hooks.iter().any(|place| place.standing.is_ours()) {
        return None;
    }
    let missing = hooks.iter().filter(|place| !place.standing.is_ours());
    let missing = missing.map(|place| place.hook.name().to_owned()).collect();
    let changed = hooks.iter().filter(|place| place.standing == PackStatus::Changed);
    let changed_hooks = changed.map(|place| place.hook.name().to_owned());
    let changed = commands.iter().filter(|place| place.standing == PackStatus::Changed);
    let changed_commands = changed.map(|place| place.file.path.to_string_lossy().into_owned());
    Some(InstalledPack {
        level: level.word().to_owned(),
        folder: folder.to_string_lossy().into_owned(),
        missing,
        changed: changed_hooks.chain(changed_commands).collect(),
        command_files,
    })
}

/// Reports what of a pack is added.
pub fn added(
    pack: &Pack,
    hooks: &[HookPlace<'_>],
    commands: &[CommandPlace<'_>],
    needs_trust: bool,
    shadow: bool,
) -> AddReport {
    let added = hooks.iter().filter(|place| place.standing != PackStatus::Same);
    let hook = |place: &HookPlace<'_>| PlacedHook {
        name: place.hook.name().to_owned(),
        folder: place.folder.to_string_lossy().into_owned(),
    };
    let new = commands.iter().filter(|place| place.standing != PackStatus::Same);
    let command = |place: &CommandPlace<'_>| PlacedCommand {
        agent: place.agent.id().to_owned(),
        call: place.file.call.clone(),
        path: place.file.path.to_string_lossy().into_owned(),
    };
    AddReport {
        pack: Some(pack.name.to_owned()),
        hooks: added.map(hook).collect(),
        commands: new.map(command).collect(),
        shadow,
        needs_trust,
    }
}
