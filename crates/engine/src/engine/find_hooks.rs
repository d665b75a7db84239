//! Finds the hooks of an event: from which project root, and by the index or by reading them.

use std::cell::OnceCell;
use std::io;
use std::path::{Path, PathBuf};

use anyhook_model::Event;

use super::Engine;
use crate::discover::{InstalledHooks, ReadDepth};
use crate::index::{self, MatchedHooks};
use crate::matcher::CallTexts;
use crate::places::find_root;
use crate::roots::Roots;
use crate::session::{Pinned, Session};
use crate::session_guards;
use crate::settings::DispatchSettings;

/// The hooks an event triggers, and the folder they come from.
#[derive(Debug)]
pub struct EventHooks {
    /// The project root.
    pub root: Option<PathBuf>,
    /// The roots the hooks come from.
    roots: Roots,
    /// The installed hooks.
    pub installed: InstalledHooks,
    /// The stamp of the index that found them; `None` if they were read.
    stamp: Option<u64>,
}

impl EventHooks {
    fn new(roots: Roots, installed: InstalledHooks, stamp: Option<u64>) -> Self {
        Self { root: roots.pinned.clone(), roots, installed, stamp }
    }

    /// Returns the roots they come from.
    pub(super) fn roots(&self) -> &Roots {
        &self.roots
    }

    /// Returns whether an index found them: then those that cannot match may be missing.
    pub(super) fn is_by_index(&self) -> bool {
        self.stamp.is_some()
    }

    /// Replaces hooks that an index found with hooks that were read.
    pub(super) fn replace(&mut self, installed: InstalledHooks) {
        self.installed = installed;
        self.stamp = None;
    }
}

impl Engine {
    /// Finds all hooks for an event, for `explain`, without running or writing anything.
    pub fn hooks_for(&self, event: &Event) -> EventHooks {
        self.read_hooks(self.known_roots(event), &event.work_dir, ReadDepth::All)
    }

    /// Finds the hooks of an event: by the index, or by reading them.
    ///
    /// The event may contain more texts than were decoded from it: those are in `leaves`.
    pub(super) fn find_hooks<'event>(
        &self,
        roots: Roots,
        event: &'event Event,
        by_index: bool,
        leaves: &OnceCell<CallTexts<'event>>,
        settings: &DispatchSettings,
    ) -> EventHooks {
        if !by_index {
            return self.read_hooks(roots, &event.work_dir, ReadDepth::WhatMayRun);
        }
        let MatchedHooks { installed, journal, stamp } =
            index::lookup(&self.places, &roots, event, leaves);
        if let Some(journal) = journal {
            settings.journal_is(journal);
        }
        EventHooks::new(roots, installed, stamp)
    }

    /// Reads the hooks of all levels.
    pub(super) fn read_hooks(
        &self,
        roots: Roots,
        work_dir: &Path,
        reading: ReadDepth,
    ) -> EventHooks {
        let installed = InstalledHooks::find_in(&self.places, &roots, work_dir, reading);
        EventHooks::new(roots, installed, None)
    }

    /// Returns a value that distinguishes one state of the installed hooks from another.
    pub(super) fn stamp(&self, hooks: &EventHooks, state: &Path) -> Option<u64> {
        let is_read = !self.by_index && hooks.installed.notes.is_empty();
        let of_read = || is_read.then(|| session_guards::stamp_of(&hooks.installed, state));
        hooks.stamp.or_else(of_read)
    }

    /// Fills in where an event happens, which the forms of its paths depend on.
    pub(super) fn set_place(&self, event: &mut Event, root: Option<&Path>) {
        if let Some(tool) = &mut event.tool {
            event.home.clone_from(&self.places.home);
            if event.project_dir.as_deref() != root {
                tool.forget_derived();
            }
        }
        event.project_dir = root.map(Path::to_owned);
    }

    /// Returns the project roots without pinning one.
    pub(super) fn known_roots(&self, event: &Event) -> Roots {
        let named = event.project_dir.clone();
        match self.session(event).and_then(|session| session.pinned()) {
            Some(pinned) => with_named(pinned, named),
            None => self.unpinned(event, named),
        }
    }

    /// Returns the project root as the event alone gives it: the host's, otherwise the repository.
    pub(super) fn unpinned(&self, event: &Event, named: Option<PathBuf>) -> Roots {
        let repository = || find_root(&event.work_dir, self.places.home.as_deref());
        Roots { pinned: named.clone().or_else(repository), earlier: None, named }
    }

    /// Returns the project roots: the pinned one, otherwise the host's, otherwise the repository;
    /// plus the one the event itself names. Pins the root if none is pinned.
    pub(super) fn roots(
        &self,
        event: &Event,
        named: Option<PathBuf>,
        session: Option<&Session>,
        trouble: &mut Option<io::Error>,
    ) -> Roots {
        if let Some(pinned) = session.and_then(Session::pinned) {
            return with_named(pinned, named);
        }
        let roots = self.unpinned(event, named);
        let (Some(session), Some(root)) = (session, &roots.pinned) else { return roots };
        match session.pin_root(root) {
            Ok(pinned) => with_named(pinned, roots.named),
            Err(error) => {
                *trouble = Some(error);
                roots
            }
        }
    }
}

/// Returns the roots of an event in a session.
fn with_named(pinned: Pinned, named: Option<PathBuf>) -> Roots {
    Roots { pinned: Some(pinned.root), earlier: pinned.real, named }
}
