//! A verdict in Gemini CLI's words: always exit 0 and JSON, for other exit codes block by accident.

use anyhook_model::{Effect, Event, EventKind, Reply, Verdict};

use crate::say::{Saying, reason, reason_and_context};

pub fn encode(event: &Event, verdict: &Verdict) -> Reply {
    let native = event.native_name.as_deref().unwrap_or("");
    let mut saying = Saying::default();
    match event.kind {
        EventKind::BeforeTool => before_tool(verdict, &mut saying),
        EventKind::BeforeAgent | EventKind::AfterTool | EventKind::AfterToolFailure => {
            if verdict.is_block() {
                deny(&reason(verdict), &mut saying);
            }
            saying.say_context(verdict);
        }
        EventKind::BeforeStop => {
            if verdict.is_block() {
                deny(&reason_and_context(verdict), &mut saying);
            } else {
                saying.lose_context(verdict);
            }
        }
        EventKind::SessionStart => {
            if verdict.is_block() {
                saying.say("systemMessage", reason(verdict));
                saying.say_specific("additionalContext", reason_and_context(verdict));
                saying.lose("deny", "the reason, shown to the user and the model");
            } else {
                saying.say_context(verdict);
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
    match verdict.effect {
        Some(Effect::Deny) => return deny(&reason_and_context(verdict), saying),
        Some(Effect::Ask) => {
            saying.say("decision", "ask");
            saying.say("reason", reason(verdict));
        }
        Some(Effect::Allow) => saying.say("decision", "allow"),
        None => {}
    }
    if let Some(input) = &verdict.native_input {
        saying.say_specific("tool_input", input.clone());
    }
    saying.lose_context(verdict);
}

fn deny(reason: &str, saying: &mut Saying) {
    saying.say("decision", "deny");
    saying.say("reason", reason);
}
