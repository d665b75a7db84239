//! Tails a log that is a file of lines: which file it is now, what it has reported, and what is
//! held back.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhook_hosts::log::{Activity, ExecutedCall, LogFormat, LogObservation};
use jiff::{SignedDuration, Timestamp};
use rustix::fs::OFlags;

use super::event_outlet::{EventOutlet, ReceiverGone};
use super::line_reader::{LineReader, ReadHalt};
use super::locations::WatchedHost;
use super::position::{FileId, LogPosition};

/// How many bytes of a file are read before others get their turn.
pub(super) const TURN: usize = 1024 * 1024;

/// How many bytes of the end of an old file are read.
const END: u64 = 256 * 1024;

/// A call that ended this long before its file was created was copied into it.
const COPIED: SignedDuration = SignedDuration::from_secs(2);

/// How to read a file that is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TailStart {
    /// From its start: it is new.
    Start,
    /// From near its end, and only its last state is reported.
    End,
    /// Not until it changes, and then from near its end.
    Later,
}

/// A log.
#[derive(Debug)]
pub(super) struct Tail {
    host: WatchedHost,
    path: PathBuf,
    format: LogFormat,
    /// The file and its length when it was last checked.
    seen: (FileId, u64),
    beginning: TailStart,
    /// When logs were first watched.
    since: Timestamp,
    reading: Option<LineReader>,
    doing: Option<Activity>,
    /// Whether that was uncertain.
    was_unsure: bool,
    /// Whether what is being read was written before the log was watched.
    is_past: bool,
    held: Option<Held>,
}

/// A report that is held back.
#[derive(Debug)]
struct Held {
    says: LogObservation,
    position: LogPosition,
    due: Instant,
}

/// The result of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TailTurn {
    /// Everything was read.
    Done,
    /// There is more.
    More,
    /// The file is gone.
    Gone,
}

impl Tail {
    pub fn new(
        host: WatchedHost,
        (path, format): (PathBuf, LogFormat),
        status: &Metadata,
        beginning: TailStart,
        since: Timestamp,
    ) -> Self {
        let seen = (FileId::of(status), status.len());
        let (reading, doing, held) = (None, None, None);
        let (is_past, was_unsure) = (false, false);
        Self {
            host,
            path,
            format,
            seen,
            beginning,
            since,
            reading,
            doing,
            was_unsure,
            is_past,
            held,
        }
    }

    /// Resumes where the log was left before a restart.
    pub fn restore(&mut self, position: &LogPosition) {
        self.beginning = TailStart::Start;
        self.reading = Some(LineReader::from_position(position, self.format));
        self.doing.clone_from(&position.doing);
    }

    /// Returns whether the log should be read now.
    pub fn is_awake(&self) -> bool {
        self.beginning != TailStart::Later
    }

    /// Records the file's current metadata; returns whether it changed.
    pub fn look(&mut self, status: &Metadata) -> bool {
        let seen = (FileId::of(status), status.len());
        let has_changed = std::mem::replace(&mut self.seen, seen) != seen;
        if has_changed && self.beginning == TailStart::Later {
            self.beginning = TailStart::End;
        }
        has_changed
    }

    /// Reads what is new, and reports it.
    pub fn turn(
        &mut self,
        outlet: &EventOutlet,
        quiet: Duration,
    ) -> Result<TailTurn, ReceiverGone> {
        let opened = open(&self.path);
        let (file, status) = match opened {
            Ok(opened) => opened,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(TailTurn::Gone),
            // Not readable, at least for now.
            Err(_) => return Ok(TailTurn::Done),
        };
        self.look(&status);
        if !self.is_awake() {
            return Ok(TailTurn::Done);
        }
        let Some(mut reading) = self.reading_of(&file, &status) else { return Ok(TailTurn::Done) };
        // A document is a new file whenever it changes.
        let born = status.created().ok().filter(|_| self.format == LogFormat::Lines);
        let born = born.and_then(|born| Timestamp::try_from(born).ok());
        let result = reading.read_on(self.host, &file, status.len(), TURN, &mut |reading, says| {
            let calls = reading.state.take_executed();
            if !calls.is_empty() && !self.is_past {
                self.tell_calls(reading, calls, born, outlet)?;
            }
            match says {
                Some(says) => self.take(reading, says, outlet, quiet),
                None => Ok(()),
            }
        });
        self.reading = Some(reading);
        match result {
            Ok(true) => Ok(TailTurn::More),
            Ok(false) => {
                self.catch_up(outlet)?;
                Ok(TailTurn::Done)
            }
            Err(ReadHalt::Failed) => Ok(TailTurn::Done),
            Err(ReadHalt::Over) => Err(ReceiverGone),
        }
    }

