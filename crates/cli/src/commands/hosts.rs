//! `anyhook hosts`: lists the agents, where they are installed, and what they can do.

use anyhook_hosts::AGENTS;
use anyhook_hosts::planned::refused;
use anyhook_model::exit_code;
use anyhook_model::report::HostReport;
use anyhook_setup::host_report::{host_report, refused_report};
use clap::Args;

use super::CommandResult;
use crate::agents;
use crate::environment::Environment;
use crate::ui::Out;

/// Show supported agents: found, installed, and what hooks can do in each
#[derive(Args)]
#[command(after_help = "Example: anyhook hosts --json")]
pub struct HostsArgs {
    /// Agents or their programs; default: all
    hosts: Vec<String>,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &HostsArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    let chosen = match arguments.hosts.as_slice() {
        [] => AGENTS.to_vec(),
        names => names.iter().map(|name| agents::find(name)).collect::<Result<_, _>>()?,
    };
    // Each agent is asked for its version, which takes some of them a second: all in parallel.
    let mut reports: Vec<HostReport> = std::thread::scope(|scope| {
        let asked: Vec<_> = chosen
            .into_iter()
            .map(|agent| scope.spawn(move || host_report(agent, environment)))
            .collect();
        asked.into_iter().filter_map(|report| report.join().ok()).collect()
    });
    if arguments.hosts.is_empty() {
        reports.extend(refused().map(|(host, refusal)| refused_report(host, refusal)));
    }
    if arguments.json {
        out.json(&reports)?;
        return Ok(exit_code::OK);
    }
    let everyone = arguments.hosts.is_empty();
    anyhook_pages::hosts::show(&reports, everyone, &environment.places, out)?;
    Ok(exit_code::OK)
}
