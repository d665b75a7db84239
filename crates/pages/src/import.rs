//! An agent's own hooks, and what becomes of them.

use std::io;
use std::path::Path;

use anyhook_engine::Places;
use anyhook_model::report::import::{ImportReport, ImportedHook};
use anyhook_setup::shown;
use anyhook_terminal::{Cell, Out, Tone, counted, first_line};

/// The width of a command.
const COMMAND_WIDTH: usize = 48;

/// Shows an agent's own hooks, by file.
pub fn show(report: &ImportReport, places: &Places, out: &mut Out) -> io::Result<()> {
    if report.hooks.is_empty() {
        let whose = if report.level == "project" { "this project's" } else { "your" };
        let words = format!("{whose} settings of {} have no hooks of their own", report.title);
        return out.line(&[(Tone::Dim, &words)]);
    }
    let mut files: Vec<&str> = Vec::new();
    for hook in &report.hooks {
        if !files.contains(&hook.file.as_str()) {
            files.push(&hook.file);
        }
    }
    for file in files {
        let place = shown(Path::new(file), places);
        out.line(&[(Tone::Strong, &report.title), (Tone::Dim, &format!("  {place}"))])?;
        let of_file = || report.hooks.iter().filter(|hook| hook.file == file);
        let rows: Vec<Vec<Cell>> = of_file().map(|hook| row(hook, report)).collect();
        out.table(&rows)?;
        let mut notes: Vec<(&str, String)> = Vec::new();
        for hook in of_file().filter(|hook| hook.state != "not_carried_over") {
            let name = hook.name.as_deref().unwrap_or_default();
            let why = hook.why.iter().map(|why| format!("does not stand in for it: {why}"));
            for note in why.chain(hook.notes.iter().cloned()) {
                // Several entries may have become one hook.
                if !notes.contains(&(name, note.clone())) {
                    notes.push((name, note));
                }
            }
        }
        for (name, note) in notes {
            out.line(&[(Tone::Warn, &format!("  {name}: ")), (Tone::Plain, &note)])?;
        }
    }
    Ok(())
}

fn row(hook: &ImportedHook, report: &ImportReport) -> Vec<Cell> {
    let name = hook.name.as_deref().unwrap_or_default();
    let proposed = report.result == "proposed";
    let (tone, words) = match hook.state.as_str() {
        "importable" if proposed => (Tone::Good, format!("would become {name}")),
        "importable" => (Tone::Good, format!("can be imported as {name}")),
        "imported" => (Tone::Warn, format!("imported as {name}, and still in the settings")),
        "parked" if hook.why.is_some() => (Tone::Bad, "runs nowhere".to_owned()),
        "parked" => (Tone::Good, format!("runs as {name}")),
        "restored" if proposed => (Tone::Good, "would be put back".to_owned()),
        "restored" => (Tone::Good, "is back".to_owned()),
        _ => {
            let why = hook.why.as_deref().unwrap_or_default();
            (Tone::Plain, format!("not carried over: {why}"))
        }
    };
    let event = match hook.matcher.as_deref().filter(|matcher| !matcher.is_empty()) {
        Some(matcher) => format!("  {} {matcher}", hook.event),
        None => format!("  {}", hook.event),
    };
    vec![
        Cell::new(Tone::Plain, event),
        Cell::new(Tone::Strong, first_line(hook.command.trim(), COMMAND_WIDTH)),
        Cell::new(tone, words),
    ]
}

/// Shows what was done, and the next step.
pub fn outcome(
    report: &ImportReport,
    imported: usize,
    shadow: bool,
    places: &Places,
    out: &mut Out,
) -> io::Result<()> {
    show(report, places, out)?;
    out.gap()?;
    let folder = shown(Path::new(&report.hooks_folder), places);
    if imported > 0 {
        let words = format!("imported {} to ", counted(imported, "hook"));
        out.line(&[(Tone::Good, &words), (Tone::Hint, &folder)])?;
    }
    files(report, places, out)?;
    let project = if report.level == "project" { " --project" } else { "" };
    let host = &report.host;
    if shadow {
        out.text("in shadow mode: both run, and only the agent's own hooks decide")?;
        return out.hint(&format!(
            "compare with `anyhook stats`, then: anyhook promote NAME, and anyhook import {host}{project} --park"
        ));
    }
    if report.hooks.iter().any(|hook| hook.state == "imported") {
        return out.hint(&format!(
            "what is still in the settings is taken out once the imported hook runs: anyhook trust, then anyhook import {host}{project} --park"
        ));
    }
    out.hint(&format!("to undo it: anyhook import {host}{project} --restore"))
}

/// Shows what was put back, or would be.
pub fn restored(report: &ImportReport, places: &Places, out: &mut Out) -> io::Result<()> {
    if !report.hooks.is_empty() {
        show(report, places, out)?;
        out.gap()?;
    }
    files(report, places, out)?;
    let is_proposed = report.result == "proposed";
    if !report.removed.is_empty() {
        let count = counted(report.removed.len(), "imported hook");
        let word = if is_proposed { "would remove" } else { "removed" };
        let names = report.removed.join(", ");
        out.line(&[(Tone::Plain, &format!("{word} {count}: {names}"))])?;
        if let Some(kept) = report.kept.as_ref().filter(|_| !is_proposed) {
            out.line(&[(Tone::Dim, &format!("kept in {}", shown(Path::new(kept), places)))])?;
        }
    }
    if is_proposed {
        out.line(&[(Tone::Dim, "nothing was changed")])?;
    }
    Ok(())
}

/// Shows the settings files that changed, or would.
pub fn files(report: &ImportReport, places: &Places, out: &mut Out) -> io::Result<()> {
    let is_proposed = report.result == "proposed";
    for file in &report.files {
        let (tone, words) = match (file.restored.as_deref(), is_proposed) {
            (Some("exactly"), true) => (Tone::Good, "would be restored exactly: "),
            (Some("exactly"), false) => (Tone::Good, "restored exactly: "),
            (Some(_), true) => (Tone::Warn, "edited since, so the hooks would go to the end: "),
            (Some(_), false) => (Tone::Warn, "edited since, so the hooks are at the end: "),
            (None, true) => (Tone::Plain, "would change "),
            (None, false) => (Tone::Plain, "changed "),
        };
        let place = shown(Path::new(&file.path), places);
        out.line(&[(tone, words), (Tone::Hint, &place)])?;
    }
    Ok(())
}
