//! Encodes verdicts as Grok's replies: always exit 0 and JSON, which counts with any exit code.

use anyhook_model::{Effect, Event, EventKind, Reply, Verdict};

use crate::reply_builder::{ReplyBuilder, reason, reason_and_context};

pub fn encode(event: &Event, verdict: &Verdict) -> Reply {
    let native = event.native_name.as_deref().unwrap_or("");
    let mut builder = ReplyBuilder::default();
    match event.kind {
        EventKind::BeforeTool => before_tool(verdict, &mut builder),
        EventKind::AfterTool => {
            if verdict.is_block() {
                block(&reason(verdict), &mut builder);
            }
            builder.say_context(verdict);
        }
        EventKind::AfterToolFailure => {
            if verdict.is_block() {
                builder.record_loss("deny", "the reason, told to the model");
                builder.say_specific("additionalContext", reason_and_context(verdict));
            } else {
                builder.say_context(verdict);
            }
        }
        // The reason is shown to the user and not to the model.
        EventKind::BeforeAgent => {
            if verdict.is_block() {
                block(&reason(verdict), &mut builder);
            }
            builder.record_context_loss(verdict);
        }
        EventKind::BeforeStop | EventKind::SubagentStop => {
            if verdict.is_block() {
                block(&reason_and_context(verdict), &mut builder);
            } else {
                // Context alone would keep the agent from stopping.
                builder.record_context_loss(verdict);
            }
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
    match verdict.effect {
        Some(Effect::Deny) => {
            builder.set("decision", "deny");
            // A denial drops the context.
            builder.set("reason", reason_and_context(verdict));
            return;
        }
        Some(Effect::Ask) => {
            builder.set("decision", "ask");
            builder.set("reason", reason(verdict));
        }
        Some(Effect::Allow) => {
            builder.record_loss("allow", "no opinion: the agent asks the user where it would");
        }
        None => {}
    }
    if let Some(input) = &verdict.native_input {
        builder.say_specific("updatedInput", input.clone());
    }
    builder.say_context(verdict);
}

fn block(reason: &str, builder: &mut ReplyBuilder) {
    builder.set("decision", "block");
    builder.set("reason", reason);
}
