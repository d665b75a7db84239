//! Encodes verdicts as Junie's replies: exit code 2 and standard error, or nothing.

use anyhook_model::{Effect, Event, EventKind, Reply, Verdict};

use crate::reply_builder::{ReplyBuilder, reason_and_context};

pub fn encode(event: &Event, verdict: &Verdict) -> Reply {
    let mut builder = ReplyBuilder::default();
    let can_block = matches!(
        event.kind,
        EventKind::BeforeTool | EventKind::BeforeAgent | EventKind::BeforeStop
    );
    match verdict.effect {
        Some(Effect::Deny) if can_block => return builder.block(&reason_and_context(verdict)),
        // It cannot ask: what must not run unasked does not run.
        Some(Effect::Ask) if event.kind == EventKind::BeforeTool => {
            return builder.block(&reason_and_context(verdict));
        }
        Some(Effect::Deny) => builder.record_loss("deny", "a line in the journal"),
        Some(Effect::Allow) if event.kind == EventKind::BeforeTool => {
            builder.record_loss("allow", "nothing: the host has no plain allow");
        }
        _ => {}
    }
    if verdict.native_input.is_some() {
        builder.record_loss("modified_input", "nothing: the host accepts none");
    }
    builder.record_context_loss(verdict);
    builder.reply("")
}
