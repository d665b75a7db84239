//! A verdict in Codex's words.
//!
//! Codex reads JSON strictly: one unknown key, and a deny is lost; and a login shell may print
//! before us. So whatever must not be lost is said by exit 2 and standard error.

use anyhook_model::{Effect, Event, EventKind, Reply, Verdict};
use serde_json::json;

use crate::say::{Saying, reason, reason_and_context};

pub fn encode(event: &Event, verdict: &Verdict) -> Reply {
    let native = event.native_name.as_deref().unwrap_or("");
    let mut saying = Saying::default();
    match event.kind {
        EventKind::BeforeTool => match verdict.effect {
            Some(Effect::Deny) => return saying.block(&reason_and_context(verdict)),
            effect => before_tool(effect, verdict, &mut saying),
        },
        EventKind::PermissionRequest => match verdict.effect {
            Some(Effect::Deny) => return saying.block(&reason_and_context(verdict)),
            Some(Effect::Allow) => {
                saying.say_specific("decision", json!({"behavior": "allow"}));
                lose_rest(verdict, &mut saying);
            }
            // The host's own question is what `ask` wants.
            Some(Effect::Ask) | None => lose_rest(verdict, &mut saying),
        },
        EventKind::BeforeAgent | EventKind::AfterTool => {
            if verdict.is_block() {
                return saying.block(&reason_and_context(verdict));
            }
            saying.say_context(verdict);
        }
        EventKind::BeforeStop | EventKind::SubagentStop => {
            if verdict.is_block() {
                return saying.block(&reason_and_context(verdict));
            }
            saying.lose_context(verdict);
            saying.warn(verdict);
        }
        EventKind::SessionStart | EventKind::PreCompact if verdict.is_block() => {
            saying.say("continue", false);
            saying.say("stopReason", reason(verdict));
        }
        EventKind::SubagentStart if verdict.is_block() => {
            saying.say_specific("additionalContext", reason_and_context(verdict));
            saying.lose("deny", "the reason, shown to the subagent's model");
        }
        EventKind::SessionStart => {
            saying.say_context(verdict);
            saying.warn(verdict);
        }
        EventKind::SubagentStart => saying.say_context(verdict),
        _ => {
            if verdict.is_block() {
                saying.lose("deny", "a line in the journal");
            }
            saying.lose_context(verdict);
            if matches!(event.kind, EventKind::Other(_)) {
                saying.warn(verdict);
            }
        }
    }
    saying.reply(native)
}

fn before_tool(effect: Option<Effect>, verdict: &Verdict, saying: &mut Saying) {
    if let Some(input) = &verdict.native_input {
        // A changed input is only taken together with `allow`.
        saying.say_specific("permissionDecision", "allow");
        saying.say_specific("updatedInput", input.clone());
    } else if effect == Some(Effect::Allow) {
        saying.lose("allow", "nothing: the host has no plain allow");
    }
    saying.say_context(verdict);
}

fn lose_rest(verdict: &Verdict, saying: &mut Saying) {
    if verdict.native_input.is_some() {
        saying.lose("modified_input", "nothing: the host accepts none here");
    }
    saying.lose_context(verdict);
}
