//! Encodes verdicts as Qwen Code's replies.
//!
//! It merges the answers of all hooks: another hook's `permissionDecision` of `allow` overrides a
//! denial, unless the denial also says `continue: false`. With exit 2 it reads standard error: a
//! JSON object is an answer, and any other text denies. So a denial is such an object with exit 2,
//! which still denies if a shell prints something before it.

use anyhook_model::{DecodeError, Effect, Event, EventKind, Reply, Verdict, exit_code};
use serde_json::{Value, json};

use crate::reply_builder::{self, ReplyBuilder, reason, reason_and_context, unreadable};

pub fn encode(event: &Event, verdict: &Verdict) -> Reply {
    let native = event.native_name.as_deref().unwrap_or("");
    let mut builder = ReplyBuilder::default();
    match event.kind {
        EventKind::BeforeTool => match verdict.effect {
            Some(Effect::Deny) => return deny(&reason_and_context(verdict), native),
            effect => before_tool(effect, verdict, &mut builder),
        },
        EventKind::PermissionRequest => permission(verdict, &mut builder),
        EventKind::BeforeAgent | EventKind::BeforeStop | EventKind::SubagentStop
            if verdict.is_block() =>
        {
            return builder.block(&reason_and_context(verdict));
        }
        // The reason takes the place of the output, and of a context as well.
        EventKind::AfterTool if verdict.is_block() => {
            builder.set("continue", false);
            builder.set("stopReason", reason_and_context(verdict));
        }
        EventKind::AfterToolFailure | EventKind::SessionStart | EventKind::SubagentStart
            if verdict.is_block() =>
        {
            builder.say_specific("additionalContext", reason_and_context(verdict));
            builder.record_loss("deny", "the reason, told to the model");
        }
        EventKind::BeforeAgent
        | EventKind::AfterTool
        | EventKind::AfterToolFailure
        | EventKind::SessionStart
        | EventKind::SubagentStart => builder.say_context(verdict),
        EventKind::PreCompact => {
            if verdict.is_block() {
                builder.record_loss("deny", "nothing: the host cannot be blocked here");
            }
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

/// Replies to a payload that could not be parsed.
pub fn refuse(error: &DecodeError, guarded: bool) -> Reply {
    if guarded {
        return deny(&unreadable(error), "PreToolUse");
    }
    reply_builder::refuse(error, false)
}

/// Denies a tool call, whatever other hooks answer.
fn deny(reason: &str, native: &str) -> Reply {
    let answer: Value = json!({
        "continue": false,
        "stopReason": reason,
        "decision": "block",
        "reason": reason,
        "hookSpecificOutput": {
            "hookEventName": native,
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
        },
    });
    Reply { stderr: format!("{answer}\n"), exit_code: exit_code::BLOCKED, ..Reply::default() }
}

fn before_tool(effect: Option<Effect>, verdict: &Verdict, builder: &mut ReplyBuilder) {
    match effect {
        Some(Effect::Ask) => {
            builder.say_specific("permissionDecision", "ask");
            builder.say_specific("permissionDecisionReason", reason(verdict));
        }
        Some(Effect::Allow) => {
            builder.say_specific("permissionDecision", "allow");
            if let Some(reason) = &verdict.reason {
                builder.say_specific("permissionDecisionReason", reason.as_str());
            }
        }
        Some(Effect::Deny) | None => {}
    }
    builder.record_context_loss(verdict);
}

fn permission(verdict: &Verdict, builder: &mut ReplyBuilder) {
    match verdict.effect {
        Some(Effect::Deny) => {
            let message = reason(verdict);
            builder.say_specific("decision", json!({"behavior": "deny", "message": message}));
        }
        Some(Effect::Allow) => builder.say_specific("decision", json!({"behavior": "allow"})),
        // `ask` means the host's own question.
        Some(Effect::Ask) | None => {}
    }
    builder.record_context_loss(verdict);
}
