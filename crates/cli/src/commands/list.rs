//! `anyhook list`: lists the installed hooks, with problems.

use anyhook_engine::discover::InstalledHooks;
use anyhook_engine::places::find_root;
use anyhook_engine::settings::Settings;
use anyhook_hosts::AGENTS;
use anyhook_model::exit_code;
use anyhook_model::report::ListReport;
use anyhook_pages::hooks;
use clap::Args;

use super::CommandResult;
use crate::agents;
use crate::environment::{Environment, line_width};
use crate::target;
use crate::ui::{Out, Tone};

/// List installed hooks in the order they run, with their problems
#[derive(Args)]
#[command(after_help = "Example: anyhook list --all")]
pub struct ListArgs {
    /// Also show folders, descriptions and every finding
    #[arg(long)]
    all: bool,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

/// Returns the installed hooks with their problems, and notes about all of them.
fn look(environment: &Environment) -> (InstalledHooks, Vec<String>) {
    let mut installed = target::installed(environment);
    for standing in &mut installed.hooks {
        let findings = target::findings(&standing.hook, environment);
        standing.hook.problems.extend(findings);
    }
    let places = &environment.places;
    let root = find_root(&environment.work_dir, places.home.as_deref());
    let settings = Settings::load(places, root.as_deref());
    let mut notes: Vec<String> =
        installed.notes.iter().chain(&settings.problems).cloned().collect();
    let agents: Vec<_> =
        AGENTS.into_iter().filter(|agent| agents::is_wired(agent, environment)).collect();
    for standing in installed.hooks.iter().filter(|standing| standing.out.is_none()) {
        notes.extend(hooks::too_slow(&standing.hook, &agents));
    }
    notes.extend(hooks::beside(&installed.hooks));
    (installed, notes)
}

/// Returns the installed hooks for programs.
pub fn report(environment: &Environment) -> ListReport {
    let (installed, notes) = look(environment);
    ListReport { hooks: installed.hooks.iter().map(hooks::listed).collect(), notes }
}

pub fn run(arguments: &ListArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    if arguments.json {
        out.json(&report(environment))?;
        return Ok(exit_code::OK);
    }
    let (installed, notes) = look(environment);
    let places = &environment.places;
    if installed.hooks.is_empty() {
        out.text("no hooks installed")?;
        out.line(&[(Tone::Hint, "hint: "), (Tone::Plain, "`anyhook new my-hook --trigger before_tool` creates one, `anyhook add PATH` adds an existing one")])?;
    }
    hooks::table(&installed.hooks, line_width(), out)?;
    for standing in &installed.hooks {
        hooks::findings(&standing.hook, arguments.all, places, out)?;
    }
    for note in &notes {
        out.line(&[(Tone::Warn, "note: "), (Tone::Plain, note)])?;
    }
    Ok(exit_code::OK)
}
