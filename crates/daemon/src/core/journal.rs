//! Reads the journal in portions, each of which is stored before the journal may delete it.

use std::io;
use std::time::{Duration, Instant};

use anyhook_engine::journal::{Follower, Journal, JournalPosition};
use anyhook_flow::EntryKind;
use anyhook_hosts::bus_event::{self, OURS};
use anyhook_model::{BusEvent, EventKind, Record, Resolution};
use jiff::SignedDuration;

use super::Core;
use super::ran_calls::{asked_of, is_uninstallation};
use crate::{failpoints, gate_watcher};

/// The name under which the journal keeps what the daemon has not read.
const FOLLOWER: &str = "daemon";
/// The event type of journaled decisions.
const RESOLVED: &str = "decision:resolved";
/// How many records are read, stored and acted on at once.
const PORTION: usize = 2048;
/// How far the first read goes back in the journal.
const FIRST_LOOK: SignedDuration = SignedDuration::from_hours(24);

/// The journal, and how far it is read.
#[derive(Debug)]
pub struct JournalFeed {
    journal: Journal,
    /// `None` until it is first read, and after what was read could not be stored.
    pub(super) follower: Option<Follower>,
    /// Whether the journal has more than was read at a stretch. Notices and nudges wait while it
    /// has: nobody wants to hear of prompts that were answered long ago, and what is typed cannot
    /// be taken back.
    pub(super) is_behind: bool,
    /// Whether it was not yet read to its end since the daemon started.
    pub(super) is_first: bool,
}

impl JournalFeed {
    /// Begins to read where the state says.
    pub fn new(journal: Journal) -> Self {
        Self { journal, follower: None, is_behind: false, is_first: true }
    }
}

impl Core {
    /// Reads what is new in the journal, in portions that are stored one by one, until there is no
    /// more or the time is up.
    pub(super) fn read_journal(&mut self, stretch: Duration) {
        self.journal.is_behind = false;
        if self.pending.must_wait() {
            return;
        }
        let begun = Instant::now();
        loop {
            match self.read_portion() {
                Ok(true) if begun.elapsed() < stretch => {}
                Ok(more) => {
                    self.journal.is_behind = more;
                    return;
                }
                Err(error) => {
                    self.pending.fail(format!("the journal cannot be read: {error}"));
                    return;
                }
            }
        }
    }

    /// Reads one portion. Returns whether there may be more.
    fn read_portion(&mut self) -> io::Result<bool> {
        let mut follower = match self.journal.follower.take() {
            Some(follower) => follower,
            None => self.begin_to_follow()?,
        };
        let before = follower.position().cloned();
        let mut batch = Vec::new();
        let mut has_workflow = false;
        let mut asked = Vec::new();
        let more = follower.read_some(PORTION, &mut |record| {
            has_workflow = has_workflow || gate_watcher::is_about_workflow(&record);
            asked.extend(asked_of(&record));
            batch.extend(self.hear(&record));
        })?;
        if follower.position() == before.as_ref() {
            self.journal.follower = Some(follower);
            return Ok(false);
        }
        batch.push(EntryKind::JournalRead(serde_json::to_value(follower.position())?));
        failpoints::point("core.journal.read");
        if self.commit(batch).is_err() {
            // The follower is dropped: what it has read is read again from the stored position.
            return Ok(false);
        }
        // What could not be stored is read again.
        self.calls.ask(&asked);
        if has_workflow {
            self.runner.ask_at_gates();
        }
        // Only now may the journal delete it.
        follower.remember()?;
        failpoints::point("core.journal.remembered");
        self.journal.follower = Some(follower);
        Ok(more)
    }

    fn begin_to_follow(&self) -> io::Result<Follower> {
        let position: Option<JournalPosition> = match &self.state.journal {
            Some(position) => serde_json::from_value(position.clone())?,
            None => None,
        };
        let reader = match position {
            Some(position) => self.journal.journal.reader_at(position),
            None => self.journal.journal.reader_since(anyhook_engine::now() - FIRST_LOOK)?,
        };
        Follower::named_at(&self.journal.journal, FOLLOWER, reader)
    }

    /// Returns the entries of a record: what its agent does, and its alarms.
    fn hear(&self, record: &Record) -> impl Iterator<Item = EntryKind> + use<> {
        let alarms = bus_event::alarms_of(record).map(BusEvent::AlarmRaised);
        let alarms = alarms.map(|event| EntryKind::Happened(Box::new(event)));
        let uninstalled = is_uninstallation(record).then_some(EntryKind::Uninstalled);
        self.hear_agent(record).into_iter().chain(alarms).chain(uninstalled)
    }

    fn hear_agent(&self, record: &Record) -> Option<EntryKind> {
        // A record that we wrote ourselves: now it is certain that it is in the journal.
        if record.host == OURS && record.event == EventKind::Other(RESOLVED.to_owned()) {
            let text = record.payload.as_ref()?.as_text();
            let Ok(BusEvent::DecisionResolved(resolution)) = serde_json::from_str(text) else {
                return None;
            };
            // Its text may have been redacted.
            let is_ours = |known: &Resolution| known.ending == resolution.ending;
            let is_ours = self.state.outbox.journal_lines.get(&resolution.id).is_some_and(is_ours);
            return is_ours.then_some(EntryKind::Journaled(resolution.id));
        }
        bus_event::from_record(record).map(|event| EntryKind::Happened(Box::new(event)))
    }
}
