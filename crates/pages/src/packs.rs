//! Packs: what they are for, where they are installed, what their hooks may do, and what an update
//! changes.

use std::io;
use std::path::Path;

use anyhook_engine::Places;
use anyhook_model::report::changes::{PermissionChange, UpdatedPack};
use anyhook_model::report::packs::{InstalledPack, ListedPack};
use anyhook_setup::packs::permissions::facts;
use anyhook_setup::packs::source::printable;
use anyhook_setup::packs::update::PackUpdate;
use anyhook_setup::packs::{PREFIX, Pack};
use anyhook_setup::shown;
use anyhook_terminal::{Cell, Out, Tone, counted, tidy};

/// Lists packs: what each is for, and where it is installed.
pub fn list(packs: &[ListedPack], places: &Places, out: &mut Out) -> io::Result<()> {
    for (index, pack) in packs.iter().enumerate() {
        if index > 0 {
            out.gap()?;
        }
        let hooks = format!("  {}", counted(pack.hooks.len(), "hook"));
        out.line(&[(Tone::Strong, &pack.name), (Tone::Dim, &hooks)])?;
        out.line(&[(Tone::Plain, "  "), (Tone::Plain, &pack.description)])?;
        show_installed(pack, places, out)?;
    }
    Ok(())
}

/// Shows a pack: where it is installed, its options, hooks and commands.
pub fn show(pack: &ListedPack, places: &Places, out: &mut Out) -> io::Result<()> {
    out.line(&[(Tone::Strong, &pack.name)])?;
    out.line(&[(Tone::Plain, "  "), (Tone::Plain, &pack.description)])?;
    show_installed(pack, places, out)?;
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
fn show_options(pack: &ListedPack, out: &mut Out) -> io::Result<()> {
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
fn show_installed(pack: &ListedPack, places: &Places, out: &mut Out) -> io::Result<()> {
    if pack.installed.is_empty() {
        return out.line(&[(Tone::Dim, "  not installed")]);
    }
    for place in &pack.installed {
        let folder = shown(place.folder.as_ref(), places);
        out.line(&[
            (Tone::Good, "  installed"),
            (Tone::Plain, &format!(" at the {} level, {folder}", place.level)),
        ])?;
        show_source(place, places, out)?;
        for (word, names) in [("missing", &place.missing), ("changed", &place.changed)] {
            let names: Vec<String> =
                names.iter().map(|name| shown(name.as_ref(), places)).collect();
            if !names.is_empty() {
                out.line(&[
                    (Tone::Warn, &format!("    {word}: ")),
                    (Tone::Plain, &names.join(", ")),
                ])?;
            }
        }
        for file in &place.command_files {
            out.line(&[(Tone::Dim, "    "), (Tone::Dim, &shown(file.as_ref(), places))])?;
        }
    }
    Ok(())
}

/// Prints where a pack from elsewhere comes from, and whether it has an update.
fn show_source(place: &InstalledPack, places: &Places, out: &mut Out) -> io::Result<()> {
    let source = place.source.as_ref().filter(|source| !source.starts_with(PREFIX));
    if let (Some(source), Some(digest)) = (source, &place.digest) {
        let reference = place.reference.as_ref().map(|name| format!("#{name}")).unwrap_or_default();
        out.line(&[
            (Tone::Dim, "    from "),
            (Tone::Plain, &format!("{}{reference}", shown_source(source, places))),
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

/// Returns where a pack comes from, as a person would write it.
pub fn shown_source(source: &str, places: &Places) -> String {
    let is_path = source.starts_with('/');
    if is_path { shown(Path::new(source), places) } else { source.to_owned() }
}

/// Prints what the hooks of a pack may do.
pub fn show_facts(pack: &Pack, out: &mut Out) -> io::Result<()> {
    for hook in &pack.hooks {
        out.line(&[
            (Tone::Strong, &format!("  {}", hook.name())),
            (Tone::Plain, "  "),
            (Tone::Plain, &tidy(&hook.definition.description)),
        ])?;
        for (name, value) in facts(hook) {
            out.line(&[(Tone::Dim, &format!("    {name:<11}")), (Tone::Plain, &tidy(&value))])?;
        }
    }
    for command in &pack.commands {
        out.line(&[
            (Tone::Strong, &format!("  /{}", command.name)),
            (Tone::Plain, "  a command for agents: "),
            (Tone::Plain, &command.description),
        ])?;
    }
    Ok(())
}

/// Shows what changes: what hooks may do first, then every line.
pub fn show_update(
    update: &PackUpdate,
    report: &UpdatedPack,
    places: &Places,
    out: &mut Out,
) -> io::Result<()> {
    let source = shown_source(&report.source, places);
    let place = format!("  {} level, from {source}", report.level);
    out.line(&[(Tone::Strong, &report.name), (Tone::Dim, &place)])?;
    if update.is_empty() {
        return out.line(&[(Tone::Dim, "  up to date")]);
    }
    if report.permissions.is_empty() {
        out.line(&[(Tone::Good, "  what its hooks may do stays the same")])?;
    } else {
        out.line(&[(Tone::Warn, "  what its hooks may do CHANGES:")])?;
    }
    for change in &report.permissions {
        let (before, after) =
            (tidy(change.before.as_deref().unwrap_or("")), change.after.as_deref());
        let after = tidy(after.unwrap_or(""));
        let what = match change {
            PermissionChange { before: None, .. } => format!("new {}: {after}", change.what),
            PermissionChange { after: None, .. } => {
                format!("no {} any more, was: {before}", change.what)
            }
            _ => format!("{}: {before} → {after}", change.what),
        };
        out.line(&[(Tone::Strong, &format!("    {}  ", change.hook)), (Tone::Warn, &what)])?;
    }
    for (file, difference) in report.files.iter().zip(&update.files) {
        let path = shown(&difference.path, places);
        out.line(&[
            (Tone::Strong, &format!("  {path}")),
            (Tone::Dim, &format!("  {}", file.change)),
        ])?;
        for line in file.diff.iter().flat_map(|diff| diff.lines()) {
            let tone = match line.as_bytes().first() {
                Some(b'-') => Tone::Bad,
                Some(b'+') => Tone::Good,
                _ => Tone::Dim,
            };
            let line = printable(&line.replace('\t', "    "));
            out.line(&[(tone, &format!("    {line}"))])?;
        }
    }
    let conflicts = [
        ("changed here", &update.changed_here, "--theirs replaces it and keeps a copy"),
        ("not from this pack", &update.foreign, "move or rename it"),
    ];
    for (why, paths, hint) in conflicts.into_iter().filter(|(_, paths, _)| !paths.is_empty()) {
        for path in paths {
            let path = shown(path, places);
            out.line(&[(Tone::Bad, &format!("  {why}: ")), (Tone::Plain, &path)])?;
        }
        out.hint(hint)?;
    }
    Ok(())
}
