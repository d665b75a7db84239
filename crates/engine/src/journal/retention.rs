//! Journal retention: seals closed segments, and drops what is too old or exceeds the size limit.
//!
//! The process that closes a segment starts it outside the hook path; two at once do no harm. A
//! seal names a segment's length and digest; `chain` is the digest of the seal before it and of its
//! own text, so that nothing can be changed, removed or inserted without all later seals showing
//! it.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::line::{JournalLine, end_with_sum};
use super::reader::read_segment;
use super::{Journal, JournalPosition, SegmentName, follower, long_text, make_folder, segment};
use crate::digest::{Hasher, sha256_hex};
use crate::regular_file::{open_regular, read_regular_up_to};

/// A follower that has not advanced for this long holds nothing back any more.
const FOLLOWER_PATIENCE: SignedDuration = SignedDuration::from_hours(30 * 24);

/// The file of the seals.
pub(super) const SEALS: &str = "seals.jsonl";

/// A record may be newer than its segment, and its hour older: this margin is kept in between.
const SLACK: SignedDuration = SignedDuration::from_hours(24);
/// The same for long texts: no dispatch takes longer.
const TEXT_SLACK: SignedDuration = SignedDuration::from_hours(2);

/// What is known about a closed segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seal {
    /// The segment.
    pub segment: SegmentName,
    /// Whether this records that the segment was dropped, by age or by size.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dropped: bool,
    /// When this was written.
    pub at: Timestamp,
    /// Its length.
    pub bytes: u64,
    /// How many records it contains.
    pub records: u64,
    /// The times of its first and its last record.
    pub first: Option<Timestamp>,
    /// See `first`.
    pub last: Option<Timestamp>,
    /// The SHA-256 of the file.
    pub sha256: String,
    /// The SHA-256 of the seal before it and of this one's text.
    #[serde(default)]
    pub chain: String,
}

/// What the seals say, in the order they were written.
#[derive(Clone, Debug, Default)]
pub struct Seals {
    /// Each line that could be read.
    pub lines: Vec<Seal>,
    /// The number of the first line, from 1, that does not follow from those before it.
    pub broken: Option<usize>,
}

/// What a retention run did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RetentionResult {
    /// Segments that were sealed.
    pub sealed: usize,
    /// Segments that were dropped.
    pub dropped: usize,
    /// Followers that hold segments which would otherwise be dropped.
    pub held_by: Vec<String>,
}

impl Seals {
    /// Reads the seals and checks their chain.
    pub fn read(folder: &Path) -> io::Result<Self> {
        let text = match read_regular_up_to(&folder.join(SEALS), u64::MAX) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(error),
        };
        let mut seals = Self::default();
        let mut chain = String::new();
        for (index, line) in text.split_inclusive(|byte| *byte == b'\n').enumerate() {
            let Some(line) = line.strip_suffix(b"\n").filter(|line| !line.is_empty()) else {
                // Torn at the end: the retention run was interrupted, and will be repeated.
                continue;
            };
            let seal = JournalLine::of_segment(line)
                .ok()
                .and_then(|_| serde_json::from_slice::<Seal>(line).ok());
            match seal {
                Some(seal) => {
                    if seal.chained(&chain).is_none_or(|expected| expected != seal.chain) {
                        seals.broken.get_or_insert(index + 1);
                    }
                    chain.clone_from(&seal.chain);
                    seals.lines.push(seal);
                }
                // A torn line: it was written again on the next line.
                None if matches!(
                    JournalLine::of_segment(line),
                    Err(super::line::LineFault::Torn)
                ) => {}
                None => {
                    seals.broken.get_or_insert(index + 1);
                }
            }
        }
        Ok(seals)
    }

    /// Returns what is known about each segment that was not dropped, and the names of the dropped.
    pub fn by_segment(&self) -> HashMap<&SegmentName, &Seal> {
        self.lines.iter().map(|seal| (&seal.segment, seal)).collect()
    }

    fn chain(&self) -> &str {
        self.lines.last().map_or("", |seal| &seal.chain)
    }
}

impl Seal {
    /// Returns the chain value of this seal following another.
    fn chained(&self, before: &str) -> Option<String> {
        let plain = Self { chain: String::new(), ..self.clone() };
        let text = serde_json::to_string(&plain).ok()?;
        Some(sha256_hex(format!("{before}\n{text}").as_bytes()))
    }
}

