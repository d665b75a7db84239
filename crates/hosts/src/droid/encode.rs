//! Encodes verdicts as Droid's replies.
//!
//! Its hooks run at the same time. Exit 2 denies whatever the others say; of their JSON objects, the
//! first that has a decision counts. So a denial is exit 2, with the reason on standard error.

use anyhook_model::{Effect, Event, EventKind, Reply, Verdict};

use crate::reply_builder::{ReplyBuilder, reason_and_context};

pub fn encode(event: &Event, verdict: &Verdict) -> Reply {
    let native = event.native_name.as_deref().unwrap_or("");
    let mut builder = ReplyBuilder::default();
    match event.kind {
        // It cannot ask: what must not run unasked does not run.
        EventKind::BeforeTool if matches!(verdict.effect, Some(Effect::Deny | Effect::Ask)) => {
            return builder.block(&reason_and_context(verdict));
        }
        EventKind::BeforeAgent
        | EventKind::BeforeStop
        | EventKind::AfterTool
        | EventKind::PreCompact
            if verdict.is_block() =>
        {
            return builder.block(&reason_and_context(verdict));
        }
        EventKind::BeforeTool => before_tool(verdict, &mut builder),
        EventKind::SessionStart if verdict.is_block() => {
            builder.say_specific("additionalContext", reason_and_context(verdict));
            builder.record_loss("deny", "the reason, told to the model");
        }
        EventKind::SessionStart | EventKind::BeforeAgent | EventKind::AfterTool => {
            builder.say_context(verdict);
        }
        _ => {
            if verdict.is_block() {
                builder.record_loss("deny", "a line in the journal");
            }
            builder.record_context_loss(verdict);
        }
    }
    builder.reply(native)
}

fn before_tool(verdict: &Verdict, builder: &mut ReplyBuilder) {
    if verdict.effect == Some(Effect::Allow) {
        builder.say_specific("permissionDecision", "allow");
        if let Some(reason) = &verdict.reason {
            builder.say_specific("permissionDecisionReason", reason.as_str());
        }
    }
    if let Some(input) = &verdict.native_input {
        builder.say_specific("updatedInput", input.clone());
    }
    builder.record_context_loss(verdict);
}
