//! Where the events of the past come from.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};

use anyhook_engine::journal::Journal;
use anyhook_hosts::claude_code::{ClaudeCode, read_transcript};
use anyhook_model::json::{merge, to_spaced};
use anyhook_model::{Caller, Event, Host, Record};
use jiff::Timestamp;
use serde_json::Value;

use crate::error::Trouble;
use crate::past;

/// The events of the past.
pub struct Past {
    /// Each with its record, oldest first.
    pub items: Vec<Item>,
    /// How many could not be had again.
    pub gone: usize,
    /// What could not be read, and why.
    pub problems: Vec<String>,
}

/// One event of the past.
pub struct Item {
    /// What to call it.
    pub id: String,
    /// The event, as it came.
    pub event: Event,
    /// What was made of it; none if nobody wrote that down.
    pub record: Option<Record>,
}

/// Takes the newest events from the journal.
pub fn of_journal(
    journal: &Journal,
    since: Timestamp,
    host: Option<&str>,
    limit: usize,
) -> Result<Past, Trouble> {
    let at_fault = |error| Trouble::at(journal.folder(), error);
    let limit = if limit == 0 { usize::MAX } else { limit };
    // The records of one payload are written at once, so they stand one after another.
    let mut payloads: VecDeque<Vec<Record>> = VecDeque::new();
    let mut events = 0;
    let mut reader = journal.reader_since(since).map_err(at_fault)?;
    reader
        .read_on(&mut |record| {
            let is_wanted = record.at >= since
                && record.of.is_none()
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
                events -= payloads.pop_front().map_or(0, |oldest| oldest.len());
            }
        })
        .map_err(at_fault)?;
    let mut past = Past { items: Vec::with_capacity(events), gone: 0, problems: Vec::new() };
    for records in payloads {
        let count = records.len();
        match items_of(journal, records) {
            Some(items) => past.items.extend(items),
            None => past.gone += count,
        }
    }
    Ok(past)
}

/// Returns the events of one payload with their records; none if the payload cannot be had again.
fn items_of(journal: &Journal, records: Vec<Record>) -> Option<Vec<Item>> {
    let mut restored = Vec::with_capacity(records.len());
    for record in records {
        restored.push(journal.restored(record).ok()?);
    }
    let events = past::events(restored.first()?).ok()?;
    let items = events.into_iter().zip(restored).map(|(mut event, record)| {
        // An event that was called otherwise is one that only the engine could tell.
        event.kind = record.event.clone();
        Item { id: record.id.to_string(), event, record: Some(record) }
    });
    Some(items.collect())
}

impl Item {
    /// Returns the event as it was when the first of these hooks had its turn.
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

/// Takes the newest events from a transcript of Claude Code, and from those of its subagents.
pub fn of_transcript(path: &Path, limit: usize) -> Result<Past, Trouble> {
    const WHERE: &str = "transcripts are in ~/.claude/projects, one .jsonl a session";
    let mut past = Past { items: Vec::new(), gone: 0, problems: Vec::new() };
    add_transcript(path, "", &mut past).map_err(|error| {
        Trouble::input(format!("`{}` cannot be read: {error}", path.display())).hint(WHERE)
    })?;
    if past.items.is_empty() && past.gone == 0 {
        let why = past.problems.first().map_or("it has no events", String::as_str);
        return Err(Trouble::input(format!("`{}`: {why}", path.display())).hint(WHERE));
    }
    let subagents = path.with_extension("").join("subagents");
    for entry in std::fs::read_dir(subagents).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if let Some(agent) = name.strip_suffix(".jsonl")
            && let Err(error) = add_transcript(&path, &format!("{agent} "), &mut past)
        {
            past.problems.push(format!("`{}` cannot be read: {error}", path.display()));
        }
    }
    past.items.sort_by_key(|item| item.event.at);
    if limit > 0 && past.items.len() > limit {
        past.items.drain(..past.items.len() - limit);
    }
    Ok(past)
}

fn add_transcript(path: &Path, whose: &str, past: &mut Past) -> io::Result<()> {
    let transcript = read_transcript(&std::fs::read(path)?);
    past.problems.extend(transcript.problems);
    let mut last = Timestamp::UNIX_EPOCH;
    for one in transcript.payloads {
        // A line without a time was written after the one before it.
        last = one.at.unwrap_or(last);
        let caller = Caller { work_dir: PathBuf::from("/"), project_dir: None, now: last };
        let mut payload = one.payload;
        payload.insert("transcript_path".to_owned(), path.to_string_lossy().into());
        match ClaudeCode.decode(to_spaced(&payload).as_bytes(), &caller) {
            Ok(events) => past.items.extend(events.into_iter().map(|event| Item {
                id: format!("{whose}line {}", one.line),
                event,
                record: None,
            })),
            Err(_) => past.gone += 1,
        }
    }
    Ok(())
}
