//! Entries that wait to be stored, and what keeps them from it.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use anyhook_flow::EntryKind;

use crate::store::StoreError;

/// So many may wait; then nothing more is taken in until they are stored.
const LIMIT: usize = 4096;
/// After a failure it is tried again after so long.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// What waits to be stored.
#[derive(Debug, Default)]
pub struct PendingEntries {
    /// The entries, in order.
    pub entries: VecDeque<EntryKind>,
    /// What cannot be stored or read, and when it is tried again.
    pub failing: Option<(String, Instant)>,
    /// Why there is no going on: the store must be opened again.
    pub in_doubt: Option<StoreError>,
}

impl PendingEntries {
    /// Tells whether more may be taken in.
    pub fn has_room(&self) -> bool {
        self.entries.len() < LIMIT
    }

    /// Tells whether the last failure was only just now.
    pub fn must_wait(&self) -> bool {
        self.failing.as_ref().is_some_and(|(_, again)| *again > Instant::now())
    }

    /// Returns how long until it is tried again, if something failed.
    pub fn next_try(&self) -> Option<Duration> {
        self.failing.as_ref().map(|(_, again)| again.saturating_duration_since(Instant::now()))
    }

    /// Notes that something cannot be stored or read; it is tried again.
    pub fn fail(&mut self, why: String) {
        if self.failing.as_ref().is_none_or(|(known, _)| *known != why) {
            tracing::error!("{why}");
        }
        self.failing = Some((why, Instant::now() + TRY_AGAIN));
    }
}