impl Journal {
    /// Seals every closed segment, then drops what is too old or exceeds the size limit.
    ///
    /// Returns `None` if another process is already doing it.
    pub fn keep(&self, now: Timestamp) -> io::Result<Option<RetentionResult>> {
        make_folder(&self.folder)?;
        let path = self.folder.join(SEALS);
        let file = open_regular(&path, OFlags::RDWR | OFlags::APPEND | OFlags::CREATE)?;
        match file.try_lock() {
            Err(fs::TryLockError::WouldBlock) => return Ok(None),
            Ok(()) | Err(fs::TryLockError::Error(_)) => {}
        }
        let mut seals = Seals::read(&self.folder)?;
        let mut kept = RetentionResult {
            sealed: self.seal_closed(&mut seals, &file, now)?,
            ..RetentionResult::default()
        };
        self.drop_old(&mut seals, &file, now, &mut kept)?;
        Ok(Some(kept))
    }

    fn seal_closed(&self, seals: &mut Seals, file: &File, now: Timestamp) -> io::Result<usize> {
        let open = segment::current(&self.folder);
        let mut sealed = 0;
        for segment in self.segments()? {
            let is_closed =
                segment.number().is_some() && open.as_ref().is_some_and(|open| segment < *open);
            if !is_closed || seals.by_segment().contains_key(&segment) {
                continue;
            }
            if !segment::settle(&self.path(&segment)) {
                // Another process still holds it: the next run will try again.
                break;
            }
            let seal = self.seal_of(segment, now)?;
            add(seals, seal, file)?;
            sealed += 1;
        }
        Ok(sealed)
    }

    fn seal_of(&self, segment: SegmentName, now: Timestamp) -> io::Result<Seal> {
        let path = self.path(&segment);
        // What is sealed must survive a power cut, too.
        open_regular(&path, OFlags::RDONLY)?.sync_all()?;
        let (sha256, bytes) = digest(&path)?;
        let (mut records, mut first, mut last) = (0, None, None);
        self.read_segment(&segment, &mut |record| {
            records += 1;
            first.get_or_insert(record.at);
            last = last.max(Some(record.at));
        })?;
        let chain = String::new();
        Ok(Seal { segment, dropped: false, at: now, bytes, records, first, last, sha256, chain })
    }

    /// Drops the oldest segments that are past their retention time, or exceed the size limit.
    fn drop_old(
        &self,
        seals: &mut Seals,
        file: &File,
        now: Timestamp,
        kept: &mut RetentionResult,
    ) -> io::Result<()> {
        // A follower that has not read for this long is considered gone.
        let gone = now.checked_sub(FOLLOWER_PATIENCE).unwrap_or(Timestamp::MIN);
        let mut followers = follower::list(&self.folder)?;
        followers.retain(|(_, bookmark)| bookmark.position.is_none() || bookmark.at > gone);
        let open = segment::current(&self.folder);
        // What cannot be dropped must not cost all of the history: half of the limit is reserved
        // for that.
        let fixed = self.fixed_size(open.as_ref())?;
        let most = self.settings.keep_bytes();
        let room = most.saturating_sub(fixed).max(most / 2);
        let mut total = size_below(&self.folder).saturating_sub(fixed);
        let age = SignedDuration::from_hours(24 * i64::from(self.settings.keep_days));
        let oldest = now.checked_sub(age).unwrap_or(Timestamp::MIN);
        for segment in self.segments()? {
            if Some(&segment) == open.as_ref() {
                break;
            }
            let seal = seals.by_segment().get(&segment).map(|seal| (*seal).clone());
            let last = match &seal {
                Some(seal) if seal.dropped => Some(Timestamp::UNIX_EPOCH),
                Some(seal) => seal.last.or(Some(seal.at)),
                None => day_of(&segment),
            };
            let is_old = last.is_some_and(|last| last < oldest);
            let is_unsealed = seal.is_none() && segment.number().is_some();
            if !is_old && total <= room || is_unsealed {
                break;
            }
            let holding = followers.iter().filter(|(_, bookmark)| {
                bookmark.position.as_ref().is_none_or(|position| position.segment <= segment)
            });
            kept.held_by = holding.map(|(name, _)| name.clone()).collect();
            if !kept.held_by.is_empty() {
                break;
            }
            let bytes = fs::metadata(self.path(&segment)).map_or(0, |metadata| metadata.len());
            if let Some(seal) = seal.filter(|seal| !seal.dropped) {
                // Recorded before it is done: a missing segment is never unexplained.
                add(seals, Seal { dropped: true, at: now, ..seal }, file)?;
            }
            fs::remove_file(self.path(&segment))?;
            kept.dropped += 1;
            total = total.saturating_sub(bytes + self.drop_long_texts(seals)?);
        }
        Ok(())
    }

