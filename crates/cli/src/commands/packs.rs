//! `anyhook packs`: lists packs of hooks, and where they are installed.

use anyhook_model::exit_code;
use anyhook_model::report::packs::ListedPack;
use anyhook_setup::pack_report::listed;
use clap::Args;

use super::CommandResult;
use crate::environment::{Environment, shown};
use crate::packs;
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
