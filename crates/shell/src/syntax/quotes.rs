//! Quotes, backticks and here-documents.

use super::word::push_text;
use super::{Parser, Pending, Piece, WordSyntax};
use crate::unknown::UnknownReason;
use crate::word::GAP_START;

impl Parser<'_> {
    pub(super) fn backslash(&mut self, pieces: &mut WordSyntax) {
        self.at += 1;
        match self.rest().chars().next() {
            Some('\n') => self.at += 1,
            Some(GAP_START) => self.gap(pieces),
            Some(character) => {
                self.at += character.len_utf8();
                push_text(pieces, character.encode_utf8(&mut [0; 4]), true);
            }
            None => push_text(pieces, "\\", true),
        }
    }

    pub(super) fn single_quotes(&mut self, pieces: &mut WordSyntax) {
        let start = self.at;
        self.at += 1;
        push_text(pieces, "", true);
        while let Some(byte) = self.byte() {
            if byte == b'\'' {
                self.at += 1;
                return;
            }
            if self.rest().starts_with(GAP_START) {
                self.gap(pieces);
            } else {
                self.text_until(pieces, true, |byte| byte == b'\'');
            }
        }
        self.report(UnknownReason::Syntax, start);
    }

    /// Reads `$'…'`, after its beginning.
    pub(super) fn ansi_quotes(&mut self, pieces: &mut WordSyntax) {
        let start = self.at;
        push_text(pieces, "", true);
        while let Some(byte) = self.byte() {
            match byte {
                b'\'' => {
                    self.at += 1;
                    return;
                }
                b'\\' => {
                    let (character, length) = escape(&self.rest()[1..], Escapes::Quotes);
                    push_text(pieces, &character, true);
                    self.at += 1 + length;
                }
                _ if self.rest().starts_with(GAP_START) => self.gap(pieces),
                _ => self.text_until(pieces, true, |byte| byte == b'\'' || byte == b'\\'),
            }
        }
        self.report(UnknownReason::Syntax, start);
    }

    /// Reads `"…"`, after its beginning.
    pub(super) fn double_quotes(&mut self, pieces: &mut WordSyntax) {
        let start = self.at;
        push_text(pieces, "", true);
        while let Some(byte) = self.byte() {
            if byte == b'"' {
                self.at += 1;
                return;
            }
            self.quoted_piece(pieces, byte, b"\"\\$`");
        }
        self.report(UnknownReason::Syntax, start.saturating_sub(1));
    }

    /// Reads the operand of `"${x:-…}"`.
    pub(super) fn quoted_operand(&mut self) -> WordSyntax {
        let mut pieces = WordSyntax::new();
        while let Some(byte) = self.byte() {
            match byte {
                b'}' => break,
                b'"' => {
                    self.at += 1;
                    self.double_quotes(&mut pieces);
                }
                _ => self.quoted_piece(&mut pieces, byte, b"\"\\$`}"),
            }
        }
        pieces
    }

    /// Reads a here-document's text.
    pub(super) fn document(&mut self) -> WordSyntax {
        let mut pieces = WordSyntax::new();
        self.stop_if_too_deep();
        while let Some(byte) = self.byte() {
            self.quoted_piece(&mut pieces, byte, b"\\$`");
        }
        pieces
    }

    fn quoted_piece(&mut self, pieces: &mut WordSyntax, byte: u8, special: &[u8]) {
        match byte {
            b'\\' => self.quoted_backslash(pieces, special),
            b'$' => self.dollar(pieces, true),
            b'`' => self.backticks(pieces, true),
            _ if self.rest().starts_with(GAP_START) => self.gap(pieces),
            _ => self.text_until(pieces, true, |byte| special.contains(&byte)),
        }
    }

    fn quoted_backslash(&mut self, pieces: &mut WordSyntax, special: &[u8]) {
        match self.byte_at(1) {
            Some(b'\n') => self.at += 2,
            Some(byte) if special.contains(&byte) => {
                push_text(pieces, char::from(byte).encode_utf8(&mut [0; 4]), true);
                self.at += 2;
            }
            _ => {
                push_text(pieces, "\\", true);
                self.at += 1;
            }
        }
    }

    pub(super) fn backticks(&mut self, pieces: &mut WordSyntax, quoted: bool) {
        let start = self.at;
        self.at += 1;
        let mut inner = String::new();
        let mut closed = false;
        while let Some(character) = self.rest().chars().next() {
            self.at += character.len_utf8();
            match character {
                '`' => {
                    closed = true;
                    break;
                }
                '\\' => match self.byte() {
                    Some(byte @ (b'`' | b'\\' | b'$')) => {
                        inner.push(char::from(byte));
                        self.at += 1;
                    }
                    Some(b'"') if quoted => {
                        inner.push('"');
                        self.at += 1;
                    }
                    _ => inner.push('\\'),
                },
                _ => inner.push(character),
            }
        }
        if !closed {
            self.report(UnknownReason::Syntax, start);
        }
        #[expect(clippy::redundant_closure_for_method_calls, reason = "it is read by any parser")]
        let list = self.within(&inner, |parser| parser.script());
        pieces.push(Piece::Substitution { list, quoted, source: self.source(start, self.at) });
    }

    /// Reads the body of a here-document, which begins here.
    pub(super) fn here_document(&mut self, pending: &Pending) {
        let mut body = String::new();
        while self.at < self.text.len() {
            let rest = self.rest();
            let length = rest.find('\n').map_or(rest.len(), |length| length + 1);
            self.at += length;
            let line = &rest[..length];
            let line = if pending.tabs { line.trim_start_matches('\t') } else { line };
            if line.trim_end_matches(['\n', '\r']) == pending.end {
                break;
            }
            body.push_str(line);
        }
        let word = if pending.quoted {
            vec![Piece::Text { text: body, quoted: true }]
        } else {
            #[expect(
                clippy::redundant_closure_for_method_calls,
                reason = "it is read by any parser"
            )]
            self.within(&body, |parser| parser.document())
        };
        if let Some(place) = self.bodies.get_mut(pending.body) {
            *place = word;
        }
    }
}

