//! Reads lines of bounded length from a stream.

use std::io::{BufRead, ErrorKind};

/// How many bytes are kept of a line that is too long, to identify its request.
const KEPT: usize = 4096;

/// A line without its line break.
#[derive(Debug, PartialEq, Eq)]
pub enum InputLine {
    Whole(Vec<u8>),
    /// The beginning of a line that is too long; the rest was skipped.
    TooLong(Vec<u8>),
}

/// Reads lines, skipping blank ones.
pub struct InputLines<R> {
    input: R,
    limit: usize,
}

impl<R: BufRead> InputLines<R> {
    /// Reads lines of at most `limit` bytes.
    pub fn new(input: R, limit: usize) -> Self {
        Self { input, limit }
    }

    /// Returns the next line; the last one need not have a line break.
    pub fn next(&mut self) -> Option<InputLine> {
        loop {
            let line = self.line()?;
            if !matches!(&line, InputLine::Whole(bytes) if bytes.iter().all(u8::is_ascii_whitespace))
            {
                return Some(line);
            }
        }
    }

    fn line(&mut self) -> Option<InputLine> {
        let mut line = Vec::new();
        let mut is_too_long = false;
        let mut has_begun = false;
        loop {
            let piece = match self.input.fill_buf() {
                Ok([]) => break,
                Ok(piece) => piece,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                // A read error counts as the end.
                Err(_) => break,
            };
            has_begun = true;
            let end = piece.iter().position(|byte| *byte == b'\n');
            let part = &piece[..end.unwrap_or(piece.len())];
            if line.len() + part.len() > self.limit {
                is_too_long = true;
                line.truncate(KEPT);
                line.shrink_to_fit();
            }
            if !is_too_long {
                line.extend_from_slice(part);
            } else if line.len() < KEPT {
                line.extend_from_slice(&part[..part.len().min(KEPT - line.len())]);
            }
            let taken = end.map_or(piece.len(), |end| end + 1);
            self.input.consume(taken);
            if end.is_some() {
                break;
            }
        }
        match (has_begun, is_too_long) {
            (false, _) => None,
            (true, false) => Some(InputLine::Whole(line)),
            (true, true) => Some(InputLine::TooLong(line)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    fn lines(text: &str, limit: usize, piece: usize) -> Vec<InputLine> {
        let input = BufReader::with_capacity(piece, text.as_bytes());
        let mut lines = InputLines::new(input, limit);
        std::iter::from_fn(|| lines.next()).collect()
    }

    #[test]
    fn lines_are_told_apart_however_they_come() {
        let whole = |text: &str| InputLine::Whole(text.into());
        for piece in 1..12 {
            let found = lines("one\n\n \r\ntoo long\ntwo\r\nend", 5, piece);
            assert_eq!(found[0], whole("one"));
            assert!(matches!(&found[1], InputLine::TooLong(text) if b"too long".starts_with(text)));
            assert_eq!(found[2..], [whole("two\r"), whole("end")], "{piece}");
        }
        assert_eq!(lines("", 5, 4), []);
        assert_eq!(lines("exact\n", 5, 4), [whole("exact")]);
    }
}
