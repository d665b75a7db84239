//! Encodes verdicts for our plugin for OpenCode and its forks: `deny`, `args`, `context` or `follow_up`, and for a
//! dialog `reply` or `answers`, always exit 0.

use anyhook_model::{Effect, Event, EventKind, Reply, Verdict};
use serde_json::json;

use super::flavour::Flavour;
use super::{decode, question};
use crate::reply_builder::{ReplyBuilder, reason, reason_and_context};

pub fn encode(flavour: &Flavour, event: &Event, verdict: &Verdict) -> Reply {
    let mut builder = ReplyBuilder::default();
    match event.kind {
        EventKind::BeforeTool => {
            if verdict.is_block() {
                builder.set("deny", reason_and_context(verdict));
            } else {
                if let Some(input) = &verdict.native_input {
                    builder.set("args", input.clone());
                }
                builder.record_context_loss(verdict);
            }
        }
        EventKind::PermissionRequest => match question::count(event) {
            0 => permission(verdict, &mut builder),
            count => answer(verdict, count, &mut builder),
        },
        EventKind::BeforeAgent | EventKind::AfterTool => {
            if verdict.is_block() {
                builder.set("deny", reason(verdict));
            }
            context(verdict, &mut builder);
        }
        EventKind::BeforeStop => {
            if verdict.is_block() && cannot_go_on(flavour, event) {
                builder.record_loss("deny", "nothing: a run without a screen ends at once");
                builder.record_context_loss(verdict);
            } else if verdict.is_block() {
                builder.set("follow_up", reason_and_context(verdict));
            } else {
                builder.record_context_loss(verdict);
            }
        }
        EventKind::PreCompact => {
            if verdict.is_block() {
                builder.record_loss("deny", "nothing: the host cannot be blocked here");
            }
            context(verdict, &mut builder);
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

/// Returns whether the agent ends with its turn, whatever a hook answers.
fn cannot_go_on(flavour: &Flavour, event: &Event) -> bool {
    !flavour.goes_on_without_screen && decode::is_headless(&event.raw)
}

fn permission(verdict: &Verdict, builder: &mut ReplyBuilder) {
    match verdict.effect {
        Some(Effect::Deny) => {
            builder.set("reply", "reject");
            builder.set("message", reason_and_context(verdict));
            return;
        }
        Some(Effect::Allow) => builder.set("reply", "once"),
        // `ask` means the host's own dialog.
        Some(Effect::Ask) | None => {}
    }
    if verdict.native_input.is_some() {
        builder.record_loss("modified_input", "nothing: the host accepts none here");
    }
    builder.record_context_loss(verdict);
}

/// Answers a question. Dismissing one would end the turn, so a refusal to answer is sent as the
/// answer.
fn answer(verdict: &Verdict, count: usize, builder: &mut ReplyBuilder) {
    match verdict.effect {
        Some(Effect::Deny) => {
            let declined = json!([reason_and_context(verdict)]);
            builder.set("answers", vec![declined; count]);
            return;
        }
        Some(Effect::Allow) => {
            match verdict.native_input.as_ref().and_then(|input| input.get("answers")) {
                Some(answers) => builder.set("answers", answers.clone()),
                None => builder.record_loss("allow", "nothing: a question only takes answers"),
            }
        }
        Some(Effect::Ask) | None => {}
    }
    builder.record_context_loss(verdict);
}

fn context(verdict: &Verdict, builder: &mut ReplyBuilder) {
    if let Some(context) = &verdict.context {
        builder.set("context", context.as_str());
    }
}
