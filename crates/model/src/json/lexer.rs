//! Lexer for JSON texts, however broken: brackets, separators, strings and words.
//!
//! Everything that scans JSON byte by byte does so here. [`super::tokens`] adds the grammar, as
//! strict as a parser's; [`super::members`] and [`super::repair`] accept whatever they find.

use std::borrow::Cow;

/// The kind of a lexeme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LexemeKind {
    OpenObject,
    OpenArray,
    CloseObject,
    CloseArray,
    Comma,
    Colon,
    /// From quote to quote.
    String,
    /// A string whose end is missing.
    UnclosedString,
    /// Anything else: a number, `true`, `false`, `null`, or what is not JSON.
    Word,
}

/// A lexeme and its position.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lexeme {
    pub(super) piece: LexemeKind,
    pub(super) start: usize,
    pub(super) end: usize,
    /// The length of a string's text with escapes resolved.
    pub(super) text_length: usize,
    /// What a string contains.
    pub(super) content: StringContent,
}

/// What a string contains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum StringContent {
    /// Only plain characters.
    #[default]
    Plain,
    /// Also escapes of a backslash and a letter.
    Escapes,
    /// Also escapes that a serializer would not have written: characters as `\u` escapes, and `\/`.
    Codes,
    /// Something a parser rejects: a control character, an invalid escape, a lone surrogate.
    Invalid,
}

/// Scans a text once, from lexeme to lexeme.
#[derive(Clone, Debug)]
pub(super) struct Lexer<'text> {
    bytes: &'text [u8],
    at: usize,
}

