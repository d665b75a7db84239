//! Entries that wait to be stored, and why they cannot be.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use anyhook_flow::EntryKind;

use crate::store::StoreError;

/// How many may wait; then no messages are taken until they are stored.
const LIMIT: usize = 4096;
/// How long to wait after a failure before the next attempt.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// What waits to be stored.
#[derive(Debug, Default)]
pub struct PendingEntries {
    /// The entries, in order.
    pub entries: VecDeque<EntryKind>,
    /// What cannot be stored or read, and when to try again.
    pub failing: Option<(String, Instant)>,
    /// Why the daemon cannot continue: the store must be reopened.
    pub in_doubt: Option<StoreError>,
}

impl PendingEntries {
    /// Returns whether there is room for more.
    pub fn has_room(&self) -> bool {
        self.entries.len() < LIMIT
    }

    /// Returns whether it is too early to try again after the last failure.
    pub fn must_wait(&self) -> bool {
        self.failing.as_ref().is_some_and(|(_, again)| *again > Instant::now())
    }

    /// Returns the time until the next attempt, if something failed.
    pub fn next_try(&self) -> Option<Duration> {
        self.failing.as_ref().map(|(_, again)| again.saturating_duration_since(Instant::now()))
    }

    /// Records that something cannot be stored or read; it will be tried again.
    pub fn fail(&mut self, why: String) {
        if self.failing.as_ref().is_none_or(|(known, _)| *known != why) {
            tracing::error!("{why}");
        }
        self.failing = Some((why, Instant::now() + TRY_AGAIN));
    }
}
