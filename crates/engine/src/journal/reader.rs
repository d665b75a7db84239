//! Reads the journal: every record in the order it was written, from any position, repeatedly.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

use anyhook_model::Record;
use rustix::fs::OFlags;

use super::line::{JournalLine, LINE_LIMIT, LineFault};
use super::{Journal, JournalPosition, SegmentName, segment};
use crate::regular_file::open_regular;

/// Reads records in the order they were written; can be called again for newer ones.
#[derive(Debug)]
pub struct JournalReader {
    journal: Journal,
    /// Where to continue; `None` before the first segment was found.
    position: Option<JournalPosition>,
    damaged: usize,
}

/// One line that was found, or what is wrong with it.
#[derive(Debug)]
pub struct ReadLine<'text> {
    /// Its number among the lines read of the segment, from 1.
    pub number: u64,
    /// The byte it begins at.
    pub offset: u64,
    /// The line.
    pub line: Result<JournalLine<'text>, LineFault>,
}

impl JournalReader {
    pub(super) fn new(journal: Journal, position: Option<JournalPosition>) -> Self {
        Self { journal, position, damaged: 0 }
    }

    /// Returns where the next call continues.
    pub fn position(&self) -> Option<&JournalPosition> {
        self.position.as_ref()
    }

    /// Returns how many lines were not records.
    pub fn damaged(&self) -> usize {
        self.damaged
    }

    /// Calls `take` with every record written since the last call.
    pub fn read_on(&mut self, take: &mut dyn FnMut(Record)) -> io::Result<()> {
        self.read_lines(&mut |line| {
            let record = line.record()?;
            take(record);
            Ok(())
        })
    }

    /// Calls `take` with the next records, at most `limit` lines. Returns whether there may be
    /// more.
    pub fn read_some(&mut self, limit: usize, take: &mut dyn FnMut(Record)) -> io::Result<bool> {
        let mut left = limit;
        self.read_lines_up_to(&mut left, &mut |line| {
            let record = line.record()?;
            take(record);
            Ok(())
        })?;
        Ok(left == 0)
    }

    /// Calls `take` with every complete line written since the last call.
    ///
    /// For callers that need few of the records: a line can be checked before it is parsed as one.
    pub fn read_lines(
        &mut self,
        take: &mut dyn FnMut(JournalLine<'_>) -> Result<(), LineFault>,
    ) -> io::Result<()> {
        let mut all = usize::MAX;
        self.read_lines_up_to(&mut all, take)
    }

    fn read_lines_up_to(
        &mut self,
        left: &mut usize,
        take: &mut dyn FnMut(JournalLine<'_>) -> Result<(), LineFault>,
    ) -> io::Result<()> {
        loop {
            // Listed before reading: if there is a next one now, this one is about to be complete.
            let segments = self.journal.segments()?;
            let Some(last) = segments.last() else { return Ok(()) };
            let begin = JournalPosition { segment: segments[0].clone(), offset: 0 };
            // A position after the last segment is impossible: someone started a new journal.
            let known = self.position.clone().filter(|position| position.segment <= *last);
            let mut position = known.unwrap_or(begin);
            let next = segments.into_iter().find(|segment| *segment > position.segment);
            // A file may exist before the link leads to it; until then writers append here.
            let is_open = |next: &SegmentName| {
                let open = segment::current(self.journal.folder());
                position.segment.number().is_none() || open.is_none_or(|open| *next <= open)
            };
            let next = next.filter(is_open);
            if next.is_some() && position.segment.number().is_some() {
                // If it does not settle, its writer hangs: better to miss one record than to hang,
                // too.
                segment::settle(&self.journal.path(&position.segment));
            }
            let damaged = &mut self.damaged;
            position.offset = read_segment_up_to(&self.journal, &position, left, &mut |found| {
                if found.line.and_then(&mut *take).is_err() {
                    *damaged += 1;
                }
            })?;
            if *left == 0 {
                self.position = Some(position);
                return Ok(());
            }
            let is_last = next.is_none();
            self.position = Some(match next {
                Some(segment) => JournalPosition { segment, offset: 0 },
                None => position,
            });
            if is_last {
                return Ok(());
            }
        }
    }
}

/// Calls `take` with every line of a segment from a position on. Returns where the next begins.
///
/// A last line without its line break may still be completed, and is left for later.
pub fn read_segment(
    journal: &Journal,
    from: &JournalPosition,
    take: &mut dyn FnMut(ReadLine<'_>),
) -> io::Result<u64> {
    let mut all = usize::MAX;
    read_segment_up_to(journal, from, &mut all, take)
}

/// Like [`read_segment`], but stops when `left` lines were read, and decrements it.
fn read_segment_up_to(
    journal: &Journal,
    from: &JournalPosition,
    left: &mut usize,
    take: &mut dyn FnMut(ReadLine<'_>),
) -> io::Result<u64> {
    let mut file = match open_regular(&journal.path(&from.segment), OFlags::RDONLY) {
        Ok(file) => file,
        // Dropped in the meantime.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(from.offset),
        Err(error) => return Err(error),
    };
    // A file shorter than what was read of it is another file of the same name.
    let begin = if from.offset <= file.metadata()?.len() { from.offset } else { 0 };
    file.seek(SeekFrom::Start(begin))?;
    let is_first_form = from.segment.number().is_none();
    let mut reader = BufReader::with_capacity(64 * 1024, file);
    let (mut number, mut offset, mut line) = (0, begin, Vec::new());
    while *left > 0 {
        line.clear();
        let length = reader.by_ref().take(LINE_LIMIT).read_until(b'\n', &mut line)? as u64;
        if length == 0 || line.last() != Some(&b'\n') && length < LINE_LIMIT {
            return Ok(offset);
        }
        number += 1;
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        // A writer that runs concurrently with another begins on a line of its own, after an empty
        // one.
        if !text.is_empty() {
            let line = if is_first_form {
                Ok(JournalLine::of_first_form(text))
            } else {
                JournalLine::of_segment(text)
            };
            take(ReadLine { number, offset, line });
            *left -= 1;
        }
        offset += length;
    }
    Ok(offset)
}

impl Journal {
    /// Calls `take` with every record of one segment. Returns how many lines were not records.
    pub fn read_segment(
        &self,
        segment: &SegmentName,
        take: &mut dyn FnMut(Record),
    ) -> io::Result<usize> {
        let from = JournalPosition { segment: segment.clone(), offset: 0 };
        let mut damaged = 0;
        read_segment(self, &from, &mut |found| match found.line.and_then(|line| line.record()) {
            Ok(record) => take(record),
            Err(_) => damaged += 1,
        })?;
        Ok(damaged)
    }

    /// Starts reading after the last complete line.
    pub fn reader_at_end(&self) -> io::Result<JournalReader> {
        let Some(segment) = self.segments()?.pop() else { return Ok(self.reader()) };
        let from = JournalPosition { segment: segment.clone(), offset: 0 };
        let offset = read_segment(self, &from, &mut |_| ())?;
        Ok(self.reader_at(JournalPosition { segment, offset }))
    }
}
