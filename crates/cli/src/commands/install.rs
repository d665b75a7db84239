//! `anyhook install`: wire into agents, after showing what changes.

use anyhook_hosts::HostSpec;
use anyhook_hosts::wiring::{Edits, Scope, Texts};
use anyhook_model::exit_code;
use anyhook_setup::install::{Plan, chosen, record_program_path};
use clap::Args;
use similar::{ChangeTag, TextDiff};

use super::Ended;
use crate::agents;
use crate::environment::{Environment, shown};
use crate::error::Trouble;
use crate::person::by_a_person;
use crate::ui::{Out, Tone};

/// Wire anyhook into agents: shows the diff, keeps what is there
#[derive(Args)]
#[command(after_help = "Example: anyhook install --dry-run\n         anyhook install claude-code")]
pub struct InstallArgs {
    #[arg(help = format!("Agents: {}; without, all that are here", agents::ids()))]
    hosts: Vec<String>,
    /// Into the user's settings; this is the default
    #[arg(long, conflicts_with = "project")]
    user: bool,
    /// Into the project's settings
    #[arg(long)]
    project: bool,
    /// Only show what would change
    #[arg(long)]
    dry_run: bool,
}

pub fn run(arguments: &InstallArgs, environment: &Environment, out: &mut Out) -> Ended {
    let scope = agents::scope(environment, arguments.project)?;
    let chosen = chosen(&arguments.hosts, &scope)?;
    if chosen.is_empty() {
        return Err(Trouble::problem("no agent was found on this machine")
            .hint("name one: anyhook install claude-code"));
    }
    let call = agents::call(environment)?;
    // All are worked out before the first is written: a broken file stops us early.
    let mut plans = Vec::new();
    for agent in chosen {
        plans.push(Plan::wire(agent, &scope, &call)?);
    }
    let changes = plans.iter().any(|plan| !plan.edits.is_empty())
        || agents::differs_where_they_stay(environment)?;
    if changes && !arguments.dry_run {
        return by_a_person("install", environment, || {
            carry_out(arguments, plans, &scope, environment, out)
        });
    }
    carry_out(arguments, plans, &scope, environment, out)
}

fn carry_out(
    arguments: &InstallArgs,
    plans: Vec<Plan>,
    scope: &Scope,
    environment: &Environment,
    out: &mut Out,
) -> Ended {
    if !arguments.dry_run {
        agents::put_where_they_stay(environment)?;
        record_program_path(environment)?;
    }
    // Somebody who stops reading must not stop the installation half-way.
    let mut told = Ok(());
    for plan in plans {
        if !arguments.dry_run {
            plan.install(scope, environment)?;
        }
        told = told.and_then(|()| tell(&plan, arguments.dry_run, environment, out));
    }
    told?;
    if arguments.dry_run {
        out.line(&[(Tone::Dim, "nothing was changed")])?;
    }
    Ok(exit_code::OK)
}

fn tell(
    plan: &Plan,
    dry_run: bool,
    environment: &Environment,
    out: &mut Out,
) -> std::io::Result<()> {
    let Plan { agent, texts, edits } = plan;
    out.line(&[
        (Tone::Strong, agent.title),
        (Tone::Dim, "  tried with "),
        (Tone::Dim, agent.tried_version),
    ])?;
    show_diff(texts, edits, environment, out)?;
    if edits.is_empty() {
        out.line(&[(Tone::Good, "  is wired in already")])?;
    } else if !dry_run {
        out.line(&[(Tone::Good, "  wired in")])?;
    }
    for obstacle in agents::obstacles(agent, environment) {
        out.line(&[(Tone::Bad, "  does not call us: "), (Tone::Plain, &obstacle.what)])?;
        out.line(&[(Tone::Hint, "  hint: "), (Tone::Plain, &obstacle.way_out)])?;
    }
    show_limits(agent, out)
}

/// Shows what edits change.
pub fn show_diff(
    texts: &Texts,
    edits: &Edits,
    environment: &Environment,
    out: &mut Out,
) -> std::io::Result<()> {
    for (path, after) in edits {
        let before = texts.get(path).map_or("", String::as_str);
        let after = after.as_deref().unwrap_or("");
        out.line(&[(Tone::Dim, "  "), (Tone::Hint, &shown(path, &environment.places))])?;
        for hunk in
            TextDiff::from_lines(before, after).unified_diff().context_radius(2).iter_hunks()
        {
            for change in hunk.iter_changes() {
                let (tone, sign) = match change.tag() {
                    ChangeTag::Delete => (Tone::Bad, "-"),
                    ChangeTag::Insert => (Tone::Good, "+"),
                    ChangeTag::Equal => (Tone::Dim, " "),
                };
                out.line(&[(
                    tone,
                    &format!("  {sign} {}", change.value().trim_end_matches(['\n', '\r'])),
                )])?;
            }
        }
    }
    Ok(())
}

/// Says what the agent cannot do, before anybody relies on it.
fn show_limits(agent: &HostSpec, out: &mut Out) -> std::io::Result<()> {
    let rows = agent.protocol.capabilities;
    let names = |filter: &dyn Fn(&anyhook_hosts::facts::Capability) -> bool| {
        rows.iter()
            .filter(|row| filter(row))
            .map(|row| row.event.to_string())
            .collect::<Vec<_>>()
            .join(", ")
    };
    let missing = names(&|row| row.native.is_none());
    if !missing.is_empty() {
        out.line(&[(Tone::Warn, "  has no "), (Tone::Plain, &missing)])?;
    }
    let powerless = names(&|row| {
        row.native.is_some() && !row.block && BLOCKABLE.contains(&row.event.to_string().as_str())
    });
    if !powerless.is_empty() {
        out.line(&[(Tone::Warn, "  cannot be blocked at "), (Tone::Plain, &powerless)])?;
    }
    let tool = rows.iter().find(|row| row.event == anyhook_model::EventKind::BeforeTool);
    if tool.is_some_and(|row| !row.ask) {
        out.line(&[
            (Tone::Warn, "  cannot ask a person"),
            (Tone::Plain, ": an ask becomes a deny that says how to approve (ask_fallback)"),
        ])?;
    }
    if tool.is_some_and(|row| !row.context) {
        out.line(&[(Tone::Warn, "  takes no context before a tool")])?;
    }
    Ok(())
}

/// Events at which a hook's author expects to be able to block.
const BLOCKABLE: [&str; 7] = [
    "session_start",
    "before_agent",
    "before_stop",
    "before_tool",
    "subagent_start",
    "subagent_stop",
    "pre_compact",
];
