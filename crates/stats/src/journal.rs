//! Reads the journal into a tally, and rejects names that are neither installed nor in it.

use std::collections::BTreeSet;
use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;

use anyhook_engine::discover::InstalledHooks;
use anyhook_engine::journal::reader::ReadLine;
use anyhook_engine::journal::{Journal, JournalPosition, SegmentName};
use anyhook_engine::problem::nearest;
use anyhook_model::host::HOST_IDS;

use crate::tally::{Tally, TallyScope};

/// Why there are no statistics.
#[derive(Debug, thiserror::Error)]
pub enum StatsError {
    /// The journal cannot be read.
    #[error("cannot read `{}`: {source}", folder.display())]
    Journal {
        /// Where it is.
        folder: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A host that is neither known nor in the journal.
    #[error("host `{name}` is neither supported nor in the journal")]
    UnknownHost {
        /// Its name.
        name: String,
        /// One with a similar name.
        near: Option<String>,
    },
    /// A hook that is neither installed nor in the journal.
    #[error("hook `{name}` is neither installed nor in the journal")]
    UnknownHook {
        /// Its name.
        name: String,
        /// One with a similar name.
        near: Option<String>,
    },
}

/// The counts of the newest records.
#[derive(Debug)]
pub struct NewestTally {
    /// The counts.
    pub tally: Tally,
    /// Whether older records of the scope were left out.
    pub is_cut: bool,
}

/// It is asked once in so many lines whether the counts are still wanted.
const ASKED_EVERY: u32 = 64;

impl Tally {
    /// Reads the journal and counts what is in the scope.
    pub fn read(journal: &Journal, scope: TallyScope) -> Result<Self, StatsError> {
        let mut tally = Self::new(scope);
        match tally.read_on(journal) {
            Ok(()) => Ok(tally),
            Err(source) => Err(StatsError::Journal { folder: journal.folder().to_owned(), source }),
        }
    }

    fn read_on(&mut self, journal: &Journal) -> io::Result<()> {
        let mut reader = match self.scope.since {
            Some(since) => journal.reader_since(since)?,
            None => journal.reader(),
        };
        let first = journal.segments()?.into_iter().next();
        self.has_older =
            reader.position().is_some_and(|position| Some(&position.segment) != first.as_ref());
        reader.read_on(&mut |record| self.take(&record))?;
        self.damaged = u64::try_from(reader.damaged()).unwrap_or(u64::MAX);
        Ok(())
    }

    /// Counts what is in the scope, the newest segments first, until that is not wanted any more:
    /// for someone who waits. What is older than that is not counted; `has_older` says so.
    pub fn read_newest(
        journal: &Journal,
        scope: TallyScope,
        is_wanted: &dyn Fn() -> bool,
    ) -> Result<NewestTally, StatsError> {
        let mut tally = Self::new(scope);
        match tally.read_back(journal, is_wanted) {
            Ok(is_cut) => Ok(NewestTally { tally, is_cut }),
            Err(source) => Err(StatsError::Journal { folder: journal.folder().to_owned(), source }),
        }
    }

    fn read_back(&mut self, journal: &Journal, is_wanted: &dyn Fn() -> bool) -> io::Result<bool> {
        let first = match self.scope.since {
            Some(since) => journal.reader_since(since)?.position().cloned(),
            None => None,
        };
        let segments = journal.segments()?;
        let is_in_scope =
            |segment: &SegmentName| first.as_ref().is_none_or(|first| *segment >= first.segment);
        self.has_older = segments.iter().any(|segment| !is_in_scope(segment));
        let (mut lines, mut damaged, mut is_cut) = (0_u32, 0_u64, false);
        for segment in segments.into_iter().rev().filter(is_in_scope) {
            let from = JournalPosition { segment, offset: u64::MAX };
            let ended = journal.read_back(&from, &mut |ReadLine { line, .. }| {
                match line.and_then(|line| line.record()) {
                    Ok(record) => self.take(&record),
                    Err(_) => damaged += 1,
                }
                lines = lines.wrapping_add(1);
                is_cut = lines.is_multiple_of(ASKED_EVERY) && !is_wanted();
                if is_cut { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })?;
            if ended.is_break() {
                break;
            }
        }
        self.damaged = damaged;
        self.has_older |= is_cut;
        Ok(is_cut)
    }

    /// Rejects names of hooks and hosts that are neither known nor in the journal, whether they are
    /// in the scope or not.
    pub fn check_names(
        &self,
        hooks: &[String],
        installed: &InstalledHooks,
        journal: &Journal,
    ) -> Result<(), StatsError> {
        let is_installed =
            |name: &String| installed.hooks.iter().any(|standing| standing.hook.name() == name);
        let is_hook = |name: &String| self.hooks.contains_key(name) || is_installed(name);
        let is_host = |name: &String| self.records > 0 || HOST_IDS.contains(&name.as_str());
        let unknown_host = self.scope.host.iter().find(|name| !is_host(name));
        if unknown_host.is_none() && hooks.iter().all(is_hook) {
            return Ok(());
        }
        // Not in this period, or not at this host; but perhaps at another time or another host.
        let whole = Self::read(journal, TallyScope::default())?;
        if let Some(name) = unknown_host.filter(|name| !whole.hosts.contains_key(*name)) {
            let known = HOST_IDS.into_iter().chain(whole.hosts.keys().map(String::as_str));
            let near = nearest(name, known).map(str::to_owned);
            return Err(StatsError::UnknownHost { name: name.clone(), near });
        }
        let unknown = |name: &&String| !is_hook(name) && !whole.hooks.contains_key(*name);
        let Some(name) = hooks.iter().find(unknown) else { return Ok(()) };
        let installed = installed.hooks.iter().map(|standing| standing.hook.name());
        let near = nearest(name, installed.chain(whole.hooks.keys().map(String::as_str)));
        Err(StatsError::UnknownHook { name: name.clone(), near: near.map(str::to_owned) })
    }
}

/// Returns the names of the installed hooks whose failure blocks, or would if they were enforced.
pub fn fails_closed(installed: &InstalledHooks) -> BTreeSet<String> {
    let hooks = installed.hooks.iter().filter(|standing| standing.out.is_none());
    hooks
        .filter(|standing| standing.hook.blocks_on_failure())
        .map(|standing| standing.hook.name().to_owned())
        .collect()
}
