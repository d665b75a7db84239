//! Journal segments: the journal's files, and how hundreds of processes append to one of them at
//! once.
//!
//! `current` is a link to the open segment. A writer takes a shared lock on a segment, checks that
//! it is still the open one, and appends; writers do not wait for each other. Opening the next
//! segment means changing the link. There may still be writers in the middle of an append to the
//! previous segment: a process that needs it complete (a reader moving to the next, or retention
//! sealing it) takes the exclusive lock for a moment (`settle`); all later writers see that the
//! link has changed.
//!
//! Segments are never renamed, so that a reader's position stays valid when one closes.
//!
//! A lock that is not acquired in time is skipped: a stopped process must not stop everyone's
//! hooks.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::{AppendResult, make_folder};
use crate::file_lock::lock_within;
use crate::regular_file::open_regular;
use crate::run::process::random_bits;
use crate::settings::JournalSettings;

/// The link to the open segment.
const CURRENT: &str = "current";
/// How long a lock is waited for.
const LOCK_PATIENCE: Duration = Duration::from_millis(50);
const LOCK_PAUSE: Duration = Duration::from_millis(1);
/// How often a writer retries to find the open segment, at most.
const OPEN_TRIES: u32 = 50;
const DAY: i64 = 24 * 3600;

/// A segment's file name. Names sort by age: days of the first format, then numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SegmentName(String);

/// A position in the journal: everything before it has been read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct JournalPosition {
    /// The segment.
    pub segment: SegmentName,
    /// The byte offset in it.
    pub offset: u64,
}

impl SegmentName {
    /// Parses a file name as a segment's.
    pub fn parse(name: &str) -> Option<Self> {
        let stem = name.strip_suffix(".jsonl")?;
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let is_number = stem.len() == 8 && digits(stem);
        let is_day = stem.len() == 10
            && stem.split('-').map(str::len).eq([4, 2, 2])
            && stem.split('-').all(digits);
        (is_number || is_day).then(|| Self(name.to_owned()))
    }

    /// Returns the name of the segment with a number.
    pub fn numbered(number: u64) -> Self {
        Self(format!("{number:08}.jsonl"))
    }

    /// Returns the file name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the number; `None` for a day of the first format.
    pub fn number(&self) -> Option<u64> {
        self.0.strip_suffix(".jsonl")?.parse().ok()
    }
}

impl Ord for SegmentName {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.number(), &self.0).cmp(&(other.number(), &other.0))
    }
}

impl PartialOrd for SegmentName {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for SegmentName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Returns the segments in a folder, oldest first.
pub fn list(folder: &Path) -> io::Result<Vec<SegmentName>> {
    let names = names(folder)?;
    if fs::symlink_metadata(folder.join(CURRENT)).is_ok_and(|current| current.is_file()) {
        // A copy made without links: a file in place of the link is given a segment's name.
        let stray = next_after(&names);
        if fs::rename(folder.join(CURRENT), folder.join(stray.as_str())).is_ok() {
            return self::names(folder);
        }
    }
    Ok(names)
}

/// Returns the name of the segment that follows all of these.
fn next_after(names: &[SegmentName]) -> SegmentName {
    SegmentName::numbered(names.iter().filter_map(SegmentName::number).max().unwrap_or(0) + 1)
}

fn names(folder: &Path) -> io::Result<Vec<SegmentName>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut names: Vec<SegmentName> = entries
        .flatten()
        .filter_map(|entry| SegmentName::parse(entry.file_name().to_str()?))
        .collect();
    names.sort();
    Ok(names)
}

/// Returns the open segment.
pub fn current(folder: &Path) -> Option<SegmentName> {
    SegmentName::parse(fs::read_link(folder.join(CURRENT)).ok()?.to_str()?)
}

/// Appends lines to the open segment, the first of them empty; first opens the next segment if that
/// is due.
pub fn append(
    folder: &Path,
    lines: &[u8],
    settings: &JournalSettings,
    sync: bool,
    now: Timestamp,
) -> io::Result<AppendResult> {
    let mut appended = AppendResult::ToTheOpenSegment;
    let mut may_close = true;
    let mut tries = 0;
    loop {
        let open = Open::the_current(folder)?;
        if !open.is_current(folder) && tries < OPEN_TRIES {
            // Another process opened the next one between our opening and our lock.
            tries += 1;
            continue;
        }
        if may_close && open.is_done(settings, now) {
            may_close = false;
            // A segment that cannot be closed, for lack of permissions or inodes, can still be
            // written.
            if open.close(folder, sync).is_ok_and(|closed| closed) {
                appended = AppendResult::AndClosedOne;
            }
            continue;
        }
        open.append(lines)?;
        if sync {
            open.file.sync_data()?;
        }
        return Ok(appended);
    }
}

