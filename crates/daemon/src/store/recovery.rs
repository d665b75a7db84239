//! Recovers the store when it is opened: first everything is read without changes, then it is
//! cleaned up.

use std::fs::{self, OpenOptions};
use std::io::Read as _;
use std::path::Path;

use serde_json::Value;

use super::error::{Damage, StoreError, cannot};
use super::files::{self, Listing, segment_name, snapshot_name};
use super::schema::{MigratedKind, StoreSchema};
use super::{line, segment};
use crate::failpoints;

/// The content of a store.
#[derive(Debug, Default)]
pub(super) struct Survey {
    pub listing: Listing,
    /// The newest readable snapshot: the last sequence number it covers, and the state.
    pub snapshot: Option<(u64, Value)>,
    /// Newer snapshots that cannot be read, and why.
    pub bad_snapshots: Vec<(u64, String)>,
    /// The log's entries after the snapshot.
    pub entries: Vec<(u64, Value)>,
    /// The last sequence number.
    pub last: u64,
    /// The last segment, if there is one.
    pub open: Option<OpenSegment>,
    /// The oldest version that was read.
    pub oldest_version: Option<u32>,
}

/// The segment that may be appended to.
#[derive(Debug)]
pub(super) struct OpenSegment {
    pub first: u64,
    pub version: u32,
    /// Where its valid part ends.
    pub end: usize,
    /// Why the rest must be cut off.
    pub torn: Option<String>,
}

/// Damage that is not a torn end, and its remedy.
#[derive(Debug)]
pub(super) struct Broken {
    pub damage: Damage,
    pub remedy: Remedy,
}

/// What removes damage.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Remedy {
    /// Move segments away.
    MoveSegments(Vec<u64>),
    /// Move snapshots away.
    MoveSnapshots(Vec<u64>),
    /// Move the segments after this one away, and the rest of this one from a byte on.
    Cut {
        /// The segment.
        segment: u64,
        /// The byte.
        end: usize,
    },
    /// Begin a segment.
    Begin(u64),
}

/// Why a survey could not be completed.
#[derive(Debug)]
pub(super) enum ScanError {
    Broken(Broken),
    Other(StoreError),
}

impl From<StoreError> for ScanError {
    fn from(error: StoreError) -> Self {
        Self::Other(error)
    }
}

impl From<ScanError> for StoreError {
    fn from(refusal: ScanError) -> Self {
        match refusal {
            ScanError::Broken(broken) => broken.damage.into(),
            ScanError::Other(error) => error,
        }
    }
}

/// Reads everything; changes nothing.
pub(super) fn survey(folder: &Path, schema: &StoreSchema) -> Result<Survey, ScanError> {
    let mut survey = Survey { listing: files::list(folder)?, ..Survey::default() };
    refuse_newer(folder, &survey.listing, schema)?;
    survey.find_snapshot(folder, schema)?;
    survey.last = survey.covered();
    survey.read_log(folder, schema)?;
    Ok(survey)
}

/// Rejects files of a newer version, before anything else is checked.
fn refuse_newer(folder: &Path, listing: &Listing, schema: &StoreSchema) -> Result<(), StoreError> {
    for first in &listing.segments {
        let path = folder.join(segment_name(*first));
        let mut head = Vec::new();
        let file = fs::File::open(&path).map_err(cannot("read", &path))?;
        file.take(4096).read_to_end(&mut head).map_err(cannot("read", &path))?;
        refuse_if_newer(&path, &head, schema)?;
    }
    Ok(())
}

fn refuse_if_newer(path: &Path, text: &[u8], schema: &StoreSchema) -> Result<(), StoreError> {
    match line::version_of(text) {
        Some(version) if version > u64::from(schema.version) => {
            Err(StoreError::Newer { file: path.to_owned(), version, known: schema.version })
        }
        _ => Ok(()),
    }
}

