//! Encodes verdicts as Cursor's replies: each event has a schema of its own.

use anyhook_model::{Effect, Event, EventKind, Reply, Verdict};

use crate::reply_builder::{ReplyBuilder, reason, reason_and_context};

pub fn encode(event: &Event, verdict: &Verdict) -> Reply {
    let native = event.native_name.as_deref().unwrap_or("");
    let mut builder = ReplyBuilder::default();
    match event.kind {
        EventKind::BeforeTool => before_tool(verdict, &mut builder),
        EventKind::SubagentStart => {
            if verdict.is_block() {
                builder.set("permission", "deny");
                builder.set("user_message", reason(verdict));
            }
            builder.record_context_loss(verdict);
        }
        EventKind::BeforeAgent => {
            if verdict.is_block() {
                builder.set("continue", false);
                builder.set("user_message", reason(verdict));
            }
            builder.record_context_loss(verdict);
        }
        EventKind::BeforeStop | EventKind::SubagentStop => {
            if verdict.is_block() {
                builder.set("followup_message", reason_and_context(verdict));
            } else {
                builder.record_context_loss(verdict);
            }
        }
        EventKind::SessionStart | EventKind::AfterTool => tell_model(verdict, &mut builder),
        _ => {
            if verdict.is_block() {
                builder.record_loss("deny", "nothing");
            }
            builder.record_context_loss(verdict);
        }
    }
    builder.reply(native)
}

fn before_tool(verdict: &Verdict, builder: &mut ReplyBuilder) {
    match verdict.effect {
        Some(Effect::Deny) => {
            let why = reason_and_context(verdict);
            builder.set("permission", "deny");
            builder.set("user_message", reason(verdict));
            builder.set("agent_message", why);
            return;
        }
        Some(Effect::Ask) => builder.record_loss("ask", "nothing: it is not enforced"),
        Some(Effect::Allow) => builder.set("permission", "allow"),
        None => {}
    }
    if let Some(input) = &verdict.native_input {
        builder.set("permission", "allow");
        builder.set("updated_input", input.clone());
    }
    builder.record_context_loss(verdict);
}

/// Tells the model, where nothing can be blocked.
fn tell_model(verdict: &Verdict, builder: &mut ReplyBuilder) {
    let warnings = Some(verdict.warnings.join("\n")).filter(|text| !text.is_empty());
    let told = if verdict.is_block() {
        builder.record_loss("deny", "the reason, told to the model");
        Some(reason_and_context(verdict))
    } else {
        verdict.context.clone()
    };
    let told: Vec<String> = told.into_iter().chain(warnings).collect();
    if !told.is_empty() {
        builder.set("additional_context", told.join("\n\n"));
    }
}