/// Opens the open segment for writing, and creates a file next to it; leaves nothing behind.
pub(super) fn try_writing(folder: &Path) -> io::Result<()> {
    Open::the_current(folder)?;
    // On a full disk a file can be created, but not filled.
    tempfile::NamedTempFile::new_in(folder)?.write_all(&[b' '; 4096])
}

/// The open segment, locked for the lifetime of this value.
struct Open {
    file: File,
    metadata: fs::Metadata,
}

impl Open {
    fn the_current(folder: &Path) -> io::Result<Self> {
        let link = folder.join(CURRENT);
        // Not through the link: it may lead out of the folder by now.
        let opened = current(folder)
            .map(|name| open_regular(&folder.join(name.as_str()), OFlags::RDWR | OFlags::APPEND));
        let file = match opened {
            Some(Err(error)) if error.kind() != io::ErrorKind::NotFound => {
                return Err(at(&link, &error));
            }
            Some(Ok(file)) => file,
            Some(Err(_)) | None => make_current(folder, &link)?,
        };
        wait_for_lock(|| file.try_lock_shared());
        let metadata = file.metadata()?;
        Ok(Self { file, metadata })
    }

    fn is_current(&self, folder: &Path) -> bool {
        // A dangling link: our file was removed, and the next writer creates it again.
        fs::metadata(folder.join(CURRENT)).is_ok_and(|current| {
            (current.dev(), current.ino()) == (self.metadata.dev(), self.metadata.ino())
        })
    }

    fn is_done(&self, settings: &JournalSettings, now: Timestamp) -> bool {
        let length = self.metadata.len();
        let is_of_earlier_day =
            self.metadata.mtime().div_euclid(DAY) < now.as_second().div_euclid(DAY);
        length >= settings.segment_bytes() || length > 0 && is_of_earlier_day
    }

    /// Opens the next segment, unless another process is doing so. Returns whether it did.
    fn close(self, folder: &Path, sync: bool) -> io::Result<bool> {
        let only_one = File::open(folder)?;
        if matches!(only_one.try_lock(), Err(fs::TryLockError::WouldBlock))
            || !self.is_current(folder)
        {
            return Ok(false);
        }
        // First the link, then its target: a file that no link ever pointed to would stay empty.
        let next = next_after(&list(folder)?);
        let link = folder.join(format!(".current-{:016x}", random_bits()));
        std::os::unix::fs::symlink(next.as_str(), &link)?;
        fs::rename(&link, folder.join(CURRENT))?;
        create(&folder.join(next.as_str()))?;
        if sync {
            only_one.sync_all()?;
        }
        Ok(true)
    }

