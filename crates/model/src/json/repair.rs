//! Repairs JSON that a strict parser rejects, without losing a value.
//!
//! - A value nested too deeply for a tree becomes a flat list of the values in it: a guard still
//!   finds each of them, and nesting hides nothing from it.
//! - A lone surrogate, which other languages write for odd file names, becomes U+FFFD.
//! - A number that is too large for the type into which `serde_json` parses numbers becomes a
//!   string. (Never in a program with arbitrary-precision numbers.)
//! - The one key that `serde_json` treats as its own marker for a number gets a space at its end.

use std::borrow::Cow;

use super::DEPTH_LIMIT;
use super::lexer::{Escape, Lexeme, LexemeKind, Lexer, StringContent, code_unit};

/// The key by which `serde_json` passes on numbers that it has not parsed yet.
const NUMBER_KEY: &str = "$serde_json::private::Number";

/// Returns the repaired text; `None` if there was nothing to repair or the brackets do not match.
pub(super) fn repair(text: &str) -> Option<String> {
    let mut repair = Repair {
        text,
        repaired: String::with_capacity(text.len()),
        depth: 0,
        changed: false,
        leaves: 0,
    };
    let mut lexer = Lexer::new(text.as_bytes());
    let mut done = 0;
    while let Some(lexeme) = lexer.next() {
        repair.blanks(&text[done..lexeme.start]);
        repair.take(lexeme)?;
        done = lexeme.end;
    }
    repair.blanks(&text[done..]);
    (repair.changed && repair.depth == 0).then_some(repair.repaired)
}

struct Repair<'text> {
    text: &'text str,
    repaired: String,
    depth: usize,
    changed: bool,
    /// The number of values so far in the flat list that replaces what is nested too deeply.
    leaves: usize,
}

impl Repair<'_> {
    fn is_tree(&self) -> bool {
        self.depth <= DEPTH_LIMIT
    }

    fn blanks(&mut self, blanks: &str) {
        if self.is_tree() {
            self.repaired.push_str(blanks);
        }
    }

    fn take(&mut self, lexeme: Lexeme) -> Option<()> {
        let written = &self.text[lexeme.start..lexeme.end];
        match lexeme.piece {
            LexemeKind::UnclosedString => return None,
            LexemeKind::String => self.string(lexeme),
            LexemeKind::Word => self.value(written),
            LexemeKind::OpenObject | LexemeKind::OpenArray => {
                self.depth += 1;
                if self.is_tree() {
                    self.repaired.push_str(written);
                } else if self.depth == DEPTH_LIMIT + 1 {
                    self.changed = true;
                    self.leaves = 0;
                    self.repaired.push('[');
                }
            }
            LexemeKind::CloseObject | LexemeKind::CloseArray => {
                if self.is_tree() {
                    self.repaired.push_str(written);
                } else if self.depth == DEPTH_LIMIT + 1 {
                    self.repaired.push(']');
                }
                self.depth = self.depth.checked_sub(1)?;
            }
            LexemeKind::Comma | LexemeKind::Colon => {
                if self.is_tree() {
                    self.repaired.push_str(written);
                }
            }
        }
        Some(())
    }

    /// Writes a number or a word, or a string that is a value.
    fn value(&mut self, written: &str) {
        if !self.is_tree() {
            if self.leaves > 0 {
                self.repaired.push(',');
            }
            self.leaves += 1;
        }
        if is_number(written) && serde_json::from_str::<serde_json::Number>(written).is_err() {
            self.changed = true;
            self.repaired.extend(["\"", written, "\""]);
            return;
        }
        self.repaired.push_str(written);
    }

    fn string(&mut self, lexeme: Lexeme) {
        let is_key = self.text[lexeme.end..].trim_start().starts_with(':');
        if is_key && !self.is_tree() {
            return;
        }
        let written = &self.text[lexeme.start..lexeme.end];
        let mut whole = match lexeme.content {
            StringContent::Invalid => without_half_pairs(written),
            _ => Cow::Borrowed(written),
        };
        if is_key && serde_json::from_str::<String>(&whole).is_ok_and(|key| key == NUMBER_KEY) {
            whole = Cow::Owned(format!("\"{NUMBER_KEY} \""));
        }
        self.changed |= whole != written;
        if is_key {
            self.repaired.push_str(&whole);
        } else {
            self.value(&whole);
        }
    }
}

