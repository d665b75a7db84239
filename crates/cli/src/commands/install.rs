//! `anyhook install`: wire into agents, after showing what changes.

use anyhook_engine::run;
use anyhook_hosts::wiring::{Edits, Scope, Texts};
use anyhook_hosts::{AGENTS, HostSpec};
use anyhook_model::exit_code;
use clap::Args;
use similar::{ChangeTag, TextDiff};

use super::Ended;
use crate::agents::{self, Change, Installation};
use crate::environment::{Environment, program_path, shown};
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
        let texts = agents::read(agent, &scope)?;
        let mut edits = agent.settings.wire(&scope, &texts, &call)?;
        edits.retain(|path, after| texts.get(path) != after.as_ref());
        plans.push((agent, texts, edits));
    }
    let changes = plans.iter().any(|(_, _, edits)| !edits.is_empty())
        || agents::differs_where_they_stay(environment)?;
    if changes && !arguments.dry_run {
        return by_a_person("install", environment, || {
            carry_out(arguments, plans, &scope, environment, out)
        });
    }
    carry_out(arguments, plans, &scope, environment, out)
}

/// What is to be done for one agent: its settings as they are, and as they become.
type Plan = (&'static HostSpec, Texts, Edits);

fn carry_out(
    arguments: &InstallArgs,
    plans: Vec<Plan>,
    scope: &Scope,
    environment: &Environment,
    out: &mut Out,
) -> Ended {
    if !arguments.dry_run {
        agents::put_where_they_stay(environment)?;
        record_path(environment)?;
    }
    // Somebody who stops reading must not stop the installation half-way.
    let mut told = Ok(());
    for (agent, texts, edits) in plans {
        if !arguments.dry_run && !edits.is_empty() {
            apply(agent, scope, &texts, &edits, environment)?;
        }
        told = told.and_then(|()| tell(agent, &texts, &edits, arguments.dry_run, environment, out));
    }
    told?;
    if arguments.dry_run {
        out.line(&[(Tone::Dim, "nothing was changed")])?;
    }
    Ok(exit_code::OK)
}

/// Records where programs are found now, by which guards find theirs: not by the agent's `PATH`.
fn record_path(environment: &Environment) -> Result<(), Trouble> {
    let Some(state) = &environment.places.state else { return Ok(()) };
    run::environment::record_path(state, &program_path()).map_err(|error| {
        let file = run::environment::path_file(state);
        Trouble::problem(format!("`{}` cannot be written: {error}", file.display()))
            .hint("no agent's settings were changed; look at the rights of the state folder")
    })
}

fn tell(
    agent: &HostSpec,
    texts: &Texts,
    edits: &Edits,
    dry_run: bool,
    environment: &Environment,
    out: &mut Out,
) -> std::io::Result<()> {
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

/// Returns the agents that were named, or those that are here.
pub fn chosen(names: &[String], scope: &Scope) -> Result<Vec<&'static HostSpec>, Trouble> {
    if names.is_empty() {
        return Ok(AGENTS.into_iter().filter(|agent| agents::is_here(*agent, scope)).collect());
    }
    let mut chosen: Vec<&'static HostSpec> = Vec::new();
    for name in names {
        let agent = agents::find(name)?;
        if chosen.iter().all(|other| other.id() != agent.id()) {
            chosen.push(agent);
        }
    }
    Ok(chosen)
}

fn apply(
    agent: &HostSpec,
    scope: &Scope,
    texts: &Texts,
    edits: &Edits,
    environment: &Environment,
) -> Result<(), Trouble> {
    let state = environment
        .places
        .state
        .as_ref()
        .ok_or_else(|| Trouble::problem("there is no state folder").hint("set HOME"))?;
    // The first installation knows what was there before; a second must not forget it. Where
    // somebody has edited since, what was there before is their text without what is ours.
    let without_us = agent.settings.unwire(scope, texts)?;
    let mut record = Installation::load(state, agent, scope).unwrap_or_default();
    record.v = 1;
    record.program = agents::call(environment).ok().map(|call| call.small.unwrap_or(call.binary));
    for (path, after) in edits {
        let name = path.to_string_lossy().into_owned();
        let now = texts.get(path).cloned();
        let before = match record.files.get(&name) {
            Some(old) if old.after == now => old.before.clone(),
            _ => without_us.get(path).cloned().unwrap_or(now),
        };
        record.files.insert(name, Change { before, after: after.clone() });
    }
    record.keep(state, agent, scope)?;
    agents::write(edits)
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
