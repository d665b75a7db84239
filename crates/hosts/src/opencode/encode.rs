//! A verdict for our plugin: `deny`, `args`, `context` or `follow_up`, always exit 0.

use anyhook_model::{Event, EventKind, Reply, Verdict};

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
                saying.lose("deny", "nothing: the host cannot be stopped here");
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

fn context(verdict: &Verdict, saying: &mut Saying) {
    if let Some(context) = &verdict.context {
        saying.say("context", context.as_str());
    }
}
