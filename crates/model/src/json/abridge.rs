//! Abridges a JSON payload: keeps the beginnings of large values, and where the rest is.
//!
//! Most events concern no hook, and the tree of a payload of ten megabytes takes two hundred. A
//! host names the values that its `decode` only passes on; the beginning of each of them is enough
//! to determine what the event is, and the rest is searched as text, without a tree.

use std::borrow::Cow;
use std::ops::Range;

use super::lexer::{Escape, unescape};
use super::tokens::{Token, TokenKind, Tokens, Unsupported};

/// A value that a host passes on without examining it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpaqueField {
    /// The names of the members that lead to it, from the outermost.
    pub path: &'static [&'static str],
    /// What it becomes in the event.
    pub role: FieldRole,
}

/// What a value becomes in an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldRole {
    /// The input of the tool call: matchers search it, and it identifies the call.
    Input,
    /// The input in the host's own form: matchers search it.
    NativeInput,
    /// Something that only a hook's process reads.
    Other,
}

/// A JSON text in which large values are abridged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Abridged<'text> {
    /// The text: JSON of the same structure, as far as it goes.
    pub text: String,
    /// What was omitted, in order.
    pub cuts: Vec<Cut<'text>>,
}

/// What was omitted in one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut<'text> {
    /// The role of the value it was a part of.
    pub role: FieldRole,
    /// Everything that was omitted, as written, including escapes; a string that was cut is
    /// contained here from its first character.
    pub raw: &'text str,
    /// The part that was kept of a string that is such a value, or a member of one.
    head: Option<&'text str>,
    /// How many bytes were omitted: of the string's text if it is such a string, otherwise as
    /// written.
    pub bytes: usize,
}

impl<'text> Cut<'text> {
    /// Returns the text of what was omitted, with escapes resolved. It contains every value
    /// unchanged, with JSON syntax between them.
    pub fn text(&self) -> Cow<'text, str> {
        unescape(self.raw)
    }

    /// Returns the part that was kept of the string that was cut; `None` if it was more than one
    /// string.
    pub fn head(&self) -> Option<Cow<'text, str>> {
        self.head.map(unescape)
    }
}

/// Keeps more than `keep` bytes of the text of each member of an opaque value, and at least eight
/// times as much of all its members; copies everything else.
///
/// The part that is kept of a value that was cut is its beginning, and has more than `keep` bytes
/// of text. Returns `None` for anything that is not plain JSON: see [`super::read`].
pub fn abridge<'text>(
    text: &'text str,
    opaque_fields: &[OpaqueField],
    keep: usize,
) -> Option<Abridged<'text>> {
    let mut abridger = Abridger {
        text,
        tokens: Tokens::new(text),
        keep,
        done: 0,
        abridged: Abridged { text: String::new(), cuts: Vec::new() },
    };
    abridger.run(opaque_fields).ok()?;
    let Abridger { done, mut abridged, .. } = abridger;
    abridged.text.push_str(&text[done..]);
    Some(abridged)
}

struct Abridger<'text> {
    text: &'text str,
    tokens: Tokens<'text>,
    keep: usize,
    /// The position up to which the text has been copied or omitted.
    done: usize,
    abridged: Abridged<'text>,
}

