//! The line format of the store's files: JSON objects that end with their checksum, as in the
//! journal.
//!
//! ```text
//! {"anyhook":"store","v":2,"first":7,"sum":"…"}          a segment's first line
//! {"n":7,"entry":{…},"sum":"…"}                          an entry
//! {"n":8,"batch":7,"entry":{…},"sum":"…"}                one appended together with entry 7
//! {"anyhook":"snapshot","v":2,"through":8,"state":{…},"sum":"…"}   all of a snapshot
//! ```
//!
//! They are written and parsed by position, without building a tree: the checksum guarantees that
//! each byte is where we put it, and an entry may be nested as deep as JSON may be anywhere.

use std::io::Write as _;
use std::str;

use anyhook_engine::journal::line::{JournalLine, LineFault, end_with_sum};
use anyhook_model::json::{PARSER_DEPTH_LIMIT, depth};
use serde::Serialize;
use serde_json::Value;

/// The beginning of a segment and of a snapshot.
const STORE: &[u8] = b"{\"anyhook\":\"store\",\"v\":";
const SNAPSHOT: &[u8] = b"{\"anyhook\":\"snapshot\",\"v\":";

/// The parsed first line of a segment, or the beginning of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub version: u32,
    /// The first sequence number in a segment, or the last one that a snapshot covers.
    pub sequence: u64,
}

/// The parsed line of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EntryLine<'text> {
    pub sequence: u64,
    /// The first of the entries it was appended with. A disk may write the parts of one append in
    /// any order: a hole in the last append is a torn end, a hole before a later one is damage.
    pub batch: u64,
    /// The entry itself, as JSON.
    pub text: &'text [u8],
}

/// Appends a segment's first line.
pub(super) fn write_header(version: u32, first: u64, lines: &mut Vec<u8>) {
    let start = lines.len();
    // Writing to memory cannot fail.
    lines.extend_from_slice(STORE);
    let _ = write!(lines, "{version},\"first\":{first}");
    end_with_sum(lines, start);
}

/// Appends an entry's line.
pub(super) fn write_entry(
    sequence: u64,
    batch: u64,
    entry: &impl Serialize,
    lines: &mut Vec<u8>,
) -> Result<(), String> {
    let start = lines.len();
    if sequence == batch {
        let _ = write!(lines, "{{\"n\":{sequence},\"entry\":");
    } else {
        let _ = write!(lines, "{{\"n\":{sequence},\"batch\":{batch},\"entry\":");
    }
    write_value(entry, lines)?;
    end_with_sum(lines, start);
    Ok(())
}

/// Returns a snapshot's only line.
pub(super) fn snapshot(
    version: u32,
    through: u64,
    state: &impl Serialize,
) -> Result<Vec<u8>, String> {
    let mut line = Vec::with_capacity(64 * 1024);
    line.extend_from_slice(SNAPSHOT);
    let _ = write!(line, "{version},\"through\":{through},\"state\":");
    write_value(state, &mut line)?;
    end_with_sum(&mut line, 0);
    Ok(line)
}

fn write_value(value: &impl Serialize, line: &mut Vec<u8>) -> Result<(), String> {
    let start = line.len();
    serde_json::to_writer(&mut *line, value).map_err(|error| error.to_string())?;
    // If nested deeper, it could not be read again.
    if depth(&line[start..]) > PARSER_DEPTH_LIMIT {
        return Err(format!("it is nested deeper than {PARSER_DEPTH_LIMIT} levels"));
    }
    Ok(())
}

/// Returns the version at the beginning of a segment or a snapshot.
///
/// A newer version may end its lines in another way and must still be recognized as newer; in a
/// line of our format the checksum must match.
pub(super) fn version_of(file: &[u8]) -> Option<u64> {
    let line = file.split(|byte| *byte == b'\n').next()?;
    if JournalLine::of_segment(line).err() == Some(LineFault::Changed) {
        return None;
    }
    let kinds: [&[u8]; 2] = [STORE, SNAPSHOT];
    kinds.iter().find_map(|kind| Some(digits(line.strip_prefix(*kind)?)?.0))
}

/// Parses a segment's first line, without its line break.
pub(super) fn read_header(line: &[u8]) -> Result<Header, LineFault> {
    let text = JournalLine::of_segment(line)?.text();
    let (header, rest) = head(text, STORE, b",\"first\":").ok_or(LineFault::NoRecord)?;
    if rest.is_empty() { Ok(header) } else { Err(LineFault::NoRecord) }
}

/// Parses a snapshot: its header, and its state as JSON.
pub(super) fn read_snapshot(file: &[u8]) -> Result<(Header, &[u8]), LineFault> {
    let line = file.strip_suffix(b"\n").ok_or(LineFault::Torn)?;
    let text = JournalLine::of_segment(line)?.text();
    let (header, rest) = head(text, SNAPSHOT, b",\"through\":").ok_or(LineFault::NoRecord)?;
    let state = rest.strip_prefix(b",\"state\":").ok_or(LineFault::NoRecord)?;
    Ok((header, state))
}

/// Parses the beginning of a segment or a snapshot; also returns the rest.
fn head<'text>(text: &'text [u8], kind: &[u8], number: &[u8]) -> Option<(Header, &'text [u8])> {
    let (version, text) = digits(text.strip_prefix(kind)?)?;
    let (sequence, text) = digits(text.strip_prefix(number)?)?;
    Some((Header { version: version.try_into().ok()?, sequence }, text))
}

/// Parses an entry's line, without its line break.
pub(super) fn read_entry(line: &[u8]) -> Result<EntryLine<'_>, LineFault> {
    let text = JournalLine::of_segment(line)?.text();
    let take = || {
        let (sequence, text) = digits(text.strip_prefix(b"{\"n\":")?)?;
        let (batch, text) = match text.strip_prefix(b",\"batch\":") {
            Some(text) => digits(text)?,
            None => (sequence, text),
        };
        Some(EntryLine { sequence, batch, text: text.strip_prefix(b",\"entry\":")? })
    };
    take().ok_or(LineFault::NoRecord)
}

/// Parses an entry or a state.
pub(super) fn read_value(text: &[u8]) -> Result<Value, LineFault> {
    serde_json::from_slice(text).map_err(|_| LineFault::NoRecord)
}

/// Splits a leading number from the rest.
fn digits(text: &[u8]) -> Option<(u64, &[u8])> {
    let length = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, rest) = text.split_at(length);
    Some((str::from_utf8(number).ok()?.parse().ok()?, rest))
}
