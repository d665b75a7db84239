//! JSON as the specifications print it, and a parser that no payload can break.

mod abridge;
mod compact;
mod lexer;
mod members;
mod repair;
mod tokens;

use std::borrow::Cow;
use std::io;

use serde::Serialize;
use serde_json::ser::Formatter;
use serde_json::{Map, Value};

use crate::truncate::first_bytes;

pub use abridge::{Abridged, Cut, FieldRole, OpaqueField, abridge};
pub use compact::push_compact;
pub use lexer::{depth, next_escape, unescape};
pub use members::{Members, members};

/// The nesting up to which a value is parsed as a tree; deeper values are flattened (`repair`).
pub const DEPTH_LIMIT: usize = 100;

/// The nesting up to which `serde_json` parses at all: what we write ourselves must not be deeper.
pub const PARSER_DEPTH_LIMIT: usize = 127;

/// A JSON object that keeps the order of its keys.
pub type Object = Map<String, Value>;

/// Writes a space after `:` and `,`: scripts from the specifications grep for `"command": "…"`.
struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}

/// Returns the name of a value's type, for messages.
pub fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// Returns the value on one line with a space after `:` and `,`, as unescaped UTF-8.
pub fn to_spaced<T: Serialize + ?Sized>(value: &T) -> String {
    let mut bytes = Vec::with_capacity(256);
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, Spaced);
    // Writing a JSON tree to memory cannot fail; an empty object would keep the reply well-formed.
    if value.serialize(&mut serializer).is_err() {
        return "{}".to_owned();
    }
    String::from_utf8(bytes).unwrap_or_else(|_| "{}".to_owned())
}

/// The result of [`read`].
#[derive(Clone, Debug, PartialEq)]
pub struct ReadValue {
    /// The value.
    pub value: Value,
    /// Whether something had to be repaired in order to parse it, so that the value is not exact.
    pub repaired: bool,
    /// Whether its end was missing: there was more than the value contains.
    pub cut: bool,
}

