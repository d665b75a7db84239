//! Encodes verdicts as Kiro's replies: exit code 2 and standard error, or context on standard output.

use anyhook_model::{Effect, Event, EventKind, Reply, Verdict};

use crate::reply_builder::{ReplyBuilder, reason_and_context};

pub fn encode(event: &Event, verdict: &Verdict) -> Reply {
    let mut builder = ReplyBuilder::default();
    let is_tool = event.kind == EventKind::BeforeTool;
    match (&event.kind, verdict.effect) {
        (EventKind::BeforeTool | EventKind::BeforeAgent, Some(Effect::Deny)) => {
            return builder.block(&reason_and_context(verdict));
        }
        (EventKind::AfterTool, Some(Effect::Deny)) => {
            builder.record_loss("deny", "the reason, told to the model");
            return builder.block(&reason_and_context(verdict));
        }
        (_, Some(Effect::Deny)) => builder.record_loss("deny", "nothing"),
        (_, Some(effect @ (Effect::Ask | Effect::Allow))) if is_tool => {
            builder.record_loss(effect.word(), "nothing");
        }
        _ => {}
    }
    if verdict.native_input.is_some() {
        builder.record_loss("modified_input", "nothing");
    }
    let takes_context = matches!(
        event.kind,
        EventKind::SessionStart
            | EventKind::BeforeAgent
            | EventKind::BeforeTool
            | EventKind::AfterTool
    );
    if !takes_context {
        builder.record_context_loss(verdict);
        return builder.reply("");
    }
    let told = verdict.context.iter().chain(&verdict.warnings);
    let told = told.map(String::as_str).collect::<Vec<_>>().join("\n\n");
    let stdout = if told.is_empty() { told } else { told + "\n" };
    Reply { stdout, lost: builder.lost, ..Reply::default() }
}
