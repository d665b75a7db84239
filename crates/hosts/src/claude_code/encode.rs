//! A verdict in Claude Code's words.

use anyhook_model::{Effect, Event, EventKind, Host, PromptType, Reply, Verdict};
use serde_json::{Value, json};

use super::PROTOCOL;
use crate::say::{Saying, reason};

pub fn encode(event: &Event, verdict: &Verdict) -> Reply {
    let native = event.native_name.as_deref().unwrap_or("");
    let mut saying = Saying::default();
    match event.kind {
        EventKind::BeforeTool => before_tool(verdict, &mut saying),
        EventKind::PermissionRequest => permission(event, verdict, &mut saying),
        EventKind::AfterTool | EventKind::AfterToolFailure | EventKind::BeforeAgent => {
            block(verdict, &mut saying);
            saying.say_context(verdict);
        }
        EventKind::BeforeStop | EventKind::SubagentStop => {
            block(verdict, &mut saying);
            // Context alone would keep the agent from stopping.
            if let Some(context) = &verdict.context {
                saying.say("systemMessage", context.as_str());
                saying.lose("additional_context", "a message to the user");
            }
        }
        EventKind::PreCompact => {
            block(verdict, &mut saying);
            saying.lose_context(verdict);
        }
        EventKind::SessionStart | EventKind::SubagentStart => {
            // Neither can be stopped; the reason goes where it can be read.
            let mut told = verdict.context.clone();
            if verdict.is_block() {
                let reason = reason(verdict);
                saying.say("systemMessage", reason.as_str());
                saying.lose("deny", "the reason, shown to the user and the model");
                told = Some(
                    told.map_or_else(|| reason.clone(), |context| format!("{reason}\n\n{context}")),
                );
            }
            if let Some(told) = told {
                saying.say_specific("additionalContext", told);
            }
        }
        _ => {
            if verdict.is_block() {
                saying.say("systemMessage", reason(verdict));
                saying.lose("deny", "a message to the user");
            }
            saying.lose_context(verdict);
        }
    }
    saying.warn(verdict);
    saying.reply(native)
}

fn before_tool(verdict: &Verdict, saying: &mut Saying) {
    if let Some(effect) = verdict.effect {
        saying.say_specific("permissionDecision", effect.word());
        let why = match effect {
            Effect::Allow => verdict.reason.clone(),
            Effect::Ask | Effect::Deny => Some(reason(verdict)),
        };
        if let Some(why) = why {
            saying.say_specific("permissionDecisionReason", why);
        }
    }
    if let Some(input) = &verdict.native_input {
        saying.say_specific("updatedInput", input.clone());
    }
    saying.say_context(verdict);
}

fn permission(event: &Event, verdict: &Verdict, saying: &mut Saying) {
    match verdict.effect {
        Some(Effect::Deny) => {
            saying
                .say_specific("decision", json!({"behavior": "deny", "message": reason(verdict)}));
        }
        Some(Effect::Allow) => {
            let mut decision = json!({"behavior": "allow"});
            if let Some(input) = verdict.native_input.as_ref().or_else(|| unchanged(event)) {
                decision["updatedInput"] = input.clone();
            }
            saying.say_specific("decision", decision);
        }
        // The host's own question is what `ask` wants.
        Some(Effect::Ask) | None => {
            if verdict.native_input.is_some() {
                saying.lose("modified_input", "the host's own prompt, about the original input");
            }
        }
    }
    saying.lose_context(verdict);
}

/// Returns the input of a call that is a dialog of its own, as that of a plan: without an input the
/// allowance does not take the dialog away.
fn unchanged(event: &Event) -> Option<&Value> {
    let tool = event.tool.as_ref()?;
    let is_dialog = PROTOCOL.prompt_tool(&tool.name) == Some(PromptType::PlanApproval);
    is_dialog.then(|| tool.native.as_ref().map_or(&tool.input, |native| &native.tool_input))
}

fn block(verdict: &Verdict, saying: &mut Saying) {
    match verdict.effect {
        Some(Effect::Deny) => {
            saying.say("decision", "block");
            saying.say("reason", reason(verdict));
        }
        Some(Effect::Ask) => saying.lose("ask", "nothing: there is no one to ask here"),
        Some(Effect::Allow) | None => {}
    }
}
