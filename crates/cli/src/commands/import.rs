//! `anyhook import`: makes HOOK.md folders of the hooks in an agent's own settings.

use std::io::IsTerminal;

use anyhook_hosts::HostSpec;
use anyhook_model::exit_code;
use anyhook_pages::import as page;
use anyhook_setup::import::plan::ImportPlan;
use anyhook_setup::import::{ImportError, carry_out, report, restore};
use clap::Args;

use super::CommandResult;
use crate::agents;
use crate::confirm::confirm;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::human_only::by_a_person;
use crate::ui::{Out, Tone, counted};

/// Import the hooks in an agent's own settings as HOOK.md folders, or put them back
///
/// Each becomes a hook that runs the same command with the same payload and gives the agent the same
/// answer. It is then taken out of the agent's settings (parked), so that it does not run twice.
/// What cannot be carried over stays there, and is listed with the reason.
#[derive(Args)]
#[command(
    after_help = "Example: anyhook import claude-code --dry-run\n         anyhook import claude-code\n         anyhook import claude-code --restore"
)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command")]
pub struct ImportArgs {
    /// The agent: claude-code, codex, copilot, cursor, gemini-cli or qwen-code
    host: String,
    /// From the user's settings; this is the default
    #[arg(long, conflicts_with = "project")]
    user: bool,
    /// From the project's settings, to the project's hooks; they run once you trust them
    #[arg(long)]
    project: bool,
    /// Only list the hooks, with what was imported and what cannot be
    #[arg(long, conflicts_with_all = ["dry_run", "park", "shadow", "restore"])]
    list: bool,
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,
    /// Import and take the hooks out of the settings without asking; also those imported earlier
    #[arg(long, conflicts_with_all = ["shadow", "restore"])]
    park: bool,
    /// Leave the settings alone and import in shadow mode: both run, the agent's own decide
    #[arg(long, conflicts_with = "restore")]
    shadow: bool,
    /// Also import hooks that lose something
    #[arg(long, conflicts_with = "restore")]
    partial: bool,
    /// Put the hooks back into the settings, and remove what was imported
    #[arg(long)]
    restore: bool,
    /// Print as JSON; it does not ask, so it needs --park or --shadow to import
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &ImportArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    let agent = agents::find(&arguments.host)?;
    if arguments.restore {
        if arguments.dry_run {
            return put_back(agent, arguments, environment, out);
        }
        return by_a_person("import", environment, || put_back(agent, arguments, environment, out));
    }
    let plan = ImportPlan::of(agent, arguments.project, arguments.partial, environment)?;
    if arguments.list || arguments.dry_run || !carry_out::has_work(&plan, arguments.shadow) {
        return show(&plan, arguments, environment, out);
    }
    if !plan.survey.is_called {
        let (host, title) = (agent.id().to_owned(), agent.title.to_owned());
        return Err(anyhook_setup::SetupError::from(ImportError::NotCalled { host, title }).into());
    }
    if !arguments.park && !arguments.shadow {
        ask(&plan, arguments, environment, out)?;
    }
    by_a_person("import", environment, || carry_out(&plan, arguments, environment, out))
}

fn show(
    plan: &ImportPlan,
    arguments: &ImportArgs,
    environment: &Environment,
    out: &mut Out,
) -> CommandResult {
    let report = if arguments.list {
        report::of_plan(plan, "listed")
    } else if carry_out::has_work(plan, arguments.shadow) {
        carry_out::proposal(plan, arguments.shadow, environment)?
    } else {
        report::of_plan(plan, "unchanged")
    };
    if arguments.json {
        out.json(&report)?;
        return Ok(exit_code::OK);
    }
    page::show(&report, &environment.places, out)?;
    match report.result.as_str() {
        "proposed" => {
            page::files(&report, &environment.places, out)?;
            out.line(&[(Tone::Dim, "nothing was changed")])?;
        }
        "unchanged" if !report.hooks.is_empty() => {
            out.line(&[(Tone::Dim, "nothing to import")])?;
        }
        _ => {}
    }
    Ok(exit_code::OK)
}

/// Shows the proposal, and asks whether to do it.
fn ask(
    plan: &ImportPlan,
    arguments: &ImportArgs,
    environment: &Environment,
    out: &mut Out,
) -> Result<(), CommandError> {
    let nothing = CommandError::problem("nothing was changed");
    if !arguments.json {
        let report = carry_out::proposal(plan, false, environment)?;
        page::show(&report, &environment.places, out)?;
        page::files(&report, &environment.places, out)?;
        // What is asked about must have been shown.
        out.flush()?;
    }
    if arguments.json || !std::io::stdin().is_terminal() {
        let hint = "--park imports them and takes them out of the settings; --shadow imports them and leaves the settings alone";
        return Err(nothing.hint(hint));
    }
    let (new, parked) =
        (plan.importable().count(), carry_out::leaving(plan, !arguments.project).len());
    let title = plan.survey.agent.title;
    let question = match (new, parked) {
        (0, parked) => format!("Take {} out of {title}'s settings?", counted(parked, "hook")),
        (new, 0) => format!("Import {}?", counted(new, "hook")),
        (new, _) => {
            format!("Import {}, and take them out of {title}'s settings?", counted(new, "hook"))
        }
    };
    if confirm(&question)? { Ok(()) } else { Err(nothing) }
}

fn carry_out(
    plan: &ImportPlan,
    arguments: &ImportArgs,
    environment: &Environment,
    out: &mut Out,
) -> CommandResult {
    let imported = carry_out::all(plan, arguments.shadow, environment)?;
    if arguments.json {
        out.json(&imported.report)?;
    } else {
        let count = imported.folders.len();
        let places = &environment.places;
        page::outcome(&imported.report, count, arguments.shadow, places, out)?;
    }
    Ok(exit_code::OK)
}

fn put_back(
    agent: &'static HostSpec,
    arguments: &ImportArgs,
    environment: &Environment,
    out: &mut Out,
) -> CommandResult {
    let dry_run = arguments.dry_run;
    let restored = restore::restore(agent, arguments.project, dry_run, environment)?;
    let report = report::of_restored(&restored, dry_run);
    if arguments.json {
        out.json(&report)?;
    } else {
        page::restored(&report, &environment.places, out)?;
    }
    Ok(exit_code::OK)
}
