//! The journal: read in portions, each of which is stored before the journal may forget it.

use std::io;
use std::time::{Duration, Instant};

use anyhook_engine::journal::{Follower, Journal, JournalPosition};
use anyhook_flow::EntryKind;
use anyhook_hosts::bus_event::{self, OURS};
use anyhook_model::{BusEvent, EventKind, Record, Resolution};
use jiff::SignedDuration;

use super::Core;
use crate::{failpoints, gates};

/// The name under which the journal keeps what we have not read.
const FOLLOWER: &str = "daemon";
/// The type of what is written down about decisions.
const RESOLVED: &str = "decision:resolved";
/// So many records are read, stored and acted on at once.
const PORTION: usize = 2048;
/// How long a first look goes back in the journal.
const FIRST_LOOK: SignedDuration = SignedDuration::from_hours(24);

/// The journal, as far as it is read.
#[derive(Debug)]
pub struct JournalFeed {
    journal: Journal,
    /// None until it is first read, and after what was read could not be stored.
    pub(super) follower: Option<Follower>,
    /// Whether the journal has more than was read at a stretch. Notices and nudges wait while it
    /// has: nobody wants to hear of prompts that were answered long ago, and what is typed cannot
    /// be taken back.
    pub(super) is_behind: bool,
    /// Whether it was not yet read to its end since the daemon began.
    pub(super) is_first: bool,
}

impl JournalFeed {
    /// Begins to read where the state says.
    pub fn new(journal: Journal) -> Self {
        Self { journal, follower: None, is_behind: false, is_first: true }
    }
}

impl Core {
    /// Reads what the journal has that we have not seen, in portions that are stored one by one,
    /// until there is no more or the time is over.
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

    /// Reads one portion. Tells whether there may be more.
    fn read_portion(&mut self) -> io::Result<bool> {
        let mut follower = match self.journal.follower.take() {
            Some(follower) => follower,
            None => self.begin_to_follow()?,
        };
        let before = follower.position().cloned();
        let mut batch = Vec::new();
        let mut has_workflow = false;
        let more = follower.read_some(PORTION, &mut |record| {
            has_workflow = has_workflow || gates::is_about_workflow(&record);
            batch.extend(self.hear(&record));
        })?;
        if follower.position() == before.as_ref() {
            self.journal.follower = Some(follower);
            return Ok(false);
        }
        batch.push(EntryKind::JournalRead(serde_json::to_value(follower.position())?));
        failpoints::point("core.journal.read");
        if self.commit(batch).is_err() {
            // The follower is let go: what it has read is read again from what is stored.
            return Ok(false);
        }
        if has_workflow {
            self.runner.ask_at_gates();
        }
        // Only now may the journal forget it.
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

    /// Returns what a record means to us: what its agent does, and what it raised an alarm about.
    fn hear(&self, record: &Record) -> impl Iterator<Item = EntryKind> + use<> {
        let alarms = bus_event::alarms_of(record).map(BusEvent::AlarmRaised);
        let alarms = alarms.map(|event| EntryKind::Happened(Box::new(event)));
        self.hear_agent(record).into_iter().chain(alarms)
    }

    fn hear_agent(&self, record: &Record) -> Option<EntryKind> {
        // What we wrote ourselves comes back: now it is certain that it is there.
        if record.host == OURS && record.event == EventKind::Other(RESOLVED.to_owned()) {
            let text = record.payload.as_ref()?.as_text();
            let Ok(BusEvent::DecisionResolved(resolution)) = serde_json::from_str(text) else {
                return None;
            };
            // Its words may have been redacted.
            let is_ours = |known: &Resolution| known.ending == resolution.ending;
            let is_ours = self.state.outbox.journal_lines.get(&resolution.id).is_some_and(is_ours);
            return is_ours.then_some(EntryKind::Journaled(resolution.id));
        }
        bus_event::from_record(record).map(|event| EntryKind::Happened(Box::new(event)))
    }
}
