//! The tokens of a JSON text, as strictly as a parser takes them, without a tree.
//!
//! What is odd ends it: the text is no JSON, is nested deeply, or means something else to a parser
//! than it seems to. Whoever uses this reads such a text the plain way.

/// Nesting up to which a text is not odd; a parser takes a little more.
const DEPTH_LIMIT: usize = 100;

/// A text that is left to the plain way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Odd;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `{`
    OpenObject,
    /// `[`
    OpenArray,
    /// `}` or `]`
    Close,
    /// The name of a member.
    Key,
    /// A string that is a value.
    Text,
    /// A number, `true`, `false` or `null`.
    Word,
}

/// A token and its place; commas, colons and blanks are none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
    /// The length of a value's text, its escapes resolved; 0 for `null`, which has none.
    pub(super) length: usize,
}

/// What may come next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Value,
    FirstItem,
    FirstKey,
    Key,
    CommaOrClose,
}

/// Goes over a text once, from token to token.
pub(super) struct Tokens<'text> {
    text: &'text str,
    at: usize,
    next: Next,
    /// The containers that are open: whether each is an object.
    open: Vec<bool>,
    /// Whether some escape was more than a backslash and a letter.
    pub(super) has_codes: bool,
}

impl<'text> Tokens<'text> {
    pub(super) fn new(text: &'text str) -> Self {
        Self { text, at: 0, next: Next::Value, open: Vec::new(), has_codes: false }
    }

    /// How many containers are open.
    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    /// What closes the containers that are open, but for the outer ones.
    pub(super) fn closers(&self, outer: usize) -> impl Iterator<Item = char> {
        self.open[outer..].iter().rev().map(|is_object| if *is_object { '}' } else { ']' })
    }

    /// Returns the next token, or nothing at the end of the text.
    pub(super) fn next(&mut self) -> Result<Option<Token>, Odd> {
        let mut byte = self.byte();
        if self.next == Next::CommaOrClose {
            match (self.open.last(), byte) {
                (None, None) => return Ok(None),
                (Some(is_object), Some(b',')) => {
                    self.next = if *is_object { Next::Key } else { Next::Value };
                    self.at += 1;
                    byte = self.byte();
                }
                (Some(true), Some(b'}')) | (Some(false), Some(b']')) => return self.close(),
                _ => return Err(Odd),
            }
        }
        let start = self.at;
        match (self.next, byte.ok_or(Odd)?) {
            (Next::FirstKey, b'}') | (Next::FirstItem, b']') => self.close(),
            (Next::FirstKey | Next::Key, b'"') => {
                let length = self.string()?;
                let key = &self.text[start..self.at];
                let token = self.token(Kind::Key, start, length);
                // Two keys may be one after their escapes, and one key is a parser's own.
                if key.contains('\\') || key.starts_with("\"$serde_json") {
                    return Err(Odd);
                }
                if self.byte() != Some(b':') {
                    return Err(Odd);
                }
                self.at += 1;
                self.next = Next::Value;
                token
            }
            (Next::Value | Next::FirstItem, byte) => {
                let (kind, length) = match byte {
                    b'{' | b'[' => return self.open(byte == b'{'),
                    b'"' => (Kind::Text, self.string()?),
                    b't' => (Kind::Word, self.word("true")?),
                    b'f' => (Kind::Word, self.word("false")?),
                    b'n' => (Kind::Word, self.word("null").map(|_| 0)?),
                    _ => (Kind::Word, self.number()?),
                };
                self.next = Next::CommaOrClose;
                self.token(kind, start, length)
            }
            _ => Err(Odd),
        }
    }

    #[expect(clippy::unnecessary_wraps, reason = "what every arm of `next` returns")]
    fn token(&self, kind: Kind, start: usize, length: usize) -> Result<Option<Token>, Odd> {
        Ok(Some(Token { kind, start, end: self.at, length }))
    }

    fn open(&mut self, is_object: bool) -> Result<Option<Token>, Odd> {
        if self.open.len() == DEPTH_LIMIT {
            return Err(Odd);
        }
        self.open.push(is_object);
        self.at += 1;
        self.next = if is_object { Next::FirstKey } else { Next::FirstItem };
        let kind = if is_object { Kind::OpenObject } else { Kind::OpenArray };
        self.token(kind, self.at - 1, 0)
    }

    fn close(&mut self) -> Result<Option<Token>, Odd> {
        self.open.pop();
        self.at += 1;
        self.next = Next::CommaOrClose;
        self.token(Kind::Close, self.at - 1, 0)
    }

    /// Skips blanks; returns the next byte.
    fn byte(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = bytes.get(self.at) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    fn word(&mut self, word: &str) -> Result<usize, Odd> {
        if !self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            return Err(Odd);
        }
        self.at += word.len();
        Ok(word.len())
    }

    fn digits(&mut self) -> Result<usize, Odd> {
        let rest = &self.text.as_bytes()[self.at..];
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        if count == 0 { Err(Odd) } else { Ok(count) }
    }