fn broken(file: &Path, line: u64, byte: usize, why: String, remedy: Remedy) -> ScanError {
    let damage = Damage { file: file.to_owned(), line, byte: byte as u64, why };
    ScanError::Broken(Broken { damage, remedy })
}

impl Survey {
    /// Returns the last sequence number that the snapshot covers.
    pub fn covered(&self) -> u64 {
        self.snapshot.as_ref().map_or(0, |(through, _)| *through)
    }

    fn find_snapshot(&mut self, folder: &Path, schema: &StoreSchema) -> Result<(), StoreError> {
        for through in self.listing.snapshots.iter().rev().copied() {
            let path = folder.join(snapshot_name(through));
            let bytes = fs::read(&path).map_err(cannot("read", &path))?;
            refuse_if_newer(&path, &bytes, schema)?;
            let read = line::read_snapshot(&bytes)
                .and_then(|(header, state)| Ok((header, line::read_value(state)?)));
            match read {
                Ok((header, state)) if header.sequence == through => {
                    let state =
                        schema.migrate(&path, header.version, MigratedKind::Snapshot, state)?;
                    self.saw_version(header.version);
                    self.snapshot = Some((through, state));
                    return Ok(());
                }
                Ok((header, _)) => {
                    let why = format!("it claims to cover {}", header.sequence);
                    self.bad_snapshots.push((through, why));
                }
                Err(fault) => self.bad_snapshots.push((through, fault.to_string())),
            }
        }
        Ok(())
    }

    fn saw_version(&mut self, version: u32) {
        self.oldest_version = Some(self.oldest_version.map_or(version, |old| old.min(version)));
    }

    fn read_log(&mut self, folder: &Path, schema: &StoreSchema) -> Result<(), ScanError> {
        let segments = self.listing.segments.clone();
        let covered = self.covered();
        let Some(oldest) = segments.first().copied() else { return self.without_log(folder) };
        if oldest > covered + 1 {
            let file = folder.join(segment_name(oldest));
            let why = format!("entries {} to {} before it are missing", covered + 1, oldest - 1);
            return Err(broken(&file, 1, 0, why, Remedy::MoveSegments(segments)));
        }
        let mut end_of_log = oldest - 1;
        for (index, first) in segments.iter().copied().enumerate() {
            let path = folder.join(segment_name(first));
            if first != end_of_log + 1 {
                // What the snapshot covers is not needed; what comes after a gap cannot be used.
                let remedy = if first <= covered + 1 && first > end_of_log {
                    segments[..index].to_vec()
                } else {
                    segments[index..].to_vec()
                };
                let why = format!("it should start with entry {}", end_of_log + 1);
                return Err(broken(&path, 1, 0, why, Remedy::MoveSegments(remedy)));
            }
            let bytes = fs::read(&path).map_err(cannot("read", &path))?;
            let scan = segment::scan(&bytes, first, covered);
            let is_last = index + 1 == segments.len();
            if let Some(fault) = &scan.fault
                && !(is_last && fault.torn)
            {
                let remedy = if !is_last && segments[index + 1] <= covered + 1 {
                    Remedy::MoveSegments(segments[..=index].to_vec())
                } else {
                    Remedy::Cut { segment: first, end: scan.end }
                };
                return Err(broken(&path, fault.line, scan.end, fault.why.clone(), remedy));
            }
            if scan.version > 0 {
                self.saw_version(scan.version);
            }
            for (sequence, entry) in scan.entries {
                let entry = schema.migrate(&path, scan.version, MigratedKind::Entry, entry)?;
                self.entries.push((sequence, entry));
            }
            end_of_log = scan.last;
            let torn = scan.fault.map(|fault| fault.why);
            self.open = Some(OpenSegment { first, version: scan.version, end: scan.end, torn });
        }
        self.last = end_of_log;
        self.check_end(folder)
    }

