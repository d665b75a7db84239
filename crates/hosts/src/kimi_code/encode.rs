//! Encodes verdicts as Kimi Code's replies: exit 2 with the reason on standard error blocks, and a
//! `message` becomes context with a prompt. Nothing else has an effect.

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
        EventKind::BeforeAgent => {
            // Other keys would be shown to the model as they are.
            if let Some(context) = &verdict.context {
                builder.set("message", context.as_str());
            }
        }
        _ => {
            match verdict.effect {
                Some(Effect::Allow) if asks_for_permission(event) => {
                    builder.record_loss("allow", "nothing: the host's own rules decide");
                }
                Some(Effect::Deny) => builder.record_loss("deny", "a line in the journal"),
                _ => {}
            }
            builder.record_context_loss(verdict);
        }
    }
    builder.reply("")
}

/// Returns whether a hook's `allow` would mean something at an event.
fn asks_for_permission(event: &Event) -> bool {
    matches!(event.kind, EventKind::BeforeTool | EventKind::PermissionRequest)
}
