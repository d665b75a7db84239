//! Encodes verdicts as Copilot CLI's replies: fields at the top, which both of its dialects accept.
//!
//! A denied call is said twice. The JSON carries the reason; exit 2 denies even if something that a
//! login shell printed makes the JSON invalid. At every other event, exit 2 is only a warning.

use anyhook_model::{DecodeError, Effect, Event, EventKind, Reply, Verdict, exit_code};

use crate::reply_builder::{self, ReplyBuilder, reason, reason_and_context};

pub fn encode(event: &Event, verdict: &Verdict) -> Reply {
    let mut builder = ReplyBuilder::default();
    match event.kind {
        EventKind::BeforeTool => return before_tool(verdict, builder),
        EventKind::PermissionRequest => return permission(verdict, builder),
        EventKind::BeforeAgent => {
            block(verdict, &mut builder, reason);
            context(verdict, &mut builder);
        }
        // Of a block and a context, only the block is read.
        EventKind::AfterTool | EventKind::AfterToolFailure if has_result(event) => {
            if !block(verdict, &mut builder, reason_and_context) {
                context(verdict, &mut builder);
            }
        }
        EventKind::BeforeStop | EventKind::SubagentStop => {
            if !block(verdict, &mut builder, reason_and_context) {
                builder.record_context_loss(verdict);
            }
        }
        EventKind::SessionStart | EventKind::SubagentStart | EventKind::AfterToolFailure => {
            if verdict.is_block() {
                builder.set("additionalContext", reason_and_context(verdict));
                builder.record_loss("deny", "the reason, shown to the model");
            } else {
                context(verdict, &mut builder);
            }
        }
        _ => {
            if verdict.is_block() {
                builder.record_loss("deny", "a line in the journal");
            }
            builder.record_context_loss(verdict);
        }
    }
    builder.reply("")
}

/// Replies to a payload that could not be parsed where a guard is installed.
pub fn unreadable(error: &DecodeError) -> Reply {
    let mut builder = ReplyBuilder::default();
    deny(&mut builder, reply_builder::unreadable(error));
    blocking(builder)
}

fn before_tool(verdict: &Verdict, mut builder: ReplyBuilder) -> Reply {
    if verdict.effect == Some(Effect::Deny) {
        deny(&mut builder, reason(verdict));
        context(verdict, &mut builder);
        return blocking(builder);
    }
    if let Some(effect) = verdict.effect {
        builder.set("permissionDecision", effect.word());
        let why = match effect {
            Effect::Allow => verdict.reason.clone(),
            Effect::Ask | Effect::Deny => Some(reason(verdict)),
        };
        if let Some(why) = why {
            builder.set("permissionDecisionReason", why);
        }
    }
    if let Some(input) = &verdict.native_input {
        builder.set("modifiedArgs", input.clone());
    }
    context(verdict, &mut builder);
    builder.reply("")
}

fn deny(builder: &mut ReplyBuilder, reason: String) {
    builder.set("permissionDecision", "deny");
    builder.set("permissionDecisionReason", reason);
}

fn permission(verdict: &Verdict, mut builder: ReplyBuilder) -> Reply {
    match verdict.effect {
        Some(Effect::Deny) => {
            builder.set("behavior", "deny");
            builder.set("message", reason_and_context(verdict));
            return blocking(builder);
        }
        Some(Effect::Allow) => builder.set("behavior", "allow"),
        // `ask` means the host's own dialog.
        Some(Effect::Ask) | None => {}
    }
    if verdict.native_input.is_some() {
        builder.record_loss("modified_input", "nothing: the host accepts none here");
    }
    builder.record_context_loss(verdict);
    builder.reply("")
}

/// Returns the reply with the exit code that denies a tool call.
fn blocking(builder: ReplyBuilder) -> Reply {
    Reply { exit_code: exit_code::BLOCKED, ..builder.reply("") }
}

/// Returns whether the agent has a result that a hook can replace: not if the tool itself failed.
fn has_result(event: &Event) -> bool {
    event.native_name.as_deref().is_some_and(|name| name.eq_ignore_ascii_case("PostToolUse"))
}

/// Blocks if the verdict does; returns whether it does.
fn block(
    verdict: &Verdict,
    builder: &mut ReplyBuilder,
    words: impl FnOnce(&Verdict) -> String,
) -> bool {
    match verdict.effect {
        Some(Effect::Deny) => {
            builder.set("decision", "block");
            builder.set("reason", words(verdict));
            return true;
        }
        Some(Effect::Ask) => builder.record_loss("ask", "nothing: there is no one to ask here"),
        Some(Effect::Allow) | None => {}
    }
    false
}

fn context(verdict: &Verdict, builder: &mut ReplyBuilder) {
    if let Some(context) = &verdict.context {
        builder.set("additionalContext", context.as_str());
    }
}