/// Returns whether a word is a number by JSON's grammar, however large.
fn is_number(word: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let word = word.strip_prefix('-').unwrap_or(word);
    let (mantissa, exponent) = match word.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (word, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let unsigned = |exponent: &str| digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent));
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(unsigned)
}

/// Replaces escapes of lone surrogates in a string with that of U+FFFD.
fn without_half_pairs(written: &str) -> Cow<'_, str> {
    let mut whole = String::with_capacity(written.len());
    let mut rest = written;
    while let Some(at) = rest.find('\\') {
        whole.push_str(&rest[..at]);
        rest = &rest[at..];
        let escape = Escape::at(rest.as_bytes(), 0);
        let length = if let Some(escape) = escape {
            escape.length
        } else if code_unit(rest.as_bytes(), 0).is_some() {
            whole.push_str("\\ufffd");
            rest = &rest[6..];
            continue;
        } else {
            // Not an escape: the backslash and what follows it stay unchanged.
            1 + rest[1..].chars().next().map_or(0, char::len_utf8)
        };
        whole.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    whole.push_str(rest);
    Cow::Owned(whole)
}

/// Returns a truncated text with an end added; `None` if it is not an object.
pub(super) fn complete(text: &str) -> Option<String> {
    let mut lexer = Lexer::new(text.as_bytes());
    let mut open = Vec::new();
    // The position up to which the text can be cut and closed.
    let mut sound = 0;
    let mut after_colon = false;
    while let Some(Lexeme { piece, start, end, .. }) = lexer.next() {
        let is_value = after_colon || open.last() == Some(&']');
        match piece {
            LexemeKind::UnclosedString if is_value => {
                return Some(close(&format!("{}\"", without_half_escape(text)), &open));
            }
            LexemeKind::UnclosedString => return Some(close(&text[..sound], &open)),
            LexemeKind::String if is_value => {
                sound = end;
                after_colon = false;
            }
            LexemeKind::OpenObject | LexemeKind::OpenArray => {
                open.push(if piece == LexemeKind::OpenObject { '}' } else { ']' });
                sound = end;
                after_colon = false;
            }
            LexemeKind::CloseObject | LexemeKind::CloseArray => {
                open.pop()?;
                sound = end;
            }
            LexemeKind::Colon => after_colon = true,
            // A comma shows that the number or word before it was complete.
            LexemeKind::Comma => {
                sound = start;
                after_colon = false;
            }
            LexemeKind::String | LexemeKind::Word => {}
        }
    }
    text.trim_start().starts_with('{').then(|| close(&text[..sound], &open))
}

fn close(text: &str, open: &[char]) -> String {
    let mut closed = text.to_owned();
    closed.extend(open.iter().rev());
    closed
}

/// Returns a text that ends inside a string without an incomplete escape at its end.
fn without_half_escape(text: &str) -> &str {
    let start = text.len().saturating_sub(6);
    let start = (start..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    let backslash = text[start..].rfind('\\').map(|at| start + at);
    match backslash {
        // An even number of backslashes is complete.
        Some(at) => {
            let run = text[..=at].bytes().rev().take_while(|byte| *byte == b'\\').count();
            let rest = text.len() - at - 1;
            let whole = match text.as_bytes().get(at + 1) {
                None => false,
                Some(b'u') => rest >= 5,
                Some(_) => true,
            };
            if run % 2 == 0 || whole { text } else { &text[..at] }
        }
        None => text,
    }
}
