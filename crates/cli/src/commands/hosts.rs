//! `anyhook hosts`: lists the agents, where they are installed, and what they can do.

use anyhook_hosts::AGENTS;
use anyhook_model::exit_code;
use anyhook_model::report::{HostCapability, HostReport};
use anyhook_setup::host_report::host_report;
use clap::Args;

use super::CommandResult;
use crate::environment::{Environment, shown};
use crate::ui::{Cell, Out, Tone};

/// Show supported agents: found, installed, and what hooks can do in each
#[derive(Args)]
#[command(after_help = "Example: anyhook hosts --json")]
pub struct HostsArgs {
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &HostsArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    // Each agent is asked for its version, which takes some of them a second: all in parallel.
    let reports: Vec<HostReport> = std::thread::scope(|scope| {
        let asked: Vec<_> =
            AGENTS.map(|agent| scope.spawn(move || host_report(agent, environment))).into();
        asked.into_iter().filter_map(|report| report.join().ok()).collect()
    });
    if arguments.json {
        out.json(&reports)?;
        return Ok(exit_code::OK);
    }
    let mut rows = vec![
        ["agent", "program", "version", "tested with", "installed"]
            .map(|title| Cell::new(Tone::Dim, title))
            .to_vec(),
    ];
    for report in &reports {
        let found = report.program.as_ref().map_or_else(
            || "not found".to_owned(),
            |path| shown(path.as_ref(), &environment.places),
        );
        let (tone, wired) = match (report.wired, report.obstacles.is_empty()) {
            (true, true) => (Tone::Good, "yes"),
            (true, false) => (Tone::Bad, "switched off"),
            (false, _) => (Tone::Dim, "no"),
        };
        rows.push(vec![
            Cell::new(Tone::Strong, &report.id),
            Cell::new(Tone::Plain, found),
            Cell::new(Tone::Plain, report.version.as_deref().unwrap_or("–")),
            Cell::new(Tone::Dim, &report.tried_version),
            Cell::new(tone, wired),
        ]);
    }
    out.table(&rows)?;
    for report in &reports {
        for obstacle in &report.obstacles {
            let what = format!("{} does not call anyhook: {}", report.id, obstacle.what);
            out.line(&[(Tone::Bad, "error: "), (Tone::Plain, &what)])?;
            out.line(&[(Tone::Hint, "hint: "), (Tone::Plain, &obstacle.way_out)])?;
        }
    }
    out.gap()?;
    out.line(&[(Tone::Strong, "What a hook can do: "), (Tone::Dim, "B block, M modify the input, C add context, A ask the user; · nothing; – no such event")])?;
    let mut rows = vec![
        std::iter::once("event")
            .chain(reports.iter().map(|report| report.id.as_str()))
            .map(|title| Cell::new(Tone::Dim, title))
            .collect::<Vec<_>>(),
    ];
    for (index, row) in
        reports.first().map(|report| report.capabilities.iter()).into_iter().flatten().enumerate()
    {
        let mut cells = vec![Cell::new(Tone::Strong, row.event.to_string())];
        cells.extend(
            reports
                .iter()
                .map(|report| Cell::new(Tone::Plain, powers(&report.capabilities[index]))),
        );
        rows.push(cells);
    }
    out.table(&rows)?;
    Ok(exit_code::OK)
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
