//! Encodes verdicts as VS Code's replies.

use anyhook_model::{Effect, Event, EventKind, Reply, Verdict};

use crate::reply_builder::{ReplyBuilder, reason, reason_and_context};

pub fn encode(event: &Event, verdict: &Verdict) -> Reply {
    let native = event.native_name.as_deref().unwrap_or("");
    let mut builder = ReplyBuilder::default();
    match event.kind {
        EventKind::BeforeTool => before_tool(verdict, &mut builder),
        EventKind::BeforeStop if verdict.is_block() => {
            builder.say_specific("decision", "block");
            builder.say_specific("reason", reason_and_context(verdict));
        }
        EventKind::SubagentStop if verdict.is_block() => {
            builder.set("decision", "block");
            builder.set("reason", reason_and_context(verdict));
        }
        EventKind::AfterTool => {
            if verdict.is_block() {
                builder.set("decision", "block");
                builder.set("reason", reason(verdict));
            }
            builder.say_context(verdict);
        }
        EventKind::BeforeAgent if verdict.is_block() => {
            return builder.block(&reason_and_context(verdict));
        }
        EventKind::SessionStart | EventKind::SubagentStart => {
            if verdict.is_block() {
                builder.say_specific("additionalContext", reason_and_context(verdict));
                builder.record_loss("deny", "the reason, told to the model");
            } else {
                builder.say_context(verdict);
            }
        }
        _ => {
            if verdict.is_block() {
                builder.record_loss("deny", "a message to the user");
                builder.set("systemMessage", reason(verdict));
            }
            builder.record_context_loss(verdict);
        }
    }
    builder.warn(verdict);
    builder.reply(native)
}

fn before_tool(verdict: &Verdict, builder: &mut ReplyBuilder) {
    if let Some(effect) = verdict.effect {
        builder.say_specific("permissionDecision", effect.word());
        let why = match effect {
            Effect::Allow => verdict.reason.clone(),
            Effect::Ask | Effect::Deny => Some(reason(verdict)),
        };
        if let Some(why) = why {
            builder.say_specific("permissionDecisionReason", why);
        }
    }
    if let Some(input) = &verdict.native_input {
        builder.say_specific("updatedInput", input.clone());
    }
    builder.say_context(verdict);
}
