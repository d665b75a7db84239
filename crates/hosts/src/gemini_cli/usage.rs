//! The tokens and turns of a session, by its chat.

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

/// Its input includes what came from the cache; what it thought with is not among its output.
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

/// Tells whether a user's message is what a person asked: neither what a tool returned nor the
/// agent's own words about the folder and the system.
fn is_asked(object: &Object) -> bool {
    let first = match object.get("content") {
        Some(Value::Array(parts)) => parts.first().and_then(|part| part.get("text")),
        content => content,
    };
    first.and_then(Value::as_str).is_some_and(|text| !text.starts_with("<session_context>"))
}
