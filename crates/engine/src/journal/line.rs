//! Encodes one record as one journal line: secrets removed, long texts stored separately, a
//! checksum at the end.
//!
//! A line is a JSON object whose last member is `sum`, the CRC-32C of all bytes before it. A line
//! without it, or one that ends early, was torn by a crash; one whose sum differs was changed.
//!
//! A CRC is enough here: it detects damage by a crash or a disk, and costs the hook path nothing.
//! Deliberate changes are detected by the SHA-256 in a segment's seal.

use std::io;
use std::path::Path;

use anyhook_model::Record;
use crc::{CRC_32_ISCSI, Crc, Table};

use super::long_text;
use crate::redact::redact;

/// A longer line is not a record.
pub const LINE_LIMIT: u64 = 16 * 1024 * 1024;

/// A table for sixteen bytes at a time: as fast as the processor's CRC instructions, which would
/// first have to be detected.
static CRC: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISCSI);

/// The separator between a record and its checksum.
const SUM: &[u8] = b",\"sum\":\"";
/// The checksum in hexadecimal, and what ends the line.
const SUM_LENGTH: usize = 8;
const END: &[u8] = b"\"}";

/// Why a line is not a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineFault {
    /// It ends early: a writer was stopped in the middle.
    #[error("it ends early")]
    Torn,
    /// It is not what was written.
    #[error("its checksum differs")]
    Changed,
    /// It is complete, but this version cannot read it.
    #[error("it is not a record")]
    NoRecord,
}

/// A line that was read, without its line break.
#[derive(Clone, Copy, Debug)]
pub struct JournalLine<'text> {
    /// The bytes of the record: complete JSON except for the closing brace where there was a
    /// checksum.
    text: &'text [u8],
    whole: &'text [u8],
}

/// Writes a record as a line, and its long texts to files below `folder`; with `sync` these are on
/// disk when it returns.
pub fn write(mut record: Record, line: &mut Vec<u8>, folder: &Path, sync: bool) -> io::Result<()> {
    let mut kinds = long_text::put_aside(&mut record, folder, sync)?;
    // Last, and without a JSON tree.
    let payload = record.payload.take();
    let start = line.len();
    serde_json::to_writer(&mut *line, &record)?;
    line.pop();
    if let Some(payload) = payload {
        line.extend_from_slice(b",\"payload\":");
        payload.push_json(line)?;
    }
    let text = str::from_utf8(&line[start..]).map_err(io::Error::other)?;
    if let Some(redacted) = redact(text) {
        line.truncate(start);
        line.extend_from_slice(redacted.text.as_bytes());
        kinds.extend(redacted.kinds);
    }
    if !kinds.is_empty() {
        kinds.sort_unstable();
        kinds.dedup();
        line.extend_from_slice(b",\"redacted\":");
        serde_json::to_writer(&mut *line, &kinds)?;
    }
    end_with_sum(line, start);
    Ok(())
}

/// Ends the JSON object that begins at `start` and lacks its closing brace: adds its checksum and a
/// line break.
pub fn end_with_sum(line: &mut Vec<u8>, start: usize) {
    let sum = CRC.checksum(&line[start..]);
    line.extend_from_slice(SUM);
    line.extend_from_slice(format!("{sum:08x}").as_bytes());
    line.extend_from_slice(END);
    line.push(b'\n');
}

impl<'text> JournalLine<'text> {
    /// Checks a line of a numbered segment.
    pub fn of_segment(whole: &'text [u8]) -> Result<Self, LineFault> {
        let text = whole
            .strip_suffix(END)
            .and_then(|rest| rest.split_at_checked(rest.len().checked_sub(SUM_LENGTH)?))
            .and_then(|(rest, sum)| Some((rest.strip_suffix(SUM)?, sum)));
        let Some((text, sum)) = text else { return Err(LineFault::Torn) };
        if format!("{:08x}", CRC.checksum(text)).as_bytes() != sum {
            return Err(LineFault::Changed);
        }
        Ok(Self { text, whole })
    }

    /// Takes a line of the first format, which has no checksum.
    pub fn of_first_form(whole: &'text [u8]) -> Self {
        Self { text: whole, whole }
    }

    /// Returns the bytes before the checksum: a JSON object without its closing brace. For a line
    /// without a checksum, all of it.
    pub fn text(&self) -> &'text [u8] {
        self.text
    }

    /// Returns whether the line contains some bytes: faster than parsing it as a record.
    pub fn contains(&self, bytes: &str) -> bool {
        let bytes = bytes.as_bytes();
        bytes.is_empty() || self.text.windows(bytes.len()).any(|window| window == bytes)
    }

    /// Returns whether the line is of the first format.
    pub fn is_first_form(&self) -> bool {
        self.text.len() == self.whole.len()
    }

    /// Reads the record.
    pub fn record(&self) -> Result<Record, LineFault> {
        serde_json::from_slice(self.whole).map_err(|_| LineFault::NoRecord)
    }
}

#[cfg(test)]
mod tests {
    use anyhook_model::{EventKind, RecordId};

    use super::*;

    fn record() -> Record {
        let mut record = Record::new(
            RecordId::from_text("7k2m9x4q"),
            "2026-01-01T00:00:00Z".parse().unwrap(),
            "agent-hooks",
            EventKind::BeforeTool,
        );
        record.about = Some("echo \"ü\"\n".to_owned());
        record
    }

    fn line_of(record: Record) -> Vec<u8> {
        let scratch = tempfile::tempdir().unwrap();
        let mut line = Vec::new();
        write(record, &mut line, scratch.path(), false).unwrap();
        line
    }

    #[test]
    fn a_record_comes_back_and_every_other_byte_is_noticed() {
        let written = line_of(record());
        let line = written.strip_suffix(b"\n").unwrap();
        assert_eq!(JournalLine::of_segment(line).unwrap().record().unwrap(), record());
        for place in 0..line.len() {
            let mut other = line.to_vec();
            other[place] ^= 1;
            assert!(JournalLine::of_segment(&other).is_err(), "byte {place}");
            assert_eq!(JournalLine::of_segment(&line[..place]).err(), Some(LineFault::Torn));
        }
    }

    #[test]
    fn a_line_is_plain_json() {
        let value: serde_json::Value = serde_json::from_slice(&line_of(record())).unwrap();
        assert_eq!(value["sum"].as_str().map(str::len), Some(8));
    }

    #[test]
    fn a_secret_is_taken_out_and_the_record_says_so() {
        let mut secret = record();
        let token = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
        secret.about = Some(format!("git push https://{token}@example.com"));
        secret.verdict.reason = Some("https://user:hunter22@example.com/x".to_owned());
        let line = line_of(secret);
        let text = String::from_utf8(line.clone()).unwrap();
        assert!(!text.contains(&token) && !text.contains("hunter22"), "{text}");
        let read =
            JournalLine::of_segment(line.strip_suffix(b"\n").unwrap()).unwrap().record().unwrap();
        assert_eq!(read.redacted.len(), 2, "{:?}", read.redacted);
    }
}
