//! Removes the whitespace from a JSON object without parsing it, keeping the rest as written.

use super::tokens::Tokens;

/// Appends an object to `compact`, without whitespace between its tokens and without building a
/// tree.
///
/// Returns whether it did: a text that is not a plain object, or has characters written as `\u`
/// escapes, which a tree would resolve, is left to the regular parser.
pub fn push_compact(text: &str, compact: &mut Vec<u8>) -> bool {
    let start = compact.len();
    let is_object = text.trim_start().starts_with('{');
    let done = is_object && push_tokens(text, compact).is_some();
    if !done {
        compact.truncate(start);
    }
    done
}

fn push_tokens(text: &str, compact: &mut Vec<u8>) -> Option<()> {
    let bytes = text.as_bytes();
    let mut tokens = Tokens::new(text);
    // The range in which nothing has to be removed.
    let (mut from, mut to) = (0, 0);
    while let Some(token) = tokens.next().ok()? {
        let between = &bytes[to..token.start];
        if between.iter().any(u8::is_ascii_whitespace) {
            compact.extend_from_slice(&bytes[from..to]);
            compact.extend(between.iter().filter(|byte| !byte.is_ascii_whitespace()));
            from = token.start;
        }
        to = token.end;
    }
    compact.extend_from_slice(&bytes[from..to]);
    (!tokens.has_codes).then_some(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn only_blanks_between_tokens_go() {
        for (text, compact) in [
            (" {\n\t\"a b\" : [ 1.50 ,true ] , \"c\":{ } }\r\n", r#"{"a b":[1.50,true],"c":{}}"#),
            (r#"{"a":"x\n \\","a":1}"#, r#"{"a":"x\n \\","a":1}"#),
        ] {
            let mut written = b"before".to_vec();
            assert!(push_compact(text, &mut written), "{text}");
            assert_eq!(written, format!("before{compact}").as_bytes());
        }
    }

    #[test]
    fn what_a_tree_would_change_is_left_alone() {
        for text in [
            "",
            "[1]",
            "\"a\"",
            "{",
            r#"{"a":"\u0061"}"#,
            r#"{"a":"\/"}"#,
            r#"{"a":1e5}"#,
            r#"{"a":1.5E-7}"#,
        ] {
            let mut written = b"before".to_vec();
            assert!(!push_compact(text, &mut written), "{text}");
            assert_eq!(written, b"before");
        }
    }

    proptest! {
        /// The result is the same as when a parsed tree is written.
        #[test]
        fn it_is_what_a_tree_says(
            key in "[a-z ]{0,6}", text in "[^\\x00-\\x1f\\x7f]{0,20}", blanks in "[ \n\t\r]{0,3}",
        ) {
            let value = json!({key: [text, {"n": 1.5}, null], "z": true});
            let spread = serde_json::to_string_pretty(&value).unwrap().replace('\n', &format!("\n{blanks}"));
            let mut compact = Vec::new();
            prop_assert!(push_compact(&spread, &mut compact));
            prop_assert_eq!(compact, serde_json::from_str::<Value>(&spread).unwrap().to_string().into_bytes());
        }
    }
}
