//! `anyhook packs`: lists packs of hooks, and where they are installed.

use anyhook_model::exit_code;
use anyhook_model::report::packs::{InstalledPack, ListedPack};
use anyhook_setup::packs::listing;
use clap::Args;

use super::CommandResult;
use crate::environment::{Environment, shown};
use crate::packs::{self, FILES, shown_source};
use crate::ui::{Cell, Out, Tone, counted};

/// List the packs that come with anyhook or were added, and where they are installed
#[derive(Args)]
#[command(after_help = "Example: anyhook packs\n         anyhook packs delivery-workflow")]
pub struct PacksArgs {
    /// Show this pack's hooks, options and commands
    name: Option<String>,
    /// Ask the sources of packs whether there are updates
    #[arg(long)]
    updates: bool,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &PacksArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    let levels = packs::levels(None, environment)?;
    if let Some(name) = &arguments.name {
        let name = name.strip_prefix(packs::PREFIX).unwrap_or(name);
        let pack = listing::find(name, &levels, FILES)?;
        let listed = listing::listed(&pack, &levels, FILES, arguments.updates)?;
        if arguments.json {
            out.json(&listed)?;
        } else {
            show(&listed, environment, out)?;
        }
        return Ok(exit_code::OK);
    }
    let mut listed = Vec::new();
    for pack in listing::known(&levels, FILES) {
        listed.push(listing::listed(&pack, &levels, FILES, arguments.updates)?);
    }
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
    show_options(pack, out)?;
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

/// Prints what can be set about a pack, and what was set.
fn show_options(pack: &ListedPack, out: &mut Out) -> std::io::Result<()> {
    if pack.options.is_empty() {
        return Ok(());
    }
    out.gap()?;
    let titles = ["option", "default", "value", "what it is"];
    let mut rows: Vec<Vec<Cell>> =
        vec![titles.into_iter().map(|title| Cell::new(Tone::Dim, title)).collect()];
    for option in &pack.options {
        let values = pack
            .installed
            .iter()
            .filter_map(|place| place.options.iter().find(|set| set.option.name == option.name));
        let values: Vec<String> = values.map(|set| set.current().to_yaml()).collect();
        rows.push(vec![
            Cell::new(Tone::Strong, &option.name),
            Cell::new(Tone::Plain, option.default.to_yaml()),
            Cell::new(Tone::Good, values.join(" / ")),
            Cell::new(Tone::Plain, &option.about),
        ]);
    }
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
        show_source(place, environment, out)?;
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

/// Prints where a pack from elsewhere comes from, and whether it has an update.
fn show_source(
    place: &InstalledPack,
    environment: &Environment,
    out: &mut Out,
) -> std::io::Result<()> {
    let source = place.source.as_ref().filter(|source| !source.starts_with(packs::PREFIX));
    if let (Some(source), Some(digest)) = (source, &place.digest) {
        let reference = place.reference.as_ref().map(|name| format!("#{name}")).unwrap_or_default();
        out.line(&[
            (Tone::Dim, "    from "),
            (Tone::Plain, &format!("{}{reference}", shown_source(source, environment))),
        ])?;
        out.line(&[
            (Tone::Dim, "    "),
            (Tone::Dim, digest),
            (Tone::Plain, &format!("  {}", place.state)),
        ])?;
    }
    match place.update_available {
        Some(true) => out
            .line(&[(Tone::Warn, "    an update is available: "), (Tone::Plain, "anyhook update")]),
        Some(false) => out.line(&[(Tone::Good, "    up to date")]),
        None => Ok(()),
    }
}
