//! Summarizes what an event was about, in a few words for its record.

use std::borrow::Cow;

use anyhook_model::Event;
use anyhook_model::json::{Cut, FieldRole};
use anyhook_model::truncate::first_bytes;

use crate::redact::without_secrets;

/// A summary is cut to this length.
pub(crate) const SUMMARY_LIMIT: usize = 400;
/// A longer text is cut before it is processed.
pub(crate) const LONG: usize = 16 * 1024;
/// How much of such a text is shown: this leaves room to say how much is not.
const SHOWN: usize = SUMMARY_LIMIT - 40;

/// Returns what an event is about; `cuts` lists what is missing in it. A long text is returned
/// without secrets and within the limit, anything else as received.
pub(crate) fn summary(event: &Event, cuts: &[Cut<'_>]) -> Option<String> {
    let headline = event.headline()?;
    let mut missing = cuts.iter().filter(|cut| cut.role == FieldRole::Input);
    let missing: usize = match &headline {
        Cow::Owned(_) => missing.map(|cut| cut.bytes).sum(),
        Cow::Borrowed(text) => missing
            .find(|cut| cut.head().is_some_and(|head| head == *text))
            .map_or(0, |cut| cut.bytes),
    };
    if missing == 0 && headline.len() <= LONG {
        return Some(headline.into_owned());
    }
    let head = first_bytes(&headline, LONG);
    // Half a word may be half a secret, which nothing would recognise.
    let whole_words = head.rfind([' ', '\n', '\t', '"']).map_or(head, |end| &head[..end]);
    let cut = headline.len() - whole_words.len() + missing;
    let clean = without_secrets(whole_words.to_owned());
    let shown = first_bytes(&clean, SHOWN);
    Some(format!("{shown}… ({} bytes cut)", cut + clean.len() - shown.len()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use anyhook_model::json::{Abridged, abridge, shorten};
    use anyhook_model::{Caller, Host, OpenFormat};
    use serde_json::json;

    use super::*;

    fn both(input: &serde_json::Value) -> (String, String) {
        let payload =
            json!({"event_type": "before_tool", "tool_name": "Shell", "tool_input": input});
        let payload = payload.to_string();
        let caller = Caller::new(Path::new("/"), jiff::Timestamp::UNIX_EPOCH);
        let decode = |text: &str| OpenFormat.decode(text.as_bytes(), &caller).unwrap().remove(0);
        let Abridged { text, cuts } = abridge(&payload, OpenFormat.opaque_fields(), LONG).unwrap();
        (summary(&decode(&payload), &[]).unwrap(), summary(&decode(&text), &cuts).unwrap())
    }

    #[test]
    fn what_is_short_is_as_it_came() {
        let input = json!({"command": "ls"});
        assert_eq!(both(&input), ("ls".to_owned(), "ls".to_owned()));
    }

    #[test]
    fn a_long_text_says_how_much_is_missing() {
        let command = "écho \"\n".repeat(10_000);
        let (whole, cut) = both(&json!({"content": command, "command": command}));
        assert_eq!(whole, cut);
        assert_eq!(whole, format!("{}… (79640 bytes cut)", &command[..360]));
        assert_eq!(shorten(&whole, SUMMARY_LIMIT), whole, "it is within the limit");
    }

    #[test]
    fn a_short_path_beside_a_long_text_is_whole() {
        let (whole, cut) = both(&json!({"content": "x".repeat(100_000), "path": "/a"}));
        assert_eq!((whole.as_str(), cut.as_str()), ("/a", "/a"));
    }

    #[test]
    fn a_long_input_begins_as_it_does() {
        let numbers: Vec<u32> = (0..50_000).collect();
        let (whole, cut) = both(&json!({"numbers": numbers}));
        assert_eq!(whole.split_once('…').unwrap().0, cut.split_once('…').unwrap().0);
        assert!(cut.starts_with("{\"numbers\": [0, 1, 2, 3, ") && cut.ends_with(" bytes cut)"));
    }

    #[test]
    fn secrets_are_gone_and_half_of_one_too() {
        let token = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
        let padding = "x".repeat(LONG - 20 - 2 * token.len());
        let long = "z ".repeat(10_000);
        let (whole, _) = both(&json!({"command": format!("{token} {padding} {token} {long}")}));
        assert!(whole.starts_with("[redacted github-token] xxx"), "{whole}");
        let at_the_edge = format!("{}{token}{long}", "ab ".repeat((LONG - 10) / 3));
        let (whole, cut) = both(&json!({"command": at_the_edge}));
        assert!(!whole.contains("ghp_"), "{whole}");
        assert_eq!(whole, cut);
    }
}
