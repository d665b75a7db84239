//! What is installed, ready to be asked: so that an event costs no reading of hooks it does not meet.
//!
//! An index is one file below `index/` of the state folder, for the project roots of an event and its
//! working folder. Whoever finds none, or one that is no longer true, reads the hooks themselves
//! ([`InstalledHooks::find`], the plain way), answers by that, and writes the index anew for those who
//! come after: aside and renamed, so that any number of processes may read and write at once.
//!
//! - `watch` tells whether a file or folder is still what it was. Everything that the plain way
//!   would look at is watched, so an edit takes effect at the very next event.
//! - `build` makes an index of what the plain way has found, or none where that is too odd to be
//!   remembered.
//! - `read` opens one, checks it (its form, its checksum, whose it is, what is watched) and asks
//!   it who has to do with an event.
//! - `check` compares indexes with the hooks themselves, for `doctor` and `verify`.
//! - `form` is the bytes.
//!
//! An index says nothing that the plain way would not say. Where nobody can have to do with an
//! event, it names all who were left out, and why; otherwise it gives all hooks of that event in
//! full, and the rest goes its usual way.

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

/// An index that was not renewed for so long is forgotten; whoever needs it makes it anew.
const FORGET_AFTER: Duration = Duration::from_secs(30 * 24 * 3600);
/// At most so many are forgotten at once: the agent waits.
const FORGET_AT_ONCE: usize = 50;

/// What an event meets.
#[derive(Debug)]
pub struct MatchedHooks {
    /// The hooks.
    pub installed: InstalledHooks,
    /// How the journal is kept, if the index knows.
    pub journal: Option<JournalSettings>,
    /// Which index it is: one of other hooks, or of changed ones, has another stamp.
    pub stamp: Option<u64>,
}

/// Finds the hooks that an event meets: by the index if there is one and it is true, else the plain
/// way.
///
/// The texts of the event's call are collected when they are first needed, unless they are given:
/// there may be more than the event itself holds.
pub fn lookup<'event>(
    places: &Places,
    roots: &Roots,
    event: &'event Event,
    leaves: &OnceCell<CallTexts<'event>>,
) -> MatchedHooks {
    meet_at(places, roots, event, leaves, SystemTime::now())
}

/// Does what [`lookup`] does; whatever changed a while before `now` is remembered.
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
        // Without it only an engine that does not answer at all is taken for a yes.
        let _ = guard_marker::follow(state, roots.pinned.as_deref(), &event.work_dir, &installed);
        // Without it, a hook that cannot be read later blocks at the usual events.
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

/// Returns the mark of a file: another one once it was changed or replaced.
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

/// Tells why no index could be written for a folder, if so.
pub fn trouble(places: &Places) -> Option<std::io::Error> {
    encoding::try_writing(&StateDir::new(places.state.as_deref()?).index()).err()
}

/// Forgets some of the indexes that nobody has renewed for a month.
pub fn forget_old(state: &Path, now: SystemTime) {
    for index in silent_for(&StateDir::new(state).index(), FORGET_AFTER, now).take(FORGET_AT_ONCE) {
        // Another process may be quicker; then there is nothing left to do.
        let _ = fs::remove_file(index);
    }
}

/// Whose index it is: for whom it was made, in words that stand in it.
struct IndexKey {
    path: PathBuf,
    words: String,
    roots: Roots,
    work_dir: PathBuf,
}

impl IndexKey {
    /// None without a state folder, or with a path that is no text or cannot exist.
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
        // In most sessions the host names the root that is pinned, under the path it really has.
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
        // What one version makes of a hook, another may not.
        words.push_str(concat!("v", env!("CARGO_PKG_VERSION"), "\n"));
        // What may be run is for each user another thing.
        words.push_str(&format!("{} {}", geteuid().as_raw(), getegid().as_raw()));
        let path = folder.join(encoding::name(&words));
        Some(Self { path, words, roots: roots.clone(), work_dir: work_dir.to_owned() })
    }
}
