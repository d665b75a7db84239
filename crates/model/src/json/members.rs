//! The members of an object, each value as it was written.

/// What [`members`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Members<'text> {
    /// Each name with its value's text, in order; a name may come twice.
    pub found: Vec<(String, &'text str)>,
    /// Whether the object was there from `{` to `}` with nothing around it.
    pub complete: bool,
}

impl<'text> Members<'text> {
    /// Returns the text of the first value of that name.
    pub fn get(&self, name: &str) -> Option<&'text str> {
        self.found.iter().find(|(found, _)| found == name).map(|(_, text)| *text)
    }
}

/// Finds where the values of an object begin and end, as far as the text goes.
///
/// A value is not read: whoever takes it says whether it is JSON. So it stays what was sent, to the
/// byte and however deep, and costs one pass.
pub fn members(text: &str) -> Members<'_> {
    let mut scanner = Scanner { text, at: 0 };
    let mut found = Vec::new();
    let complete = scanner.object(&mut found).is_some();
    Members { found, complete }
}

struct Scanner<'text> {
    text: &'text str,
    at: usize,
}

impl<'text> Scanner<'text> {
    fn object(&mut self, found: &mut Vec<(String, &'text str)>) -> Option<()> {
        self.expect(b'{')?;
        if self.peek()? != b'}' {
            loop {
                let name = self.peek().filter(|byte| *byte == b'"').and_then(|_| self.value())?;
                let name = serde_json::from_str(name).ok()?;
                self.expect(b':')?;
                found.push((name, self.value()?));
                if self.peek()? != b',' {
                    break;
                }
                self.at += 1;
            }
        }
        self.expect(b'}')?;
        self.peek().is_none().then_some(())
    }

    /// Skips blanks; returns the next byte.
    fn peek(&mut self) -> Option<u8> {
        let rest = &self.text.as_bytes()[self.at..];
        let blanks = rest.iter().take_while(|byte| b" \t\r\n".contains(byte)).count();
        self.at += blanks;
        rest.get(blanks).copied()
    }

    fn expect(&mut self, wanted: u8) -> Option<()> {
        (self.peek()? == wanted).then(|| self.at += 1)
    }

    /// Goes over one value and returns its text.
    fn value(&mut self) -> Option<&'text str> {
        let first = self.peek()?;
        let start = self.at;
        let bytes = self.text.as_bytes();
        match first {
            b'"' => self.string()?,
            b'{' | b'[' => {
                let mut depth = 0_usize;
                loop {
                    match bytes.get(self.at)? {
                        b'"' => {
                            self.string()?;
                            continue;
                        }
                        b'{' | b'[' => depth += 1,
                        b'}' | b']' => depth -= 1,
                        _ => {}
                    }
                    self.at += 1;
                    if depth == 0 {
                        break;
                    }
                }
            }
            _ => {
                let ends = |byte: &u8| b",}] \t\r\n".contains(byte);
                self.at += bytes[start..].iter().position(ends)?;
            }
        }
        Some(&self.text[start..self.at]).filter(|text| !text.is_empty())
    }

    /// Goes over a string that begins here.
    fn string(&mut self) -> Option<()> {
        let bytes = self.text.as_bytes();
        self.at += 1;
        loop {
            match bytes.get(self.at)? {
                b'"' => {
                    self.at += 1;
                    return Some(());
                }
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
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
