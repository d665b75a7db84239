//! OpenAI's Codex CLI.

mod decode;
mod encode;
mod facts;

use anyhook_model::json::Object;
use anyhook_model::{Caller, DecodeError, Event, Host, Reply, ToolCall, Verdict};
use serde_json::Value;

use crate::Agent;
use crate::facts::{Capability, Quirk};
use crate::tool;

/// OpenAI's Codex CLI.
#[derive(Clone, Copy, Debug)]
pub struct Codex;

impl Host for Codex {
    fn id(&self) -> &'static str {
        "codex"
    }

    fn decode(&self, payload: &[u8], caller: &Caller) -> Result<Vec<Event>, DecodeError> {
        decode::decode(payload, caller)
    }

    fn encode(&self, event: &Event, verdict: &Verdict) -> Reply {
        encode::encode(event, verdict)
    }

    fn native_input(&self, call: &ToolCall, changed: &Object) -> Result<Option<Value>, String> {
        tool::native_input(facts::TOOLS, call, changed)
    }

    fn can_ask(&self, event: &Event) -> bool {
        crate::facts::can_ask(&facts::capabilities(), event)
    }

    fn refuse(&self, error: &DecodeError) -> Reply {
        crate::say::refuse(error)
    }
}

impl Agent for Codex {
    fn title(&self) -> &'static str {
        "Codex"
    }

    fn capabilities(&self) -> Vec<Capability> {
        facts::capabilities()
    }

    fn quirks(&self) -> &'static [Quirk] {
        facts::QUIRKS
    }
}
