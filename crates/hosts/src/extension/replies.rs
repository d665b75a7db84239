//! Encodes verdicts for our extension: `deny`, `input`, `context` and `message`, always exit 0.

use anyhook_model::{DecodeError, Event, EventKind, LateRefusal, Reply, Verdict, exit_code};

use crate::reply_builder::{self, ReplyBuilder, reason, reason_and_context};

/// What blocks a tool call if there is no answer in time: the extension treats any other exit code
/// as a failure.
pub(crate) static LATE_REFUSAL: LateRefusal = LateRefusal {
    stdout: "{\"deny\": \"anyhook reached no decision within its deadline, and a hook with on_failure: block is installed\"}\n",
    exit_code: exit_code::OK,
};

/// Encodes a verdict.
pub(crate) fn encode(event: &Event, verdict: &Verdict) -> Reply {
    let mut builder = ReplyBuilder::default();
    match event.kind {
        EventKind::BeforeTool => {
            if verdict.is_block() {
                builder.set("deny", reason_and_context(verdict));
            } else {
                if let Some(input) = &verdict.native_input {
                    builder.set("input", input.clone());
                }
                context(verdict, &mut builder);
            }
        }
        EventKind::BeforeAgent => {
            if verdict.is_block() {
                // Nothing reaches the model that the context could come with.
                builder.set("deny", reason_and_context(verdict));
            } else {
                context(verdict, &mut builder);
            }
        }
        EventKind::AfterTool | EventKind::AfterToolFailure => {
            if verdict.is_block() {
                builder.set("deny", reason(verdict));
            }
            context(verdict, &mut builder);
        }
        EventKind::BeforeStop => {
            if verdict.is_block() {
                builder.set("deny", reason_and_context(verdict));
            } else {
                builder.record_context_loss(verdict);
            }
        }
        EventKind::SessionStart => {
            if verdict.is_block() {
                builder.set("message", reason(verdict));
                builder.set("context", reason_and_context(verdict));
                builder.record_loss("deny", "the reason, shown to the user and the model");
            } else {
                context(verdict, &mut builder);
            }
        }
        _ => {
            if verdict.is_block() {
                builder.set("message", reason(verdict));
                builder.record_loss("deny", "a message to the user");
            }
            builder.record_context_loss(verdict);
        }
    }
    if !verdict.warnings.is_empty() && !builder.fields.contains_key("message") {
        builder.set("message", format!("anyhook: {}", verdict.warnings.join("\n")));
    }
    builder.reply("")
}

/// Encodes the reply to a payload that could not be parsed.
pub(crate) fn refuse(error: &DecodeError, guarded: bool) -> Reply {
    if guarded {
        let mut builder = ReplyBuilder::default();
        builder.set("deny", reply_builder::unreadable(error));
        return builder.reply("");
    }
    reply_builder::refuse(error, false)
}

fn context(verdict: &Verdict, builder: &mut ReplyBuilder) {
    if let Some(context) = &verdict.context {
        builder.set("context", context.as_str());
    }
}
