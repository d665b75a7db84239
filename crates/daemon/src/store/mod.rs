//! The durable store: an append-only log of JSON entries with snapshots.
//!
//! ```text
//! store/
//!   lock                             locked while a process has the store open; its id
//!   log-0000000000000001.jsonl       a segment, named by its first entry
//!   snapshot-0000000000000420.json   the state after entry 420
//!   damaged-TIME-NAME                what was cut off or moved away, never read again
//! ```
//!
//! Why not a database: `docs/design/durable-store.md`.
//!
//! - Entries have sequence numbers from 1, without gaps. What [`Store::append`] confirmed survives
//!   `kill -9` at any moment; with [`StoreOptions::sync`] also a power loss. Of an append that was
//!   not confirmed, a prefix may survive: whole entries, in order.
//! - Files appear complete or not at all: written under another name, synced, renamed.
//! - The two newest snapshots are kept, and the log since the older of them: if the newest cannot
//!   be read, the state is rebuilt from the other.
//! - A torn end is cut off when the store is opened, into a `damaged-` file. It is torn if nothing
//!   follows that was appended later; so of entries that were confirmed, only those of the very
//!   last append can be lost to a disk that changes bytes. Any other damage is an error, and
//!   [`Store::repair`] keeps what is valid.
//! - If appends wait for the disk, line breaks are written ahead, and entries over them: the
//!   current segment may end in empty lines.
//! - Every line ends with a checksum (`line.rs`); versions and their migrations are in [`schema`].

mod error;
mod files;
mod line;
mod migrations;
mod recovery;
mod repair;
pub mod schema;
mod segment;
mod writer;

#[cfg(test)]
mod tests;

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

pub use error::{Damage, StoreError};

use crate::failpoints;
use error::cannot;
use files::{segment_name, snapshot_name};
use schema::{MigratedKind, StoreSchema};
use writer::SegmentWriter;

/// The settings of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreOptions {
    /// Whether an append waits until it is on disk.
    pub sync: bool,
    /// The size of a segment in bytes after which the next is begun.
    pub segment_bytes: u64,
    /// After how many entries a snapshot is due; 0 for never.
    pub snapshot_every: u64,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self { sync: true, segment_bytes: 8 * 1024 * 1024, snapshot_every: 10_000 }
    }
}

/// The content of a store when it was opened.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecoveredStore {
    /// The state in the snapshot, if there is one.
    pub snapshot: Option<Value>,
    /// What was appended after it, each with its sequence number.
    pub entries: Vec<(u64, Value)>,
    /// What was cut off, skipped or migrated, in words.
    pub notes: Vec<String>,
}

/// Whether a read could go back far enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryReach {
    /// Everything was read.
    Complete,
    /// Nothing was read: the log now begins later, with this entry.
    BeginsAt(u64),
}

/// A store, locked by this process.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    options: StoreOptions,
    schema: StoreSchema,
    segment: SegmentWriter,
    /// The last confirmed sequence number.
    last: u64,
    /// The last sequence number that a snapshot covers.
    covered: u64,
    /// The sequence number at which a snapshot is due.
    snapshot_due: u64,
    /// A buffer for lines to write, kept for its capacity.
    lines: Vec<u8>,
    poisoned: Option<String>,
    _lock: File,
}

/// Removes the line breaks written ahead from a store that is closed cleanly.
impl Drop for Store {
    fn drop(&mut self) {
        if self.poisoned.is_none() && self.segment.reserved > self.segment.end {
            let _ = self.segment.cut();
        }
    }
}

impl Store {
    /// Opens the store in a folder, which is created if missing, and locks it for this process.
    pub fn open(
        folder: &Path,
        options: StoreOptions,
    ) -> Result<(Self, RecoveredStore), StoreError> {
        Self::open_as(folder, options, schema::CURRENT)
    }

    /// Keeps what is valid of a damaged store and moves the rest away; returns what was done, in
    /// words. Nothing is deleted, and an intact store is not changed.
    ///
    /// What is kept is a state that once existed: the newest readable snapshot and what follows it
    /// without a gap. Entries after that are dropped, and their numbers are reused.
    pub fn repair(folder: &Path) -> Result<Vec<String>, StoreError> {
        repair::repair(folder)
    }

