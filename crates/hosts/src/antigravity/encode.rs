//! Encodes verdicts as replies of Antigravity CLI: every reply has a decision.

use anyhook_model::{Effect, Event, EventKind, Reply, Verdict};

use crate::reply_builder::{ReplyBuilder, reason, reason_and_context};

pub fn encode(event: &Event, verdict: &Verdict) -> Reply {
    let native = event.native_name.as_deref().unwrap_or("");
    let mut builder = ReplyBuilder::default();
    match event.kind {
        EventKind::BeforeTool => {
            let decision = match verdict.effect {
                Some(Effect::Deny) => "deny",
                Some(Effect::Ask) => "force_ask",
                Some(Effect::Allow) => "allow",
                None => NEUTRAL,
            };
            builder.set("decision", decision);
            match verdict.effect {
                Some(Effect::Deny | Effect::Ask) => builder.set("reason", reason(verdict)),
                Some(Effect::Allow) | None => {}
            }
            if verdict.native_input.is_some() {
                builder.record_loss("modified_input", "nothing");
            }
            builder.record_context_loss(verdict);
        }
        EventKind::BeforeStop => {
            builder.set("decision", if verdict.is_block() { "continue" } else { NEUTRAL });
            if verdict.is_block() {
                builder.set("reason", reason_and_context(verdict));
            } else {
                builder.record_context_loss(verdict);
            }
        }
        _ => {
            if verdict.is_block() {
                builder.record_loss("deny", "nothing");
            }
            builder.record_context_loss(verdict);
        }
    }
    builder.reply(native)
}

/// No opinion: with no decision at all, it may block.
const NEUTRAL: &str = "";

/// Returns a denial for a reason.
pub fn denial(reason: &str) -> Reply {
    let mut builder = ReplyBuilder::default();
    builder.set("decision", "deny");
    builder.set("reason", reason);
    builder.reply("")
}
