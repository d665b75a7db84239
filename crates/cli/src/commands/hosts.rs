//! `anyhook hosts`: lists the agents, where they are installed, and what they can do.

use anyhook_hosts::{AGENTS, HostSpec};
use anyhook_model::exit_code;
use anyhook_model::report::{HostCapability, HostObstacle, HostQuirk, HostReport};
use clap::Args;

use super::CommandResult;
use crate::agents;
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
            AGENTS.map(|agent| scope.spawn(move || report(agent, environment))).into();
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

fn report(agent: &HostSpec, environment: &Environment) -> HostReport {
    let program = agents::program(agent);
    HostReport {
        id: agent.id().to_owned(),
        title: agent.title.to_owned(),
        version: program.as_deref().and_then(agents::version),
        program: program.map(|path| path.to_string_lossy().into_owned()),
        tried_version: agent.tried_version.to_owned(),
        wired: agents::is_wired(agent, environment),
        obstacles: agents::obstacles(agent, environment)
            .into_iter()
            .map(|obstacle| HostObstacle { what: obstacle.what, way_out: obstacle.way_out })
            .collect(),
        capabilities: agent
            .protocol
            .capabilities
            .iter()
            .map(|row| HostCapability {
                event: row.event.clone(),
                native: row.native.map(str::to_owned),
                block: row.block,
                modify: row.modify,
                context: row.context,
                ask: row.ask,
            })
            .collect(),
        quirks: agent
            .quirks
            .iter()
            .map(|quirk| HostQuirk {
                id: quirk.id.to_owned(),
                versions: quirk.versions.to_owned(),
                behaviour: quirk.behaviour.to_owned(),
                mitigation: quirk.mitigation.to_owned(),
                evidence: quirk.evidence.to_owned(),
            })
            .collect(),
    }
}
