//! The journal: every dispatch as one line of JSON, append-only, in `journal/` of the state folder.
//!
//! ```text
//! journal/
//!   current -> 00000002.jsonl   the open segment
//!   00000001.jsonl              a closed segment: nothing is added any more
//!   seals.jsonl                 the digest of each closed segment, chained
//!   long/2026-01-31T09/DIGEST   texts too long for a line, by hour and content
//!   followers/NAME              how far a follower has read
//!   2025-12-31.jsonl            the first format: a file per day, read but no longer written
//! ```
//!
//! - [`line`](mod@line) encodes a record: no secrets, a checksum at its end; [`long_text`] stores
//!   its long texts.
//! - [`segment`] appends to the open segment with a single write, which the system keeps contiguous
//!   among many writers, and opens the next one by size and by day.
//! - [`reader`] reads from any position; lines that are not records are counted and skipped.
//!   [`Journal::read_back`] reads from the end.
//! - [`retention`] seals closed segments and drops the oldest, never one that a [`follower`] still
//!   needs.
//! - [`verify`] checks the integrity of all of it; [`denied`] finds calls that ran although they
//!   were denied.
//!
//! A line torn by a crash or a full disk does no harm: the next record starts on a line of its own.

mod backwards;
pub mod denied;
pub mod follower;
pub mod line;
pub mod long_text;
pub mod reader;
pub mod retention;
pub mod segment;
pub mod verify;

#[cfg(test)]
mod tests;

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use anyhook_model::{Record, StateDir};
use jiff::Timestamp;

pub use follower::Follower;
pub use line::JournalLine;
pub use reader::JournalReader;
pub use segment::{JournalPosition, SegmentName};

use crate::atomic_file::create_private_dir;
use crate::settings::{JournalSettings, SyncMode};

/// The journal in a state folder.
#[derive(Clone, Debug)]
pub struct Journal {
    folder: PathBuf,
    settings: JournalSettings,
}

/// Most records are shorter.
const USUAL: usize = 4 * 1024;

/// What an append did besides appending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppendResult {
    /// Nothing.
    ToTheOpenSegment,
    /// It closed a segment: there is work for [`Journal::keep`].
    AndClosedOne,
}

impl Journal {
    /// Opens the journal under a state folder, with default settings. Nothing is written yet.
    pub fn new(state: &Path) -> Self {
        Self::with(state, JournalSettings::default())
    }

    /// Opens the journal under a state folder. Nothing is written yet.
    pub fn with(state: &Path, settings: JournalSettings) -> Self {
        Self { folder: StateDir::new(state).journal(), settings }
    }

    /// Returns the folder the journal is in.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Appends records, all with one write, so that no other record comes between.
    pub fn append(&self, records: Vec<Record>) -> io::Result<AppendResult> {
        // Always on a line of its own: another writer may be killed in the middle of its record at
        // any moment, even after we would have checked how the file ends.
        let mut lines = Vec::with_capacity(USUAL);
        lines.push(b'\n');
        let mut sync = self.settings.sync == SyncMode::Always;
        for record in records {
            sync |= self.settings.sync == SyncMode::Decisions && is_decision(&record);
            line::write(record, &mut lines, &self.folder, sync)?;
        }
        segment::append(&self.folder, &lines, &self.settings, sync, Timestamp::now())
    }

    /// Starts reading at the oldest record.
    pub fn reader(&self) -> JournalReader {
        JournalReader::new(self.clone(), None)
    }

    /// Starts reading at a position.
    pub fn reader_at(&self, position: JournalPosition) -> JournalReader {
        JournalReader::new(self.clone(), Some(position))
    }

    /// Starts reading at the oldest segment that may hold records of that time or later.
    ///
    /// Earlier records may be returned, too: only whole segments are skipped.
    pub fn reader_since(&self, since: Timestamp) -> io::Result<JournalReader> {
        let first = retention::first_since(&self.folder, since)?;
        Ok(JournalReader::new(
            self.clone(),
            first.map(|segment| JournalPosition { segment, offset: 0 }),
        ))
    }

    /// Returns the segments, oldest first; files of the first format are the oldest.
    pub fn segments(&self) -> io::Result<Vec<SegmentName>> {
        segment::list(&self.folder)
    }

    /// Returns the total size of all segments in bytes.
    pub fn size(&self) -> io::Result<u64> {
        let length = |segment| fs::metadata(self.path(&segment)).map_or(0, |found| found.len());
        Ok(self.segments()?.into_iter().map(length).sum())
    }

    /// Returns a record with its long texts in full.
    pub fn restored(&self, record: Record) -> Result<Record, long_text::LongTextError> {
        long_text::restore(record, &self.folder)
    }

    /// Tests whether a record could be written now; writes none.
    pub fn try_writing(&self) -> io::Result<()> {
        segment::try_writing(&self.folder)
    }

    /// Returns the followers that have something to read and have not advanced since then.
    pub fn followers_behind(&self, since: Timestamp) -> io::Result<Vec<String>> {
        let open = segment::current(&self.folder);
        let is_behind = |bookmark: &follower::Bookmark| {
            let segment = bookmark.position.as_ref().map(|position| &position.segment);
            bookmark.at < since && segment < open.as_ref()
        };
        let followers = follower::list(&self.folder)?;
        Ok(followers.into_iter().filter(|(_, it)| is_behind(it)).map(|(name, _)| name).collect())
    }

    fn path(&self, segment: &SegmentName) -> PathBuf {
        self.folder.join(segment.as_str())
    }
}

/// Returns whether a record is worth waiting for the disk: a hook decided something, or failed.
fn is_decision(record: &Record) -> bool {
    !record.verdict.is_silent() || !record.verdict.failed.is_empty() || record.denied_by.is_some()
}

/// Creates a folder that only the owner can access.
fn make_folder(folder: &Path) -> io::Result<()> {
    if let Some(above) = folder.parent() {
        create_private_dir(above)?;
    }
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}
