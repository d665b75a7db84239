//! The page of `anyhook hosts`: the agents, where anyhook is installed, and what hooks can do.

use std::io;

use anyhook_engine::Places;
use anyhook_model::report::{HostCapability, HostReport};
use anyhook_setup::shown;
use anyhook_terminal::{Cell, Out, Tone};

/// Shows agents; of all of them, only those that are on this machine are compared.
pub fn show(
    reports: &[HostReport],
    everyone: bool,
    places: &Places,
    out: &mut Out,
) -> io::Result<()> {
    let mut rows = vec![
        ["agent", "program", "version", "tested with", "installed"]
            .map(|title| Cell::new(Tone::Dim, title))
            .to_vec(),
    ];
    for report in reports {
        let found = report
            .program
            .as_ref()
            .map_or_else(|| "not found".to_owned(), |path| shown(path.as_ref(), places));
        let (tone, wired) = match (report.wired, report.obstacles.is_empty()) {
            _ if report.unsupported.is_some() => (Tone::Dim, "not supported"),
            (true, true) => (Tone::Good, "yes"),
            (true, false) => (Tone::Bad, "switched off"),
            (false, _) => (Tone::Dim, "no"),
        };
        rows.push(vec![
            Cell::new(Tone::Strong, &report.id),
            Cell::new(Tone::Plain, found),
            Cell::new(version_tone(report), report.version.as_deref().unwrap_or("–")),
            Cell::new(Tone::Dim, report.tried_version.as_deref().unwrap_or("not run here")),
            Cell::new(tone, wired),
        ]);
    }
    out.table(&rows)?;
    for report in reports {
        if let (Some("unsupported" | "unknown"), Some(version)) =
            (report.standing.as_deref(), report.version.as_deref())
        {
            let Some(agent) = anyhook_hosts::find(&report.id) else { continue };
            let words = agent.standing(version).words(version, agent.tried_version());
            let words = format!("{}: {words}", report.id);
            out.line(&[(version_tone(report), "warning: "), (Tone::Plain, &words)])?;
            out.hint(&format!("anyhook doctor --prove {}", report.id))?;
        }
        for obstacle in &report.obstacles {
            let what = format!("{} does not call anyhook: {}", report.id, obstacle.what);
            out.line(&[(Tone::Bad, "error: "), (Tone::Plain, &what)])?;
            out.line(&[(Tone::Hint, "hint: "), (Tone::Plain, &obstacle.way_out)])?;
        }
    }
    for report in reports {
        if let Some(why) = &report.unsupported {
            let version = report.tried_version.as_deref().unwrap_or_default();
            let what = format!("{} is not supported: {why} ({version} was run)", report.id);
            out.line(&[(Tone::Dim, &what)])?;
        }
    }
    out.gap()?;
    // Side by side they are wider than any terminal: those that this machine has, or that are named.
    let is_shown = |report: &&HostReport| {
        let is_here = report.program.is_some() || report.wired;
        report.unsupported.is_none() && (!everyone || is_here)
    };
    let compared: Vec<&HostReport> = reports.iter().filter(is_shown).collect();
    show_powers(&compared, out)?;
    if compared.len() < reports.len() {
        let hint = "anyhook hosts AGENT… shows what a hook can do in other agents";
        out.line(&[(Tone::Hint, "hint: "), (Tone::Plain, hint)])?;
    }
    Ok(())
}

fn version_tone(report: &HostReport) -> Tone {
    match report.standing.as_deref() {
        Some("proven") => Tone::Good,
        Some("unknown") => Tone::Warn,
        Some("unsupported") => Tone::Bad,
        _ => Tone::Plain,
    }
}

/// Shows what a hook can do at each event, in agents side by side.
fn show_powers(reports: &[&HostReport], out: &mut Out) -> io::Result<()> {
    let Some(first) = reports.first() else { return Ok(()) };
    out.line(&[
        (Tone::Strong, "What a hook can do: "),
        (Tone::Dim, "B block, M modify the input, C add context, A ask the user; · nothing; – no such event"),
    ])?;
    let titles = std::iter::once("event").chain(reports.iter().map(|report| report.id.as_str()));
    let mut rows = vec![titles.map(|title| Cell::new(Tone::Dim, title)).collect::<Vec<_>>()];
    for (index, row) in first.capabilities.iter().enumerate() {
        let powers = reports.iter().map(|report| powers(&report.capabilities[index]));
        let mut cells = vec![Cell::new(Tone::Strong, row.event.to_string())];
        cells.extend(powers.map(|letters| Cell::new(Tone::Plain, letters)));
        rows.push(cells);
    }
    out.table(&rows)?;
    Ok(())
}

fn powers(row: &HostCapability) -> String {
    if row.native.is_none() {
        return "–".to_owned();
    }
    let letters: String = [(row.block, 'B'), (row.modify, 'M'), (row.context, 'C'), (row.ask, 'A')]
        .into_iter()
        .filter_map(|(can, letter)| can.then_some(letter))
        .collect();
    if letters.is_empty() { "·".to_owned() } else { letters }
}
