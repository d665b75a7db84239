//! Tokenizes a JSON text as strictly as a parser does, without building a tree.
//!
//! Anything unusual ends it: a text that is not JSON, is deeply nested, or means something else to
//! a parser than it seems to. Such a text is left to the parser.

use super::DEPTH_LIMIT;
use super::lexer::{Lexeme, LexemeKind, Lexer, StringContent};

/// A text that is left to the parser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unsupported;

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
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

/// A token and its position; commas, colons and whitespace are not tokens.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) start: usize,
    pub(super) end: usize,
    /// The length of a value's text with escapes resolved; 0 for `null`, which has none.
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

/// Scans a text once, from token to token.
pub(super) struct Tokens<'text> {
    text: &'text str,
    lexer: Lexer<'text>,
    next: Next,
    /// The open containers: whether each is an object.
    open: Vec<bool>,
    /// Whether some escape was more than a backslash and a letter.
    pub(super) has_codes: bool,
}

impl<'text> Tokens<'text> {
    pub(super) fn new(text: &'text str) -> Self {
        let lexer = Lexer::new(text.as_bytes());
        Self { text, lexer, next: Next::Value, open: Vec::new(), has_codes: false }
    }

    /// Returns how many containers are open.
    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    /// Returns what closes the open containers, except for the `outer` outermost ones.
    pub(super) fn closers(&self, outer: usize) -> impl Iterator<Item = char> {
        self.open[outer..].iter().rev().map(|is_object| if *is_object { '}' } else { ']' })
    }

    /// Returns the next token, or `None` at the end of the text.
    pub(super) fn next(&mut self) -> Result<Option<Token>, Unsupported> {
        let lexeme = self.lexer.next();
        let mut lexeme = match lexeme {
            Some(lexeme) => lexeme,
            None if self.next == Next::CommaOrClose && self.open.is_empty() => return Ok(None),
            None => return Err(Unsupported),
        };
        if self.next == Next::CommaOrClose {
            match (self.open.last(), lexeme.piece) {
                (Some(is_object), LexemeKind::Comma) => {
                    self.next = if *is_object { Next::Key } else { Next::Value };
                    lexeme = self.lexer.next().ok_or(Unsupported)?;
                }
                (Some(true), LexemeKind::CloseObject) | (Some(false), LexemeKind::CloseArray) => {
                    return Ok(Some(self.close(lexeme)));
                }
                _ => return Err(Unsupported),
            }
        }
        match (self.next, lexeme.piece) {
            (Next::FirstKey, LexemeKind::CloseObject)
            | (Next::FirstItem, LexemeKind::CloseArray) => Ok(Some(self.close(lexeme))),
            (Next::FirstKey | Next::Key, LexemeKind::String) => self.key(lexeme).map(Some),
            (Next::Value | Next::FirstItem, _) => self.value(lexeme).map(Some),
            _ => Err(Unsupported),
        }
    }

    fn key(&mut self, lexeme: Lexeme) -> Result<Token, Unsupported> {
        // Two keys may be equal once escapes are resolved, and one key is reserved by the parser.
        let is_own = || self.text[lexeme.start..].starts_with("\"$serde_json");
        if lexeme.content != StringContent::Plain || is_own() {
            return Err(Unsupported);
        }
        if self.lexer.next().is_none_or(|next| next.piece != LexemeKind::Colon) {
            return Err(Unsupported);
        }
        self.next = Next::Value;
        Ok(token(TokenKind::Key, lexeme, lexeme.text_length))
    }

    fn value(&mut self, lexeme: Lexeme) -> Result<Token, Unsupported> {
        let (kind, length) = match lexeme.piece {
            LexemeKind::OpenObject | LexemeKind::OpenArray => {
                return self.open(lexeme, lexeme.piece == LexemeKind::OpenObject);
            }
            LexemeKind::String if lexeme.content < StringContent::Invalid => {
                self.has_codes |= lexeme.content == StringContent::Codes;
                (TokenKind::Text, lexeme.text_length)
            }
            LexemeKind::Word => {
                let word = &self.text.as_bytes()[lexeme.start..lexeme.end];
                let length = match word {
                    b"null" => 0,
                    b"true" | b"false" => word.len(),
                    _ if is_number(word) => word.len(),
                    _ => return Err(Unsupported),
                };
                (TokenKind::Word, length)
            }
            _ => return Err(Unsupported),
        };
        self.next = Next::CommaOrClose;
        Ok(token(kind, lexeme, length))
    }

    fn open(&mut self, lexeme: Lexeme, is_object: bool) -> Result<Token, Unsupported> {
        if self.open.len() == DEPTH_LIMIT {
            return Err(Unsupported);
        }
        self.open.push(is_object);
        self.next = if is_object { Next::FirstKey } else { Next::FirstItem };
        let kind = if is_object { TokenKind::OpenObject } else { TokenKind::OpenArray };
        Ok(token(kind, lexeme, 0))
    }

    fn close(&mut self, lexeme: Lexeme) -> Token {
        self.open.pop();
        self.next = Next::CommaOrClose;
        token(TokenKind::Close, lexeme, 0)
    }
}

fn token(kind: TokenKind, lexeme: Lexeme, length: usize) -> Token {
    Token { kind, start: lexeme.start, end: lexeme.end, length }
}

/// Returns whether a word is a number in the form in which a parser would write it.
fn is_number(word: &[u8]) -> bool {
    let digits = |text: &mut &[u8]| {
        let count = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = text.split_at(count);
        *text = rest;
        digits.len()
    };
    let mut rest = word.strip_prefix(b"-").unwrap_or(word);
    let starts_with_zero = rest.first() == Some(&b'0');
    let whole = digits(&mut rest);
    if whole == 0 || whole > 1 && starts_with_zero {
        return false;
    }
    if let Some(fraction) = rest.strip_prefix(b".") {
        rest = fraction;
        if digits(&mut rest) == 0 {
            return false;
        }
    }
    // The parser would write the exponent with a sign and a lower-case `e`.
    if let [b'e', b'+' | b'-', exponent @ ..] = rest {
        rest = exponent;
        if digits(&mut rest) == 0 {
            return false;
        }
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;
    use crate::json::any_leaf;

    fn leaf_bytes(text: &str) -> Result<usize, Unsupported> {
        let mut tokens = Tokens::new(text);
        let mut length = 0;
        while let Some(token) = tokens.next()? {
            if token.kind != TokenKind::Key {
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
            assert_eq!(leaf_bytes(text), Err(Unsupported), "{text}");
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
        /// Nothing is accepted that the parser rejects or interprets differently.
        #[test]
        fn only_json_is_taken(text in r#"([{}\[\],:]|"(a|\\n|\\u00e9|\\ud83d|\\ude00|é)*"|-?[0-9.]{1,3}|[eE][+-]?|true|null| ){0,24}"#) {
            if let Ok(length) = leaf_bytes(&text) {
                let value: Value = serde_json::from_str(&text).unwrap();
                let mut expected = 0;
                any_leaf(&value, &mut |leaf| {
                    expected += leaf.len();
                    false
                });
                // A key that occurs twice is one member.
                prop_assert!(expected <= length);
            }
        }
    }
}
