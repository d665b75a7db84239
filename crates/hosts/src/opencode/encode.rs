//! A verdict for our plugin: `deny`, `args`, `context` or `follow_up`, and for a dialog `reply` or
//! `answers`, always exit 0.

use anyhook_model::{Effect, Event, EventKind, Reply, Verdict};
use serde_json::json;

use super::question;
use crate::say::{Saying, reason, reason_and_context};

pub fn encode(event: &Event, verdict: &Verdict) -> Reply {
    let mut saying = Saying::default();
    match event.kind {
        EventKind::BeforeTool => {
            if verdict.is_block() {
                saying.say("deny", reason_and_context(verdict));
            } else {
                if let Some(input) = &verdict.native_input {
                    saying.say("args", input.clone());
                }
                saying.lose_context(verdict);
            }
        }
        EventKind::PermissionRequest => match question::count(event) {
            0 => permission(verdict, &mut saying),
            count => answer(verdict, count, &mut saying),
        },
        EventKind::BeforeAgent | EventKind::AfterTool => {
            if verdict.is_block() {
                saying.say("deny", reason(verdict));
            }
            context(verdict, &mut saying);
        }
        EventKind::BeforeStop => {
            if verdict.is_block() {
                saying.say("follow_up", reason_and_context(verdict));
            } else {
                saying.lose_context(verdict);
            }
        }
        EventKind::PreCompact => {
            if verdict.is_block() {
                saying.lose("deny", "nothing: the host cannot be blocked here");
            }
            context(verdict, &mut saying);
        }
        _ => {
            if verdict.is_block() {
                saying.lose("deny", "a line in the journal");
            }
            saying.lose_context(verdict);
        }
    }
    saying.reply("")
}

fn permission(verdict: &Verdict, saying: &mut Saying) {
    match verdict.effect {
        Some(Effect::Deny) => {
            saying.say("reply", "reject");
            saying.say("message", reason_and_context(verdict));
            return;
        }
        Some(Effect::Allow) => saying.say("reply", "once"),
        // The host's own dialog is what `ask` wants.
        Some(Effect::Ask) | None => {}
    }
    if verdict.native_input.is_some() {
        saying.lose("modified_input", "nothing: the host accepts none here");
    }
    saying.lose_context(verdict);
}

/// A question that is dismissed ends the turn, so who declines to answer says so in the answer.
fn answer(verdict: &Verdict, count: usize, saying: &mut Saying) {
    match verdict.effect {
        Some(Effect::Deny) => {
            let declined = json!([reason_and_context(verdict)]);
            saying.say("answers", vec![declined; count]);
            return;
        }
        Some(Effect::Allow) => {
            match verdict.native_input.as_ref().and_then(|input| input.get("answers")) {
                Some(answers) => saying.say("answers", answers.clone()),
                None => saying.lose("allow", "nothing: a question only takes answers"),
            }
        }
        Some(Effect::Ask) | None => {}
    }
    saying.lose_context(verdict);
}

fn context(verdict: &Verdict, saying: &mut Saying) {
    if let Some(context) = &verdict.context {
        saying.say("context", context.as_str());
    }
}
