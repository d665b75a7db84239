//! `anyhook update`: fetches packs again, shows what changes, and applies it.

use std::io::IsTerminal;

use anyhook_engine::now;
use anyhook_model::exit_code;
use anyhook_model::pack::LockedPack;
use anyhook_model::report::changes::{UpdateReport, UpdatedPack};
use anyhook_pages::packs::show_update;
use anyhook_setup::packs::level::PackLevel;
use anyhook_setup::packs::options::read_settings;
use anyhook_setup::packs::update::PackUpdate;
use anyhook_setup::packs::{PackError, lock};
use clap::Args;

use super::CommandResult;
use crate::confirm::confirm;
use crate::environment::{Environment, shown};
use crate::error::CommandError;
use crate::level::LevelArgs;
use crate::packs::{FILES, FoundPack, PREFIX, levels};
use crate::ui::{Out, Tone, counted};

/// Update packs from where they come from, after showing what changes
#[derive(Args)]
#[command(
    after_help = "Example: anyhook update --dry-run\n         anyhook update no-prod --set branches=main --set branches=release"
)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command")]
pub struct UpdateArgs {
    /// The pack; all that were added if none is named
    name: Option<String>,
    #[command(flatten)]
    level: LevelArgs,
    /// Set an option of the pack (repeatable; a list takes a value each time, or a JSON list)
    #[arg(long, value_name = "NAME=VALUE", requires = "name")]
    set: Vec<String>,
    /// Replace what was changed here, too; a copy is kept in the state folder
    #[arg(long)]
    theirs: bool,
    /// Only show what would change
    #[arg(long)]
    dry_run: bool,
    /// Apply it without asking
    #[arg(long, short)]
    yes: bool,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &UpdateArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    let levels = levels(arguments.level.asked(), environment)?;
    let packs = chosen(arguments, &levels)?;
    if packs.is_empty() && !arguments.json {
        out.line(&[(Tone::Dim, "no packs were added")])?;
    }
    let (mut reports, mut is_left) = (Vec::new(), false);
    for (level, locked) in packs {
        let found = FoundPack::of_place(&lock::place(locked)?, FILES)?;
        let values = read_settings(&found.name, found.options(), &arguments.set)?;
        let update = PackUpdate::plan(level, locked, found, values)?;
        let mut report = update.report(level, arguments.dry_run);
        if !arguments.json {
            show_update(&update, &report, &environment.places, out)?;
        }
        let is_stuck =
            !update.foreign.is_empty() || !update.changed_here.is_empty() && !arguments.theirs;
        if update.is_empty() {
            "unchanged".clone_into(&mut report.result);
        } else if is_stuck {
            "conflict".clone_into(&mut report.result);
            is_left = true;
        } else if !arguments.dry_run {
            agree(&report.name, arguments, out)?;
            apply(&update, level, &mut report, environment, out, arguments.json)?;
        }
        reports.push(report);
    }
    if arguments.json {
        out.json(&UpdateReport { dry_run: arguments.dry_run, packs: reports })?;
    }
    Ok(if is_left { exit_code::PROBLEM } else { exit_code::OK })
}

/// Returns the packs that are meant, with their levels.
fn chosen<'levels>(
    arguments: &UpdateArgs,
    levels: &'levels [PackLevel],
) -> Result<Vec<(&'levels PackLevel, &'levels LockedPack)>, CommandError> {
    let all =
        levels.iter().flat_map(|level| level.lock.lock.packs.iter().map(move |pack| (level, pack)));
    let mut all: Vec<_> = all.collect();
    if let Some(name) = &arguments.name {
        let name = name.strip_prefix(PREFIX).unwrap_or(name);
        let known = all.iter().map(|(_, pack)| pack.name.clone()).collect();
        all.retain(|(_, pack)| pack.name == name);
        if all.is_empty() {
            return Err(PackError::NotAdded { name: name.to_owned(), known }.into());
        }
    }
    Ok(all)
}

/// Asks the person whether to apply what was shown.
fn agree(name: &str, arguments: &UpdateArgs, out: &mut Out) -> Result<(), CommandError> {
    // What is asked about must have been shown.
    out.flush()?;
    if arguments.yes {
        return Ok(());
    }
    if arguments.json || !std::io::stdin().is_terminal() {
        let why = "cannot ask for confirmation without a terminal";
        return Err(CommandError::problem(format!("`{name}` was not updated: {why}"))
            .hint("--yes applies it, --dry-run only shows it"));
    }
    if confirm(&format!("Update {name}?"))? {
        return Ok(());
    }
    Err(CommandError::problem(format!("`{name}` was not updated")))
}

fn apply(
    update: &PackUpdate,
    level: &PackLevel,
    report: &mut UpdatedPack,
    environment: &Environment,
    out: &mut Out,
    is_json: bool,
) -> Result<(), CommandError> {
    let Some(state) = &environment.places.state else {
        return Err(CommandError::problem("no state folder to keep a copy in").hint("set HOME"));
    };
    let kept = update.write(level, state, &now().to_string().replace(':', ""))?;
    "updated".clone_into(&mut report.result);
    report.kept = kept.as_ref().map(|kept| kept.to_string_lossy().into_owned());
    if is_json {
        return Ok(());
    }
    let files = counted(update.files.len(), "file");
    out.line(&[
        (Tone::Good, "updated "),
        (Tone::Strong, &report.name),
        (Tone::Plain, &format!(": {files}")),
    ])?;
    if let Some(kept) = kept {
        out.line(&[(Tone::Dim, "kept at "), (Tone::Dim, &shown(&kept, &environment.places))])?;
    }
    if report.needs_trust {
        out.hint("trust its hooks again so that they run: anyhook trust --all")?;
    }
    Ok(())
}
