//! Encodes verdicts as Cline's replies: a JSON object on standard output; exit codes mean nothing.

use anyhook_model::{DecodeError, Effect, Event, EventKind, Reply, Verdict};

use super::refusal;
use crate::reply_builder::{self, ReplyBuilder, reason_and_context};

pub fn encode(event: &Event, verdict: &Verdict) -> Reply {
    let mut builder = ReplyBuilder::default();
    match event.kind {
        // It cannot ask: what must not run unasked does not run.
        EventKind::BeforeTool if matches!(verdict.effect, Some(Effect::Deny | Effect::Ask)) => {
            deny(event, &reason_and_context(verdict), &mut builder);
        }
        EventKind::BeforeTool => {
            if verdict.effect == Some(Effect::Allow) {
                builder.record_loss("allow", "nothing: the host has no plain allow");
            }
            if let Some(input) = &verdict.native_input {
                builder.set("overrideInput", input.clone());
            }
            tell(verdict.context.as_deref(), &mut builder);
        }
        EventKind::AfterTool | EventKind::AfterToolFailure if verdict.is_block() => {
            tell(Some(&reason_and_context(verdict)), &mut builder);
        }
        EventKind::AfterTool | EventKind::AfterToolFailure => {
            tell(verdict.context.as_deref(), &mut builder);
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
    cancel(&reply_builder::unreadable(error), &mut builder);
    // Only for whoever runs it by hand: Cline does not look at it.
    Reply { exit_code: anyhook_model::exit_code::BLOCKED, ..builder.reply("") }
}

/// Refuses a call; one of a tool of which nothing is known ends the run, and the reason with it.
fn deny(event: &Event, reason: &str, builder: &mut ReplyBuilder) {
    let call = event.tool.as_ref();
    let tool = call.and_then(|call| call.native.as_ref()).map(|native| native.tool_name.as_str());
    let call_id = call.and_then(|call| call.use_id.as_deref()).unwrap_or_default();
    if let Some(input) = tool.and_then(|tool| refusal::input(tool, call_id)) {
        builder.set("overrideInput", input);
        tell(Some(&format!("anyhook refused this call, which did not run: {reason}")), builder);
    } else {
        cancel(reason, builder);
        builder.record_loss("reason", "a line in the journal: Cline ends the run without it");
    }
}

fn cancel(reason: &str, builder: &mut ReplyBuilder) {
    builder.set("cancel", true);
    builder.set("errorMessage", reason);
}

/// Adds a text for the model.
fn tell(text: Option<&str>, builder: &mut ReplyBuilder) {
    if let Some(text) = text {
        builder.set("contextModification", text);
    }
}
