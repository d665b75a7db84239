//! Encodes verdicts as Gemini CLI's replies: always exit 0 and JSON, because other exit codes block
//! by accident.

use anyhook_model::{Effect, Event, EventKind, Reply, Verdict};

use crate::reply_builder::{ReplyBuilder, reason, reason_and_context};

pub fn encode(event: &Event, verdict: &Verdict) -> Reply {
    let native = event.native_name.as_deref().unwrap_or("");
    let mut builder = ReplyBuilder::default();
    match event.kind {
        EventKind::BeforeTool => before_tool(verdict, &mut builder),
        EventKind::BeforeAgent => {
            if verdict.is_block() {
                deny(&reason(verdict), &mut builder);
            }
            builder.say_context(verdict);
        }
        // The reason takes the place of the output, and of a context as well.
        EventKind::AfterTool | EventKind::AfterToolFailure if verdict.is_block() => {
            deny(&reason_and_context(verdict), &mut builder);
        }
        EventKind::AfterTool | EventKind::AfterToolFailure => builder.say_context(verdict),
        EventKind::BeforeStop => {
            if verdict.is_block() {
                deny(&reason_and_context(verdict), &mut builder);
            } else {
                builder.record_context_loss(verdict);
            }
        }
        EventKind::SessionStart => {
            if verdict.is_block() {
                builder.set("systemMessage", reason(verdict));
                builder.say_specific("additionalContext", reason_and_context(verdict));
                builder.record_loss("deny", "the reason, shown to the user and the model");
            } else {
                builder.say_context(verdict);
            }
        }
        _ => {
            if verdict.is_block() {
                builder.set("systemMessage", reason(verdict));
                builder.record_loss("deny", "a message to the user");
            }
            builder.record_context_loss(verdict);
        }
    }
    builder.warn(verdict);
    builder.reply(native)
}

fn before_tool(verdict: &Verdict, builder: &mut ReplyBuilder) {
    match verdict.effect {
        Some(Effect::Deny) => return deny(&reason_and_context(verdict), builder),
        Some(Effect::Ask) => {
            builder.set("decision", "ask");
            builder.set("reason", reason(verdict));
        }
        Some(Effect::Allow) => builder.set("decision", "allow"),
        None => {}
    }
    if let Some(input) = &verdict.native_input {
        builder.say_specific("tool_input", input.clone());
    }
    builder.record_context_loss(verdict);
}

fn deny(reason: &str, builder: &mut ReplyBuilder) {
    builder.set("decision", "deny");
    builder.set("reason", reason);
}