impl Abridger<'_> {
    fn run(&mut self, opaque_fields: &[OpaqueField]) -> Result<(), Unsupported> {
        // For each open container, the name of the current member; empty for an array.
        let mut path: Vec<&str> = Vec::new();
        while let Some(token) = self.tokens.next()? {
            match token.kind {
                TokenKind::Key => {
                    if let Some(name) = path.last_mut() {
                        *name = &self.text[token.start + 1..token.end - 1];
                    }
                    continue;
                }
                TokenKind::Close => {
                    path.pop();
                    continue;
                }
                _ => {}
            }
            if let Some(found) = opaque_fields.iter().find(|found| found.path == path) {
                self.opaque_fields(token, found.role)?;
            } else if matches!(token.kind, TokenKind::OpenObject | TokenKind::OpenArray) {
                path.push("");
            }
        }
        Ok(())
    }

    /// Processes an opaque value that starts with the given token.
    fn opaque_fields(&mut self, first: Token, role: FieldRole) -> Result<(), Unsupported> {
        if first.kind != TokenKind::OpenObject {
            return self.member(first, role).map(drop);
        }
        let depth = self.tokens.depth();
        let mut kept = 0;
        loop {
            let token = self.token()?;
            if self.tokens.depth() < depth {
                return Ok(());
            }
            if token.kind == TokenKind::Key {
                continue;
            }
            let (end, length) = self.member(token, role)?;
            kept += length;
            if kept > 8 * self.keep {
                // Too many members, each of them small.
                self.abridged.text.push_str(&self.text[self.done..end]);
                let close = self.skip_to(depth - 1)?;
                self.leave_out(end..close.start, role, None, close.start - end);
                return Ok(());
            }
        }
    }

    /// Processes one value. Returns where it ends, and how much of its text was kept.
    fn member(&mut self, first: Token, role: FieldRole) -> Result<(usize, usize), Unsupported> {
        let inside = self.tokens.depth();
        if first.kind == TokenKind::Text {
            let end = first.end;
            let cut = self.cut_string(first, 0);
            if let Some((at, kept)) = cut {
                self.abridged.text.push('"');
                let head = Some(first.start + 1..at);
                self.leave_out(first.start..end - 1, role, head, first.length - kept);
                self.done = end;
            }
            return Ok((end, cut.map_or(first.length, |(_, kept)| kept)));
        }
        if first.kind == TokenKind::Word {
            return Ok((first.end, first.length));
        }
        let outside = inside - 1;
        let mut kept = 0;
        loop {
            let token = self.token()?;
            if self.tokens.depth() == outside {
                return Ok((token.end, kept));
            }
            if token.kind == TokenKind::Key {
                continue;
            }
            let cut = self.cut_string(token, kept);
            kept += cut.map_or(token.length, |(_, kept)| kept);
            if kept <= self.keep {
                continue;
            }
            // A string that was cut is searched as a whole.
            let (from, at) = if let Some((at, _)) = cut {
                self.abridged.text.push('"');
                (token.start, at)
            } else {
                self.abridged.text.push_str(&self.text[self.done..token.end]);
                (token.end, token.end)
            };
            self.abridged.text.extend(self.tokens.closers(outside));
            let close = self.skip_to(outside)?;
            self.leave_out(from..close.end, role, None, close.end - at);
            return Ok((close.end, kept));
        }
    }

    /// Copies the beginning of a string that is longer than what may still be kept; returns where
    /// it was cut, and how much of its text was kept.
    fn cut_string(&mut self, token: Token, kept: usize) -> Option<(usize, usize)> {
        if token.kind != TokenKind::Text || token.length <= self.keep {
            return None;
        }
        let wanted = self.keep.saturating_sub(kept) + 1;
        let mut at = token.start + 1;
        let mut length = 0;
        while length < wanted {
            let character = self.text[at..token.end - 1].chars().next()?;
            let (character, written) = match character {
                '\\' => {
                    let escape = Escape::at(self.text.as_bytes(), at)?;
                    (escape.stands_for, escape.length)
                }
                other => (other, other.len_utf8()),
            };
            at += written;
            length += character.len_utf8();
        }
        self.abridged.text.push_str(&self.text[self.done..at]);
        Some((at, length))
    }

    /// Records what is not copied; the text continues after it.
    fn leave_out(
        &mut self,
        raw: Range<usize>,
        role: FieldRole,
        head: Option<Range<usize>>,
        bytes: usize,
    ) {
        self.done = raw.end;
        let head = head.map(|head| &self.text[head]);
        self.abridged.cuts.push(Cut { role, raw: &self.text[raw], head, bytes });
    }

    /// Advances until only `depth` containers are open; returns the token that closed the last one.
    fn skip_to(&mut self, depth: usize) -> Result<Token, Unsupported> {
        loop {
            let token = self.token()?;
            if self.tokens.depth() == depth {
                return Ok(token);
            }
        }
    }

    fn token(&mut self) -> Result<Token, Unsupported> {
        self.tokens.next()?.ok_or(Unsupported)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::json::any_leaf;

    const OPAQUE_FIELDS: &[OpaqueField] = &[
        OpaqueField { path: &["tool_input"], role: FieldRole::Input },
        OpaqueField { path: &["deep", "er"], role: FieldRole::Other },
    ];

    fn short(text: &str) -> (String, Vec<(String, Option<String>, usize)>) {
        let abridged = abridge(text, OPAQUE_FIELDS, 4).unwrap();
        let cuts = abridged.cuts.iter();
        let cuts =
            cuts.map(|cut| (cut.text().into_owned(), cut.head().map(Cow::into_owned), cut.bytes));
        (abridged.text, cuts.collect())
    }

    #[test]
    fn what_is_small_and_what_is_not_passed_on_stays() {
        for text in [
            r#" {"tool_input": {"a": "1234", "b": [true], "c": null}, "x": "very, very long"} "#,
            r#"{"tool_input": 123456789, "er": "very, very long", "deep": {"x": "123456"}}"#,
            r#"{"x": {"tool_input": "very, very long"}, "deep": [{"er": "123456"}]}"#,
            "\"123456789\"",
        ] {
            assert_eq!(short(text), (text.to_owned(), vec![]));
        }
    }

    #[test]
    fn a_string_keeps_its_beginning() {
        assert_eq!(
            short(r#"{"tool_input": {"a": "123ü\n678", "b": 1}, "deep": {"er": "abcdefg" }}"#),
            (
                r#"{"tool_input": {"a": "123ü", "b": 1}, "deep": {"er": "abcde" }}"#.to_owned(),
                vec![
                    ("\"123ü\n678".to_owned(), Some("123ü".to_owned()), 4),
                    ("\"abcdefg".to_owned(), Some("abcde".to_owned()), 2),
                ]
            )
        );
    }

    #[test]
    fn an_escape_is_whole() {
        assert_eq!(
            short(r#"{"tool_input": ["1", "\ud83d\ude00\u00e9\t123456"]}"#),
            (
                r#"{"tool_input": ["1", "\ud83d\ude00"]}"#.to_owned(),
                vec![("\"😀é\t123456\"]".to_owned(), None, 16)]
            )
        );
    }

    #[test]
    fn a_container_keeps_its_beginning() {
        assert_eq!(
            short(r#"{"tool_input": {"a": [{"x": [12, 345, 6]}, 7], "b": {"c": "d"}}, "y": 1}"#),
            (
                r#"{"tool_input": {"a": [{"x": [12, 345]}], "b": {"c": "d"}}, "y": 1}"#.to_owned(),
                vec![(", 6]}, 7]".to_owned(), None, 9)]
            )
        );
    }

    #[test]
    fn a_string_within_keeps_its_beginning_and_what_follows_goes() {
        assert_eq!(
            short(r#"{"tool_input": {"a": ["12", "345678", "9"], "b": 0}}"#),
            (
                r#"{"tool_input": {"a": ["12", "345"], "b": 0}}"#.to_owned(),
                vec![(r#""345678", "9"]"#.to_owned(), None, 10)]
            )
        );
    }

    #[test]
    fn of_many_members_the_last_go() {
        let many: Vec<String> = (100..200).map(|n| format!("\"k{n}\": {n}")).collect();
        let text = format!("{{\"tool_input\": {{{}}}}}", many.join(", "));
        let (short, cuts) = short(&text);
        let kept: Value = serde_json::from_str(&short).unwrap();
        assert_eq!(kept["tool_input"].as_object().unwrap().len(), 11);
        assert!(cuts[0].0.starts_with(", \"k111\": 111") && cuts[0].0.ends_with(" 199"));
    }

    #[test]
    fn what_is_odd_is_not_taken() {
        for text in ["", "{\"a\": ", "{} {}", "{\"tool_input\": \"\\ud800\"}", "[1e5]"] {
            assert_eq!(abridge(text, OPAQUE_FIELDS, 4), None, "{text}");
        }
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "\\PC{0,12}".prop_map(Value::from),
            "[a\\\\\"\n😀/é]{0,40}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map("[a-d]{1,2}", inner, 0..6).prop_map(|fields| fields
                    .into_iter()
                    .collect::<serde_json::Map<_, _>>()
                    .into()),
            ]
        })
    }

    fn leaves(value: &Value) -> Vec<String> {
        let mut leaves = Vec::new();
        any_leaf(value, &mut |leaf| {
            leaves.push(leaf.to_owned());
            false
        });
        leaves
    }

    /// Writes every character that is not plain as a `\u` escape.
    fn with_codes(text: &str) -> String {
        let mut written = String::new();
        for character in text.chars() {
            if character.is_ascii() {
                written.push(character);
            } else {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    written.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
        written
    }

    proptest! {
        /// Checks that every value is present: complete, or its beginning and in a cut.
        #[test]
        fn nothing_is_lost(input in value(), other in value(), keep in 0_usize..30, codes: bool) {
            let whole = json!({"a": other, "tool_input": input, "deep": {"er": other}, "z": 1});
            let mut text = whole.to_string();
            if codes {
                text = with_codes(&text);
            }
            let Some(abridged) = abridge(&text, OPAQUE_FIELDS, keep) else {
                return Err(TestCaseError::fail(format!("odd: {text}")));
            };
            let short: Value = serde_json::from_str(&abridged.text).unwrap();
            prop_assert_eq!(&short["a"], &whole["a"]);
            prop_assert_eq!(&short["z"], &whole["z"]);
            let kept = leaves(&short["tool_input"]);
            let cuts: Vec<_> = abridged.cuts.iter().filter(|cut| cut.role == FieldRole::Input).collect();
            for leaf in leaves(&input) {
                let is_there = kept.contains(&leaf) || cuts.iter().any(|cut| cut.text().contains(&leaf));
                prop_assert!(is_there, "{}", leaf);
            }
            if cuts.is_empty() {
                prop_assert_eq!(&short["tool_input"], &input);
            } else {
                prop_assert!(kept.iter().map(String::len).sum::<usize>() > keep);
            }
            for cut in cuts {
                if let Some(head) = cut.head() {
                    prop_assert!(kept.contains(&head.into_owned()));
                }
            }
        }

        #[test]
        fn any_text_is_survived(text in r#"([{}\[\],:]|"tool_input"|"(a|\\n|\\u00e9|\\ud83d|é)*"|[0-9.e-]{1,3}| ){0,24}"#, keep in 0_usize..4) {
            if let Some(abridged) = abridge(&text, OPAQUE_FIELDS, keep) {
                prop_assert!(serde_json::from_str::<Value>(&text).is_ok());
                prop_assert!(serde_json::from_str::<Value>(&abridged.text).is_ok());
            }
        }
    }
}
