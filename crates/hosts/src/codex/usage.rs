//! Counts the tokens and turns of a session from its rollout.

use anyhook_model::daemon::Usage;
use anyhook_model::json::Object;
use serde_json::Value;

use crate::log::text;
use crate::usage::{UsageTally, number};

pub(super) fn feed(tally: &mut UsageTally, object: &Object) {
    let Some(payload) = object.get("payload").and_then(Value::as_object) else { return };
    match (text(object, "type"), text(payload, "type")) {
        (Some("event_msg"), Some("task_started" | "turn_started")) => tally.next_prompt(),
        (Some("event_msg"), Some("token_count")) => {
            let total = payload.get("info").and_then(|info| info.get("total_token_usage"));
            if let Some(total) = total.and_then(Value::as_object) {
                tally.total(summed_up(total));
            }
        }
        _ => {}
    }
}

/// Its input includes tokens read from and written to the cache.
fn summed_up(total: &Object) -> Usage {
    let cached = number(total, "cached_input_tokens");
    let written = number(total, "cache_write_input_tokens");
    let elsewhere = cached.unwrap_or(0).saturating_add(written.unwrap_or(0));
    Usage {
        turns: None,
        input_tokens: number(total, "input_tokens").map(|all| all.saturating_sub(elsewhere)),
        output_tokens: number(total, "output_tokens"),
        cache_read_tokens: cached,
        cache_write_tokens: written,
    }
}
