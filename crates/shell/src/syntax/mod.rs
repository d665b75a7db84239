//! The line as it is written: commands, words in pieces, here-documents.
//!
//! One pass from left to right, without backtracking except where `((` turns out to be two
//! subshells. What cannot be read is reported, and reading goes on.

mod command;
mod quotes;
mod tree;
mod word;

use std::mem;

use crate::limits::{MAX_NESTING, MAX_RETRIES, shortened};
use crate::unknown::{Unknown, UnknownReason};
use crate::word::{GAP_END, GAP_START};

pub use quotes::{Escapes, escape};
pub use tree::*;

/// What was read from a text.
#[derive(Debug, Default)]
pub struct Script {
    pub list: List,
    /// Bodies of here-documents.
    pub bodies: Vec<WordSyntax>,
    pub unknown: Vec<Unknown>,
}

/// Reads a text that is `depth` levels deep in others.
pub fn parse(text: &str, depth: u32) -> Script {
    let mut parser = Parser::new(text, depth);
    let list = parser.script();
    Script { list, bodies: parser.bodies, unknown: parser.unknown }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
    bodies: Vec<WordSyntax>,
    /// Here-documents whose bodies begin at the next line break.
    pending: Vec<Pending>,
    unknown: Vec<Unknown>,
    /// Places of `((` that are not arithmetic.
    subshells: Vec<usize>,
    /// How many more may turn out not to be: each is read twice.
    retries: u32,
}

/// A here-document whose body comes later.
struct Pending {
    body: usize,
    end: String,
    quoted: bool,
    tabs: bool,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, depth: u32) -> Self {
        Self {
            text,
            at: 0,
            depth,
            bodies: Vec::new(),
            pending: Vec::new(),
            unknown: Vec::new(),
            subshells: Vec::new(),
            retries: MAX_RETRIES,
        }
    }

    /// Reads another text with the same bodies and reports.
    fn within<T>(&mut self, text: &str, read: impl FnOnce(&mut Parser<'_>) -> T) -> T {
        let mut inner = Parser::new(text, self.depth + 1);
        inner.bodies = mem::take(&mut self.bodies);
        inner.unknown = mem::take(&mut self.unknown);
        inner.retries = self.retries;
        inner.stop_if_too_deep();
        let result = read(&mut inner);
        self.bodies = inner.bodies;
        self.unknown = inner.unknown;
        self.retries = inner.retries;
        result
    }

    /// Goes one level deeper while reading something.
    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        self.depth += 1;
        self.stop_if_too_deep();
        let result = read(self);
        self.depth -= 1;
        result
    }

    fn stop_if_too_deep(&mut self) {
        if self.depth > MAX_NESTING && self.at < self.text.len() {
            self.report(UnknownReason::TooDeep, self.at);
            self.at = self.text.len();
        }
    }

    fn report(&mut self, reason: UnknownReason, from: usize) {
        if self.unknown.len() < crate::limits::MAX_UNKNOWN {
            let text = self.source(from, self.text.len());
            self.unknown.push(Unknown { reason, text });
        }
    }

    /// Returns the beginning of what is between two places.
    fn source(&self, from: usize, to: usize) -> String {
        let mut end = to.min(from + 2 * crate::limits::MAX_SOURCE).min(self.text.len());
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        shortened(&self.text[from.min(end)..end].replace([GAP_START, GAP_END], ""))
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn byte_at(&self, offset: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + offset).copied()
    }

    fn starts_with(&self, text: &str) -> bool {
        self.text.as_bytes()[self.at..].starts_with(text.as_bytes())
    }

    fn take(&mut self, text: &str) -> bool {
        let found = self.starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    /// Skips blanks and continued lines.
    fn skip_blanks(&mut self) {
        loop {
            match self.byte() {
                Some(b' ' | b'\t' | b'\r') => self.at += 1,
                Some(b'\\') if self.byte_at(1) == Some(b'\n') => self.at += 2,
                Some(b'\\') if self.starts_with("\\\r\n") => self.at += 3,
                _ => return,
            }
        }
    }

    /// Skips blanks, line breaks and comments.
    fn skip_lines(&mut self) {
        loop {
            self.skip_blanks();
            match self.byte() {
                Some(b'\n') => self.line_break(),
                Some(b'#') => self.skip_comment(),
                _ => return,
            }
        }
    }

    fn skip_comment(&mut self) {
        self.at += self.rest().find('\n').unwrap_or(self.rest().len());
    }

    /// Passes a line break, and the here-documents behind it.
    fn line_break(&mut self) {
        self.at += 1;
        for pending in mem::take(&mut self.pending) {
            self.here_document(&pending);
        }
    }
}

/// Returns the text of pieces, without what is expanded.
fn plain_text(pieces: &[Piece]) -> String {
    let mut text = String::new();
    for piece in pieces {
        if let Piece::Text { text: part, .. } = piece {
            text.push_str(part);
        }
    }
    text
}
