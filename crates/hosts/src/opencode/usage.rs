//! Counts the tokens and turns of a session from its messages.
//!
//! Observed with 1.18.33: a message of the model has the tokens of its request. Its input does not
//! include cached tokens, nor its output thinking tokens. A message of the user may be OpenCode's
//! own, such as when it summarizes a session.

use anyhook_model::daemon::Usage;
use anyhook_model::json::Object;
use serde_json::Value;

use crate::log::text;

/// Counts the tokens of a message's data; returns whether its parts must be counted, too.
pub(super) fn count_message(usage: &mut Usage, message: &str) -> bool {
    let Ok(message) = serde_json::from_str::<Object>(message) else { return false };
    if let (Some("assistant"), Some(tokens)) =
        (text(&message, "role"), message.get("tokens").and_then(Value::as_object))
    {
        *usage = usage.plus(of_request(tokens));
    }
    text(&message, "role") == Some("user")
}

/// Counts a turn if the parts of a user's message come from a person. One that cannot be parsed
/// counts as a person's.
pub(super) fn count_parts(usage: &mut Usage, parts: &[String]) {
    if parts.iter().any(|part| is_given(part)) {
        *usage = usage.plus(Usage { turns: Some(1), ..Usage::default() });
    }
}

fn of_request(tokens: &Object) -> Usage {
    let number = |key: &str| tokens.get(key).and_then(Value::as_u64);
    let cache = |key: &str| tokens.get("cache").and_then(|cache| cache.get(key)?.as_u64());
    let thought = number("reasoning").unwrap_or(0);
    Usage {
        turns: None,
        input_tokens: number("input"),
        output_tokens: number("output").map(|output| output.saturating_add(thought)),
        cache_read_tokens: cache("read"),
        cache_write_tokens: cache("write"),
    }
}

/// Returns whether a part comes from a person and not from OpenCode itself.
fn is_given(part: &str) -> bool {
    let Ok(part) = serde_json::from_str::<Object>(part) else { return true };
    let is_made = part.get("synthetic") == Some(&Value::Bool(true));
    !is_made && text(&part, "type") != Some("compaction")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_its_cache_beside_its_input_and_its_thoughts_in_its_output() {
        let mut usage = Usage::default();
        assert!(!count_message(
            &mut usage,
            r#"{"role":"assistant","tokens":{"total":171,"input":100,"output":10,"reasoning":7,"cache":{"read":50,"write":4}}}"#
        ));
        let tokens = r#"{"role":"assistant","tokens":{"input":1,"output":2}}"#;
        assert!(!count_message(&mut usage, tokens));
        assert!(!count_message(&mut usage, "not JSON"));
        let expected = Usage {
            turns: None,
            input_tokens: Some(101),
            output_tokens: Some(19),
            cache_read_tokens: Some(50),
            cache_write_tokens: Some(4),
        };
        assert_eq!(usage, expected);
    }

    #[test]
    fn what_is_not_told_is_not_known() {
        let mut usage = Usage::default();
        assert!(count_message(&mut usage, r#"{"role":"user"}"#));
        count_parts(&mut usage, &[]);
        count_message(&mut usage, r#"{"role":"assistant"}"#);
        assert!(usage.is_empty());
    }
}
