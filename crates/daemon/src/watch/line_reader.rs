//! Reads a file of lines from a position on: whole lines only, and each byte at most twice. Or a
//! document that is written anew whenever it changes: its items from a position on.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use anyhook_hosts::log::{LogFormat, LogObservation, LogState, MAX_LINE};
use serde_json::Value;

use super::event_outlet::{ReceiverGone, digest_of};
use super::locations::WatchedHost;
use super::position::{FileHead, FileId, LogPosition};

/// How many bytes are read at once.
const CHUNK: usize = 64 * 1024;

/// How many bytes are read at most for a file's first line.
const FIRST_LINE: usize = 1024 * 1024;

/// A longer document is not read.
const LONGEST_DOCUMENT: u64 = 64 * 1024 * 1024;

/// Takes what a line says, or the calls in the state that it reports as executed.
pub(super) type TakeLine<'a> =
    dyn FnMut(&mut LineReader, Option<LogObservation>) -> Result<(), ReceiverGone> + 'a;

/// The position in a file that is being read.
#[derive(Debug)]
pub(super) struct LineReader {
    pub id: FileId,
    pub head: FileHead,
    format: LogFormat,
    /// The offset of the next line; the number of the next item of a document.
    pub offset: u64,
    /// How far its end was searched for.
    scanned: u64,
    /// Whether the next line is only the end of a line.
    is_cut: bool,
    pub state: LogState,
}

/// Why reading stopped.
#[derive(Debug)]
pub(super) enum ReadHalt {
    Failed,
    Over,
}

impl From<io::Error> for ReadHalt {
    fn from(_: io::Error) -> Self {
        Self::Failed
    }
}

impl From<ReceiverGone> for ReadHalt {
    fn from(_: ReceiverGone) -> Self {
        Self::Over
    }
}

impl LineReader {
    /// Begins with the first line.
    pub fn from_start(host: WatchedHost, format: LogFormat, path: &str, id: FileId) -> Self {
        let (state, head) = (host.0.begin_log(path), FileHead::default());
        Self { id, head, format, offset: 0, scanned: 0, is_cut: false, state }
    }

    /// Begins with the last lines; the first one still identifies the log's session.
    pub fn from_end(host: WatchedHost, path: &str, id: FileId, file: &File, offset: u64) -> Self {
        let mut reading = Self::from_start(host, LogFormat::Lines, path, id);
        let mut start = vec![0; FIRST_LINE];
        let got = read_up_to(file, &mut start, 0);
        if let Some(end) = start[..got].iter().position(|byte| *byte == b'\n')
            && let Ok(line) = str::from_utf8(&start[..end])
        {
            host.0.read_log_line(&mut reading.state, line);
            reading.state.in_turn = None;
            reading.state.waits.clear();
            reading.state.begun.clear();
        }
        (reading.offset, reading.scanned, reading.is_cut) = (offset, offset, true);
        reading
    }

    /// Resumes at a stored position.
    pub fn from_position(position: &LogPosition, format: LogFormat) -> Self {
        Self {
            id: position.file,
            head: position.head,
            format,
            offset: position.offset,
            scanned: position.offset,
            is_cut: false,
            state: position.state.clone(),
        }
    }

    /// Returns whether it is still the file that was read, with everything that was read.
    pub fn is_same(&mut self, id: FileId, file: &File, length: u64) -> bool {
        if let LogFormat::Document(_) = self.format {
            self.id = id;
            return true;
        }
        if id != self.id || length < self.scanned {
            return false;
        }
        let mut start = [0; FileHead::LENGTH];
        let got = read_up_to(file, &mut start, 0);
        let known = usize::try_from(self.head.length).unwrap_or(usize::MAX);
        let is_same =
            start[..got].get(..known).is_some_and(|start| FileHead::of(start) == self.head)
                || known == 0;
        if is_same && known < got {
            self.head = FileHead::of(&start[..got]);
        }
        is_same
    }