    fn open_as(
        folder: &Path,
        options: StoreOptions,
        schema: StoreSchema,
    ) -> Result<(Self, RecoveredStore), StoreError> {
        files::make_folder(folder)?;
        let lock = files::lock(folder)?;
        let mut survey = recovery::survey(folder, &schema)?;
        let mut notes = survey.settle(folder)?;
        if let Some(version) = survey.oldest_version.filter(|version| *version < schema.version) {
            notes.push(format!("migrated from version {version} to {}", schema.version));
        }
        let covered = survey.covered();
        // A segment begun by an older version is not continued, nor one that the snapshot covers.
        let usable = survey
            .open
            .as_ref()
            .filter(|open| open.version == schema.version && open.first > covered);
        let segment = match usable {
            Some(open) => {
                let path = folder.join(segment_name(open.first));
                let file = OpenOptions::new().read(true).write(true).open(&path);
                let file = file.map_err(cannot("opened", &path))?;
                let reserved = file.metadata().map_err(cannot("read", &path))?.len();
                SegmentWriter { file, path, first: open.first, end: open.end as u64, reserved }
            }
            None => SegmentWriter::begin(folder, &schema, survey.last + 1)?,
        };
        let store = Self {
            folder: folder.to_owned(),
            options,
            schema,
            segment,
            last: survey.last,
            covered,
            snapshot_due: covered.saturating_add(options.snapshot_every),
            lines: Vec::new(),
            poisoned: None,
            _lock: lock,
        };
        store.tidy()?;
        let snapshot = survey.snapshot.map(|(_, state)| state);
        Ok((store, RecoveredStore { snapshot, entries: survey.entries, notes }))
    }

    /// Returns the last sequence number; 0 if there is none.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Returns the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Appends entries with one write, and waits for the disk once. Returns the last one's sequence
    /// number.
    ///
    /// If it fails, none of them counts, and what was written of them is rolled back; if even that
    /// fails, nothing more is written until the store is reopened.
    pub fn append(&mut self, entries: &[impl Serialize]) -> Result<u64, StoreError> {
        self.refuse_if_poisoned()?;
        if entries.is_empty() {
            return Ok(self.last);
        }
        let mut lines = std::mem::take(&mut self.lines);
        lines.clear();
        let appended = self.encode(entries, &mut lines).and_then(|()| self.write(&mut lines));
        self.lines = lines;
        appended?;
        self.last += entries.len() as u64;
        Ok(self.last)
    }

    fn encode(&self, entries: &[impl Serialize], lines: &mut Vec<u8>) -> Result<(), StoreError> {
        let batch = self.last + 1;
        for (sequence, entry) in (batch..).zip(entries) {
            line::write_entry(sequence, batch, entry, lines).map_err(StoreError::NotJson)?;
        }
        Ok(())
    }

    fn write(&mut self, lines: &mut Vec<u8>) -> Result<(), StoreError> {
        let length = lines.len() as u64;
        let is_full = self.segment.end + length > self.options.segment_bytes;
        if self.last >= self.segment.first && (is_full || self.segment.first <= self.covered) {
            self.rotate()?;
        }
        failpoints::point("store.append.begun");
        let segment = &mut self.segment;
        let fill_to = if self.options.sync { self.options.segment_bytes } else { 0 };
        if let Err(error) = segment.write(lines, fill_to) {
            let error = cannot("written", &segment.path)(error);
            if let Err(second) = segment.cut() {
                self.poisoned = Some(format!("{error}, and it cannot be truncated: {second}"));
            }
            return Err(error);
        }
        failpoints::point("store.append.written");
        if self.options.sync
            && let Err(error) = segment.file.sync_data()
        {
            // The system may have dropped what it could not write, and reports that only once: what
            // is on the disk is known only after reading it again.
            let error = cannot("synced", &segment.path)(error);
            let _ = segment.cut();
            self.poisoned = Some(error.to_string());
            return Err(error);
        }
        failpoints::point("store.append.synced");
        segment.end += length;
        Ok(())
    }

    /// Returns whether a snapshot is due.
    pub fn wants_snapshot(&self) -> bool {
        self.options.snapshot_every > 0 && self.last >= self.snapshot_due
    }

