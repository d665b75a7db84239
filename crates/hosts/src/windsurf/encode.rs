//! Encodes verdicts as Cascade's replies: exit code 2 and standard error, or nothing.

use anyhook_model::{Effect, Event, EventKind, Reply, Verdict};

use crate::reply_builder::{ReplyBuilder, reason_and_context};

pub fn encode(event: &Event, verdict: &Verdict) -> Reply {
    let native = event.native_name.as_deref().unwrap_or("");
    let mut builder = ReplyBuilder::default();
    let can_block = matches!(event.kind, EventKind::BeforeTool | EventKind::BeforeAgent);
    match verdict.effect {
        Some(Effect::Deny) if can_block => return builder.block(&reason_and_context(verdict)),
        Some(Effect::Deny) => builder.record_loss("deny", "nothing"),
        Some(effect @ (Effect::Ask | Effect::Allow)) if event.kind == EventKind::BeforeTool => {
            builder.record_loss(effect.word(), "nothing");
        }
        _ => {}
    }
    if verdict.native_input.is_some() {
        builder.record_loss("modified_input", "nothing");
    }
    builder.record_context_loss(verdict);
    builder.reply(native)
}
