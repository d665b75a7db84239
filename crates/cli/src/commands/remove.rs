//! `anyhook remove`: removes a hook, or a pack of hooks, so that it can be restored.

mod pack;

use std::path::Path;

use anyhook_engine::Level;
use anyhook_engine::hook::Trust;
use anyhook_engine::now;
use anyhook_engine::trust::{TrustStore, absolute};
use anyhook_model::report::changes::RemoveReport;
use anyhook_model::{StateDir, exit_code};
use clap::Args;

use super::CommandResult;
use crate::environment::{Environment, shown};
use crate::error::CommandError;
use crate::level::LevelArgs;
use crate::packs::{self, apply};
use crate::target;
use crate::ui::{Out, Tone};

/// Remove a hook, or a pack's hooks and commands; a copy is kept in the state folder
#[derive(Args)]
#[command(
    after_help = "Example: anyhook remove block-dangerous-commands\n         anyhook remove pack/delivery-workflow --project"
)]
pub struct RemoveArgs {
    /// The hook's name; or pack/NAME
    name: String,
    #[command(flatten)]
    level: LevelArgs,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &RemoveArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    let name = &arguments.name;
    if let Some(pack) = packs::meant(Path::new(name)) {
        return pack::run(pack?, arguments, environment, out);
    }
    let mut found: Vec<_> = target::installed(environment)
        .hooks
        .into_iter()
        .map(|standing| standing.hook)
        .filter(|hook| {
            hook.name() == name
                || hook.folder.file_name().is_some_and(|folder| folder == name.as_str())
        })
        .filter(|hook| arguments.level.asked().is_none_or(|level| level == hook.level))
        .filter(|hook| hook.folder.symlink_metadata().is_ok())
        .collect();
    if found.len() > 1 {
        let places: Vec<String> =
            found.iter().map(|hook| shown(&hook.folder, &environment.places)).collect();
        return Err(CommandError::usage(format!(
            "`{name}` is installed more than once: {}",
            places.join(", ")
        ))
        .hint("pass --user or --project"));
    }
    let Some(hook) = found.pop() else {
        return Err(CommandError::input(format!("no hook `{name}` is installed"))
            .hint("`anyhook list` shows installed hooks"));
    };
    if hook.level == Level::Managed {
        return Err(CommandError::problem(format!(
            "`{name}` is a managed hook, at {}",
            hook.folder.display()
        ))
        .hint("the administrator of this machine installed it; root can remove the folder"));
    }
    let Some(state) = &environment.places.state else {
        return Err(CommandError::problem("no state folder to keep a copy in").hint("set HOME"));
    };
    let stamp = now().to_string().replace(':', "");
    let kept = StateDir::new(state).removed().join(format!("{name}-{stamp}"));
    let source = absolute(&hook.folder)?;
    apply::move_away(&hook.folder, &kept)?;
    // A removed hook must not be reported as missing.
    TrustStore::new(state).forget(&source)?;
    if arguments.json {
        out.json(&RemoveReport {
            name: name.clone(),
            removed: vec![source.to_string_lossy().into_owned()],
            kept: kept.to_string_lossy().into_owned(),
            left: Vec::new(),
        })?;
        return Ok(exit_code::OK);
    }
    let place = shown(&kept, &environment.places);
    out.line(&[(Tone::Good, "removed "), (Tone::Strong, name)])?;
    let level = if hook.level == Level::Project { " --project" } else { "" };
    let restore = format!("anyhook add {place}{level}");
    out.line(&[(Tone::Dim, "to restore it: "), (Tone::Plain, &restore)])?;
    if matches!(hook.trust, Trust::Trusted | Trust::Changed(_)) {
        // Removing a trusted guard's files must not silently disable it: the hook now counts as
        // failed.
        let text = format!(
            "it was trusted and is now reported as missing; `anyhook untrust {name}` stops that"
        );
        out.line(&[(Tone::Hint, "hint: "), (Tone::Plain, &text)])?;
    }
    Ok(exit_code::OK)
}
