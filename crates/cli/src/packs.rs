//! The packs that come with the program, and those that were added.

#[cfg(test)]
mod tests;

use std::path::Path;

use anyhook_engine::Level;
use anyhook_setup::packs::level::PackLevel;
use anyhook_setup::packs::{self, PackFiles};

pub use anyhook_setup::packs::{FoundPack, PREFIX, Pack, agents, apply, status};

use crate::environment::Environment;
use crate::error::CommandError;

/// Every file of every pack.
pub static FILES: PackFiles = include!(concat!(env!("OUT_DIR"), "/packs.rs"));

/// Returns the files of a pack's workflow, by their path in its folder `workflow`.
#[cfg(feature = "workflow")]
pub fn workflow_files(pack: &str) -> Vec<(&'static str, &'static str)> {
    let inner = |path: &'static str| path.strip_prefix(pack)?.strip_prefix("/workflow/");
    let files = FILES.iter().filter_map(|(path, bytes)| Some((inner(path)?, *bytes)));
    files.filter_map(|(path, bytes)| Some((path, std::str::from_utf8(bytes).ok()?))).collect()
}

/// Returns every pack, by name.
pub fn all() -> Vec<Pack> {
    packs::all(FILES)
}

/// Finds a pack that comes with the program, by name.
pub fn find(name: &str) -> Result<Pack, CommandError> {
    Ok(packs::find(name, FILES)?)
}

/// Returns the name of the pack that `pack/NAME` names; `None` if the argument is something else.
pub fn meant(word: &Path) -> Option<Result<&str, CommandError>> {
    let name = word.to_str()?.strip_prefix(PREFIX)?.trim_end_matches('/');
    if name.is_empty() {
        return Some(Err(CommandError::usage("no pack given")
            .hint("pass pack/NAME; `anyhook packs` lists the packs")));
    }
    Some(Ok(name))
}

/// Returns the levels that may have packs.
pub fn levels(
    asked: Option<Level>,
    environment: &Environment,
) -> Result<Vec<PackLevel>, CommandError> {
    Ok(PackLevel::all(asked, environment)?)
}
