//! Counts the tokens and turns of a session from its chat.

use anyhook_model::daemon::Usage;
use anyhook_model::json::Object;
use serde_json::Value;

use crate::log::text;
use crate::usage::{UsageTally, number};

pub(super) fn feed(tally: &mut UsageTally, object: &Object) {
    let id = text(object, "id").unwrap_or_default();
    match text(object, "type") {
        Some("user") if is_asked(object) => tally.prompt(id),
        Some("gemini") => {
            if let Some(tokens) = object.get("tokens").and_then(Value::as_object) {
                tally.message(id, of_request(tokens));
            }
        }
        _ => {}
    }
}

/// Its input includes tokens read from the cache; its output does not include thinking tokens.
fn of_request(tokens: &Object) -> Usage {
    let cached = number(tokens, "cached");
    let thoughts = number(tokens, "thoughts").unwrap_or(0);
    Usage {
        turns: None,
        input_tokens: number(tokens, "input").map(|all| all.saturating_sub(cached.unwrap_or(0))),
        output_tokens: number(tokens, "output").map(|all| all.saturating_add(thoughts)),
        cache_read_tokens: cached,
        cache_write_tokens: None,
    }
}

/// Returns whether a user's message is a person's prompt: neither a tool result nor the agent's own
/// text about the folder and the system.
fn is_asked(object: &Object) -> bool {
    let first = match object.get("content") {
        Some(Value::Array(parts)) => parts.first().and_then(|part| part.get("text")),
        content => content,
    };
    first.and_then(Value::as_str).is_some_and(|text| !text.starts_with("<session_context>"))
}