    /// Returns the size of what cannot be dropped: the open segment, and long texts it may refer
    /// to.
    fn fixed_size(&self, open: Option<&SegmentName>) -> io::Result<u64> {
        let Some(open) = open else { return Ok(0) };
        let length = fs::metadata(self.path(open)).map_or(0, |open| open.len());
        let Some(first) = self.first_time(open)? else { return Ok(length) };
        let Ok(hours) = fs::read_dir(self.folder.join(long_text::FOLDER)) else {
            return Ok(length);
        };
        let limit = long_text::hour_folder(&self.folder, before(first, TEXT_SLACK));
        let kept = hours.flatten().map(|hour| hour.path()).filter(|hour| *hour >= limit);
        Ok(length + kept.map(|hour| size_below(&hour)).sum::<u64>())
    }

    /// Drops the long texts of hours that no segment covers any more. Returns their size.
    fn drop_long_texts(&self, seals: &Seals) -> io::Result<u64> {
        let by_segment = seals.by_segment();
        let Some(oldest) = self.segments()?.into_iter().find(|segment| segment.number().is_some())
        else {
            return Ok(0);
        };
        let first = match by_segment.get(&oldest).and_then(|seal| seal.first) {
            Some(first) => first,
            None => match self.first_time(&oldest)? {
                Some(first) => first,
                None => return Ok(0),
            },
        };
        let Ok(entries) = fs::read_dir(self.folder.join(long_text::FOLDER)) else { return Ok(0) };
        let limit = long_text::hour_folder(&self.folder, before(first, TEXT_SLACK));
        let mut freed = 0;
        for path in entries.flatten().map(|entry| entry.path()).filter(|path| *path < limit) {
            freed += size_below(&path);
            fs::remove_dir_all(&path)?;
        }
        Ok(freed)
    }

    /// Returns the time of a segment's first record.
    fn first_time(&self, segment: &SegmentName) -> io::Result<Option<Timestamp>> {
        let mut first = None;
        let from = JournalPosition { segment: segment.clone(), offset: 0 };
        read_segment(self, &from, &mut |found| {
            if first.is_none() {
                first = found.line.and_then(|line| line.record()).ok().map(|record| record.at);
            }
        })?;
        Ok(first)
    }
}

/// Returns the oldest segment that may hold records of that time or later.
pub(super) fn first_since(folder: &Path, since: Timestamp) -> io::Result<Option<SegmentName>> {
    let seals = Seals::read(folder)?;
    let by_segment = seals.by_segment();
    let is_before = |segment: &SegmentName| {
        let last = match by_segment.get(segment) {
            Some(seal) => seal.last,
            None => day_of(segment),
        };
        last.is_some_and(|last| last < before(since, SLACK))
    };
    let segments = segment::list(folder)?;
    let first = segments.iter().find(|segment| !is_before(segment));
    Ok(first.or(segments.last()).cloned())
}

/// Returns an earlier time.
fn before(time: Timestamp, long: SignedDuration) -> Timestamp {
    time.checked_sub(long).unwrap_or(Timestamp::MIN)
}

/// Returns the end of the day that a segment of the first format covers.
fn day_of(segment: &SegmentName) -> Option<Timestamp> {
    let day = segment.as_str().strip_suffix(".jsonl")?;
    format!("{day}T23:59:59Z").parse().ok()
}

/// Appends a seal to the chain.
fn add(seals: &mut Seals, mut seal: Seal, mut file: &File) -> io::Result<()> {
    seal.chain = seal.chained(seals.chain()).unwrap_or_default();
    // On a line of its own, whatever a crash left there.
    let mut line = if file.metadata()?.len() > 0 { vec![b'\n'] } else { Vec::new() };
    let start = line.len();
    serde_json::to_writer(&mut line, &seal)?;
    line.pop();
    end_with_sum(&mut line, start);
    file.write_all(&line)?;
    file.sync_data()?;
    seals.lines.push(seal);
    Ok(())
}

/// Returns a file's SHA-256 and its length.
pub(super) fn digest(path: &Path) -> io::Result<(String, u64)> {
    let mut file = open_regular(path, OFlags::RDONLY)?;
    let mut hasher = Hasher::default();
    let (mut buffer, mut length) = (vec![0; 64 * 1024], 0);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok((hasher.finish_hex(), length)),
            read => {
                hasher.update(&buffer[..read]);
                length += read as u64;
            }
        }
    }
}

/// Returns the total size in bytes of the files below a folder.
fn size_below(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => size_below(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}
