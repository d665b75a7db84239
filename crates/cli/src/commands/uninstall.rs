//! `anyhook uninstall`: removes anyhook from agents' settings; they are restored byte for byte
//! where no one has edited them since.

use std::path::Path;

use anyhook_hosts::wiring::SettingsScope;
use anyhook_hosts::{AGENTS, HostSpec};
use anyhook_model::exit_code;
use anyhook_model::report::changes::{UninstallReport, UninstalledAgent};
use anyhook_setup::SetupError;
use anyhook_setup::import::{report, restore};
use anyhook_setup::install::{RestoreResult, TakenOut, chosen};
use anyhook_setup::install_report::{show_diff, uninstalled};
use clap::Args;

use super::CommandResult;
use crate::agents::{self, RecordedInstallation};
use crate::environment::{Environment, shown};
use crate::error::CommandError;
use crate::paging::PagerArgs;
use crate::ui::{Out, Tone, counted, first_line};

/// The width of a hook that was put back.
const HOOK_WIDTH: usize = 60;

/// Remove anyhook from agents again
#[derive(Args)]
#[command(after_help = "Example: anyhook uninstall --dry-run\n         anyhook uninstall --verify")]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command")]
pub struct UninstallArgs {
    /// Agents, or their programs; default: all that are found
    hosts: Vec<String>,
    /// From the user's settings; this is the default
    #[arg(long, conflicts_with = "project")]
    user: bool,
    /// From the project's settings
    #[arg(long)]
    project: bool,
    /// Check that every file is restored byte for byte; exit 1 if one is not
    #[arg(long)]
    verify: bool,
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

pub fn run(arguments: &UninstallArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    let scope = agents::scope(environment, arguments.project)?;
    let state = environment
        .places
        .state
        .as_ref()
        .ok_or_else(|| CommandError::problem("there is no state folder").hint("set HOME"))?;
    let mut done = Vec::new();
    let mut put_back = Vec::new();
    let mut failed = None;
    for agent in meant(&arguments.hosts, &scope, state)? {
        let taken = unpark(agent, arguments, environment).and_then(|hooks| {
            put_back.push(hooks);
            TakenOut::of(agent, &scope, state, arguments.dry_run)
        });
        match taken {
            Ok(one) => done.push(one),
            Err(error) => {
                failed = Some(CommandError::from(error));
                break;
            }
        }
    }
    let mut done: Vec<(TakenOut, Vec<String>)> = done.into_iter().zip(put_back).collect();
    if arguments.hosts.is_empty() {
        done.retain(|(one, hooks)| {
            !one.plan.edits.is_empty() || !one.files.is_empty() || !hooks.is_empty()
        });
    }
    let differs = |(one, _): &(TakenOut, Vec<String>)| {
        one.files.iter().any(|(_, how)| *how != RestoreResult::Exactly)
    };
    let is_problem = arguments.verify && done.iter().any(differs);
    let code = if is_problem { exit_code::PROBLEM } else { exit_code::OK };
    // As with an installation: printing does not affect what is written, nor the result.
    let told = if done.is_empty() && failed.is_some() {
        Ok(())
    } else {
        tell_all(arguments, &done, environment, out)
    };
    match failed {
        Some(error) => Err(error),
        None if code == exit_code::OK => told.map(|()| code),
        None => Ok(code),
    }
}

/// Puts the agent's own hooks back that were imported: without anyhook they would not run. Returns
/// them.
fn unpark(
    agent: &'static HostSpec,
    arguments: &UninstallArgs,
    environment: &Environment,
) -> Result<Vec<String>, SetupError> {
    if !restore::is_parked(agent, arguments.project, environment) {
        return Ok(Vec::new());
    }
    let restored = restore::restore(agent, arguments.project, arguments.dry_run, environment)?;
    let hooks = report::of_restored(&restored, arguments.dry_run).hooks;
    Ok(hooks.into_iter().map(|hook| first_line(&hook.command, HOOK_WIDTH)).collect())
}

/// Returns the named agents; without names those that are installed, or that were when anyhook was
/// registered in them.
fn meant(
    names: &[String],
    scope: &SettingsScope,
    state: &Path,
) -> Result<Vec<&'static HostSpec>, CommandError> {
    let mut meant = chosen(names, scope)?;
    if names.is_empty() {
        let is_new = |agent: &&&HostSpec| meant.iter().all(|other| other.id() != agent.id());
        let was_there =
            |agent: &&&HostSpec| RecordedInstallation::load(state, agent, scope).is_some();
        let gone: Vec<&'static HostSpec> =
            AGENTS.iter().filter(is_new).filter(was_there).copied().collect();
        meant.extend(gone);
    }
    Ok(meant)
}