/// Where escapes stand: some differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Escapes {
    /// `$'…'`
    Quotes,
    /// `echo -e`: octal numbers begin with 0.
    Echo,
    /// The format of `printf`.
    Printf,
}

/// Reads what follows a backslash: the text it stands for, and how many bytes it takes.
pub fn escape(rest: &str, place: Escapes) -> (String, usize) {
    let Some(first) = rest.chars().next() else { return ("\\".to_owned(), 0) };
    let simple = |character: char| (character.to_string(), 1);
    match first {
        'n' => simple('\n'),
        't' => simple('\t'),
        'r' => simple('\r'),
        'a' => simple('\x07'),
        'b' => simple('\x08'),
        'e' | 'E' => simple('\x1b'),
        'f' => simple('\x0c'),
        'v' => simple('\x0b'),
        '\\' => simple('\\'),
        '\'' | '"' | '?' if place != Escapes::Echo => simple(first),
        'x' => number(rest, 1, 2, 16),
        'u' => number(rest, 1, 4, 16),
        'U' => number(rest, 1, 8, 16),
        'c' if place == Escapes::Quotes && rest.len() > 1 && rest.is_char_boundary(2) => {
            (char::from(rest.as_bytes()[1] & 0x1f).to_string(), 2)
        }
        '0' if place == Escapes::Echo => number(rest, 1, 3, 8),
        '0'..='7' => number(rest, 0, 3, 8),
        _ => (format!("\\{first}"), first.len_utf8()),
    }
}

/// Reads a character by its number.
fn number(rest: &str, start: usize, most: usize, radix: u32) -> (String, usize) {
    let digits: String =
        rest[start..].chars().take(most).take_while(|digit| digit.is_digit(radix)).collect();
    let value = u32::from_str_radix(&digits, radix).ok();
    match value.and_then(char::from_u32) {
        // In `$'…'` it would end the text; nothing that runs depends on it.
        Some('\0') | None if !digits.is_empty() => (String::new(), start + digits.len()),
        Some(character) => (character.to_string(), start + digits.len()),
        None => (format!("\\{}", &rest[..start]), start),
    }
}