impl<'text> Lexer<'text> {
    pub(super) fn new(bytes: &'text [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Skips whitespace; returns the position after it.
    pub(super) fn skip_blanks(&mut self) -> usize {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.bytes.get(self.at) {
            self.at += 1;
        }
        self.at
    }

    /// Continues at another position.
    pub(super) fn continue_at(&mut self, at: usize) {
        self.at = at;
    }

    /// Returns the next lexeme, skipping whitespace.
    pub(super) fn next(&mut self) -> Option<Lexeme> {
        let start = self.skip_blanks();
        let piece = match *self.bytes.get(start)? {
            b'{' => LexemeKind::OpenObject,
            b'[' => LexemeKind::OpenArray,
            b'}' => LexemeKind::CloseObject,
            b']' => LexemeKind::CloseArray,
            b',' => LexemeKind::Comma,
            b':' => LexemeKind::Colon,
            b'"' => return Some(self.string(start)),
            _ => {
                // At least one byte is consumed, so that an unexpected one cannot stop us.
                let rest = &self.bytes[start + 1..];
                self.at += rest.iter().take_while(|byte| !ends_word(**byte)).count();
                LexemeKind::Word
            }
        };
        self.at += 1;
        Some(Lexeme { piece, start, end: self.at, text_length: 0, content: StringContent::Plain })
    }

    fn string(&mut self, start: usize) -> Lexeme {
        let mut at = start + 1;
        let mut content = StringContent::Plain;
        // How many more bytes are written than the text has.
        let mut longer = 0;
        let piece = loop {
            at += plain_length(&self.bytes[at..]);
            match self.bytes.get(at) {
                None => break LexemeKind::UnclosedString,
                Some(b'"') => {
                    at += 1;
                    break LexemeKind::String;
                }
                Some(b'\\') => {
                    let (length, found) = match Escape::at(self.bytes, at) {
                        Some(escape) => {
                            longer += escape.length - escape.stands_for.len_utf8();
                            let is_code = escape.is_code;
                            (
                                escape.length,
                                if is_code { StringContent::Codes } else { StringContent::Escapes },
                            )
                        }
                        None => (2, StringContent::Invalid),
                    };
                    content = content.max(found);
                    at = (at + length).min(self.bytes.len());
                }
                Some(_) => {
                    content = StringContent::Invalid;
                    at += 1;
                }
            }
        };
        self.at = at;
        let text_length = (at - start).saturating_sub(2 + longer);
        Lexeme { piece, start, end: at, text_length, content }
    }
}

fn ends_word(byte: u8) -> bool {
    matches!(byte, b'{' | b'}' | b'[' | b']' | b',' | b':' | b'"') || byte.is_ascii_whitespace()
}

/// Returns the nesting depth of a JSON text.
pub fn depth(text: &[u8]) -> usize {
    let mut lexer = Lexer::new(text);
    let (mut depth, mut deepest) = (0_usize, 0);
    while let Some(lexeme) = lexer.next() {
        match lexeme.piece {
            LexemeKind::OpenObject | LexemeKind::OpenArray => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            LexemeKind::CloseObject | LexemeKind::CloseArray => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// An escape sequence: a backslash and what belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Escape {
    pub(super) stands_for: char,
    /// The number of bytes it is written with.
    pub(super) length: usize,
    /// Whether it is a `\u` escape, or the character could be written without an escape.
    is_code: bool,
}

impl Escape {
    /// Parses the escape at `at`; returns `None` for a lone surrogate.
    pub(super) fn at(text: &[u8], at: usize) -> Option<Self> {
        let short =
            |stands_for: char| Some(Self { stands_for, length: 2, is_code: stands_for == '/' });
        match text.get(at + 1)? {
            b'"' => short('"'),
            b'\\' => short('\\'),
            b'/' => short('/'),
            b'b' => short('\u{8}'),
            b'f' => short('\u{c}'),
            b'n' => short('\n'),
            b'r' => short('\r'),
            b't' => short('\t'),
            b'u' => {
                let first = code_unit(text, at)?;
                if let Some(stands_for) = char::from_u32(first.into()) {
                    return Some(Self { stands_for, length: 6, is_code: true });
                }
                let second = code_unit(text, at + 6)?;
                let stands_for = char::decode_utf16([first, second]).next()?.ok()?;
                Some(Self { stands_for, length: 12, is_code: true })
            }
            _ => None,
        }
    }
}

/// Returns the code unit of the `\u` escape at `at`.
pub(super) fn code_unit(text: &[u8], at: usize) -> Option<u16> {
    let digits = text.get(at..at + 6)?.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |number: u16, digit| {
        let digit = char::from(*digit).to_digit(16)?;
        Some(number << 4 | u16::try_from(digit).ok()?)
    })
}

/// Returns the text of a part of a JSON string, with escapes resolved. Lone surrogates and invalid
/// escapes become U+FFFD, as in [`super::read`].
pub fn unescape(raw: &str) -> Cow<'_, str> {
    let Some(mut escape_at) = next_escape(raw) else { return Cow::Borrowed(raw) };
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    loop {
        text.push_str(&rest[..escape_at]);
        let (character, length) = unescape_one(&rest[escape_at..]);
        text.push(character);
        rest = &rest[escape_at + length..];
        match next_escape(rest) {
            Some(next) => escape_at = next,
            None => break,
        }
    }
    text.push_str(rest);
    Cow::Owned(text)
}

/// Returns the character of the escape at the start of `rest`, and the length of the escape.
fn unescape_one(rest: &str) -> (char, usize) {
    if let Some(escape) = Escape::at(rest.as_bytes(), 0) {
        return (escape.stands_for, escape.length);
    }
    if code_unit(rest.as_bytes(), 0).is_some() {
        return (char::REPLACEMENT_CHARACTER, 6);
    }
    match rest[1..].chars().next() {
        None => (char::REPLACEMENT_CHARACTER, 1),
        Some('u') => (char::REPLACEMENT_CHARACTER, 2),
        // Anything else is not JSON; it is kept unchanged.
        Some(other) => (other, 1 + other.len_utf8()),
    }
}

/// Returns where the next escape starts.
pub fn next_escape(raw: &str) -> Option<usize> {
    /// How many bytes are compared at a time; the compiler turns this into one comparison.
    const BLOCK: usize = 32;
    let is_escape = |byte: &u8| *byte == b'\\';
    let blocks = raw.as_bytes().chunks(BLOCK);
    let free =
        blocks.take_while(|block| !block.iter().fold(false, |any, byte| any | is_escape(byte)));
    let start = free.map(<[u8]>::len).sum::<usize>();
    raw.as_bytes()[start..].iter().position(is_escape).map(|at| start + at)
}

/// Returns how many bytes precede a quote, a backslash or a control character; all of them if there
/// is none.
fn plain_length(bytes: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    // Each sets the high bit of a matching byte; bits above the lowest match may be wrong.
    let is_zero = |word: u64| word.wrapping_sub(ONES) & !word & HIGHS;
    let is_control = |word: u64| word.wrapping_sub(ONES * 0x20) & !word & HIGHS;
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let quote = is_zero(word ^ (ONES * u64::from(b'"')));
        let backslash = is_zero(word ^ (ONES * u64::from(b'\\')));
        let found = quote | backslash | is_control(word);
        if found != 0 {
            return index * 8 + found.trailing_zeros() as usize / 8;
        }
    }
    let is_plain = |byte: &&u8| !matches!(byte, b'"' | b'\\' | 0..0x20);
    words.len() * 8 + rest.iter().take_while(is_plain).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn brackets_in_strings_are_not_nesting() {
        for (text, expected) in [("", 0), ("1", 0), ("[]", 1), (r#"{"a[[": ["\"{", {}]}"#, 3)] {
            assert_eq!(depth(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn a_broken_escape_keeps_the_rest() {
        for (raw, text) in [
            (r"rm\", "rm\u{fffd}"),
            (r"a\q rm", "aq rm"),
            (r"\u12 rm", "\u{fffd}12 rm"),
            (r"\u+123 rm", "\u{fffd}+123 rm"),
            (r"\ud83d\u", "\u{fffd}\u{fffd}"),
            (r"\é", "é"),
        ] {
            assert_eq!(unescape(raw), text, "{raw}");
        }
    }

    proptest! {
        #[test]
        fn a_string_ends_where_it_ends(text in "\\PC{0,40}", at in 0_usize..40, stop in "[\"\\\\\n]") {
            let mut text = text;
            let at = (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap();
            text.insert_str(at, &stop);
            let plain = text.bytes().take_while(|byte| !matches!(byte, b'"' | b'\\' | 0..0x20));
            prop_assert_eq!(plain_length(text.as_bytes()), plain.count());
        }

        #[test]
        fn escapes_are_read_as_in_events(raw in r#"([a-zé😀]|\\["\\/bfnrt]|\\u(d[89ab]|d[c-f]|00|[0-9a-fA-F]{2})[0-9a-f]{2}){0,8}"#) {
            let read = crate::json::read(format!("\"{raw}\"").as_bytes()).unwrap().value;
            prop_assert_eq!(unescape(&raw), read.as_str().unwrap());
        }
    }
}
