//! Sources of past events: the journal and agents' transcripts.

use std::collections::VecDeque;
use std::io;
use std::path::Path;

use anyhook_engine::journal::Journal;
use anyhook_hosts::transcript::TranscriptReader;
use anyhook_hosts::{AGENTS, HostSpec};
use anyhook_model::json::{merge, to_spaced};
use anyhook_model::{Caller, Event, Host, Record};
use jiff::Timestamp;
use serde_json::Value;

use crate::{ReplayError, journal_replay};

/// Past events.
#[derive(Debug)]
pub struct PastEvents {
    /// What hosts sent, oldest first.
    pub payloads: Vec<PastPayload>,
    /// How many could not be read.
    pub gone: usize,
    /// What could not be read, and why.
    pub problems: Vec<String>,
}

/// What a host sent in one call: one or more events.
#[derive(Debug)]
pub enum PastPayload {
    /// Its records, in order; the first has the payload.
    Journaled(Vec<Record>),
    /// Taken from a transcript.
    Transcribed(Vec<PastEvent>),
}

/// One past event.
#[derive(Clone, Debug)]
pub struct PastEvent {
    /// Its id, as shown to the user.
    pub id: String,
    /// The event as it was received.
    pub event: Event,
    /// Its journal record; `None` if there is none.
    pub record: Option<Record>,
}

/// Reads the newest events from the journal.
pub fn of_journal(
    journal: &Journal,
    since: Timestamp,
    host: Option<&str>,
    limit: usize,
) -> Result<PastEvents, ReplayError> {
    let at_fault = |cause| ReplayError::Journal { folder: journal.folder().to_owned(), cause };
    let limit = if limit == 0 { usize::MAX } else { limit };
    // The records of one payload are written at once, so they are consecutive.
    let mut payloads: VecDeque<Vec<Record>> = VecDeque::new();
    let (mut events, mut left_out) = (0, 0);
    let mut reader = journal.reader_since(since).map_err(at_fault)?;
    reader
        .read_on(&mut |record| {
            let is_wanted = record.at >= since
                && record.of.is_none()
                && !record.is_canary()
                && host.is_none_or(|host| record.host == host);
            if !is_wanted {
                return;
            }
            events += 1;
            match payloads.back_mut() {
                Some(last) if record.with.as_ref() == Some(&last[0].id) => last.push(record),
                _ => payloads.push_back(vec![record]),
            }
            if events > limit && payloads.len() > 1 {
                let oldest = payloads.pop_front().map_or(0, |oldest| oldest.len());
                events -= oldest;
                left_out += oldest;
            }
        })
        .map_err(at_fault)?;
    let payloads = payloads.into_iter().map(PastPayload::Journaled).collect();
    let more = (left_out > 0).then(|| {
        let all = events + left_out;
        format!("only the newest {events} of {all} events were tried; --limit 0 takes all")
    });
    Ok(PastEvents { payloads, gone: 0, problems: more.into_iter().collect() })
}

impl PastPayload {
    /// Returns the number of events.
    pub fn count(&self) -> usize {
        match self {
            Self::Journaled(records) => records.len(),
            Self::Transcribed(items) => items.len(),
        }
    }

    /// Returns its events with their records; `None` if it cannot be reconstructed.
    pub fn items(&self, journal: Option<&Journal>) -> Option<Vec<PastEvent>> {
        let records = match self {
            Self::Transcribed(items) => return Some(items.clone()),
            Self::Journaled(records) => records,
        };
        let restored: Option<Vec<Record>> =
            records.iter().map(|record| journal?.restored(record.clone()).ok()).collect();
        let restored = restored?;
        let first = restored.first()?;
        let (events, redacted) = (journal_replay::events(first).ok()?, first.redacted.clone());
        let items = events.into_iter().zip(restored).map(|(mut event, mut record)| {
            // An event with a different kind is one that only the engine could recognize.
            event.kind = record.event.clone();
            // What was redacted in the payload is missing in each of its events.
            record.redacted.extend(redacted.iter().cloned());
            PastEvent { id: record.id.to_string(), event, record: Some(record) }
        });
        Some(items.collect())
    }
}

