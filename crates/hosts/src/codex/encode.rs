//! Encodes verdicts as Codex's replies.
//!
//! Codex parses JSON strictly: one unknown key, and a deny is lost; and a login shell may print
//! something before us. So whatever must not be lost is reported by exit 2 and standard error.

use anyhook_model::{Effect, Event, EventKind, Reply, Verdict};
use serde_json::json;

use crate::reply_builder::{ReplyBuilder, reason, reason_and_context};

pub fn encode(event: &Event, verdict: &Verdict) -> Reply {
    let native = event.native_name.as_deref().unwrap_or("");
    let mut builder = ReplyBuilder::default();
    match event.kind {
        EventKind::BeforeTool => match verdict.effect {
            Some(Effect::Deny) => return builder.block(&reason_and_context(verdict)),
            effect => before_tool(effect, verdict, &mut builder),
        },
        EventKind::PermissionRequest => match verdict.effect {
            Some(Effect::Deny) => return builder.block(&reason_and_context(verdict)),
            Some(Effect::Allow) => {
                builder.say_specific("decision", json!({"behavior": "allow"}));
                lose_rest(verdict, &mut builder);
            }
            // `ask` means the host's own question.
            Some(Effect::Ask) | None => lose_rest(verdict, &mut builder),
        },
        EventKind::BeforeAgent | EventKind::AfterTool => {
            if verdict.is_block() {
                return builder.block(&reason_and_context(verdict));
            }
            builder.say_context(verdict);
        }
        EventKind::BeforeStop | EventKind::SubagentStop => {
            if verdict.is_block() {
                return builder.block(&reason_and_context(verdict));
            }
            builder.record_context_loss(verdict);
            builder.warn(verdict);
        }
        EventKind::SessionStart | EventKind::PreCompact if verdict.is_block() => {
            builder.set("continue", false);
            builder.set("stopReason", reason(verdict));
        }
        EventKind::SubagentStart if verdict.is_block() => {
            builder.say_specific("additionalContext", reason_and_context(verdict));
            builder.record_loss("deny", "the reason, shown to the subagent's model");
        }
        EventKind::SessionStart => {
            builder.say_context(verdict);
            builder.warn(verdict);
        }
        EventKind::SubagentStart => builder.say_context(verdict),
        _ => {
            if verdict.is_block() {
                builder.record_loss("deny", "a line in the journal");
            }
            builder.record_context_loss(verdict);
            if matches!(event.kind, EventKind::Other(_)) {
                builder.warn(verdict);
            }
        }
    }
    builder.reply(native)
}

fn before_tool(effect: Option<Effect>, verdict: &Verdict, builder: &mut ReplyBuilder) {
    if let Some(input) = &verdict.native_input {
        // A changed input is only accepted together with `allow`.
        builder.say_specific("permissionDecision", "allow");
        builder.say_specific("updatedInput", input.clone());
    } else if effect == Some(Effect::Allow) {
        builder.record_loss("allow", "nothing: the host has no plain allow");
    }
    builder.say_context(verdict);
}

fn lose_rest(verdict: &Verdict, builder: &mut ReplyBuilder) {
    if verdict.native_input.is_some() {
        builder.record_loss("modified_input", "nothing: the host accepts none here");
    }
    builder.record_context_loss(verdict);
}
