//! Google's Gemini CLI.

mod decode;
mod encode;
mod facts;

use anyhook_model::json::Object;
use anyhook_model::{Caller, DecodeError, Event, Host, Reply, ToolCall, Verdict};
use serde_json::Value;

use crate::Agent;
use crate::facts::{Capability, Quirk};
use crate::tool;

/// Google's Gemini CLI.
#[derive(Clone, Copy, Debug)]
pub struct GeminiCli;

impl Host for GeminiCli {
    fn id(&self) -> &'static str {
        "gemini-cli"
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

    fn project_variables(&self) -> &'static [&'static str] {
        &["GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR"]
    }
}

impl Agent for GeminiCli {
    fn title(&self) -> &'static str {
        "Gemini CLI"
    }

    fn capabilities(&self) -> Vec<Capability> {
        facts::capabilities()
    }

    fn quirks(&self) -> &'static [Quirk] {
        facts::QUIRKS
    }
}