    /// Checks that the log reaches the end of the snapshot, which is written only when everything
    /// it covers is on disk.
    fn check_end(&self, folder: &Path) -> Result<(), ScanError> {
        let Some(newest) = self.listing.snapshots.last().copied().filter(|it| *it > self.last)
        else {
            return Ok(());
        };
        let file = folder.join(segment_name(self.listing.segments.last().copied().unwrap_or(1)));
        let (line, end) = self
            .open
            .as_ref()
            .map_or((1, 0), |open| (self.last + 3 - open.first.min(self.last + 1), open.end));
        let why = format!("entries {} to {newest} are missing at its end", self.last + 1);
        let remedy = if self.covered() > self.last {
            Remedy::MoveSegments(self.listing.segments.clone())
        } else {
            let beyond = self.listing.snapshots.iter().copied().filter(|it| *it > self.last);
            Remedy::MoveSnapshots(beyond.collect())
        };
        Err(broken(&file, line, end, why, remedy))
    }

    /// Checks a store without segments: it is valid only if it was never written to.
    fn without_log(&self, folder: &Path) -> Result<(), ScanError> {
        let Some(newest) = self.listing.snapshots.last() else { return Ok(()) };
        let remedy = match &self.snapshot {
            Some((through, _)) => Remedy::Begin(through + 1),
            None => Remedy::MoveSnapshots(self.listing.snapshots.clone()),
        };
        let file = folder.join(snapshot_name(*newest));
        Err(broken(&file, 1, 0, "the log that belongs to it is missing".to_owned(), remedy))
    }

    /// Cleans up the folder: incomplete files are removed, damaged data is moved away. Returns what
    /// was done, in words.
    pub fn settle(&mut self, folder: &Path) -> Result<Vec<String>, StoreError> {
        failpoints::point("store.recover.surveyed");
        let mut notes = Vec::new();
        for path in &self.listing.unfinished {
            files::remove(path)?;
            failpoints::point("store.recover.leftover_removed");
        }
        for (through, why) in &self.bad_snapshots {
            let name = snapshot_name(*through);
            let aside = files::move_aside(&folder.join(&name))?;
            self.listing.snapshots.retain(|other| other != through);
            failpoints::point("store.recover.snapshot_moved");
            notes.push(format!(
                "`{name}` could not be used ({why}) and was renamed to `{aside}`; nothing is lost: \
                 the state was rebuilt from earlier data"
            ));
        }
        if let Some(open) = &mut self.open
            && let Some(why) = open.torn.take()
        {
            let name = segment_name(open.first);
            let path = folder.join(&name);
            if let Some((bytes, aside)) = cut(&path, open.end)? {
                notes.push(format!(
                    "`{name}` ended with {bytes} bytes that are not a complete entry ({why}); they \
                     were moved to `{aside}`, and the last entry is {}",
                    self.last
                ));
            }
            if open.end == 0 {
                self.listing.segments.pop();
                self.open = None;
            }
        }
        if !notes.is_empty() || !self.listing.unfinished.is_empty() {
            files::sync_folder(folder)?;
        }
        Ok(notes)
    }
}

/// Moves the bytes of a file from `end` on into another file; the whole file if `end` is its
/// beginning. Returns how many bytes, and their new name.
pub(super) fn cut(path: &Path, end: usize) -> Result<Option<(usize, String)>, StoreError> {
    let bytes = fs::read(path).map_err(cannot("read", path))?;
    if bytes.is_empty() {
        files::remove(path)?;
        return Ok(None);
    }
    if end == 0 {
        return Ok(Some((bytes.len(), files::move_aside(path)?)));
    }
    let tail = segment::without_fill(&bytes).get(end..).unwrap_or_default();
    let aside = files::keep_aside(path, tail)?;
    failpoints::point("store.recover.tail_copied");
    let file = OpenOptions::new().write(true).open(path).map_err(cannot("opened", path))?;
    file.set_len(end as u64).map_err(cannot("cut", path))?;
    file.sync_all().map_err(cannot("synced", path))?;
    failpoints::point("store.recover.tail_cut");
    Ok(Some((tail.len(), aside)))
}
