//! Captures a stream: keeps its first and its last MiB.

use std::collections::VecDeque;

const PART: usize = 1024 * 1024;

/// The marker inserted where a stream was cut.
pub const CUT: &str = "bytes cut …";

/// The beginning and the end of a stream.
#[derive(Debug, Default)]
pub struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    dropped: u64,
}

impl Capture {
    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        let room = PART - self.head.len();
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(first);
        // Only the last part of a large piece can stay.
        let rest = match rest.len().checked_sub(PART) {
            Some(over) => {
                self.dropped += over as u64;
                &rest[over..]
            }
            None => rest,
        };
        let over = (self.tail.len() + rest.len()).saturating_sub(PART);
        self.tail.drain(..over);
        self.dropped += over as u64;
        self.tail.extend(rest);
    }

    /// Returns the kept text; bytes that are not UTF-8 are replaced.
    pub fn into_text(mut self) -> String {
        if self.dropped > 0 {
            // No line break after the marker: what follows may be the middle of a line, and an
            // answer starts at the beginning of one.
            self.head.extend_from_slice(format!("\n… {} {CUT} ", self.dropped).as_bytes());
        }
        let (one, other) = self.tail.as_slices();
        self.head.extend_from_slice(one);
        self.head.extend_from_slice(other);
        match String::from_utf8(self.head) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn short_streams_are_kept_whole() {
        let mut capture = Capture::default();
        capture.push(b"one ");
        capture.push(b"two \xff");
        assert_eq!(capture.into_text(), "one two \u{fffd}");
    }

    #[test]
    fn of_long_streams_both_ends_are_kept() {
        let mut capture = Capture::default();
        for piece in 0..6 {
            capture.push(&vec![b'a' + piece; PART / 2 + 1]);
        }
        capture.push(b"END");
        let text = capture.into_text();
        assert!(text.starts_with("aaa") && text.ends_with("END"));
        assert!(text.contains("bytes cut"));
        assert!(text.len() < 2 * PART + 100);
    }

    proptest! {
        #[test]
        fn what_is_kept_and_what_is_dropped_is_everything(pieces in proptest::collection::vec(0usize..PART, 0..8)) {
            let mut capture = Capture::default();
            for length in &pieces {
                capture.push(&vec![b'x'; *length]);
            }
            let total: usize = pieces.iter().sum();
            prop_assert_eq!(capture.head.len() + capture.tail.len() + usize::try_from(capture.dropped).unwrap(), total);
            prop_assert!(capture.tail.len() <= PART);
        }
    }
}
