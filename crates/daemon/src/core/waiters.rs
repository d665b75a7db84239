//! Hook processes that wait for a person's answer.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhook_model::approval_request::ApprovalKind;
use anyhook_model::daemon::Response;
use anyhook_model::{ApprovalRequest, RecordId, Resolution};
use tokio::sync::oneshot;

/// How long a process that waited has to ask again after the daemon was away.
const COME_BACK: Duration = Duration::from_secs(10);

/// Which processes wait for which decision.
#[derive(Debug, Default)]
pub struct Waiters {
    by_inquiry: HashMap<RecordId, Vec<oneshot::Sender<Response>>>,
    /// Decisions whose hook process has yet to reconnect, and its deadline.
    expected: HashMap<RecordId, Instant>,
}

impl Waiters {
    /// Expects the processes that waited for these to reconnect.
    pub fn expect<'all>(&mut self, open: impl Iterator<Item = &'all ApprovalRequest>) {
        let end = Instant::now() + COME_BACK;
        let waits = open.filter(|inquiry| inquiry.kind != ApprovalKind::Escalation);
        self.expected = waits.map(|inquiry| (inquiry.id.clone(), end)).collect();
    }

    /// Adds a process that waits.
    pub fn join(&mut self, id: &RecordId, answer: oneshot::Sender<Response>) {
        self.expected.remove(id);
        self.by_inquiry.entry(id.clone()).or_default().push(answer);
    }

    /// Removes waiters that are gone. Returns whether none is left.
    pub fn leave(&mut self, id: &RecordId) -> bool {
        let Some(waiting) = self.by_inquiry.get_mut(id) else { return false };
        waiting.retain(|answer| !answer.is_closed());
        let is_empty = waiting.is_empty();
        if is_empty {
            self.by_inquiry.remove(id);
        }
        is_empty
    }

    /// Answers everyone who waits for it.
    pub fn answer(&mut self, resolution: &Resolution) {
        self.expected.remove(&resolution.id);
        for answer in self.by_inquiry.remove(&resolution.id).unwrap_or_default() {
            // A process that is gone needs no answer.
            let _ = answer.send(Response::Resolved(Box::new(resolution.clone())));
        }
    }

    /// Returns the decisions whose hook process did not reconnect in time.
    pub fn given_up(&mut self) -> Vec<RecordId> {
        let now = Instant::now();
        let ids: Vec<RecordId> = self
            .expected
            .iter()
            .filter(|(_, end)| **end <= now)
            .map(|(id, _)| id.clone())
            .collect();
        for id in &ids {
            self.expected.remove(id);
        }
        ids
    }

    /// Returns the time until the next one is given up.
    pub fn next_end(&self) -> Option<Duration> {
        let now = Instant::now();
        self.expected.values().map(|end| end.saturating_duration_since(now)).min()
    }
}