    fn append(&self, lines: &[u8]) -> io::Result<()> {
        loop {
            match (&self.file).write(lines) {
                Ok(written) if written == lines.len() => return Ok(()),
                // Never the rest by itself: another record may come between.
                Ok(written) => {
                    return Err(io::Error::new(
                        io::ErrorKind::StorageFull,
                        format!("only {written} of {} bytes were written", lines.len()),
                    ));
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Waits a while for a lock. Returns whether it was acquired; a file system without locks has none.
fn wait_for_lock(try_lock: impl Fn() -> Result<(), fs::TryLockError>) -> bool {
    let locked = lock_within(LOCK_PATIENCE, LOCK_PAUSE, try_lock);
    !matches!(locked, Err(fs::TryLockError::WouldBlock))
}

/// Waits until no process is in the middle of an append to a segment that is no longer the open
/// one.
///
/// Returns whether that is certain.
pub(super) fn settle(path: &Path) -> bool {
    // One that cannot be opened cannot be written to either.
    open_regular(path, OFlags::RDONLY).map_or(true, |file| wait_for_lock(|| file.try_lock()))
}

/// Creates the open segment, and any missing parents.
fn make_current(folder: &Path, link: &Path) -> io::Result<File> {
    make_folder(folder)?;
    // A folder of the first format may be open to all. That it cannot be closed changes no verdict.
    let _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    let name = match current(folder) {
        Some(name) => name,
        None => {
            let next = next_after(&list(folder)?);
            match std::os::unix::fs::symlink(next.as_str(), link) {
                Ok(()) => next,
                // Another process was faster.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    current(folder).ok_or_else(|| at(link, &not_a_link()))?
                }
                Err(error) => return Err(error),
            }
        }
    };
    create(&folder.join(name.as_str()))
}

fn not_a_link() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it is not a link to a segment")
}

/// Adds the file's path to an error.
fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("`{}`: {error}", path.display()))
}

/// Opens a segment for appending, and creates it if it does not exist.
fn create(path: &Path) -> io::Result<File> {
    open_regular(path, OFlags::RDWR | OFlags::APPEND | OFlags::CREATE)
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;

    use super::*;

    #[test]
    fn names_sort_by_age() {
        let names = ["00000010.jsonl", "2026-01-02.jsonl", "00000009.jsonl", "2025-12-31.jsonl"];
        let mut names: Vec<SegmentName> =
            names.iter().map(|name| SegmentName::parse(name).unwrap()).collect();
        names.sort();
        let names: Vec<&str> = names.iter().map(SegmentName::as_str).collect();
        assert_eq!(
            names,
            ["2025-12-31.jsonl", "2026-01-02.jsonl", "00000009.jsonl", "00000010.jsonl"]
        );
        for other in ["seals.jsonl", "current", "1.jsonl", "2026-1-2.jsonl", "00000001.json"] {
            assert_eq!(SegmentName::parse(other), None, "{other}");
        }
    }

    #[test]
    fn a_segment_is_closed_by_size_and_by_day() {
        let scratch = tempfile::tempdir().unwrap();
        let settings = JournalSettings { segment_kib: 1, ..JournalSettings::default() };
        let now = Timestamp::now();
        let append_at =
            |now: Timestamp| append(scratch.path(), &[b'x'; 700], &settings, false, now).unwrap();
        assert_eq!(append_at(now), AppendResult::ToTheOpenSegment);
        assert_eq!(append_at(now), AppendResult::ToTheOpenSegment);
        assert_eq!(append_at(now), AppendResult::AndClosedOne);
        assert_eq!(
            append_at(now + jiff::SignedDuration::from_hours(24)),
            AppendResult::AndClosedOne
        );
        let names = list(scratch.path()).unwrap();
        assert_eq!(names.len(), 3);
        assert_eq!(current(scratch.path()), names.last().cloned());
    }

    /// A writer that dies after another has opened the file destroys no other record.
    #[test]
    fn a_record_is_never_glued_to_a_torn_one() {
        let scratch = tempfile::tempdir().unwrap();
        let settings = JournalSettings::default();
        let line = |text: &str| {
            let mut line = format!("\n{{\"x\":\"{text}\"").into_bytes();
            super::super::line::end_with_sum(&mut line, 1);
            line
        };
        append(scratch.path(), &line("a"), &settings, false, Timestamp::now()).unwrap();
        let other = Open::the_current(scratch.path()).unwrap();
        let path = scratch.path().join(CURRENT);
        let mut dying = OpenOptions::new().append(true).open(&path).unwrap();
        dying.write_all(&line("torn")[..11]).unwrap();
        other.append(&line("b")).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let whole = text
            .lines()
            .filter(|line| super::super::JournalLine::of_segment(line.as_bytes()).is_ok())
            .count();
        assert_eq!(whole, 2, "{text}");
    }

    /// A copy of the journal without its link: nothing is lost, and nothing is overwritten.
    #[test]
    fn a_file_in_the_place_of_the_link_becomes_a_segment() {
        let scratch = tempfile::tempdir().unwrap();
        fs::write(scratch.path().join("00000007.jsonl"), "old\n").unwrap();
        fs::write(scratch.path().join(CURRENT), "stray\n").unwrap();
        let names = list(scratch.path()).unwrap();
        assert_eq!(names.last().unwrap().as_str(), "00000008.jsonl");
        assert_eq!(fs::read(scratch.path().join("00000008.jsonl")).unwrap(), b"stray\n");
        append(scratch.path(), b"{}\n", &JournalSettings::default(), false, Timestamp::now())
            .unwrap();
        assert_eq!(current(scratch.path()).unwrap().as_str(), "00000009.jsonl");
    }

    /// A process that was stopped while it held the lock must not stop the others.
    #[test]
    fn nobody_waits_for_a_lock_that_is_never_given_back() {
        let scratch = tempfile::tempdir().unwrap();
        let settings = JournalSettings::default();
        let write = || append(scratch.path(), b"\n{}\n", &settings, false, Timestamp::now());
        write().unwrap();
        let held = File::open(scratch.path().join(CURRENT)).unwrap();
        held.lock().unwrap();
        write().unwrap();
        assert_eq!(fs::read(scratch.path().join("00000001.jsonl")).unwrap(), b"\n{}\n\n{}\n");
    }
}
