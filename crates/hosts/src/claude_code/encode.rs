//! Encodes verdicts as Claude Code's replies.

use anyhook_model::{Effect, Event, EventKind, Host, PromptType, Reply, Verdict};
use serde_json::{Value, json};

use super::PROTOCOL;
use crate::reply_builder::{ReplyBuilder, reason};

pub fn encode(event: &Event, verdict: &Verdict) -> Reply {
    let native = event.native_name.as_deref().unwrap_or("");
    let mut builder = ReplyBuilder::default();
    match event.kind {
        EventKind::BeforeTool => before_tool(verdict, &mut builder),
        EventKind::PermissionRequest => permission(event, verdict, &mut builder),
        EventKind::AfterTool | EventKind::AfterToolFailure | EventKind::BeforeAgent => {
            block(verdict, &mut builder);
            builder.say_context(verdict);
        }
        EventKind::BeforeStop | EventKind::SubagentStop => {
            block(verdict, &mut builder);
            // Context alone would keep the agent from stopping.
            if let Some(context) = &verdict.context {
                builder.set("systemMessage", context.as_str());
                builder.record_loss("additional_context", "a message to the user");
            }
        }
        EventKind::PreCompact => {
            block(verdict, &mut builder);
            builder.record_context_loss(verdict);
        }
        EventKind::SessionStart | EventKind::SubagentStart => {
            // Neither can be stopped; the reason goes where it can be read.
            let mut told = verdict.context.clone();
            if verdict.is_block() {
                let reason = reason(verdict);
                builder.set("systemMessage", reason.as_str());
                builder.record_loss("deny", "the reason, shown to the user and the model");
                told = Some(
                    told.map_or_else(|| reason.clone(), |context| format!("{reason}\n\n{context}")),
                );
            }
            if let Some(told) = told {
                builder.say_specific("additionalContext", told);
            }
        }
        _ => {
            if verdict.is_block() {
                builder.set("systemMessage", reason(verdict));
                builder.record_loss("deny", "a message to the user");
            }
            builder.record_context_loss(verdict);
        }
    }
    builder.warn(verdict);
    builder.reply(native)
}

fn before_tool(verdict: &Verdict, builder: &mut ReplyBuilder) {
    if let Some(effect) = verdict.effect {
        builder.say_specific("permissionDecision", effect.word());
        let why = match effect {
            Effect::Allow => verdict.reason.clone(),
            Effect::Ask | Effect::Deny => Some(reason(verdict)),
        };
        if let Some(why) = why {
            builder.say_specific("permissionDecisionReason", why);
        }
    }
    if let Some(input) = &verdict.native_input {
        builder.say_specific("updatedInput", input.clone());
    }
    builder.say_context(verdict);
}

fn permission(event: &Event, verdict: &Verdict, builder: &mut ReplyBuilder) {
    match verdict.effect {
        Some(Effect::Deny) => {
            builder
                .say_specific("decision", json!({"behavior": "deny", "message": reason(verdict)}));
        }
        Some(Effect::Allow) => {
            let mut decision = json!({"behavior": "allow"});
            if let Some(input) = verdict.native_input.as_ref().or_else(|| unchanged(event)) {
                decision["updatedInput"] = input.clone();
            }
            builder.say_specific("decision", decision);
        }
        // `ask` means the host's own question.
        Some(Effect::Ask) | None => {
            if verdict.native_input.is_some() {
                builder.record_loss(
                    "modified_input",
                    "the host's own prompt, about the original input",
                );
            }
        }
    }
    builder.record_context_loss(verdict);
}

/// Returns the input of a call that is a dialog of its own, such as that of a plan: without an
/// input, allowing the call does not close the dialog.
fn unchanged(event: &Event) -> Option<&Value> {
    let tool = event.tool.as_ref()?;
    let is_dialog = PROTOCOL.prompt_tool(&tool.name) == Some(PromptType::PlanApproval);
    is_dialog.then(|| tool.native.as_ref().map_or(&tool.input, |native| &native.tool_input))
}

fn block(verdict: &Verdict, builder: &mut ReplyBuilder) {
    match verdict.effect {
        Some(Effect::Deny) => {
            builder.set("decision", "block");
            builder.set("reason", reason(verdict));
        }
        Some(Effect::Ask) => builder.record_loss("ask", "nothing: there is no one to ask here"),
        Some(Effect::Allow) | None => {}
    }
}
