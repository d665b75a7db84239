//! Encodes verdicts as Crush's replies.

use anyhook_model::{Effect, Event, EventKind, Reply, Verdict};

use crate::reply_builder::{ReplyBuilder, reason};

pub fn encode(event: &Event, verdict: &Verdict) -> Reply {
    let native = event.native_name.as_deref().unwrap_or("");
    let mut builder = ReplyBuilder::default();
    if event.kind != EventKind::BeforeTool {
        if verdict.is_block() {
            builder.record_loss("deny", "nothing");
        }
        builder.record_context_loss(verdict);
        return builder.reply(native);
    }
    match verdict.effect {
        Some(Effect::Deny) => {
            builder.set("decision", "deny");
            builder.set("reason", reason(verdict));
        }
        Some(Effect::Ask) => builder.record_loss("ask", "nothing"),
        Some(Effect::Allow) => builder.set("decision", "allow"),
        None => {}
    }
    if let Some(input) = &verdict.native_input {
        builder.set("updated_input", input.clone());
    }
    let told: Vec<&str> =
        verdict.context.iter().chain(&verdict.warnings).map(String::as_str).collect();
    if !told.is_empty() {
        builder.set("context", told.join("\n\n"));
    }
    builder.reply(native)
}
