//! The hook index: a cache of the installed hooks, so that an event does not read irrelevant hooks.
//!
//! An index is one file below `index/` of the state folder, for the project roots of an event and
//! its working folder. A process that finds none, or an outdated one, reads the hooks themselves
//! ([`InstalledHooks::find`], the slow path), answers from that, and writes the index for later
//! processes: to a temporary file that is renamed, so that any number of processes may read and
//! write at once.
//!
//! - `file_stamp` detects whether a file or folder is still what it was. Everything that the slow
//!   path would look at is watched, so an edit takes effect at the very next event.
//! - `build` makes an index of what the slow path has found, or none where that is too unusual to
//!   be cached.
//! - `read` opens one, checks it (its format, its checksum, its key, what is watched) and asks it
//!   which hooks are relevant to an event.
//! - `check` compares indexes with the hooks themselves, for `doctor` and `verify`.
//! - `encoding` is the binary format.
//!
//! An index never says anything that the slow path would not say. Where no hook can be relevant to
//! an event, it names all that were left out, and why; otherwise it returns all hooks of that event
//! in full, and the rest proceeds as usual.

mod build;
mod check;
mod encoding;
mod file_stamp;
mod read;
#[cfg(test)]
mod tests;

use std::cell::OnceCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhook_model::{Event, StateDir};
use rustix::process::{getegid, geteuid};

use crate::discover::{InstalledHooks, ReadDepth};
use crate::guard_marker;
use crate::last_known::LastKnown;
use crate::matcher::CallTexts;
use crate::places::{PATH_LIMIT, Places, silent_for};
use crate::roots::Roots;
use crate::settings::{JournalSettings, Settings};

pub use check::{Disagreement, disagreements};

/// An index not rebuilt for this long is forgotten; a process that needs it builds it again.
const FORGET_AFTER: Duration = Duration::from_secs(30 * 24 * 3600);
/// At most this many are forgotten at once, since the agent is waiting.
const FORGET_AT_ONCE: usize = 50;

/// The hooks an event triggers.
#[derive(Debug)]
pub struct MatchedHooks {
    /// The hooks.
    pub installed: InstalledHooks,
    /// The journal settings, if the index knows them.
    pub journal: Option<JournalSettings>,
    /// Identifies the index: one of other hooks, or of changed ones, has another stamp.
    pub stamp: Option<u64>,
}

/// Finds the hooks that an event triggers: by the index if there is a current one, otherwise by the
/// slow path.
///
/// The texts of the event's call are collected when first needed, unless they are given: there may
/// be more than the event itself contains.
pub fn lookup<'event>(
    places: &Places,
    roots: &Roots,
    event: &'event Event,
    leaves: &OnceCell<CallTexts<'event>>,
) -> MatchedHooks {
    meet_at(places, roots, event, leaves, SystemTime::now())
}

/// Like [`lookup`]; whatever changed a while before `now` is cached.
fn meet_at<'event>(
    places: &Places,
    roots: &Roots,
    event: &'event Event,
    leaves: &OnceCell<CallTexts<'event>>,
    now: SystemTime,
) -> MatchedHooks {
    let plainly = || InstalledHooks::find_in(places, roots, &event.work_dir, ReadDepth::WhatMayRun);
    let Some(whose) = IndexKey::new(places, roots, &event.work_dir) else {
        return MatchedHooks { installed: plainly(), journal: None, stamp: None };
    };
    let known = read::Index::open(&whose).and_then(|index| index.lookup(event, leaves));
    if let Some(met) = known {
        return met;
    }
    let settings = Settings::load(places, None);
    let installed = plainly();
    if let Some(state) = places.state.as_deref() {
        // Without it, only an engine that does not answer at all is taken as an approval.
        let _ = guard_marker::follow(state, roots.pinned.as_deref(), &event.work_dir, &installed);
        // Without it, a hook that cannot be read later blocks at the default events.
        let _ = LastKnown::remember(state, installed.hooks.iter().map(|one| &one.hook));
    }
    let mut stamp = None;
    if let Some(bytes) = build::index(places, &whose, &installed, &settings, now) {
        stamp = encoding::stamp(&bytes);
        // Without it the next event takes as long as this one.
        let _ = encoding::write(&whose.path, &bytes);
    }
    MatchedHooks { installed, journal: Some(settings.journal), stamp }
}

/// Returns the mark of a file, which changes when the file is changed or replaced.
pub(crate) fn mark_of(path: &Path) -> u64 {
    let look = std::ffi::CString::new(path.as_os_str().as_encoded_bytes())
        .ok()
        .and_then(|path| file_stamp::FileStamp::at(None, &path).ok());
    look.map_or(file_stamp::ABSENT, |look| look.mark(file_stamp::WatchExtent::Whole))
}

/// Reads bytes as an index for an event.
pub(crate) fn read_bytes(head: &[u8], rest: &[u8], event: &Event) -> Option<MatchedHooks> {
    read::Index::of_bytes(head, rest)?.lookup(event, &OnceCell::new())
}

/// Returns why no index could be written for a folder, if so.
pub fn trouble(places: &Places) -> Option<std::io::Error> {
    encoding::try_writing(&StateDir::new(places.state.as_deref()?).index()).err()
}

/// Forgets some of the indexes not rebuilt for a month.
pub fn forget_old(state: &Path, now: SystemTime) {
    for index in silent_for(&StateDir::new(state).index(), FORGET_AFTER, now).take(FORGET_AT_ONCE) {
        // Another process may have been faster; then there is nothing left to do.
        let _ = fs::remove_file(index);
    }
}

/// The key of an index: what it was built for, in the words stored in it.
struct IndexKey {
    path: PathBuf,
    words: String,
    roots: Roots,
    work_dir: PathBuf,
}

impl IndexKey {
    /// `None` without a state folder, or with a path that is not UTF-8 or cannot exist.
    fn new(places: &Places, roots: &Roots, work_dir: &Path) -> Option<Self> {
        if work_dir.as_os_str().len() >= PATH_LIMIT {
            return None;
        }
        let folder = StateDir::new(places.state.as_deref()?).index();
        let user = places.user.as_deref().unwrap_or(Path::new(""));
        let mut words = String::with_capacity(256);
        let root = roots.pinned.as_deref().unwrap_or(Path::new(""));
        for path in [&places.managed, user, root, work_dir, &folder] {
            words.push_str(path.to_str()?);
            words.push('\n');
        }
        // In most sessions the host names the root that is pinned, under its real path.
        if roots.named != roots.pinned {
            let named = roots.named.as_deref().map_or(Some("?"), Path::to_str)?;
            words.push_str(named);
            words.push('\n');
        }
        if let Some(earlier) = &roots.earlier {
            words.push_str("was ");
            words.push_str(earlier.to_str()?);
            words.push('\n');
        }
        // Different versions may read the same hook differently.
        words.push_str(concat!("v", env!("CARGO_PKG_VERSION"), "\n"));
        // What may be run differs between users.
        words.push_str(&format!("{} {}", geteuid().as_raw(), getegid().as_raw()));
        let path = folder.join(encoding::name(&words));
        Some(Self { path, words, roots: roots.clone(), work_dir: work_dir.to_owned() })
    }
}
