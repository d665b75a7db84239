//! The journal: every dispatch as one line of JSON, append-only, in `journal/` of the state folder.
//!
//! ```text
//! journal/
//!   current -> 00000002.jsonl   the open segment
//!   00000001.jsonl              a closed segment: nothing is added any more
//!   seals.jsonl                 the digest of each closed segment, chained
//!   long/2026-01-31T09/DIGEST   texts too long for a line, by hour and content
//!   followers/NAME              how far a follower has read
//!   2025-12-31.jsonl            the first form: a file a day, read but no longer written
//! ```
//!
//! - [`line`](mod@line) words a record: no secrets, a checksum at its end; [`long_text`] keeps its long texts.
//! - [`segment`] appends to the open segment with a single write, which the system keeps whole among
//!   many writers, and opens the next one by size and by day.
//! - [`reader`] reads on from any position; what is no record is counted and passed over.
//! - [`retention`] seals closed segments and drops the oldest, never one that a [`follower`] still
//!   needs.
//! - [`verify`] tells whether all of it is whole; [`denied`] finds calls that ran although they were
//!   denied.
//!
//! A line torn by a crash or a full disk harms nobody: the next record starts on a line of its own.

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

/// What an append did beside appending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppendResult {
    /// Nothing.
    ToTheOpenSegment,
    /// It closed a segment: there is work for [`Journal::keep`].
    AndClosedOne,
}

impl Journal {
    /// Opens the journal under a state folder, as it is by default. Nothing is written yet.
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

    /// Appends records, all with one write: nobody's record comes between.
    pub fn append(&self, records: Vec<Record>) -> io::Result<AppendResult> {
        // On a line of its own, always: a writer beside us may be killed in the middle of its record
        // at any moment, also after we would have looked at how the file ends.
        let mut lines = Vec::with_capacity(USUAL);
        lines.push(b'\n');
        let mut sync = self.settings.sync == SyncMode::Always;
        for record in records {
            sync |= self.settings.sync == SyncMode::Decisions && is_decision(&record);
            line::write(record, &mut lines, &self.folder, sync)?;
        }
        segment::append(&self.folder, &lines, &self.settings, sync, Timestamp::now())
    }

    /// Begins to read, from the oldest record on.
    pub fn reader(&self) -> JournalReader {
        JournalReader::new(self.clone(), None)
    }

    /// Begins to read at a position.
    pub fn reader_at(&self, position: JournalPosition) -> JournalReader {
        JournalReader::new(self.clone(), Some(position))
    }

    /// Begins to read at the oldest segment that may hold records of that time or later.
    ///
    /// Records before it may come, too: whole segments are left out, nothing less.
    pub fn reader_since(&self, since: Timestamp) -> io::Result<JournalReader> {
        let first = retention::first_since(&self.folder, since)?;
        Ok(JournalReader::new(
            self.clone(),
            first.map(|segment| JournalPosition { segment, offset: 0 }),
        ))
    }

    /// Returns the segments, oldest first; files of the first form are the oldest.
    pub fn segments(&self) -> io::Result<Vec<SegmentName>> {
        segment::list(&self.folder)
    }

    /// Returns how many bytes all segments have together.
    pub fn size(&self) -> io::Result<u64> {
        let length = |segment| fs::metadata(self.path(&segment)).map_or(0, |found| found.len());
        Ok(self.segments()?.into_iter().map(length).sum())
    }

    /// Returns a record with its long texts in full.
    pub fn restored(&self, record: Record) -> Result<Record, long_text::LongTextError> {
        long_text::restore(record, &self.folder)
    }

    /// Tells whether a record could be written now; writes none.
    pub fn try_writing(&self) -> io::Result<()> {
        segment::try_writing(&self.folder)
    }

    /// Returns the followers that have something to read and have not gone on since then.
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

/// Tells whether a record is worth waiting for the disk: somebody decided something, or failed.
fn is_decision(record: &Record) -> bool {
    !record.verdict.is_silent() || !record.verdict.failed.is_empty() || record.denied_by.is_some()
}

/// Makes a folder that nobody else can look into.
fn make_folder(folder: &Path) -> io::Result<()> {
    if let Some(above) = folder.parent() {
        create_private_dir(above)?;
    }
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}
