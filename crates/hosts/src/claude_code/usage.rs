//! Counts the tokens and turns of a session from its transcript.

use anyhook_model::daemon::Usage;
use anyhook_model::json::Object;
use serde_json::Value;

use super::log::is_prompt;
use crate::log::text;
use crate::usage::{UsageTally, number};

pub(super) fn feed(tally: &mut UsageTally, object: &Object) {
    let message = object.get("message").and_then(Value::as_object);
    if let Some(message) = message
        && text(object, "type") == Some("assistant")
        && text(message, "model") != Some("<synthetic>")
        && let Some(told) = message.get("usage").and_then(Value::as_object)
    {
        let usage = Usage {
            turns: None,
            input_tokens: number(told, "input_tokens"),
            output_tokens: number(told, "output_tokens"),
            cache_read_tokens: number(told, "cache_read_input_tokens"),
            cache_write_tokens: number(told, "cache_creation_input_tokens"),
        };
        let id = text(message, "id").or_else(|| text(object, "uuid")).unwrap_or_default();
        tally.message(id, usage);
    }
    if is_prompt(object) {
        tally.prompt(text(object, "uuid").unwrap_or_default());
    }
}