    fn number(&mut self) -> Result<usize, Odd> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        self.at += usize::from(bytes.get(self.at) == Some(&b'-'));
        let starts_with_zero = bytes.get(self.at) == Some(&b'0');
        if self.digits()? > 1 && starts_with_zero {
            return Err(Odd);
        }
        if bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        match bytes.get(self.at..).unwrap_or_default() {
            [b'e', b'+' | b'-', ..] => {
                self.at += 2;
                self.digits()?;
            }
            // Without a sign the parser would give it one, and a small letter.
            [b'e' | b'E', ..] => return Err(Odd),
            _ => {}
        }
        Ok(self.at - start)
    }

    /// Goes over a string; returns the length of its text.
    fn string(&mut self) -> Result<usize, Odd> {
        let bytes = self.text.as_bytes();
        let start = self.at + 1;
        self.at = start;
        let mut longer = 0;
        loop {
            self.at += plain_length(&bytes[self.at..]);
            match bytes.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(self.at - 1 - start - longer);
                }
                Some(b'\\') => {
                    let escape = Escape::at(self.text, self.at).ok_or(Odd)?;
                    self.has_codes |= escape.is_code;
                    self.at += escape.length;
                    longer += escape.length - escape.stands_for.len_utf8();
                }
                _ => return Err(Odd),
            }
        }
    }
}

/// A backslash and what belongs to it.
pub(super) struct Escape {
    pub(super) stands_for: char,
    /// How many bytes it is written with.
    pub(super) length: usize,
    /// Whether it is written as the number of a character, or could be written without an escape.
    is_code: bool,
}

impl Escape {
    /// Reads the escape at `at`; half a surrogate pair is none.
    pub(super) fn at(text: &str, at: usize) -> Option<Self> {
        let short =
            |stands_for: char| Some(Self { stands_for, length: 2, is_code: stands_for == '/' });
        match text.as_bytes().get(at + 1)? {
            b'"' => short('"'),
            b'\\' => short('\\'),
            b'/' => short('/'),
            b'b' => short('\u{8}'),
            b'f' => short('\u{c}'),
            b'n' => short('\n'),
            b'r' => short('\r'),
            b't' => short('\t'),
            b'u' => {
                let unit = |at: usize| {
                    let digits = text.get(at..at + 4)?;
                    let are_digits = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
                    are_digits.then(|| u16::from_str_radix(digits, 16).ok())?
                };
                let first = unit(at + 2)?;
                if let Some(stands_for) = char::from_u32(first.into()) {
                    return Some(Self { stands_for, length: 6, is_code: true });
                }
                let second = text[at + 6..].starts_with("\\u").then(|| unit(at + 8))??;
                let stands_for = char::decode_utf16([first, second]).next()?.ok()?;
                Some(Self { stands_for, length: 12, is_code: true })
            }
            _ => None,
        }
    }
}

/// Returns how many bytes there are before a quote, a backslash or a control character; all of them
/// if there is none.
fn plain_length(bytes: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    // Each sets the high bit of a byte that fits; those above the lowest that fits may be wrong.
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
    use serde_json::Value;

    use super::*;
    use crate::json::any_leaf;

    fn leaf_bytes(text: &str) -> Result<usize, Odd> {
        let mut tokens = Tokens::new(text);
        let mut length = 0;
        while let Some(token) = tokens.next()? {
            if token.kind != Kind::Key {
                length += token.length;
            }
        }
        Ok(length)
    }

    #[test]
    fn what_is_odd_is_left_alone() {
        let deep = format!("{}{}", "[".repeat(101), "]".repeat(101));
        for text in [
            "",
            " ",
            "{",
            "}",
            "[1,]",
            "[,1]",
            "[1 2]",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{a:1}",
            "[1]]",
            "[1] x",
            "{]",
            "01",
            "-",
            "1.",
            ".5",
            "1e",
            "1e5",
            "+1",
            "tru",
            "nul",
            "\"a",
            "\"\n\"",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\\ud800\"",
            "\"\\udc00\"",
            "\"\\ud800\\ud800\"",
            "\"\\u+123\"",
            "{\"\\u0061\": 1}",
            "{\"$serde_json::private::Number\": \"1\"}",
            "\u{feff}{}",
            &deep,
        ] {
            assert_eq!(leaf_bytes(text), Err(Odd), "{text}");
        }
    }

    #[test]
    fn what_is_plain_is_measured() {
        for (text, length) in [
            ("[]", 0),
            (" {\"key\" : [ null , true, -0.5e+10 ] } \n", 4 + 8),
            (r#"["\n\u00e9\ud83d\ude00é\"\\\/"]"#, 1 + 2 + 4 + 2 + 3),
            ("\"a long one without anything in it that would stop us\"", 52),
            ("\"\\u0000\"", 1),
        ] {
            assert_eq!(leaf_bytes(text), Ok(length), "{text}");
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

        /// Nothing is taken that the parser refuses, or reads as something else.
        #[test]
        fn only_json_is_taken(text in r#"([{}\[\],:]|"(a|\\n|\\u00e9|\\ud83d|\\ude00|é)*"|-?[0-9.]{1,3}|[eE][+-]?|true|null| ){0,24}"#) {
            if let Ok(length) = leaf_bytes(&text) {
                let value: Value = serde_json::from_str(&text).unwrap();
                let mut expected = 0;
                any_leaf(&value, &mut |leaf| {
                    expected += leaf.len();
                    false
                });
                // A key that comes twice is one member.
                prop_assert!(expected <= length);
            }
        }
    }
}
