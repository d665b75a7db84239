//! Encodes verdicts for our plugin in Amp: `deny`, `ask`, `input` and `context`, always exit 0.

use anyhook_model::{Effect, Event, EventKind, Reply, Verdict};

use crate::reply_builder::{ReplyBuilder, reason, reason_and_context};

pub fn encode(event: &Event, verdict: &Verdict) -> Reply {
    let mut builder = ReplyBuilder::default();
    match event.kind {
        EventKind::BeforeTool => {
            if verdict.is_block() {
                builder.set("deny", reason_and_context(verdict));
                return builder.reply("");
            }
            match verdict.effect {
                Some(Effect::Ask) => builder.set("ask", reason(verdict)),
                // Its own rules come after those of plugins.
                Some(Effect::Allow) => builder.record_loss("allow", "no opinion"),
                _ => {}
            }
            if let Some(input) = &verdict.native_input {
                builder.set("input", input.clone());
            }
            builder.record_context_loss(verdict);
        }
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
        EventKind::BeforeAgent => {
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