    /// Stores the state after everything appended so far, and removes what is no longer needed to
    /// rebuild it.
    ///
    /// If it fails, the log still has everything, and the next snapshot is due as if it had not
    /// failed.
    pub fn snapshot(&mut self, state: &impl Serialize) -> Result<(), StoreError> {
        self.refuse_if_poisoned()?;
        failpoints::point("store.snapshot.begun");
        self.snapshot_due = self.last.saturating_add(self.options.snapshot_every);
        let text = line::snapshot(self.schema.version, self.last, state);
        let text = text.map_err(StoreError::NotJson)?;
        self.sync_segment()?;
        let path = self.folder.join(snapshot_name(self.last));
        let unfinished = files::begin(&path, &text)?;
        failpoints::point("store.snapshot.written");
        unfinished.file.sync_all().map_err(cannot("synced", &path))?;
        failpoints::point("store.snapshot.synced");
        unfinished.put(&path).map_err(cannot("renamed", &path))?;
        failpoints::point("store.snapshot.renamed");
        files::sync_folder(&self.folder)?;
        failpoints::point("store.snapshot.folder_synced");
        self.covered = self.last;
        if self.last >= self.segment.first {
            self.rotate()?;
        }
        failpoints::point("store.snapshot.rotated");
        self.tidy()
    }

    /// Reads what was appended after a sequence number, in order.
    pub fn read_after(
        &self,
        sequence: u64,
        take: &mut dyn FnMut(u64, Value),
    ) -> Result<HistoryReach, StoreError> {
        if sequence >= self.last {
            return Ok(HistoryReach::Complete);
        }
        let segments = files::list(&self.folder)?.segments;
        match segments.first() {
            Some(oldest) if *oldest <= sequence + 1 => {}
            oldest => return Ok(HistoryReach::BeginsAt(oldest.copied().unwrap_or(self.last + 1))),
        }
        let begin = segments.partition_point(|first| *first <= sequence + 1) - 1;
        for first in &segments[begin..] {
            let path = self.folder.join(segment_name(*first));
            let mut bytes = fs::read(&path).map_err(cannot("read", &path))?;
            if *first == self.segment.first {
                // After that there is nothing, or what could not be rolled back.
                bytes.truncate(usize::try_from(self.segment.end).unwrap_or(usize::MAX));
            }
            let scan = segment::scan(&bytes, *first, sequence);
            if let Some(fault) = scan.fault {
                let (line, byte) = (fault.line, scan.end as u64);
                return Err(Damage { file: path, line, byte, why: fault.why }.into());
            }
            for (sequence, entry) in scan.entries {
                take(
                    sequence,
                    self.schema.migrate(&path, scan.version, MigratedKind::Entry, entry)?,
                );
            }
        }
        Ok(HistoryReach::Complete)
    }

    fn refuse_if_poisoned(&self) -> Result<(), StoreError> {
        match &self.poisoned {
            None => Ok(()),
            Some(why) => {
                Err(StoreError::Poisoned { folder: self.folder.clone(), why: why.clone() })
            }
        }
    }

    /// Makes sure that all of the segment is on disk, if appends did not wait for it.
    fn sync_segment(&mut self) -> Result<(), StoreError> {
        if !self.options.sync
            && let Err(error) = self.segment.file.sync_data()
        {
            let error = cannot("synced", &self.segment.path)(error);
            self.poisoned = Some(error.to_string());
            return Err(error);
        }
        Ok(())
    }

    /// Begins a new segment.
    fn rotate(&mut self) -> Result<(), StoreError> {
        self.sync_segment()?;
        let first = self.last + 1;
        match SegmentWriter::begin(&self.folder, &self.schema, first) {
            Ok(segment) => {
                let mut closed = std::mem::replace(&mut self.segment, segment);
                // Cosmetic only.
                let _ = closed.cut();
            }
            Err(error) => {
                // Two segments for the same entries would be damage.
                if self.folder.join(segment_name(first)).exists() {
                    self.poisoned = Some(error.to_string());
                }
                return Err(error);
            }
        }
        Ok(())
    }

    /// Removes all snapshots but the two newest, and segments that the older of these covers.
    fn tidy(&self) -> Result<(), StoreError> {
        let listing = files::list(&self.folder)?;
        let Some(kept) = listing.snapshots.len().checked_sub(2) else { return Ok(()) };
        for through in &listing.snapshots[..kept] {
            files::remove(&self.folder.join(snapshot_name(*through)))?;
            failpoints::point("store.tidy.snapshot_removed");
        }
        let fallback = listing.snapshots[kept];
        // Oldest first: if interrupted, what is left has no gap.
        for pair in listing.segments.windows(2) {
            if pair[1] <= fallback + 1 {
                files::remove(&self.folder.join(segment_name(pair[0])))?;
                failpoints::point("store.tidy.segment_removed");
            }
        }
        Ok(())
    }
}
