//! The last records of the journal that match a filter.

use std::io;

use anyhook_engine::journal::Journal;
use anyhook_engine::now;
use anyhook_model::{Record, RecordId};
use anyhook_pages::search::{SearchStart, newest};

use super::filter::RecordFilter;

/// The last matching records.
pub struct LastRecords {
    /// The records, the oldest first.
    pub records: Vec<Record>,
    /// How many lines were not records, of those that were read.
    pub damaged: usize,
    /// Whether the record was found before which they are, if there is one.
    pub is_past: bool,
}

impl LastRecords {
    /// Reads the last `most` matching records, of those before the record `before` if it is given.
    /// Ends early, with fewer, once they are not wanted any more.
    pub fn read(
        journal: &Journal,
        filter: &RecordFilter,
        most: usize,
        before: Option<&RecordId>,
        is_wanted: &dyn Fn() -> bool,
    ) -> io::Result<Self> {
        let start = before.map_or(SearchStart::Newest, SearchStart::BeforeRecord);
        let mut found = newest(journal, &filter.search(now()), most, start, is_wanted)?;
        found.records.reverse();
        let damaged = found.damaged;
        Ok(Self { records: found.records, damaged, is_past: found.is_past_start })
    }
}
