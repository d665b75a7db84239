//! Finds the members of a JSON object without parsing them, each value as written.

use super::lexer::{LexemeKind, Lexer};

/// The result of [`members`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Members<'text> {
    /// Each name with its value's text, in order; a name may occur twice.
    pub found: Vec<(String, &'text str)>,
    /// Whether the text was exactly one object, from `{` to `}`.
    pub complete: bool,
}

impl<'text> Members<'text> {
    /// Returns the text of the first value of that name.
    pub fn get(&self, name: &str) -> Option<&'text str> {
        self.found.iter().find(|(found, _)| found == name).map(|(_, text)| *text)
    }
}

/// Finds where the values of an object start and end, as far as the text goes.
///
/// A value is not parsed: the caller finds out whether it is JSON. So it stays exactly as it was
/// sent, byte for byte and however deeply nested, and costs one pass.
pub fn members(text: &str) -> Members<'_> {
    let mut scanner = Scanner { text, lexer: Lexer::new(text.as_bytes()) };
    let mut found = Vec::new();
    let complete = scanner.object(&mut found).is_some();
    Members { found, complete }
}

/// Scans the members of an object.
struct Scanner<'text> {
    text: &'text str,
    lexer: Lexer<'text>,
}

impl<'text> Scanner<'text> {
    fn object(&mut self, found: &mut Vec<(String, &'text str)>) -> Option<()> {
        let lexeme = self.lexer.next()?;
        let mut next = self.lexer.clone().next()?;
        if lexeme.piece != LexemeKind::OpenObject {
            return None;
        }
        if next.piece != LexemeKind::CloseObject {
            loop {
                let name = self.lexer.next().filter(|name| name.piece == LexemeKind::String)?;
                let name = serde_json::from_str(&self.text[name.start..name.end]).ok()?;
                self.lexer.next().filter(|colon| colon.piece == LexemeKind::Colon)?;
                found.push((name, self.value()?));
                next = self.lexer.clone().next()?;
                if next.piece != LexemeKind::Comma {
                    break;
                }
                self.lexer.continue_at(next.end);
            }
        }
        self.lexer.next().filter(|close| close.piece == LexemeKind::CloseObject)?;
        self.lexer.next().is_none().then_some(())
    }

    /// Scans one value and returns its text.
    fn value(&mut self) -> Option<&'text str> {
        let start = self.lexer.skip_blanks();
        let first = self.lexer.next()?;
        let end = match first.piece {
            LexemeKind::UnclosedString => return None,
            LexemeKind::String => first.end,
            LexemeKind::OpenObject | LexemeKind::OpenArray => {
                let mut depth = 1_usize;
                loop {
                    let inner = self.lexer.next()?;
                    match inner.piece {
                        LexemeKind::OpenObject | LexemeKind::OpenArray => depth += 1,
                        LexemeKind::CloseObject | LexemeKind::CloseArray => depth -= 1,
                        LexemeKind::UnclosedString => return None,
                        _ => {}
                    }
                    if depth == 0 {
                        break inner.end;
                    }
                }
            }
            _ => {
                // Anything, up to where a member could end.
                let ends = |byte: &u8| b",}] \t\r\n".contains(byte);
                let end = start + self.text.as_bytes()[start..].iter().position(ends)?;
                self.lexer.continue_at(end);
                end
            }
        };
        Some(&self.text[start..end]).filter(|text| !text.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn values_are_kept_to_the_byte() {
        let text = r#" { "a" : [1, "]}\"", {"x": 1.0}] ,"b":{}, "\u0061":null,"c": -1e2 }  "#;
        let members = members(text);
        assert!(members.complete);
        let found: Vec<(&str, &str)> =
            members.found.iter().map(|(name, text)| (name.as_str(), *text)).collect();
        assert_eq!(
            found,
            [("a", r#"[1, "]}\"", {"x": 1.0}]"#), ("b", "{}"), ("a", "null"), ("c", "-1e2")]
        );
        assert_eq!(members.get("b"), Some("{}"));
    }

    #[test]
    fn what_is_cut_off_is_read_as_far_as_it_goes() {
        let text = r#"{"id": 7, "event": {"a": "b"#;
        assert_eq!(members(text), Members { found: vec![("id".into(), "7")], complete: false });
        for text in ["", "[]", "{", "{\"a\"", "{\"a\": 1,}", "{} {}", "{1: 2}", "{\"a\": }", "\""] {
            assert!(!members(text).complete, "{text}");
        }
        assert!(members(" {} ").complete);
    }

    #[test]
    fn depth_is_no_matter() {
        let deep = format!("{{\"a\": {}{}}}", "[".repeat(1_000_000), "]".repeat(1_000_000));
        assert!(members(&deep).complete);
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in r#"[{}\[\]",:\\a1é ]{0,40}"#) {
            let found = members(&text);
            let is_object = text.trim_start().starts_with('{');
            prop_assert!(!found.complete || is_object);
        }

        #[test]
        fn every_member_is_found(values in prop::collection::vec(".{0,12}", 0..6)) {
            let object: Value = values
                .iter()
                .enumerate()
                .map(|(index, text)| (format!("{index}{text}"), json!({"in": [text]})))
                .collect::<serde_json::Map<_, _>>()
                .into();
            let text = object.to_string();
            let members = members(&text);
            prop_assert!(members.complete);
            prop_assert_eq!(members.found.len(), values.len());
            for (name, text) in members.found {
                prop_assert_eq!(&object[&name], &serde_json::from_str::<Value>(text).unwrap());
            }
        }
    }
}
