//! Encodes verdicts for our plugin in Hermes Agent: `deny`, `ask`, `input` and `context`, always exit
//! 0.

use anyhook_model::{Effect, Event, EventKind, Reply, Verdict};

use crate::reply_builder::{ReplyBuilder, reason, reason_and_context};

pub fn encode(event: &Event, verdict: &Verdict) -> Reply {
    let mut builder = ReplyBuilder::default();
    match event.kind {
        EventKind::BeforeTool => before_tool(verdict, &mut builder),
        EventKind::BeforeStop => {
            if verdict.is_block() {
                builder.set("deny", reason_and_context(verdict));
            } else {
                builder.record_context_loss(verdict);
            }
        }
        EventKind::AfterTool | EventKind::AfterToolFailure => {
            if verdict.is_block() {
                builder.set("deny", reason(verdict));
            }
            context(said(verdict), &mut builder);
        }
        EventKind::SessionStart | EventKind::BeforeAgent => {
            if verdict.is_block() {
                builder.record_loss("deny", "the reason, told to the model with the prompt");
                let texts = [Some(reason(verdict)), said(verdict)];
                let texts: Vec<String> = texts.into_iter().flatten().collect();
                context(Some(texts.join("\n\n")), &mut builder);
            } else {
                context(said(verdict), &mut builder);
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

fn before_tool(verdict: &Verdict, builder: &mut ReplyBuilder) {
    match verdict.effect {
        Some(Effect::Deny) => {
            builder.set("deny", reason_and_context(verdict));
            return;
        }
        Some(Effect::Ask) => builder.set("ask", reason(verdict)),
        Some(Effect::Allow) => {
            builder.record_loss("allow", "nothing: the host has no plain allow");
        }
        None => {}
    }
    if let Some(input) = &verdict.native_input {
        builder.set("input", input.clone());
    }
    context(verdict.context.clone(), builder);
}

fn context(text: Option<String>, builder: &mut ReplyBuilder) {
    if let Some(text) = text {
        builder.set("context", text);
    }
}

/// Returns the context and the warnings, if there are any.
fn said(verdict: &Verdict) -> Option<String> {
    let warnings = verdict.warnings.iter().map(|warning| format!("anyhook: {warning}"));
    let parts: Vec<String> = verdict.context.clone().into_iter().chain(warnings).collect();
    Some(parts.join("\n\n")).filter(|text| !text.is_empty())
}
