//! `anyhook install`: registers anyhook in agents' settings.

use std::collections::BTreeMap;
use std::path::Path;

use anyhook_hosts::wiring::SettingsScope;
use anyhook_model::report::changes::{InstallReport, InstalledAgent};
use anyhook_model::{EventKind, exit_code};
use anyhook_setup::install::{InstallPlan, chosen, record_program_path};
use anyhook_setup::install_report::{copied, installed, show_diff};
use anyhook_setup::settings::ProgramCopy;
use clap::Args;

use super::CommandResult;
use crate::agents;
use crate::environment::{Environment, shown};
use crate::error::CommandError;
use crate::human_only::by_a_person;
use crate::paging::PagerArgs;
use crate::ui::{Out, Tone, counted, first_line};

/// At most this many of the person's own hooks are named as kept, each cut to this width.
const KEPT_SHOWN: usize = 3;
const KEPT_WIDTH: usize = 60;

/// Install anyhook into agents: their settings keep everything that is there
#[derive(Args)]
#[command(after_help = "Example: anyhook install --dry-run\n         anyhook install claude-code")]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command")]
pub struct InstallArgs {
    /// Agents or their programs, as `anyhook hosts` lists them; default: all that are found
    hosts: Vec<String>,
    /// In the user's settings; this is the default
    #[arg(long, conflicts_with = "project")]
    user: bool,
    /// In the project's settings
    #[arg(long)]
    project: bool,
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,
    /// Also show every line that changes
    #[arg(long)]
    diff: bool,
    /// Print as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pager: PagerArgs,
}

pub fn run(arguments: &InstallArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    let scope = agents::scope(environment, arguments.project)?;
    let chosen = chosen(&arguments.hosts, &scope)?;
    if chosen.is_empty() {
        return Err(CommandError::problem("no agent found on this machine")
            .hint("name one: anyhook install claude-code"));
    }
    let call = agents::call(environment)?;
    // All are computed before the first is written: a broken file stops us early.
    let mut plans = Vec::new();
    for agent in chosen {
        plans.push(InstallPlan::wire(agent, &scope, &call)?);
    }
    let copies = agents::program_copies(environment)?;
    let changes =
        plans.iter().any(|plan| !plan.edits.is_empty()) || copies.iter().any(|copy| copy.replaces);
    if changes && !arguments.dry_run {
        return by_a_person("install", environment, || {
            carry_out(arguments, &plans, &copies, &scope, environment, out)
        });
    }
    carry_out(arguments, &plans, &copies, &scope, environment, out)
}

fn carry_out(
    arguments: &InstallArgs,
    plans: &[InstallPlan],
    copies: &[ProgramCopy],
    scope: &SettingsScope,
    environment: &Environment,
    out: &mut Out,
) -> CommandResult {
    let mut installed = Ok(plans.len());
    if !arguments.dry_run {
        copies.iter().try_for_each(ProgramCopy::make)?;
        record_program_path(environment)?;
        let failed = plans.iter().enumerate().find_map(|(index, plan)| {
            plan.install(scope, environment).err().map(|error| (index, error))
        });
        installed = failed.map_or(installed, Err);
    }
    // Everything is written by now: a closed standard output does not stop the installation. Agents
    // that were installed before one failed are reported, too.
    let (number, failed) = match installed {
        Ok(all) => (all, None),
        Err((index, error)) => (index, Some(error)),
    };
    let told = if number > 0 {
        tell_all(arguments, &plans[..number], copies, scope, environment, out)
    } else {
        Ok(())
    };
    match failed {
        Some(error) => Err(error.into()),
        None => told.map(|()| exit_code::OK),
    }
}

fn tell_all(
    arguments: &InstallArgs,
    plans: &[InstallPlan],
    copies: &[ProgramCopy],
    scope: &SettingsScope,
    environment: &Environment,
    out: &mut Out,
) -> Result<(), CommandError> {
    let agents: Result<Vec<InstalledAgent>, CommandError> =
        plans.iter().map(|plan| Ok(installed(plan, scope, arguments.diff, environment)?)).collect();
    let report = InstallReport {
        dry_run: arguments.dry_run,
        agents: agents?,
        programs: copies.iter().map(copied).collect(),
    };
    if arguments.json {
        return Ok(out.json(&report)?);
    }
    if arguments.diff {
        arguments.pager.start(out);
    }
    for (agent, plan) in report.agents.iter().zip(plans) {
        tell(agent, plan, arguments, environment, out)?;
    }
    tell_programs(&report, environment, out)?;
    if report.dry_run {
        let more = if arguments.diff { "" } else { "; --diff shows every line" };
        out.line(&[(Tone::Dim, &format!("nothing was changed{more}"))])?;
    } else {
        tell_next_step(&report, plans, out)?;
    }
    Ok(())
}

