//! Encodes verdicts as Letta Code's replies: exit 2 with the reason on standard error blocks. It adds
//! to the conversation the plain text that a hook prints at a session's start and at a prompt, and
//! after a tool the context in a JSON object.
//!
//! An exit code of 2 shows the model the command line of the hook, so after a tool, where it would
//! only add a text, it is not used.

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
        EventKind::BeforeAgent | EventKind::BeforeStop if verdict.is_block() => {
            return builder.block(&reason_and_context(verdict));
        }
        EventKind::BeforeTool => {
            if verdict.effect == Some(Effect::Allow) {
                builder.record_loss("allow", "nothing: the host has no plain allow");
            }
            if verdict.native_input.is_some() {
                builder.record_loss("modified_input", "nothing: the host accepts none");
            }
        }
        EventKind::AfterTool | EventKind::AfterToolFailure => {
            let text = match (verdict.is_block(), said(verdict)) {
                (true, _) => Some(reason_and_context(verdict)),
                (false, said) => said,
            };
            if let Some(text) = text {
                builder.say_specific("additionalContext", text);
            }
            return builder.reply(native);
        }
        EventKind::SessionStart | EventKind::BeforeAgent => {
            if verdict.is_block() {
                builder.record_loss("deny", "a line in the journal");
            }
            let stdout = said(verdict).map(|text| text + "\n").unwrap_or_default();
            return Reply { stdout, ..builder.reply(native) };
        }
        _ if verdict.is_block() => builder.record_loss("deny", "a line in the journal"),
        _ => {}
    }
    builder.record_context_loss(verdict);
    builder.reply(native)
}

/// Returns the context and the warnings, if there are any.
fn said(verdict: &Verdict) -> Option<String> {
    let warnings = verdict.warnings.iter().map(|warning| format!("anyhook: {warning}"));
    let parts: Vec<String> = verdict.context.clone().into_iter().chain(warnings).collect();
    Some(parts.join("\n\n")).filter(|text| !text.is_empty())
}
