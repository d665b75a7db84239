//! Words: pieces up to a blank or an operator.

use super::{Index, Operation, Parameter, Parser, Piece, WordSyntax};
use crate::unknown::UnknownReason;
use crate::word::{GAP_END, GAP_START};

/// Where text ends.
#[derive(Clone, Copy)]
pub(super) enum Until {
    /// A blank or an operator.
    WordEnd,
    /// One of these characters, unquoted; blanks and operators are text.
    Any(&'static [u8]),
}

impl Until {
    fn is_at(self, byte: u8) -> bool {
        match self {
            Self::WordEnd => is_meta(byte),
            Self::Any(bytes) => bytes.contains(&byte),
        }
    }
}

pub(super) fn is_meta(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')')
}

pub(super) fn is_name_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_'
}

pub(super) fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Adds text to the last piece if it is of the same kind.
pub(super) fn push_text(pieces: &mut WordSyntax, added: &str, quoted: bool) {
    match pieces.last_mut() {
        Some(Piece::Text { text, quoted: same }) if *same == quoted => text.push_str(added),
        _ => pieces.push(Piece::Text { text: added.to_owned(), quoted }),
    }
}

impl Parser<'_> {
    pub(super) fn word(&mut self) -> WordSyntax {
        self.pieces(Until::WordEnd)
    }

    /// Reads pieces up to an end, which is not passed.
    pub(super) fn pieces(&mut self, until: Until) -> WordSyntax {
        let mut pieces = WordSyntax::new();
        while let Some(byte) = self.byte() {
            match byte {
                b'<' | b'>' if matches!(until, Until::WordEnd) && self.byte_at(1) == Some(b'(') => {
                    pieces.push(self.process());
                }
                _ if until.is_at(byte) => {
                    let extended = byte == b'(' && Self::is_extended_glob(&pieces);
                    if !extended {
                        break;
                    }
                    self.extended_glob(&mut pieces);
                }
                b'\\' => self.backslash(&mut pieces),
                b'\'' => self.single_quotes(&mut pieces),
                b'"' => {
                    self.at += 1;
                    self.double_quotes(&mut pieces);
                }
                b'$' => self.dollar(&mut pieces, false),
                b'`' => self.backticks(&mut pieces, false),
                _ => self.plain(&mut pieces, until),
            }
        }
        pieces
    }

    /// Reads text without any meaning.
    fn plain(&mut self, pieces: &mut WordSyntax, until: Until) {
        if self.rest().starts_with(GAP_START) {
            return self.gap(pieces);
        }
        let ends =
            |byte: u8| until.is_at(byte) || matches!(byte, b'\\' | b'\'' | b'"' | b'$' | b'`');
        self.text_until(pieces, false, ends);
    }

    /// Reads at least one character, up to one that ends or a part that is not known.
    pub(super) fn text_until(
        &mut self,
        pieces: &mut WordSyntax,
        quoted: bool,
        ends: impl Fn(u8) -> bool,
    ) {
        let rest = self.rest();
        // All private characters begin with the same byte; only `GAP_START` matters.
        let mut length = rest.chars().next().map_or(0, char::len_utf8);
        let bytes = rest.as_bytes();
        while length < bytes.len() && !ends(bytes[length]) {
            if bytes[length] == 0xef && rest[length..].starts_with(GAP_START) {
                break;
            }
            length += rest[length..].chars().next().map_or(1, char::len_utf8);
        }
        push_text(pieces, &rest[..length], quoted);
        self.at += length;
    }

    /// Reads a part that was marked as not known.
    pub(super) fn gap(&mut self, pieces: &mut WordSyntax) {
        let inner = &self.rest()[GAP_START.len_utf8()..];
        let length = inner.find(GAP_END).unwrap_or(0);
        pieces.push(Piece::Gap { source: crate::limits::shortened(&inner[..length]) });
        self.at += GAP_START.len_utf8() + length;
        if self.rest().starts_with(GAP_END) {
            self.at += GAP_END.len_utf8();
        }
    }

    /// Whether a `(` belongs to `@(…)` and the like.
    fn is_extended_glob(pieces: &[Piece]) -> bool {
        matches!(pieces.last(), Some(Piece::Text { text, quoted: false })
            if text.ends_with(['!', '@', '+', '?', '*']))
    }

    fn extended_glob(&mut self, pieces: &mut WordSyntax) {
        self.at += 1;
        push_text(pieces, "(", false);
        let inner = self.deeper(|parser| parser.pieces(Until::Any(b"()\n")));
        pieces.extend(inner);
        // A glob in any case: which names it stands for cannot be told.
        push_text(pieces, "*", false);
        if self.byte() == Some(b'(') {
            self.deeper(|parser| parser.extended_glob(pieces));
        }
        if self.take(")") {
            push_text(pieces, ")", false);
        }
    }

    fn process(&mut self) -> Piece {
        let start = self.at;
        self.at += 2;
        let list = self.nested_list(start);
        Piece::Process { list, source: self.source(start, self.at) }
    }

    /// Reads `… )`.
    pub(super) fn nested_list(&mut self, start: usize) -> super::List {
        self.deeper(|parser| {
            let list = parser.list();
            if !parser.take(")") {
                parser.report(UnknownReason::Syntax, start);
                parser.skip_past_closing();
            }
            list
        })
    }

    /// After something unexpected: goes on behind the next `)`.
    fn skip_past_closing(&mut self) {
        match self.rest().find(')') {
            Some(length) => self.at += length + 1,
            None => self.at = self.text.len(),
        }
    }

    pub(super) fn dollar(&mut self, pieces: &mut WordSyntax, quoted: bool) {
        let start = self.at;
        match self.byte_at(1) {
            Some(b'(') => self.substitution(pieces, quoted),
            Some(b'{') => self.braced(pieces, quoted),
            Some(b'[') => {
                self.at += 2;
                let inner = self.deeper(|parser| parser.pieces(Until::Any(b"]")));
                self.take("]");
                pieces.push(Piece::Arithmetic { inner, source: self.source(start, self.at) });
            }
            Some(b'\'') if !quoted => {
                self.at += 2;
                self.ansi_quotes(pieces);
            }
            Some(b'"') if !quoted => {
                self.at += 2;
                self.double_quotes(pieces);
            }
            Some(byte) if is_name_start(byte) => {
                self.at += 1;
                let name = self.name();
                self.parameter(pieces, start, quoted, simple_parameter(name));
            }
            Some(byte) if byte.is_ascii_digit() || b"@*#?-$!".contains(&byte) => {
                self.at += 2;
                let name = char::from(byte).to_string();
                self.parameter(pieces, start, quoted, simple_parameter(name));
            }
            _ => {
                self.at += 1;
                push_text(pieces, "$", quoted);
            }
        }
    }

    pub(super) fn name(&mut self) -> String {
        let rest = self.rest();
        let end = rest.bytes().position(|byte| !is_name(byte)).unwrap_or(rest.len());
        self.at += end;
        rest[..end].to_owned()
    }

    fn parameter(&self, pieces: &mut WordSyntax, start: usize, quoted: bool, parameter: Parameter) {
        let source = self.source(start, self.at);
        pieces.push(Piece::Parameter { parameter: Box::new(parameter), quoted, source });
    }

    fn substitution(&mut self, pieces: &mut WordSyntax, quoted: bool) {
        let start = self.at;
        if self.starts_with("$((") {
            self.at += 1;
            if let Some(inner) = self.arithmetic() {
                let source = self.source(start, self.at);
                pieces.push(Piece::Arithmetic { inner, source });
                return;
            }
            self.at = start;
        }
        self.at += 2;
        let list = self.nested_list(start);
        pieces.push(Piece::Substitution { list, quoted, source: self.source(start, self.at) });
    }

    /// Reads `((…))`, or nothing if it turns out to be two subshells.
    pub(super) fn arithmetic(&mut self) -> Option<WordSyntax> {
        let start = self.at;
        if self.subshells.contains(&start) {
            return None;
        }
        let (reported, bodies) = (self.unknown.len(), self.bodies.len());
        self.at += 2;
        if let Some(inner) = self.deeper(Self::arithmetic_inner) {
            return Some(inner);
        }
        self.unknown.truncate(reported);
        self.bodies.truncate(bodies);
        self.pending.retain(|pending| pending.body < bodies);
        self.subshells.push(start);
        self.at = start;
        if self.retries == 0 {
            self.report(UnknownReason::TooMuchWork, start);
            self.at = self.text.len();
            return Some(WordSyntax::new());
        }
        self.retries -= 1;
        None
    }

    fn arithmetic_inner(&mut self) -> Option<WordSyntax> {
        let mut pieces = WordSyntax::new();
        let mut open = 0_u32;
        loop {
            pieces.extend(self.pieces(Until::Any(b"()")));
            match self.byte()? {
                b'(' => open += 1,
                _ if open > 0 => open -= 1,
                _ if self.byte_at(1) == Some(b')') => {
                    self.at += 2;
                    return Some(pieces);
                }
                _ => return None,
            }
            self.at += 1;
        }
    }

    /// Reads `${…}`.
    fn braced(&mut self, pieces: &mut WordSyntax, quoted: bool) {
        let start = self.at;
        self.at += 2;
        if matches!(self.byte(), Some(b' ' | b'\t' | b'\n' | b'|')) {
            return self.brace_substitution(pieces, quoted, start);
        }
        let parameter = self.deeper(|parser| parser.braced_parameter(quoted));
        if !self.take("}") {
            self.report(UnknownReason::Syntax, start);
            self.at += self.rest().find('}').map_or(self.rest().len(), |length| length + 1);
        }
        self.parameter(pieces, start, quoted, parameter);
    }

    /// Reads `${ commands; }`.
    fn brace_substitution(&mut self, pieces: &mut WordSyntax, quoted: bool, start: usize) {
        self.at += 1;
        let list = self.deeper(Self::list);
        if !self.take("}") {
            self.report(UnknownReason::Syntax, start);
            self.at = self.text.len();
        }
        pieces.push(Piece::Substitution { list, quoted, source: self.source(start, self.at) });
    }

    fn braced_parameter(&mut self, quoted: bool) -> Parameter {
        let length = self.byte() == Some(b'#') && !matches!(self.byte_at(1), Some(b'}') | None);
        let indirect = self.byte() == Some(b'!') && self.byte_at(1) != Some(b'}');
        self.at += usize::from(length || indirect);
        let name = match self.byte() {
            Some(byte) if is_name(byte) => self.name(),
            Some(byte) if b"@*#?-$!".contains(&byte) => {
                self.at += 1;
                char::from(byte).to_string()
            }
            _ => String::new(),
        };
        let index = self.index();
        let operation = self.operation(quoted);
        Parameter { name, index, length, indirect, operation }
    }

    fn index(&mut self) -> Index {
        if !self.take("[") {
            return Index::None;
        }
        let word = self.pieces(Until::Any(b"]}"));
        self.take("]");
        match word.as_slice() {
            [Piece::Text { text, .. }] if text == "@" || text == "*" => Index::All,
            _ => Index::One(word),
        }
    }

    fn operation(&mut self, quoted: bool) -> Operation {
        let colon =
            self.byte() == Some(b':') && matches!(self.byte_at(1), Some(b'-' | b'=' | b'+' | b'?'));
        self.at += usize::from(colon);
        let Some(byte) = self.byte() else { return Operation::None };
        match byte {
            b'}' => Operation::None,
            b'-' | b'=' => {
                self.at += 1;
                let word = self.operand(quoted, b"}");
                Operation::Default { word, colon, assign: byte == b'=' }
            }
            b'+' => {
                self.at += 1;
                Operation::Alternative(self.operand(quoted, b"}"))
            }
            b'?' => {
                self.at += 1;
                Operation::Required(self.operand(quoted, b"}"))
            }
            b'#' | b'%' => {
                self.at += 1;
                self.at += usize::from(self.byte() == Some(byte));
                Operation::Remove { word: self.operand(false, b"}"), suffix: byte == b'%' }
            }
            b'/' => self.replace(),
            b'^' | b',' => {
                self.at += 1;
                let all = self.byte() == Some(byte);
                self.at += usize::from(all);
                let rest = self.operand(false, b"}");
                if all && rest.is_empty() {
                    Operation::Case { upper: byte == b'^' }
                } else {
                    Operation::Other(rest)
                }
            }
            b':' => {
                self.at += 1;
                let from = self.operand(false, b":}");
                let length = self.take(":").then(|| self.operand(false, b"}"));
                Operation::Substring { from, length }
            }
            _ => Operation::Other(self.operand(quoted, b"}")),
        }
    }

    fn replace(&mut self) -> Operation {
        self.at += 1;
        let all = self.take("/");
        let pattern = self.operand(false, b"/}");
        let replacement =
            if self.take("/") { self.operand(false, b"}") } else { WordSyntax::new() };
        Operation::Replace { pattern, replacement, all }
    }

    fn operand(&mut self, quoted: bool, ends: &'static [u8]) -> WordSyntax {
        if quoted { self.quoted_operand() } else { self.pieces(Until::Any(ends)) }
    }
}

fn simple_parameter(name: String) -> Parameter {
    let operation = Operation::None;
    Parameter { name, index: Index::None, length: false, indirect: false, operation }
}
