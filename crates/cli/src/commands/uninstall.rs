//! `anyhook uninstall`: take us out of agents, to the byte where nobody has edited since.

use std::path::PathBuf;

use anyhook_hosts::HostSpec;
use anyhook_hosts::wiring::{Edits, Scope, Texts};
use anyhook_model::exit_code;
use clap::Args;

use super::Ended;
use super::install::{chosen, show_diff};
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
        let texts = agents::read(agent, &scope)?;
        let edits = edits(agent, &scope, &texts, record.as_ref())?;
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

/// Works out how to get back: what was there before, or, where somebody has edited since, the text
/// without what is ours.
fn edits(
    agent: &HostSpec,
    scope: &Scope,
    texts: &Texts,
    record: Option<&Installation>,
) -> Result<Edits, Trouble> {
    let mut edits = agent.settings.unwire(scope, texts)?;
    for (name, change) in record.into_iter().flat_map(|record| &record.files) {
        let path = PathBuf::from(name);
        if texts.get(&path) == change.after.as_ref() {
            edits.insert(path, change.before.clone());
        }
    }
    edits.retain(|path, after| texts.get(path) != after.as_ref());
    Ok(edits)
}

fn verify(
    agent: &HostSpec,
    scope: &Scope,
    record: Option<&Installation>,
    environment: &Environment,
    lines: &mut Vec<(Tone, String)>,
) -> Result<bool, Trouble> {
    let now = agents::read(agent, scope)?;
    let Some(record) = record else {
        let words = "  not known to be as before: there is no record of an installation";
        lines.push((Tone::Bad, words.to_owned()));
        return Ok(false);
    };
    let mut same = true;
    for (name, change) in &record.files {
        let path = PathBuf::from(name);
        let is_same = now.get(&path) == change.before.as_ref();
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
