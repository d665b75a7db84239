//! Encodes verdicts as Kimi CLI's replies: exit 2 with the reason on standard error blocks, and
//! nothing else that a hook prints has an effect.

use anyhook_model::{Effect, Event, EventKind, Reply, Verdict};

use crate::reply_builder::{ReplyBuilder, reason_and_context};

pub fn encode(event: &Event, verdict: &Verdict) -> Reply {
    let mut builder = ReplyBuilder::default();
    match event.kind {
        // It cannot ask: what must not run unasked does not run.
        EventKind::BeforeTool if matches!(verdict.effect, Some(Effect::Deny | Effect::Ask)) => {
            return builder.block(&reason_and_context(verdict));
        }
        EventKind::BeforeAgent | EventKind::BeforeStop if verdict.is_block() => {
            return builder.block(&reason_and_context(verdict));
        }
        EventKind::BeforeTool => {
            if verdict.effect == Some(Effect::Allow) {
                builder.record_loss("allow", "nothing: the host has no plain allow");
            }
            if verdict.native_input.is_some() {
                builder.record_loss("modified_input", "nothing: the host accepts none");
            }
        }
        _ if verdict.is_block() => builder.record_loss("deny", "a line in the journal"),
        _ => {}
    }
    builder.record_context_loss(verdict);
    builder.reply("")
}
