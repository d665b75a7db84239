//! `anyhook packs`: lists packs of hooks, and where they are installed.

use anyhook_engine::Level;
use anyhook_hosts::AGENTS;
use anyhook_model::exit_code;
use anyhook_model::report::packs::{InstalledPack, ListedPack, PackedCommand, PackedHook};
use anyhook_setup::hooks::hooks_folder;
use clap::Args;

use super::CommandResult;
use crate::agents;
use crate::environment::{Environment, shown};
use crate::packs::status::{self, PackStatus};
use crate::packs::{self, Pack, PackCommand, PackHook};
use crate::ui::{Cell, Out, Tone, counted};

/// List the packs that come with anyhook, and where they are installed
#[derive(Args)]
#[command(after_help = "Example: anyhook packs\n         anyhook packs delivery-workflow")]
pub struct PacksArgs {
    /// Show this pack's hooks and commands
    name: Option<String>,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &PacksArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    if let Some(name) = &arguments.name {
        let pack = packs::find(name.strip_prefix(packs::PREFIX).unwrap_or(name))?;
        let listed = listed(&pack, environment);
        if arguments.json {
            out.json(&listed)?;
        } else {
            show(&listed, environment, out)?;
        }
        return Ok(exit_code::OK);
    }
    let listed: Vec<ListedPack> =
        packs::all().iter().map(|pack| listed(pack, environment)).collect();
    if arguments.json {
        out.json(&listed)?;
        return Ok(exit_code::OK);
    }
    for (index, pack) in listed.iter().enumerate() {
        if index > 0 {
            out.gap()?;
        }
        let hooks = format!("  {}", counted(pack.hooks.len(), "hook"));
        out.line(&[(Tone::Strong, &pack.name), (Tone::Dim, &hooks)])?;
        out.line(&[(Tone::Plain, "  "), (Tone::Plain, &pack.description)])?;
        show_installed(pack, environment, out)?;
    }
    out.line(&[
        (Tone::Hint, "hint: "),
        (Tone::Plain, "`anyhook packs NAME` shows one, `anyhook add pack/NAME` adds it"),
    ])?;
    Ok(exit_code::OK)
}

fn show(pack: &ListedPack, environment: &Environment, out: &mut Out) -> std::io::Result<()> {
    out.line(&[(Tone::Strong, &pack.name)])?;
    out.line(&[(Tone::Plain, "  "), (Tone::Plain, &pack.description)])?;
    show_installed(pack, environment, out)?;
    out.gap()?;
    let titles = ["hook", "trigger", "what it does"];
    let mut rows: Vec<Vec<Cell>> =
        vec![titles.into_iter().map(|title| Cell::new(Tone::Dim, title)).collect()];
    rows.extend(pack.hooks.iter().map(|hook| {
        vec![
            Cell::new(Tone::Strong, &hook.name),
            Cell::new(Tone::Plain, hook.triggers.join(", ")),
            Cell::new(Tone::Plain, &hook.description),
        ]
    }));
    out.table(&rows)?;
    if pack.commands.is_empty() {
        return Ok(());
    }
    out.gap()?;
    let titles = ["command", "what it does"];
    let mut rows: Vec<Vec<Cell>> =
        vec![titles.into_iter().map(|title| Cell::new(Tone::Dim, title)).collect()];
    rows.extend(pack.commands.iter().map(|command| {
        vec![
            Cell::new(Tone::Strong, format!("/{} {}", command.name, command.argument)),
            Cell::new(Tone::Plain, &command.description),
        ]
    }));
    out.table(&rows)
}

/// Prints where a pack is installed, what is missing there and what was changed.
fn show_installed(
    pack: &ListedPack,
    environment: &Environment,
    out: &mut Out,
) -> std::io::Result<()> {
    if pack.installed.is_empty() {
        return out.line(&[(Tone::Dim, "  not installed")]);
    }
    for place in &pack.installed {
        let folder = shown(place.folder.as_ref(), &environment.places);
        out.line(&[
            (Tone::Good, "  installed"),
            (Tone::Plain, &format!(" at the {} level, {folder}", place.level)),
        ])?;
        for (word, names) in [("missing", &place.missing), ("changed", &place.changed)] {
            let names: Vec<String> =
                names.iter().map(|name| shown(name.as_ref(), &environment.places)).collect();
            if !names.is_empty() {
                out.line(&[
                    (Tone::Warn, &format!("    {word}: ")),
                    (Tone::Plain, &names.join(", ")),
                ])?;
            }
        }
        for file in &place.command_files {
            out.line(&[
                (Tone::Dim, "    "),
                (Tone::Dim, &shown(file.as_ref(), &environment.places)),
            ])?;
        }
    }
    Ok(())
}

fn listed(pack: &Pack, environment: &Environment) -> ListedPack {
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
    let commands = match agents::scope(environment, level == Level::Project) {
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