fn tell_all(
    arguments: &UninstallArgs,
    done: &[(TakenOut, Vec<String>)],
    environment: &Environment,
    out: &mut Out,
) -> Result<(), CommandError> {
    if arguments.json {
        let agent = |(one, hooks): &(TakenOut, Vec<String>)| UninstalledAgent {
            put_back: hooks.clone(),
            ..uninstalled(&one.plan, &one.files, arguments.diff)
        };
        let agents = done.iter().map(agent).collect();
        return Ok(out.json(&UninstallReport { dry_run: arguments.dry_run, agents })?);
    }
    if done.is_empty() {
        let whose = if arguments.project { "project" } else { "user" };
        let words = format!("nothing to uninstall: anyhook is not in any agent's {whose} settings");
        out.line(&[(Tone::Dim, &words)])?;
    }
    if arguments.diff {
        arguments.pager.start(out);
    }
    for (one, hooks) in done {
        tell(one, hooks, arguments, environment, out)?;
    }
    if arguments.dry_run && !done.is_empty() {
        let more = if arguments.diff { "" } else { "; --diff shows every line" };
        out.line(&[(Tone::Dim, &format!("nothing was changed{more}"))])?;
    }
    Ok(())
}

/// Prints what was done for one agent: a line for it, and one for each file.
fn tell(
    one: &TakenOut,
    put_back: &[String],
    arguments: &UninstallArgs,
    environment: &Environment,
    out: &mut Out,
) -> std::io::Result<()> {
    let (tone, words) = match (one.plan.edits.is_empty(), arguments.dry_run) {
        (true, _) => (Tone::Dim, "  not installed"),
        (false, true) => (Tone::Good, "  would be uninstalled"),
        (false, false) => (Tone::Good, "  uninstalled"),
    };
    out.line(&[(Tone::Strong, one.plan.agent.title), (tone, words)])?;
    if !put_back.is_empty() {
        let word = if arguments.dry_run { "would put back" } else { "put back" };
        let hooks = format!("  {word} {} of yours: ", counted(put_back.len(), "hook"));
        out.line(&[(Tone::Good, &hooks), (Tone::Plain, &put_back.join(", "))])?;
    }
    for (path, how) in &one.files {
        let goes = matches!(one.plan.edits.get(path), Some(None));
        let (tone, words) = words_for(*how, goes, arguments.dry_run);
        let place = shown(path, &environment.places);
        out.line(&[(tone, &format!("  {words}: ")), (Tone::Plain, &place)])?;
        if arguments.diff {
            show_diff(&one.plan, path, out)?;
        }
    }
    Ok(())
}

fn words_for(how: RestoreResult, goes: bool, dry_run: bool) -> (Tone, &'static str) {
    match (how, goes, dry_run) {
        (RestoreResult::Exactly, true, true) => {
            (Tone::Good, "would be removed (it was created by the install)")
        }
        (RestoreResult::Exactly, true, false) => {
            (Tone::Good, "removed (it was created by the install)")
        }
        (RestoreResult::Exactly, false, true) => (Tone::Good, "would be restored exactly"),
        (RestoreResult::Exactly, false, false) => (Tone::Good, "restored exactly"),
        (RestoreResult::Edited, _, true) => {
            (Tone::Warn, "edited since install, so it would not be identical")
        }
        (RestoreResult::Edited, _, false) => (Tone::Warn, "edited since install, so not identical"),
        (RestoreResult::Unknown, _, _) => {
            (Tone::Warn, "not recorded at install, so it may not be identical")
        }
    }
}