    /// Continues reading, about `budget` bytes at most; returns whether there is more.
    pub fn read_on(
        &mut self,
        host: WatchedHost,
        file: &File,
        length: u64,
        mut budget: usize,
        take: &mut TakeLine<'_>,
    ) -> Result<bool, ReadHalt> {
        if let LogFormat::Document(list) = self.format {
            self.read_document(host, file, length, list, take)?;
            return Ok(false);
        }
        let mut chunk = vec![0; CHUNK];
        while self.scanned < length {
            if budget == 0 {
                return Ok(true);
            }
            let from = self.scanned;
            let left = usize::try_from(length - from).unwrap_or(usize::MAX);
            let want = CHUNK.min(left).min(budget);
            let got = file.read_at(&mut chunk[..want], from)?;
            if got == 0 {
                return Ok(false);
            }
            budget -= got;
            let mut start = 0;
            while let Some(found) = chunk[start..got].iter().position(|byte| *byte == b'\n') {
                let end = start + found;
                let says = if self.offset < from {
                    let (says, cost) = self.read_long(host, file, from + end as u64)?;
                    budget = budget.saturating_sub(cost);
                    says
                } else {
                    self.read_line(host, &chunk[start..end])
                };
                start = end + 1;
                self.offset = from + start as u64;
                // If it stops, the rest of the chunk is read once more.
                self.scanned = self.offset;
                if says.is_some() || self.state.has_executed() {
                    take(self, says)?;
                }
            }
            self.scanned = from + got as u64;
        }
        Ok(false)
    }

    /// Reads the items that were added to a document.
    ///
    /// One that is being written is no document yet: it is read when it changes once more. If items
    /// were removed, all are read again: what they say about calls is known to whoever is told.
    fn read_document(
        &mut self,
        host: WatchedHost,
        file: &File,
        length: u64,
        list: &str,
        take: &mut TakeLine<'_>,
    ) -> Result<(), ReadHalt> {
        if length > LONGEST_DOCUMENT {
            return Ok(());
        }
        let mut text = vec![0; usize::try_from(length).unwrap_or_default()];
        let got = read_up_to(file, &mut text, 0);
        let Ok(mut document) = serde_json::from_slice::<Value>(&text[..got]) else { return Ok(()) };
        let items = document.get_mut(list).map(Value::take);
        let Some(Value::Array(items)) = items else { return Ok(()) };
        if self.offset > items.len() as u64 {
            self.offset = 0;
        }
        let from = usize::try_from(self.offset).unwrap_or(usize::MAX);
        for item in items.into_iter().skip(from) {
            let says = self.read_line(host, item.to_string().as_bytes());
            self.offset += 1;
            if says.is_some() || self.state.has_executed() {
                take(self, says)?;
            }
        }
        Ok(())
    }

    /// Reads a line that began before what was read last; returns its cost in bytes.
    fn read_long(
        &mut self,
        host: WatchedHost,
        file: &File,
        end: u64,
    ) -> Result<(Option<LogObservation>, usize), ReadHalt> {
        let length = usize::try_from(end - self.offset).unwrap_or(usize::MAX);
        if length > MAX_LINE {
            self.state.unread += u64::from(!self.is_cut);
            self.is_cut = false;
            return Ok((None, 0));
        }
        let mut line = vec![0; length];
        file.read_exact_at(&mut line, self.offset)?;
        Ok((self.read_line(host, &line), length))
    }

    fn read_line(&mut self, host: WatchedHost, line: &[u8]) -> Option<LogObservation> {
        if std::mem::take(&mut self.is_cut) {
            return None;
        }
        match str::from_utf8(line) {
            Ok(line) => {
                let says = host.0.read_log_line(&mut self.state, line);
                self.state.digest_calls(|payload| digest_of(host, payload));
                says
            }
            Err(_) => {
                self.state.unread += 1;
                None
            }
        }
    }
}

fn read_up_to(file: &File, buffer: &mut [u8], offset: u64) -> usize {
    let mut got = 0;
    while got < buffer.len() {
        match file.read_at(&mut buffer[got..], offset + got as u64) {
            Ok(0) | Err(_) => break,
            Ok(more) => got += more,
        }
    }
    got
}
