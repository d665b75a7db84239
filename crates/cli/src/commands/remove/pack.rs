//! `anyhook remove pack/NAME`: removes a pack's hooks and commands, so that they can be restored.

use std::path::Path;

use anyhook_engine::Level;
use anyhook_model::exit_code;
use anyhook_model::pack::LockedPack;
use anyhook_model::report::changes::RemoveReport;
use anyhook_setup::packs::level::PackLevel;
use anyhook_setup::packs::lock;
use anyhook_setup::packs::removal::InstalledParts;

use super::{CommandResult, RemoveArgs};
use crate::environment::{Environment, shown};
use crate::error::CommandError;
use crate::level::LevelArgs;
use crate::packs::status::PackStatus;
use crate::packs::{self, FILES, PREFIX, Pack, levels};
use crate::ui::{Out, Tone, counted};

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
    let parts = find(name, &packs, arguments.level)?;
    let (level, pack) = (parts.level, parts.pack);
    let Some(state) = &environment.places.state else {
        return Err(CommandError::problem("no state folder to keep a copy in").hint("set HOME"));
    };
    let source = level.locked(name).cloned();
    let removed = parts.remove(state)?;

    if arguments.json {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        out.json(&RemoveReport {
            name: pack.name.clone(),
            removed: removed.paths.iter().map(|path| text(path)).collect(),
            kept: text(&removed.kept),
            left: parts.paths(PackStatus::Foreign).into_iter().map(text).collect(),
        })?;
        return Ok(exit_code::OK);
    }
    let mut what = vec![counted(parts.our_hooks().count(), "hook")];
    match parts.our_commands().count() {
        0 => {}
        number => what.push(counted(number, "command file")),
    }
    out.line(&[
        (Tone::Good, "removed "),
        (Tone::Strong, name),
        (Tone::Plain, ": "),
        (Tone::Plain, &what.join(", ")),
    ])?;
    out.line(&[(Tone::Dim, "kept at "), (Tone::Dim, &shown(&removed.kept, &environment.places))])?;
    let names = |wanted: PackStatus| {
        let paths = parts.paths(wanted).into_iter();
        paths.map(|path| shown(path, &environment.places)).collect::<Vec<_>>().join(", ")
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
    let found = packs.iter().filter_map(|(level, pack)| InstalledParts::find(level, pack));
    let mut found: Vec<InstalledParts<'_>> = found.collect();
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
