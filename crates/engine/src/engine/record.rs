//! Builds the journal record of a dispatch: [`build`] is the only place where a record is made.

use std::io;
use std::path::Path;

use anyhook_model::record::JOURNAL_VERSION;
use anyhook_model::{Event, Lost, Payload, Record, RecordId, Reply, ReplyRecord, Resolution};

use super::open_close::{ClosedEvent, RecordContext};
use super::{Engine, now};
use crate::dispatch::{DueHook, FinishedDispatch, run_record};
use crate::journal::{AppendResult, Journal};
use crate::output::RunOutput;
use crate::run::detached;
use crate::settings::{DispatchSettings, JournalSettings};
use crate::summary::summary;

/// What a record says about the payload it belongs to, and about the answer.
#[derive(Debug, Default)]
pub(super) struct Exchange {
    /// The dispatch that started the hook whose outcome this is.
    pub(super) of: Option<RecordId>,
    /// The first record of the same payload.
    pub(super) with: Option<RecordId>,
    pub(super) payload: Option<Payload>,
    /// What a person answered while the agent waited.
    pub(super) answered: Option<Resolution>,
    pub(super) lost: Vec<Lost>,
    pub(super) reply: Option<ReplyRecord>,
}

/// Builds the record of an event, and returns the event.
///
/// Every field is named here, so that a new one has to say where it comes from.
pub(super) fn build(closed: ClosedEvent, exchange: Exchange) -> (Record, Event) {
    let ClosedEvent { facts, finished, process, alarms, denied_by, canary, took, settings: _ } =
        closed;
    let FinishedDispatch { verdict, event, runs, skipped, more_skipped, other_events } = finished;
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let record = Record {
        v: JOURNAL_VERSION,
        id: facts.id,
        of: exchange.of,
        with: exchange.with,
        at: facts.at,
        host: event.host.clone(),
        event: event.kind.clone(),
        native_name: event.native_name.clone(),
        session: event.session.clone(),
        agent: event.agent.clone(),
        agent_id: facts.agent_id,
        foreign_entry: event.foreign_entry.clone(),
        process,
        work_dir: text(&event.work_dir),
        project_dir: event.project_dir.as_deref().map(text),
        tool: event.tool.as_ref().map(|tool| tool.name.clone()),
        call: facts.call.call,
        call_digest: facts.call.digest,
        about: facts.about,
        payload: exchange.payload,
        counted: facts.counted,
        runs,
        skipped,
        more_skipped,
        other_events,
        verdict,
        answered: exchange.answered,
        lost: exchange.lost,
        reply: exchange.reply,
        denied_by,
        alarms,
        canary,
        // The journal cuts long texts and removes secrets when it writes the line.
        long: Vec::new(),
        redacted: Vec::new(),
        took_us: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
    };
    (record, event)
}

/// Returns what a record says about a reply.
pub(super) fn told(reply: &Reply) -> ReplyRecord {
    ReplyRecord {
        exit_code: reply.exit_code,
        stdout: reply.stdout.clone(),
        stderr: reply.stderr.clone(),
    }
}

/// Builds the records of a payload's events: the first has the exchange, the others refer to it.
fn build_all(closed: Vec<ClosedEvent>, exchange: Exchange) -> Vec<Record> {
    let first = closed.first().map(|first| first.facts.id.clone());
    let mut exchange = Some(exchange);
    closed
        .into_iter()
        .map(|one| {
            let further = || Exchange { with: first.clone(), ..Exchange::default() };
            build(one, exchange.take().unwrap_or_else(further)).0
        })
        .collect()
}

impl Engine {
    /// Begins the record of a hook that runs in the background; its outcome is still to come.
    pub fn background_record(due: &DueHook<'_>, of: &RecordId) -> Record {
        let event = Event {
            raw: serde_json::Map::new(),
            context: serde_json::Map::new(),
            ..due.event.clone()
        };
        let facts = RecordContext { about: summary(&event, &[]), ..RecordContext::begin() };
        let runs = vec![run_record(due.hook, RunOutput::default(), None)];
        let finished = FinishedDispatch { runs, ..FinishedDispatch::of(event) };
        let exchange = Exchange { of: Some(of.clone()), ..Exchange::default() };
        build(ClosedEvent::of(facts, finished), exchange).0
    }

    /// Journals a payload's events and the answer. The answer does not depend on it.
    pub(super) fn journal_payload(
        &self,
        closed: Vec<ClosedEvent>,
        exchange: Exchange,
        settings: JournalSettings,
        reply: &mut Reply,
    ) -> io::Result<()> {
        self.append(build_all(closed, exchange), settings).inspect_err(|error| {
            reply.stderr.push_str(&format!("anyhook: the journal cannot be written: {error}\n"));
        })
    }

    /// Writes records to the journal.
    pub fn journal(&self, records: Vec<Record>) -> io::Result<()> {
        self.journal_with(records, &DispatchSettings::default())
    }

    /// Writes records to the journal, using the settings of their dispatch.
    pub fn journal_with(
        &self,
        records: Vec<Record>,
        settings: &DispatchSettings,
    ) -> io::Result<()> {
        self.append(records, settings.journal(&self.places, None))
    }

    fn append(&self, records: Vec<Record>, settings: JournalSettings) -> io::Result<()> {
        let Some(state) = &self.places.state else {
            return Err(io::Error::new(
                io::ErrorKind::NotFound,
                "there is no home folder to store it in",
            ));
        };
        let journal = Journal::with(state, settings);
        if journal.append(records)? == AppendResult::AndClosedOne {
            // If it cannot be done now, the process that closes the next segment does it.
            let _ = match self.binary() {
                Some(binary) => detached::launch_retention(binary, &self.places),
                None => journal.keep(now()).map(drop),
            };
        }
        Ok(())
    }
}
