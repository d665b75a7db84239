//! Parses a segment: the entries up to the first fault, and what kind of fault it is.

use anyhook_engine::journal::line::LineFault;
use serde_json::Value;

use super::line::{self, EntryLine};

/// The content of a segment.
#[derive(Debug)]
pub(super) struct Scan {
    /// The version in its header; 0 if that cannot be read.
    pub version: u32,
    /// The requested entries.
    pub entries: Vec<(u64, Value)>,
    /// The last sequence number of the valid part.
    pub last: u64,
    /// Where the valid part ends.
    pub end: usize,
    /// What is wrong after it.
    pub fault: Option<Fault>,
}

/// The first thing that is wrong in a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// The line, from 1.
    pub line: u64,
    pub why: String,
    /// Whether an interrupted write explains it: nothing that was appended later follows.
    pub torn: bool,
}

/// Parses the segment that begins with `first`; returns its entries after `after`.
pub(super) fn scan(bytes: &[u8], first: u64, after: u64) -> Scan {
    let mut scan = Scan { version: 0, entries: Vec::new(), last: first - 1, end: 0, fault: None };
    let bytes = without_fill(bytes);
    let mut line_number = 0;
    while scan.end < bytes.len() || line_number == 0 {
        let rest = &bytes[scan.end..];
        line_number += 1;
        let read = match rest.iter().position(|byte| *byte == b'\n') {
            None => Err(LineFault::Torn.to_string()),
            Some(length) => scan.take(&rest[..length], line_number == 1, first, after),
        };
        if let Err(why) = read {
            let torn = is_torn(rest, line_number == 1, scan.last + 1);
            scan.fault = Some(Fault { line: line_number, why, torn });
            break;
        }
    }
    scan
}

/// Returns a segment's bytes without the line breaks that were written ahead.
pub(super) fn without_fill(bytes: &[u8]) -> &[u8] {
    match bytes.iter().rposition(|byte| *byte != b'\n') {
        // One of them ends the last line.
        Some(last) => &bytes[..bytes.len().min(last + 2)],
        None => &[],
    }
}

impl Scan {
    fn take(&mut self, text: &[u8], is_header: bool, first: u64, after: u64) -> Result<(), String> {
        if is_header {
            let header = line::read_header(text).map_err(|fault| fault.to_string())?;
            if header.sequence != first {
                return Err(format!(
                    "its name says {first}, but its content says {}",
                    header.sequence
                ));
            }
            self.version = header.version;
        } else {
            let entry = line::read_entry(text).map_err(|fault| fault.to_string())?;
            let expected = self.last + 1;
            if entry.sequence != expected {
                return Err(format!(
                    "found entry {} where {expected} was expected",
                    entry.sequence
                ));
            }
            if entry.sequence > after {
                let value = line::read_value(entry.text).map_err(|fault| fault.to_string())?;
                self.entries.push((entry.sequence, value));
            }
            self.last = expected;
        }
        self.end += text.len() + 1;
        Ok(())
    }
}

/// Returns whether an interrupted write explains what is wrong in `rest`.
///
/// A disk may write the parts of one append in any order, so whole entries of that append may
/// follow a hole. An entry of a later append may not: the one with the hole was confirmed before it
/// began. A header was confirmed before the first entry.
fn is_torn(rest: &[u8], at_header: bool, expected: u64) -> bool {
    let is_of_the_same =
        |entry: EntryLine<'_>| !at_header && entry.batch <= expected && entry.sequence >= expected;
    rest.split(|byte| *byte == b'\n')
        .filter_map(|text| line::read_entry(text).ok())
        .all(is_of_the_same)
}
