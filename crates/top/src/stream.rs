//! The stream of the newest records, and the selected one.

use std::collections::VecDeque;

use anyhook_model::Record;

use crate::cursor::Cursor;
use crate::filter::ViewFilter;

/// At most this many records are kept.
const KEEP: usize = 2_000;
/// At most this many bytes of records are kept: a record with its payload may be long.
const KEEP_BYTES: usize = 64 * 1024 * 1024;

/// The newest records.
#[derive(Debug)]
pub struct RecordStream {
    kept: VecDeque<NumberedRecord>,
    bytes: usize,
    next: u64,
    /// The filter for shown records.
    pub filter: ViewFilter,
    /// While paused: the first record that is not shown.
    paused_at: Option<u64>,
    /// The selected one.
    pub cursor: Cursor<u64>,
}

/// A record and its sequence number.
#[derive(Debug)]
pub struct NumberedRecord {
    /// Its number.
    pub number: u64,
    /// The record.
    pub record: Record,
    bytes: usize,
}

impl Default for RecordStream {
    fn default() -> Self {
        Self {
            kept: VecDeque::new(),
            bytes: 0,
            next: 0,
            filter: ViewFilter::default(),
            paused_at: None,
            cursor: Cursor::at_last(),
        }
    }
}

impl RecordStream {
    /// Adds a record; the oldest is dropped to make room.
    pub fn feed(&mut self, record: Record) {
        let kept = NumberedRecord { number: self.next, bytes: weight(&record), record };
        self.next += 1;
        self.bytes += kept.bytes;
        self.kept.push_back(kept);
        while self.kept.len() > KEEP || (self.bytes > KEEP_BYTES && self.kept.len() > 1) {
            self.bytes -= self.kept.pop_front().map_or(0, |oldest| oldest.bytes);
        }
    }

    /// Returns whether there are no records yet.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Returns the shown records, oldest first. A record is journaled when its hooks have answered,
    /// so the journal has them in another order.
    pub fn shown(&self) -> Vec<&NumberedRecord> {
        let end = self.paused_at.unwrap_or(u64::MAX);
        let shown = |kept: &&NumberedRecord| kept.number < end && self.filter.takes(&kept.record);
        let mut shown: Vec<&NumberedRecord> = self.kept.iter().filter(shown).collect();
        shown.sort_by_key(|kept| kept.record.at);
        shown
    }

    /// Returns the numbers of the shown records.
    pub fn keys(&self) -> Vec<u64> {
        self.shown().iter().map(|kept| kept.number).collect()
    }

    /// Returns the selected record, and all related records that are kept: itself, the others of
    /// the same payload, and what was recorded for it later.
    pub fn selected(&self) -> Option<(Record, Vec<Record>)> {
        let shown = self.shown();
        let keys: Vec<u64> = shown.iter().map(|kept| kept.number).collect();
        let selected = &shown.get(self.cursor.row(&keys))?.record;
        let first = selected.with.as_ref().unwrap_or(&selected.id);
        let is_related = |record: &&Record| {
            record.id == *first
                || record.with.as_ref() == Some(first)
                || record.of.as_ref() == Some(&selected.id)
                || record.id == selected.id
        };
        let kept = self.kept.iter().map(|kept| &kept.record);
        Some((selected.clone(), kept.filter(is_related).cloned().collect()))
    }

    /// Pauses or resumes showing new records.
    pub fn pause(&mut self) {
        self.paused_at = if self.paused_at.is_some() { None } else { Some(self.next) };
    }

    /// Returns how many records came since the pause.
    pub fn held_back(&self) -> Option<u64> {
        self.paused_at.map(|end| self.next - end)
    }
}

/// Returns roughly how many bytes a record takes.
fn weight(record: &Record) -> usize {
    let runs: usize = record.runs.iter().map(|run| 512 + run.stdout.len() + run.stderr.len()).sum();
    let payload = record.payload.as_ref().map_or(0, |payload| payload.as_text().len());
    let reply = record.reply.as_ref().map_or(0, |reply| reply.stdout.len() + reply.stderr.len());
    let verdict = [&record.verdict.reason, &record.verdict.context];
    let verdict: usize = verdict.into_iter().flatten().map(String::len).sum();
    1024 + runs + payload + reply + verdict
}

#[cfg(test)]
mod tests {
    use anyhook_model::{Payload, RecordId};

    use super::*;
    use crate::cursor::CursorMove;
    use crate::examples::{later, record};

    fn stream_of(count: usize) -> RecordStream {
        let mut stream = RecordStream::default();
        for number in 0..count {
            let mut record = record("before_tool");
            record.id = RecordId::from_text(format!("{number:08}"));
            record.at = later(number);
            stream.feed(record);
        }
        stream
    }

    #[test]
    fn memory_is_bounded_by_number_and_by_bytes() {
        let mut stream = stream_of(KEEP + 10);
        assert_eq!(stream.keys().first(), Some(&10));
        assert_eq!(stream.keys().len(), KEEP);
        let payload = Payload::new(format!("\"{}\"", "x".repeat(KEEP_BYTES / 10)).as_bytes());
        for _ in 0..20 {
            let mut long = record("before_tool");
            long.payload = Some(payload.clone());
            stream.feed(long);
        }
        assert_eq!(stream.keys().len(), 9);
    }

    #[test]
    fn a_pause_holds_back_what_comes() {
        let mut stream = stream_of(3);
        stream.pause();
        stream.feed(record("before_tool"));
        assert_eq!((stream.keys().len(), stream.held_back()), (3, Some(1)));
        stream.pause();
        assert_eq!((stream.keys().len(), stream.held_back()), (4, None));
    }

    #[test]
    fn records_are_shown_in_the_order_of_their_times() {
        let mut stream = stream_of(3);
        let mut slow = record("before_tool");
        slow.at = later(1);
        stream.feed(slow);
        assert_eq!(stream.keys(), [0, 1, 3, 2]);
        assert_eq!(stream.cursor.row(&stream.keys()), 3, "the newest is selected");
    }

    #[test]
    fn what_was_selected_comes_with_what_was_recorded_later() {
        let mut stream = stream_of(3);
        let mut aside = record("before_tool");
        aside.of = Some(RecordId::from_text("00000001"));
        aside.at = later(3);
        stream.feed(aside);
        let keys = stream.keys();
        stream.cursor.go(CursorMove::Up, &keys);
        stream.cursor.go(CursorMove::Up, &keys);
        let (selected, family) = stream.selected().unwrap();
        assert_eq!(selected.id.as_str(), "00000001");
        assert_eq!(family.len(), 2);
        assert!(stream_of(0).selected().is_none());
    }
}