/// Prints in a few lines what was done for one agent, and what it cannot do.
fn tell(
    agent: &InstalledAgent,
    plan: &InstallPlan,
    arguments: &InstallArgs,
    environment: &Environment,
    out: &mut Out,
) -> std::io::Result<()> {
    let dry_run = arguments.dry_run;
    let done = match (agent.files.is_empty(), dry_run) {
        (true, _) => "already installed",
        (false, true) => "would be installed",
        (false, false) => "installed",
    };
    let events = match agent.events.len() {
        0 => String::new(),
        _ if agent.files.is_empty() => String::new(),
        number => format!(" for {}", counted(number, "event")),
    };
    out.line(&[
        (Tone::Strong, &agent.title),
        (Tone::Good, &format!("  {done}{events}")),
        (Tone::Dim, &tried(agent)),
    ])?;
    for (file, (path, _)) in agent.files.iter().zip(plan.changes()) {
        let word = in_mood(&file.change, dry_run);
        let place = shown(path, &environment.places);
        out.line(&[(Tone::Plain, &format!("  {word} ")), (Tone::Hint, &place)])?;
        if arguments.diff {
            show_diff(plan, path, out)?;
        }
    }
    if !agent.kept.is_empty() {
        let named: Vec<String> =
            agent.kept.iter().take(KEPT_SHOWN).map(|hook| first_line(hook, KEPT_WIDTH)).collect();
        let more = match agent.kept.len().saturating_sub(KEPT_SHOWN) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let count = counted(agent.kept.len(), "hook");
        let words = format!("  kept {count} of yours: {}{more}", named.join(", "));
        out.line(&[(Tone::Plain, &words)])?;
    }
    for obstacle in &agent.obstacles {
        out.line(&[(Tone::Bad, "  does not call anyhook: "), (Tone::Plain, &obstacle.what)])?;
        out.line(&[(Tone::Hint, "  hint: "), (Tone::Plain, &obstacle.way_out)])?;
    }
    tell_limits(agent, out)
}

/// Returns the word for what was done to a file, or would be.
pub fn in_mood(change: &str, dry_run: bool) -> String {
    if !dry_run {
        return change.to_owned();
    }
    // `created`, `changed` and `removed` are regular.
    format!("would {}", change.strip_suffix('d').unwrap_or(change))
}

/// Prints which programs were copied for agents to call; they are large.
fn tell_programs(
    report: &InstallReport,
    environment: &Environment,
    out: &mut Out,
) -> std::io::Result<()> {
    let mut by_folder: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for program in &report.programs {
        let path = Path::new(&program.path);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let folder = path.parent().unwrap_or(path);
        let megabytes = program.bytes.div_ceil(1_000_000);
        let names = by_folder.entry(shown(folder, &environment.places)).or_default();
        names.push(format!("{name} ({megabytes} MB)"));
    }
    let word = if report.dry_run { "would copy" } else { "copied" };
    for (folder, names) in by_folder {
        let words = format!("{word} {} to ", names.join(" and "));
        out.line(&[(Tone::Plain, &words), (Tone::Hint, &folder), (Tone::Plain, ", for agents")])?;
    }
    Ok(())
}

/// Prints how to check that the installation works.
fn tell_next_step(
    report: &InstallReport,
    plans: &[InstallPlan],
    out: &mut Out,
) -> std::io::Result<()> {
    let pairs = report.agents.iter().zip(plans);
    let new = pairs.filter(|(agent, _)| !agent.files.is_empty() && agent.obstacles.is_empty());
    let programs: Vec<&str> = new.map(|(_, plan)| plan.agent.program).collect();
    if programs.is_empty() {
        return Ok(());
    }
    let words = format!("start {}, let it use a tool, then: anyhook doctor", programs.join(" or "));
    out.line(&[(Tone::Hint, "next: "), (Tone::Plain, &words)])
}

/// Prints what the agent cannot do, before anyone relies on it.
fn tell_limits(agent: &InstalledAgent, out: &mut Out) -> std::io::Result<()> {
    let listed = |events: &[EventKind]| {
        events.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    };
    if !agent.missing_events.is_empty() {
        let events = listed(&agent.missing_events);
        out.line(&[(Tone::Warn, "  does not have "), (Tone::Plain, &events)])?;
    }
    if !agent.cannot_block.is_empty() {
        let events = listed(&agent.cannot_block);
        out.line(&[(Tone::Warn, "  cannot block "), (Tone::Plain, &events)])?;
    }
    if !agent.can_ask {
        out.line(&[
            (Tone::Warn, "  can't ask you"),
            (Tone::Plain, ": an ask becomes a deny that explains how to approve (ask_fallback)"),
        ])?;
    }
    if !agent.takes_context {
        out.line(&[(Tone::Warn, "  ignores context added before a tool call")])?;
    }
    Ok(())
}

/// Says with which version of an agent anyhook was tested.
fn tried(agent: &InstalledAgent) -> String {
    match &agent.tried_version {
        Some(version) => format!(" (tested with {version})"),
        None => " (not run here: written from its documentation)".to_owned(),
    }
}
