//! `anyhook uninstall`: take us out of agents, to the byte where nobody has edited since.

use anyhook_hosts::HostSpec;
use anyhook_hosts::wiring::Scope;
use anyhook_model::exit_code;
use anyhook_setup::install::{Plan, chosen, compare_with_record};
use clap::Args;

use super::Ended;
use super::install::show_diff;
use crate::agents::{self, Installation};
use crate::environment::{Environment, shown};
use crate::error::Trouble;
use crate::ui::{Out, Tone};

/// Take anyhook out of agents again
#[derive(Args)]
#[command(after_help = "Example: anyhook uninstall --verify")]
pub struct UninstallArgs {
    /// Agents; without, all that are here
    hosts: Vec<String>,
    /// Out of the user's settings; this is the default
    #[arg(long, conflicts_with = "project")]
    user: bool,
    /// Out of the project's settings
    #[arg(long)]
    project: bool,
    /// Check that every file is as it was before, to the byte; exit 1 if one is not
    #[arg(long)]
    verify: bool,
}

pub fn run(arguments: &UninstallArgs, environment: &Environment, out: &mut Out) -> Ended {
    let scope = agents::scope(environment, arguments.project)?;
    let state = environment
        .places
        .state
        .as_ref()
        .ok_or_else(|| Trouble::problem("there is no state folder").hint("set HOME"))?;
    let chosen = chosen(&arguments.hosts, &scope)?;
    if chosen.is_empty() {
        out.line(&[(Tone::Dim, "no agent was found on this machine: nothing to take out")])?;
    }
    let mut differs = false;
    // As with an installation: printing does not decide what is written.
    let mut told = Ok(());
    for agent in chosen {
        let record = Installation::load(state, agent, &scope);
        let Plan { texts, edits, .. } = Plan::unwire(agent, &scope, record.as_ref())?;
        agents::write(&edits)?;
        let mut lines: Vec<(Tone, String)> = Vec::new();
        if edits.is_empty() {
            lines.push((Tone::Dim, "  is not wired in".to_owned()));
        }
        if arguments.verify && !(edits.is_empty() && record.is_none()) {
            differs |= !verify(agent, &scope, record.as_ref(), environment, &mut lines)?;
        }
        Installation::forget(state, agent, &scope);
        told = told.and_then(|()| {
            out.line(&[(Tone::Strong, agent.title)])?;
            show_diff(&texts, &edits, environment, out)?;
            lines.iter().try_for_each(|(tone, line)| out.line(&[(*tone, line)]))
        });
    }
    if differs {
        return Ok(exit_code::PROBLEM);
    }
    told?;
    Ok(exit_code::OK)
}

fn verify(
    agent: &HostSpec,
    scope: &Scope,
    record: Option<&Installation>,
    environment: &Environment,
    lines: &mut Vec<(Tone, String)>,
) -> Result<bool, Trouble> {
    let Some(record) = record else {
        let words = "  not known to be as before: there is no record of an installation";
        lines.push((Tone::Bad, words.to_owned()));
        return Ok(false);
    };
    let mut same = true;
    for (path, is_same) in compare_with_record(agent, scope, record)? {
        same &= is_same;
        let (tone, words) = if is_same {
            (Tone::Good, "as before")
        } else {
            (Tone::Bad, "edited since, so not as before")
        };
        lines.push((tone, format!("  {words}: {}", shown(&path, &environment.places))));
    }
    Ok(same)
}
