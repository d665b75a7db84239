//! OpenCode, which has no hook commands: a small plugin of ours calls `anyhook hook opencode`.

mod decode;
mod encode;
mod facts;

use anyhook_model::json::Object;
use anyhook_model::{Caller, DecodeError, Event, Host, Reply, ToolCall, Verdict};
use serde_json::Value;

use crate::Agent;
use crate::facts::{Capability, Quirk};
use crate::tool;

/// OpenCode.
#[derive(Clone, Copy, Debug)]
pub struct OpenCode;

/// The plugin's text; `@BINARY@` and `@LIMIT_MS@` stand for what `install` fills in.
pub const PLUGIN: &str = include_str!("plugin.js");

impl Host for OpenCode {
    fn id(&self) -> &'static str {
        "opencode"
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

impl Agent for OpenCode {
    fn title(&self) -> &'static str {
        "OpenCode"
    }

    fn capabilities(&self) -> Vec<Capability> {
        facts::capabilities()
    }

    fn quirks(&self) -> &'static [Quirk] {
        facts::QUIRKS
    }
}
