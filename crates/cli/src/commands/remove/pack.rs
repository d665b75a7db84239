//! `anyhook remove pack/NAME`: removes a pack's hooks and commands, so that they can be restored.

use std::path::{Path, PathBuf};

use anyhook_engine::trust::{TrustStore, absolute};
use anyhook_engine::{Level, now};
use anyhook_hosts::AGENTS;
use anyhook_model::report::changes::RemoveReport;
use anyhook_model::{StateDir, exit_code};
use anyhook_setup::hooks::hooks_folder;

use super::{CommandResult, RemoveArgs};
use crate::agents;
use crate::environment::{Environment, shown};
use crate::error::CommandError;
use crate::level::LevelArgs;
use crate::packs::status::{self, CommandPlace, HookPlace, PackStatus};
use crate::packs::{Pack, apply};
use crate::ui::{Out, Tone, counted};

/// The parts of a pack that are at a level.
struct InstalledParts<'pack> {
    level: Level,
    hooks: Vec<HookPlace<'pack>>,
    commands: Vec<CommandPlace<'pack>>,
}

pub fn run(
    pack: &Pack,
    arguments: &RemoveArgs,
    environment: &Environment,
    out: &mut Out,
) -> CommandResult {
    let InstalledParts { level, hooks, commands } = find(pack, arguments.level, environment)?;
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

    if arguments.json {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let foreign = hooks.iter().filter(|place| place.standing == PackStatus::Foreign);
        let files = commands.iter().filter(|place| place.standing == PackStatus::Foreign);
        let left = foreign.map(|place| text(&place.folder));
        let left = left.chain(files.map(|place| text(&place.file.path))).collect();
        out.json(&RemoveReport {
            name: pack.name.to_owned(),
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
        (Tone::Strong, pack.name),
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
    let project = if level == Level::Project { " --project" } else { "" };
    let restore = format!("anyhook add {}{project}", pack.word());
    out.line(&[(Tone::Dim, "to restore it: "), (Tone::Plain, &restore)])?;
    Ok(exit_code::OK)
}

/// Finds the one level that a pack is at, or the one that was given.
fn find<'pack>(
    pack: &'pack Pack,
    asked: LevelArgs,
    environment: &Environment,
) -> Result<InstalledParts<'pack>, CommandError> {
    let mut found = Vec::new();
    for level in [Level::User, Level::Project] {
        if asked.asked().is_some_and(|asked| asked != level) {
            continue;
        }
        let place = hooks_folder(level, environment).and_then(|folder| {
            let scope = agents::scope(environment, level == Level::Project)?;
            Ok((folder, scope))
        });
        let (folder, scope) = match place {
            Ok(place) => place,
            Err(error) if asked.asked().is_some() => return Err(error.into()),
            Err(_) => continue,
        };
        let hooks = status::hooks(pack, &folder);
        let commands = status::commands(pack, &AGENTS, &scope);
        let is_there = hooks.iter().any(|place| place.standing.is_ours())
            || commands.iter().any(|place| place.standing.is_ours());
        if is_there {
            found.push(InstalledParts { level, hooks, commands });
        }
    }
    match (found.pop(), found.pop()) {
        (Some(found), None) => Ok(found),
        (Some(one), Some(other)) => Err(CommandError::usage(format!(
            "`{}` is installed more than once: at the {} level and the {} level",
            pack.name,
            other.level.word(),
            one.level.word()
        ))
        .hint("pass --user or --project")),
        (None, _) => {
            let place = asked.asked().map(|level| format!(" at the {} level", level.word()));
            let place = place.unwrap_or_default();
            Err(CommandError::input(format!("no part of `{}` is installed{place}", pack.name))
                .hint("`anyhook packs` shows what is installed"))
        }
    }
}