    /// Returns the reader to continue with, or starts over if the file was replaced or truncated.
    fn reading_of(&mut self, file: &File, status: &Metadata) -> Option<LineReader> {
        let (id, length) = (FileId::of(status), status.len());
        if let Some(mut reading) = self.reading.take() {
            if reading.is_same(id, file, length) {
                return Some(reading);
            }
            (self.doing, self.held, self.is_past) = (None, None, false);
            self.was_unsure = false;
            self.beginning = TailStart::Start;
        }
        let path = self.path.to_str()?;
        let mut reading = match self.beginning {
            TailStart::Start => LineReader::from_start(self.host, self.format, path, id),
            TailStart::Later => return None,
            TailStart::End => {
                self.is_past = true;
                match length.checked_sub(END) {
                    Some(offset) if offset > 0 && self.format == LogFormat::Lines => {
                        LineReader::from_end(self.host, path, id, file, offset)
                    }
                    _ => LineReader::from_start(self.host, self.format, path, id),
                }
            }
        };
        self.beginning = TailStart::Start;
        // Also records the file's beginning.
        reading.is_same(id, file, length).then_some(reading)
    }

    fn take(
        &mut self,
        reading: &LineReader,
        says: LogObservation,
        outlet: &EventOutlet,
        quiet: Duration,
    ) -> Result<(), ReceiverGone> {
        self.held = None;
        let is_news = says.is_certain && self.was_unsure;
        if !self.is_past && self.doing.as_ref() == Some(&says.doing) && !is_news {
            return Ok(());
        }
        let now = Timestamp::now();
        let position = self.position(reading, Some(says.doing.clone()), now);
        if self.is_past || !says.is_certain {
            // If it was written long ago, there is no need to wait.
            let age = says.at.map_or(Duration::ZERO, |at| {
                Duration::try_from(now.duration_since(at)).unwrap_or_default()
            });
            let due = Instant::now() + quiet.saturating_sub(age);
            self.held = Some(Held { says, position, due });
            return Ok(());
        }
        self.doing = Some(says.doing.clone());
        self.was_unsure = false;
        outlet.tell(self.host, says, position)
    }

    fn position(
        &self,
        reading: &LineReader,
        doing: Option<Activity>,
        now: Timestamp,
    ) -> LogPosition {
        LogPosition {
            path: self.path.to_string_lossy().into_owned(),
            session: None,
            file: reading.id,
            head: reading.head,
            offset: reading.offset,
            row: None,
            state: reading.state.clone(),
            doing,
            read: now,
            since: self.since,
        }
    }

    /// Reports executed calls. Those that ended before the file was created were copied from another
    /// one; `born` is when that was.
    fn tell_calls(
        &self,
        reading: &LineReader,
        mut calls: Vec<ExecutedCall>,
        born: Option<Timestamp>,
        outlet: &EventOutlet,
    ) -> Result<(), ReceiverGone> {
        let is_copied = |at: Timestamp| born.is_some_and(|born| born.duration_since(at) > COPIED);
        calls.retain(|call| !call.at.is_some_and(is_copied));
        let position = self.position(reading, self.doing.clone(), Timestamp::now());
        outlet.tell_calls(self.host, calls, None, position)
    }

    /// Called when everything was read: of what was written before the log was watched, only the
    /// last state is reported.
    fn catch_up(&mut self, outlet: &EventOutlet) -> Result<(), ReceiverGone> {
        let was_past = std::mem::take(&mut self.is_past);
        match self.held.take() {
            Some(held) if was_past && held.says.is_certain => self.tell(held, outlet),
            held => {
                self.held = held;
                Ok(())
            }
        }
    }

    /// Returns when the report that is held back is due.
    pub fn due(&self) -> Option<Instant> {
        self.held.as_ref().map(|held| held.due)
    }

    /// Sends the report if it was held back long enough.
    pub fn tell_held(&mut self, now: Instant, outlet: &EventOutlet) -> Result<(), ReceiverGone> {
        match self.held.take() {
            Some(held) if held.due <= now => self.tell(held, outlet),
            held => {
                self.held = held;
                Ok(())
            }
        }
    }

    fn tell(&mut self, held: Held, outlet: &EventOutlet) -> Result<(), ReceiverGone> {
        self.doing = Some(held.says.doing.clone());
        self.was_unsure = !held.says.is_certain;
        outlet.tell(self.host, held.says, held.position)
    }
}

/// Opens a file without blocking, whatever kind of file it is.
fn open(path: &Path) -> io::Result<(File, Metadata)> {
    let mut options = fs::OpenOptions::new();
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = options.read(true).custom_flags(flags).open(path)?;
    let status = file.metadata()?;
    if !status.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    Ok((file, status))
}
