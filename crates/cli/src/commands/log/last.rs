//! The last records of the journal that match a filter.

use std::collections::VecDeque;
use std::io;

use anyhook_engine::journal::Journal;
use anyhook_engine::now;
use anyhook_model::{Record, RecordId};

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
    ///
    /// Segments are read backwards from the newest, only as many as are needed.
    pub fn read(
        journal: &Journal,
        filter: &RecordFilter,
        most: usize,
        mut before: Option<&RecordId>,
        is_wanted: &dyn Fn() -> bool,
    ) -> io::Result<Self> {
        let (now, mut damaged) = (now(), 0);
        let first = match filter.since {
            Some(since) => journal.reader_since(since.moment(now))?.position().cloned(),
            None => None,
        };
        let mut found: VecDeque<Record> = VecDeque::new();
        for segment in journal.segments()?.into_iter().rev() {
            let is_too_old = first.as_ref().is_some_and(|first| segment < first.segment);
            if is_too_old || found.len() >= most || !is_wanted() {
                break;
            }
            let mut of_segment = VecDeque::new();
            let mut is_reached = false;
            damaged += journal.read_segment(&segment, &mut |record| {
                is_reached |= before == Some(&record.id);
                if !is_reached && filter.takes(&record, now, journal) {
                    of_segment.push_back(record);
                    if of_segment.len() > most {
                        of_segment.pop_front();
                    }
                }
            })?;
            before = before.filter(|_| !is_reached);
            if before.is_some() {
                // The whole segment is later.
                continue;
            }
            while found.len() < most {
                let Some(record) = of_segment.pop_back() else { break };
                found.push_front(record);
            }
        }
        Ok(Self { records: found.into(), damaged, is_past: before.is_none() })
    }
}
