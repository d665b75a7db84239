//! `anyhook remove pack/NAME`: removes a pack's hooks and commands, so that they can be restored.

use std::path::{Path, PathBuf};

use anyhook_engine::trust::{TrustStore, absolute};
use anyhook_engine::{Level, now};
use anyhook_hosts::AGENTS;
use anyhook_model::pack::LockedPack;
use anyhook_model::report::changes::RemoveReport;
use anyhook_model::{StateDir, exit_code};
use anyhook_setup::packs::level::PackLevel;
use anyhook_setup::packs::lock::{self, LockFile};

use super::{CommandResult, RemoveArgs};
use crate::environment::{Environment, shown};
use crate::error::CommandError;
use crate::level::LevelArgs;
use crate::packs::status::{self, CommandPlace, HookPlace, PackStatus};
use crate::packs::{self, FILES, PREFIX, Pack, apply, levels};
use crate::ui::{Out, Tone, counted};

/// The parts of a pack that are at a level.
struct InstalledParts<'pack> {
    level: &'pack PackLevel,
    pack: &'pack Pack,
    hooks: Vec<HookPlace<'pack>>,
    commands: Vec<CommandPlace<'pack>>,
}

pub fn run(
    name: &str,
    arguments: &RemoveArgs,
    environment: &Environment,
    out: &mut Out,
) -> CommandResult {
    let levels = levels(arguments.level.asked(), environment)?;
    let packs = levels.iter().map(|level| Some((level, level.pack(name, FILES)?)));
    let packs: Vec<(&PackLevel, Pack)> = packs.flatten().collect();
    if packs.is_empty() {
        packs::find(name)?;
    }
    let InstalledParts { level, pack, hooks, commands } = find(name, &packs, arguments.level)?;
    let Some(state) = &environment.places.state else {
        return Err(CommandError::problem("no state folder to keep a copy in").hint("set HOME"));
    };
    let stamp = now().to_string().replace(':', "");
    let kept = StateDir::new(state).removed().join(format!("{}-{stamp}", pack.name));
    let ours: Vec<&HookPlace<'_>> = hooks.iter().filter(|place| place.standing.is_ours()).collect();
    let our_commands: Vec<&CommandPlace<'_>> =
        commands.iter().filter(|place| place.standing.is_ours()).collect();
    let sources: Vec<PathBuf> =
        ours.iter().map(|place| absolute(&place.folder)).collect::<Result<_, _>>()?;
    let mut moves: Vec<(PathBuf, PathBuf)> = ours
        .iter()
        .map(|place| (place.folder.clone(), kept.join("hooks").join(place.hook.name())))
        .collect();
    moves.extend(our_commands.iter().map(|place| {
        let name = place.file.path.extension().unwrap_or_default().to_string_lossy();
        let name = format!("{}.{name}", place.command.name);
        (place.file.path.clone(), kept.join("commands").join(place.agent.id()).join(name))
    }));
    apply::take(&moves)?;
    // A removed hook must not be reported as missing.
    for source in sources {
        TrustStore::new(state).forget(&source)?;
    }
    for place in &our_commands {
        // A folder that only the command used; one with anything else in it is kept.
        let _ = place.file.path.parent().map(std::fs::remove_dir);
    }
    let source = level.locked(name).cloned();
    let _held = lock::hold(&level.hooks_folder)?;
    LockFile::read(&level.hooks_folder)?.remove(name)?;

    if arguments.json {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let foreign = hooks.iter().filter(|place| place.standing == PackStatus::Foreign);
        let files = commands.iter().filter(|place| place.standing == PackStatus::Foreign);
        let left = foreign.map(|place| text(&place.folder));
        let left = left.chain(files.map(|place| text(&place.file.path))).collect();
        out.json(&RemoveReport {
            name: pack.name.clone(),
            removed: moves.iter().map(|(from, _)| text(from)).collect(),
            kept: text(&kept),
            left,
        })?;
        return Ok(exit_code::OK);
    }
    let mut what = vec![counted(ours.len(), "hook")];
    if !our_commands.is_empty() {
        what.push(counted(our_commands.len(), "command file"));
    }
    out.line(&[
        (Tone::Good, "removed "),
        (Tone::Strong, name),
        (Tone::Plain, ": "),
        (Tone::Plain, &what.join(", ")),
    ])?;
    out.line(&[(Tone::Dim, "kept at "), (Tone::Dim, &shown(&kept, &environment.places))])?;
    let names = |wanted: PackStatus| {
        let hooks = hooks.iter().filter(move |place| place.standing == wanted);
        let files = commands.iter().filter(move |place| place.standing == wanted);
        let hooks = hooks.map(|place| shown(&place.folder, &environment.places));
        let files = files.map(|place| shown(&place.file.path, &environment.places));
        hooks.chain(files).collect::<Vec<_>>().join(", ")
    };
    let changed = names(PackStatus::Changed);
    if !changed.is_empty() {
        out.line(&[(Tone::Warn, "kept with your changes: "), (Tone::Plain, &changed)])?;
    }
    let foreign = names(PackStatus::Foreign);
    if !foreign.is_empty() {
        out.line(&[(Tone::Warn, "left alone, not from this pack: "), (Tone::Plain, &foreign)])?;
    }
    let project = if level.level == Level::Project { " --project" } else { "" };
    let restore = match source {
        Some(locked) if !locked.source.starts_with(PREFIX) => restore_words(&locked)?,
        _ => pack.word(),
    };
    let restore = format!("anyhook add {restore}{project}");
    out.line(&[(Tone::Dim, "to restore it: "), (Tone::Plain, &restore)])?;
    Ok(exit_code::OK)
}

/// Returns the source of a pack from outside, as it was.
fn restore_words(locked: &LockedPack) -> Result<String, CommandError> {
    Ok(format!("{}@{}", lock::place(locked)?.written(), locked.digest))
}

/// Finds the one level that a pack is at, or the one that was given.
fn find<'pack>(
    name: &str,
    packs: &'pack [(&'pack PackLevel, Pack)],
    asked: LevelArgs,
) -> Result<InstalledParts<'pack>, CommandError> {
    let mut found = Vec::new();
    for (level, pack) in packs {
        let locked = level.locked(name);
        let hooks = status::hooks(pack, &level.hooks_folder, locked);
        let commands = status::commands(pack, &AGENTS, &level.scope, locked);
        let is_there = hooks.iter().any(|place| place.standing.is_ours())
            || commands.iter().any(|place| place.standing.is_ours());
        if is_there || locked.is_some() {
            found.push(InstalledParts { level, pack, hooks, commands });
        }
    }
    match (found.pop(), found.pop()) {
        (Some(found), None) => Ok(found),
        (Some(one), Some(other)) => Err(CommandError::usage(format!(
            "`{}` is installed more than once: at the {} level and the {} level",
            name,
            other.level.level.word(),
            one.level.level.word()
        ))
        .hint("pass --user or --project")),
        (None, _) => {
            let place = asked.asked().map(|level| format!(" at the {} level", level.word()));
            let place = place.unwrap_or_default();
            Err(CommandError::input(format!("no part of `{name}` is installed{place}"))
                .hint("`anyhook packs` shows what is installed"))
        }
    }
}