impl PastEvent {
    /// Returns the event as it was when the first of these hooks ran.
    pub fn event_at_turn_of(&self, is_tried: impl Fn(&str) -> bool) -> Event {
        let mut event = self.event.clone();
        let (Some(record), Some(tool)) = (&self.record, &mut event.tool) else { return event };
        if !record.runs.iter().any(|run| is_tried(&run.hook)) {
            return event;
        }
        let before = record.runs.iter().take_while(|run| !is_tried(&run.hook));
        let counts = before.filter(|run| !run.shadow && run.failure.is_none());
        for change in counts.filter_map(|run| run.decision.modified_input.as_ref()) {
            if let Value::Object(input) = &mut tool.input {
                merge(input, change);
            }
        }
        event
    }
}

/// Returns the agent whose transcripts can be read, and how.
fn transcriber() -> Option<(&'static HostSpec, TranscriptReader)> {
    AGENTS.into_iter().find_map(|agent| Some((agent, agent.transcript?)))
}

/// Reads the newest events from an agent's transcript, and from those of its subagents.
pub fn of_transcript(path: &Path, limit: usize) -> Result<PastEvents, ReplayError> {
    let (agent, reader) = transcriber().ok_or(ReplayError::NoTranscripts)?;
    let place = reader.place;
    let mut past = PastEvents { payloads: Vec::new(), gone: 0, problems: Vec::new() };
    add_transcript((agent, reader), path, "", &mut past).map_err(|cause| {
        ReplayError::UnreadableTranscript { path: path.to_owned(), cause, place }
    })?;
    if past.payloads.is_empty() && past.gone == 0 {
        let why = past.problems.into_iter().next();
        let why = why.unwrap_or_else(|| "it has no events".to_owned());
        return Err(ReplayError::EmptyTranscript { path: path.to_owned(), why, place });
    }
    let subagents = path.with_extension("").join("subagents");
    for entry in std::fs::read_dir(subagents).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if let Some(subagent) = name.strip_suffix(".jsonl")
            && let Err(error) =
                add_transcript((agent, reader), &path, &format!("{subagent} "), &mut past)
        {
            past.problems.push(format!("`{}` cannot be read: {error}", path.display()));
        }
    }
    past.payloads.sort_by_key(|payload| match payload {
        PastPayload::Transcribed(items) => items.first().map(|item| item.event.at),
        PastPayload::Journaled(records) => records.first().map(|record| record.at),
    });
    if limit > 0 && past.payloads.len() > limit {
        past.payloads.drain(..past.payloads.len() - limit);
    }
    Ok(past)
}

fn add_transcript(
    (agent, reader): (&HostSpec, TranscriptReader),
    path: &Path,
    whose: &str,
    past: &mut PastEvents,
) -> io::Result<()> {
    let transcript = (reader.read)(&std::fs::read(path)?);
    past.problems.extend(transcript.problems);
    let mut last = Timestamp::UNIX_EPOCH;
    for one in transcript.payloads {
        // A line without a time was written after the one before it.
        last = one.at.unwrap_or(last);
        let caller = Caller::new("/", last);
        let mut payload = one.payload;
        payload.insert("transcript_path".to_owned(), path.to_string_lossy().into());
        match agent.protocol.decode(to_spaced(&payload).as_bytes(), &caller) {
            Ok(events) => {
                let item = |event| PastEvent {
                    id: format!("{whose}line {}", one.line),
                    event,
                    record: None,
                };
                past.payloads
                    .push(PastPayload::Transcribed(events.into_iter().map(item).collect()));
            }
            Err(_) => past.gone += 1,
        }
    }
    Ok(())
}