/// Parses JSON from bytes that may contain a BOM, invalid UTF-8, a lone surrogate, or nesting of
/// any depth.
///
/// No sender bypasses a guard by making an event hard to parse: see `repair`.
pub fn read(bytes: &[u8]) -> Result<ReadValue, serde_json::Error> {
    let text = lossy(bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    match serde_json::from_str(text) {
        Ok(value) => Ok(ReadValue { value, repaired: false, cut: false }),
        Err(error) => match repair::repair(text) {
            Some(repaired) => Ok(ReadValue {
                value: serde_json::from_str(&repaired).map_err(|_| error)?,
                repaired: true,
                cut: false,
            }),
            None => Err(error),
        },
    }
}

/// Parses JSON as [`read`] does, and as far as it goes if its end is missing.
///
/// A truncated text keeps the received part of its last value: a guard still sees it.
pub fn read_cut(bytes: &[u8]) -> Result<ReadValue, serde_json::Error> {
    read(bytes).or_else(|error| {
        let completed = repair::complete(lossy(bytes).trim_start_matches('\u{feff}'));
        match completed.map(|text| read(text.as_bytes())) {
            Some(Ok(read)) => Ok(ReadValue { repaired: true, cut: true, ..read }),
            _ => Err(error),
        }
    })
}

/// Returns bytes as text, with U+FFFD for invalid UTF-8.
pub fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    // `from_utf8_lossy` alone would go through the whole text character by character.
    str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// Merges `change` into `input` field by field; `null` removes a field.
pub fn merge(input: &mut Object, change: &Object) {
    for (key, value) in change {
        if value.is_null() {
            remove(input, key);
        } else {
            input.insert(key.clone(), value.clone());
        }
    }
}

/// Removes a field and returns it; the order of the others does not change.
pub fn remove(object: &mut Object, key: &str) -> Option<Value> {
    // If keys have an order, `Map::remove` would move the last key into the gap.
    #[cfg(feature = "exact-json")]
    return object.shift_remove(key);
    // Another crate of the program may have enabled the order, which cannot be detected here.
    #[cfg(not(feature = "exact-json"))]
    {
        let value = object.get_mut(key)?.take();
        object.retain(|other, _| other != key);
        Some(value)
    }
}

/// Inserts a field at a position, if keys have an order.
pub fn insert_at(object: &mut Object, place: usize, key: &str, value: Value) {
    #[cfg(feature = "exact-json")]
    object.shift_insert(place, key.to_owned(), value);
    #[cfg(not(feature = "exact-json"))]
    {
        remove(object, key);
        let mut rest = std::mem::take(object).into_iter();
        object.extend(rest.by_ref().take(place));
        object.insert(key.to_owned(), value);
        object.extend(rest);
    }
}

/// Calls `visit` with every leaf of `value` as text, until it returns true.
///
/// Strings are passed unchanged, numbers and booleans in their JSON form; keys and nulls are not
/// passed.
pub fn any_leaf(value: &Value, visit: &mut dyn FnMut(&str) -> bool) -> bool {
    let mut stack = vec![value];
    while let Some(value) = stack.pop() {
        let found = match value {
            Value::Null => false,
            Value::Bool(flag) => visit(if *flag { "true" } else { "false" }),
            Value::Number(number) => visit(&number.to_string()),
            Value::String(text) => visit(text),
            Value::Array(items) => {
                stack.extend(items.iter().rev());
                false
            }
            Value::Object(fields) => {
                stack.extend(fields.values().rev());
                false
            }
        };
        if found {
            return true;
        }
    }
    false
}

/// Returns at most `limit` bytes of `text`, cut between characters, with a mark where it was cut.
pub fn shorten(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let kept = first_bytes(text, limit);
    format!("{kept}… ({} bytes cut)", text.len() - kept.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn spacing_as_in_the_specifications() {
        let value =
            json!({"tool_input": {"command": "rm -rf /tmp", "list": [1, true, null]}, "empty": {}});
        assert_eq!(
            to_spaced(&value),
            r#"{"tool_input": {"command": "rm -rf /tmp", "list": [1, true, null]}, "empty": {}}"#
        );
        assert_eq!(to_spaced(&json!("危险 ü")), "\"危险 ü\"");
    }

    #[test]
    fn numbers_pass_through_to_the_digit() {
        let text = r#"{"a": 12345678901234567890123, "b": 1e400, "c": 1.0}"#;
        assert_eq!(
            to_spaced(&read(text.as_bytes()).unwrap().value),
            text.replace("1e400", "1e+400")
        );
    }

    fn leaves(text: &str) -> Vec<String> {
        let read = read(text.as_bytes()).unwrap();
        assert!(read.repaired);
        let mut leaves = Vec::new();
        any_leaf(&read.value, &mut |leaf| {
            leaves.push(leaf.to_owned());
            false
        });
        leaves
    }

    #[test]
    fn half_a_surrogate_pair_is_replaced() {
        assert_eq!(
            leaves(r#"{"a": "mkfs \ud800", "b": "\udcff\ud83d\ude00 \\ud800"}"#),
            ["mkfs \u{fffd}", "\u{fffd}😀 \\ud800"]
        );
    }

    #[test]
    fn a_key_that_means_something_to_the_parser_is_only_a_key() {
        for key in ["$serde_json::private::Number", r"\u0024serde_json::private::Number"] {
            assert_eq!(leaves(&format!(r#"{{"x": {{"{key}": "mkfs"}}}}"#)), ["mkfs"]);
        }
    }

    #[test]
    fn deep_values_are_leaves_and_deep_keys_are_not() {
        let deep = format!(
            "{{\"a\": {}{{\"key\": \"\\u006dkfs\", \"k\": [1, true, null]}}{}}}",
            "[".repeat(200),
            "]".repeat(200)
        );
        assert_eq!(leaves(&deep), ["mkfs", "1", "true"]);
    }

    #[test]
    fn any_depth_is_read() {
        let deep = format!(
            "{{\"a\": {}\"rm -rf /\"{}, \"b\": 1}}",
            "[".repeat(100_000),
            "]".repeat(100_000)
        );
        let read = read(deep.as_bytes()).unwrap();
        assert!(read.repaired);
        assert_eq!(read.value["b"], json!(1));
        assert!(any_leaf(&read.value, &mut |leaf| leaf == "rm -rf /"));
    }

    #[test]
    fn a_text_that_was_cut_off_is_read_as_far_as_it_goes() {
        let whole = r#"{"event": "PreToolUse", "input": {"command": "rm -rf /", "list": [1, {"a": true}]}, "n": 5}"#;
        let at = |cut: usize| read_cut(&whole.as_bytes()[..cut]).unwrap().value;
        for cut in 1..whole.len() {
            assert!(at(cut).is_object(), "cut at {cut}");
        }
        assert_eq!(
            at(whole.find("rm").unwrap() + 4),
            json!({"event": "PreToolUse", "input": {"command": "rm -"}})
        );
        assert_eq!(at(whole.find("\"list").unwrap() + 3)["input"], json!({"command": "rm -rf /"}));
        assert!(read_cut(b"").is_err());
        assert!(read_cut(b"nonsense").is_err());
    }

    #[test]
    fn broken_deep_text_is_an_error() {
        assert!(read("[".repeat(100_000).as_bytes()).is_err());
        assert!(read("]".repeat(3).as_bytes()).is_err());
    }

    #[test]
    fn bom_and_invalid_bytes_are_read() {
        assert_eq!(read(b"\xef\xbb\xbf{\"a\":\"\xff\"}").unwrap().value, json!({"a": "\u{fffd}"}));
    }

    #[test]
    fn a_field_is_put_at_a_place_and_taken_from_one() {
        let mut object = json!({"a": 1, "b": 2, "c": 3}).as_object().unwrap().clone();
        insert_at(&mut object, 1, "x", json!(4));
        assert_eq!(to_spaced(&object), r#"{"a": 1, "x": 4, "b": 2, "c": 3}"#);
        insert_at(&mut object, 0, "c", json!(5));
        assert_eq!(to_spaced(&object), r#"{"c": 5, "a": 1, "x": 4, "b": 2}"#);
        assert_eq!(remove(&mut object, "a"), Some(json!(1)));
        assert_eq!(remove(&mut object, "a"), None);
        assert_eq!(to_spaced(&object), r#"{"c": 5, "x": 4, "b": 2}"#);
    }

    #[test]
    fn merging_keeps_order_and_null_removes() {
        let mut input = json!({"a": 1, "b": 2, "c": 3}).as_object().unwrap().clone();
        merge(&mut input, json!({"a": null, "c": 4, "d": 5}).as_object().unwrap());
        assert_eq!(to_spaced(&input), r#"{"b": 2, "c": 4, "d": 5}"#);
    }

    proptest! {
        #[test]
        fn reading_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&bytes);
        }

        #[test]
        fn shortening_keeps_the_limit(text in ".{0,40}", limit in 0usize..60) {
            let short = shorten(&text, limit);
            prop_assert!(text.len() <= limit && short == text || short.contains("bytes cut"));
        }
    }
}
