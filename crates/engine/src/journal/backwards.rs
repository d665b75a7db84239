//! Reads a segment from its end: who looks for the newest records needs few of them.

use std::io::{self, Read, Seek, SeekFrom};
use std::ops::ControlFlow;

use rustix::fs::OFlags;

use super::line::{JournalLine, LINE_LIMIT, LineFault};
use super::reader::ReadLine;
use super::{Journal, JournalPosition};
use crate::regular_file::open_regular;

/// How much is read at once, at least.
const BLOCK: usize = 256 * 1024;

impl Journal {
    /// Calls `take` with the lines of a segment that begin before a position, the last one first,
    /// until it breaks. Returns whether it did.
    ///
    /// A last line without its line break may still be completed, and is left out.
    pub fn read_back(
        &self,
        before: &JournalPosition,
        take: &mut dyn FnMut(ReadLine<'_>) -> ControlFlow<()>,
    ) -> io::Result<ControlFlow<()>> {
        let mut file = match open_regular(&self.path(&before.segment), OFlags::RDONLY) {
            Ok(file) => file,
            // Dropped in the meantime.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(ControlFlow::Continue(()));
            }
            Err(error) => return Err(error),
        };
        let is_first_form = before.segment.number().is_none();
        let limit = usize::try_from(LINE_LIMIT).unwrap_or(usize::MAX);
        // What is held begins at `start`. It ends with a line break, unless it is part of a line
        // that is left out.
        let mut start = before.offset.min(file.metadata()?.len());
        let mut held: Vec<u8> = Vec::new();
        let mut is_left_out = true;
        let mut number = 0;
        while start > 0 {
            // Twice as much each time: a long line is not copied again for every block.
            let size = (BLOCK.max(held.len()) as u64).min(start);
            start -= size;
            file.seek(SeekFrom::Start(start))?;
            let mut block = Vec::new();
            file.by_ref().take(size).read_to_end(&mut block)?;
            block.append(&mut held);
            held = block;
            if is_left_out {
                let whole = held.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
                held.truncate(whole);
                is_left_out = whole == 0;
            }
            while let Some((_, line)) = held.split_last() {
                let begin = match line.iter().rposition(|byte| *byte == b'\n') {
                    Some(at) => at + 1,
                    None if start == 0 => 0,
                    None => break,
                };
                let text = &line[begin..];
                if !text.is_empty() {
                    let line = if text.len() >= limit {
                        Err(LineFault::NoRecord)
                    } else if is_first_form {
                        Ok(JournalLine::of_first_form(text))
                    } else {
                        JournalLine::of_segment(text)
                    };
                    number += 1;
                    let offset = start + begin as u64;
                    if take(ReadLine { number, offset, line }).is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
                held.truncate(begin);
            }
            if held.len() > limit {
                held.clear();
                is_left_out = true;
                number += 1;
                let line = Err(LineFault::NoRecord);
                if take(ReadLine { number, offset: start, line }).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::journal::SegmentName;

    fn backwards(text: &[u8], before: u64) -> Vec<(u64, Option<String>)> {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::new(folder.path());
        fs::create_dir_all(journal.folder()).unwrap();
        // The first format has no checksums, so that any line is one.
        let segment = SegmentName::parse("2026-01-31.jsonl").unwrap();
        fs::write(journal.path(&segment), text).unwrap();
        let mut found = Vec::new();
        let from = JournalPosition { segment, offset: before };
        let _ = journal
            .read_back(&from, &mut |ReadLine { offset, line, .. }| {
                let text = line.ok().map(|line| String::from_utf8(line.text().to_vec()).unwrap());
                found.push((offset, text));
                ControlFlow::Continue(())
            })
            .unwrap();
        found
    }

    #[expect(clippy::unnecessary_wraps, reason = "compared with lines that may be missing")]
    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn lines_come_from_the_end_with_their_places() {
        let text = b"one\n\ntwo\nthree\nunfinished";
        let all = [(9, some("three")), (5, some("two")), (0, some("one"))];
        assert_eq!(backwards(text, u64::MAX), all);
        assert_eq!(backwards(text, 9), all[1..]);
        assert_eq!(backwards(text, 0), []);
        assert_eq!(backwards(b"unfinished", u64::MAX), []);
        assert_eq!(backwards(b"", u64::MAX), []);
    }

    #[test]
    fn lines_may_be_longer_than_a_block() {
        let long = "x".repeat(BLOCK * 5 + 3);
        let text = format!("a\n{long}\nb\n");
        let found = backwards(text.as_bytes(), u64::MAX);
        assert_eq!(
            found,
            [(2 + long.len() as u64 + 1, some("b")), (2, some(&long)), (0, some("a"))]
        );
    }

    #[test]
    fn a_line_that_is_too_long_is_one_fault() {
        let long = vec![b'x'; usize::try_from(LINE_LIMIT).unwrap() * 3];
        let text = [b"a\n".as_slice(), &long, b"\nb\n"].concat();
        let found = backwards(&text, u64::MAX);
        assert_eq!(found.first().unwrap().1, some("b"));
        assert_eq!(found.last().unwrap(), &(0, some("a")));
        let faults = found.iter().filter(|(_, line)| line.is_none()).count();
        assert!(faults >= 1, "{faults}");
    }

    #[test]
    fn it_ends_when_that_is_enough() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::new(folder.path());
        fs::create_dir_all(journal.folder()).unwrap();
        let segment = SegmentName::parse("2026-01-31.jsonl").unwrap();
        fs::write(journal.path(&segment), "a\nb\nc\n").unwrap();
        let mut seen = 0;
        let from = JournalPosition { segment, offset: u64::MAX };
        let ended = journal.read_back(&from, &mut |_| {
            seen += 1;
            ControlFlow::Break(())
        });
        assert_eq!((ended.unwrap(), seen), (ControlFlow::Break(()), 1));
    }
}
