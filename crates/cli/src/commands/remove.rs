//! `anyhook remove`: take a hook away, so that it can be had back.

use std::path::Path;

use anyhook_engine::Level;
use anyhook_engine::hook::Trust;
use anyhook_engine::now;
use anyhook_engine::trust::{TrustStore, absolute, copy_folder};
use anyhook_model::exit_code;
use clap::Args;

use super::Ended;
use crate::environment::{Environment, shown};
use crate::error::Trouble;
use crate::level::LevelArgs;
use crate::target;
use crate::ui::{Out, Tone};

/// Take a hook away; it is kept in the state folder
#[derive(Args)]
#[command(after_help = "Example: anyhook remove block-dangerous-commands")]
pub struct RemoveArgs {
    /// The hook's name
    name: String,
    #[command(flatten)]
    level: LevelArgs,
}

pub fn run(arguments: &RemoveArgs, environment: &Environment, out: &mut Out) -> Ended {
    let name = &arguments.name;
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
        return Err(Trouble::usage(format!(
            "`{name}` is there more than once: {}",
            places.join(", ")
        ))
        .hint("say --user or --project"));
    }
    let Some(hook) = found.pop() else {
        return Err(Trouble::input(format!("no hook `{name}` is installed"))
            .hint("`anyhook list` shows what is"));
    };
    if hook.level == Level::Managed {
        return Err(Trouble::problem(format!(
            "`{name}` is the machine's, at {}",
            hook.folder.display()
        ))
        .hint("whoever looks after this machine put it there; root can remove the folder"));
    }
    let Some(state) = &environment.places.state else {
        return Err(Trouble::problem("there is no state folder to keep it in").hint("set HOME"));
    };
    let stamp = now().to_string().replace(':', "");
    let kept = state.join("removed").join(format!("{name}-{stamp}"));
    let source = absolute(&hook.folder)?;
    move_folder(&hook.folder, &kept)?;
    // Whoever removes a hook does not want it to be missed.
    TrustStore::new(state).forget(&source)?;
    out.line(&[(Tone::Good, "removed "), (Tone::Strong, name)])?;
    out.line(&[(Tone::Dim, "kept at "), (Tone::Dim, &shown(&kept, &environment.places))])?;
    if matches!(hook.trust, Trust::Trusted | Trust::Changed(_)) {
        // Whoever takes a trusted guard away silently must not switch it off: it now counts as failed.
        let text = format!("it was trusted and is missed now; `anyhook untrust {name}` forgets it");
        out.line(&[(Tone::Hint, "hint: "), (Tone::Plain, &text)])?;
    }
    Ok(exit_code::OK)
}

/// Moves a folder, also onto another disk.
fn move_folder(from: &Path, to: &Path) -> Result<(), Trouble> {
    let parent = to.parent().unwrap_or(to);
    std::fs::create_dir_all(parent).map_err(|error| Trouble::at(parent, error))?;
    if std::fs::rename(from, to).is_ok() {
        return Ok(());
    }
    if from.is_symlink() {
        let target = std::fs::read_link(from).map_err(|error| Trouble::at(from, error))?;
        std::os::unix::fs::symlink(target, to).map_err(|error| Trouble::at(to, error))?;
        return std::fs::remove_file(from).map_err(|error| Trouble::at(from, error));
    }
    copy_folder(from, to)?;
    std::fs::remove_dir_all(from).map_err(|error| Trouble::at(from, error))
}
