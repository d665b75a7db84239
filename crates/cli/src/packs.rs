//! The packs that come with the program.

#[cfg(test)]
mod tests;

use std::path::Path;

use anyhook_setup::packs::{self, PackFiles};

pub use anyhook_setup::packs::{PREFIX, Pack, PackCommand, PackHook, agents, place, put};

use crate::error::Trouble;

/// Every file of every pack.
static FILES: PackFiles = include!(concat!(env!("OUT_DIR"), "/packs.rs"));

/// Returns every pack, by name.
pub fn all() -> Vec<Pack> {
    packs::all(FILES)
}

/// Finds a pack by name.
pub fn find(name: &str) -> Result<Pack, Trouble> {
    Ok(packs::find(name, FILES)?)
}

/// Finds the pack that is meant by `pack/NAME`; none if something else is.
pub fn meant(word: &Path) -> Option<Result<Pack, Trouble>> {
    let name = word.to_str()?.strip_prefix(PREFIX)?;
    if name.is_empty() {
        return Some(Err(Trouble::usage("which pack is meant?")
            .hint("write pack/NAME; `anyhook packs` shows them")));
    }
    Some(find(name.trim_end_matches('/')))
}
