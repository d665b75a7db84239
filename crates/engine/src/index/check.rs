//! Checks whether indexes agree with the hooks on disk.
//!
//! An index's checksums detect damage, and nothing more: anyone who may write the file can compute
//! them. So for `doctor` and `verify` every index that would be used is built a second time from
//! the hooks themselves, and compared part by part.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhook_model::StateDir;

use super::read::Comparison;
use super::{IndexKey, build, read};
use crate::discover::{InstalledHooks, ReadDepth};
use crate::places::Places;
use crate::roots::Roots;
use crate::settings::Settings;

/// Long enough for everything on disk to be settled: nothing built here is written.
const LATER: Duration = Duration::from_secs(3600);

/// An index that would be used, but differs from what the hooks on disk produce.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disagreement {
    /// The index.
    pub file: PathBuf,
    /// The working folder that it is for.
    pub work_dir: PathBuf,
}

impl Disagreement {
    /// Removes the index: the next event reads the hooks, and builds another.
    pub fn remove(&self) -> std::io::Result<()> {
        fs::remove_file(&self.file)
    }
}

/// Compares all indexes of this user with the hooks on disk.
///
/// One that cannot be compared, because of changes since it was built, is removed: the next event
/// builds another.
pub fn disagreements(places: &Places) -> Vec<Disagreement> {
    let Some(state) = places.state.as_deref() else { return Vec::new() };
    let entries = fs::read_dir(StateDir::new(state).index()).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.sort();
    let whose = files.into_iter().filter_map(|file| whose(places, &file));
    whose
        // A hook that was edited between the two checks is not a disagreement: the index is then
        // rejected at the second.
        .filter(|whose| !agrees(places, whose) && !agrees(places, whose))
        .map(|whose| Disagreement { file: whose.path, work_dir: whose.work_dir })
        .collect()
}

/// Returns the key of an index; `None` if it is incomplete, or not for us.
fn whose(places: &Places, file: &Path) -> Option<IndexKey> {
    let words = read::words(file)?;
    let mut lines = words.lines().skip(2);
    let root = lines.next().filter(|line| !line.is_empty()).map(PathBuf::from);
    let work_dir = PathBuf::from(lines.next()?);
    let mut roots = Roots { pinned: root.clone(), earlier: None, named: root };
    for line in lines.skip(1).filter(|line| line.starts_with(['/', '?', 'w'])) {
        match line.strip_prefix("was ") {
            Some(earlier) => roots.earlier = Some(PathBuf::from(earlier)),
            None => roots.named = Some(line).filter(|line| *line != "?").map(PathBuf::from),
        }
    }
    // Paths may contain line breaks: then, as far as we can tell, it is for someone else.
    IndexKey::new(places, &roots, &work_dir)
        .filter(|whose| whose.words == words && whose.path == file)
}

/// Returns whether an index is what the hooks produce now, or would not be used anyway.
fn agrees(places: &Places, whose: &IndexKey) -> bool {
    let Some(index) = read::Index::open(whose).filter(read::Index::is_current) else { return true };
    let installed =
        InstalledHooks::find_in(places, &whose.roots, &whose.work_dir, ReadDepth::WhatMayRun);
    let settings = Settings::load(places, None);
    let again = build::index(places, whose, &installed, &settings, SystemTime::now() + LATER);
    match again.map_or(Comparison::Outdated, |again| index.compare(&again)) {
        Comparison::Same => true,
        Comparison::Different => false,
        Comparison::Outdated => {
            // `trouble` reports that indexes cannot be removed or written.
            let _ = fs::remove_file(&whose.path);
            true
        }
    }
}
