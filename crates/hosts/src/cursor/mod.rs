//! Cursor: its agent in the editor, and `cursor-agent` on the command line.

mod capabilities;
mod decode;
mod encode;
mod settings;
#[cfg(test)]
mod tests;

use anyhook_model::{Caller, DecodeError, Event, EventKind, Reply, Verdict};
use serde_json::{Value, json};

use crate::contract::Contract;
use crate::launch;
use crate::payload::{Payload, ShellCall};
use crate::spec::{
    self, EXIT_CODE_REFUSAL, HostSpec, Package, Protocol, TimeLimits, WarningAudience,
};

/// What the hook path needs.
pub static PROTOCOL: Protocol = Protocol {
    id: "cursor",
    process_names: &["cursor-agent"],
    project_variables: &["CURSOR_PROJECT_DIR"],
    folder_variables: &[],
    hook_variables: &["CURSOR_VERSION"],
    also_runs_hooks_of: &["claude-code"],
    tools: capabilities::TOOLS,
    capabilities: capabilities::CAPABILITIES,
    opaque_fields: decode::OPAQUE_FIELDS,
    prompt_tools: &[],
    is_answered_by_keys: false,
    stop_cap: Some(5),
    warns: WarningAudience::Model(&[EventKind::SessionStart, EventKind::AfterTool]),
    late_refusal: &EXIT_CODE_REFUSAL,
    codec: &Codec,
};

/// Everything known about it.
pub static SPEC: HostSpec = HostSpec {
    protocol: &PROTOCOL,
    title: "Cursor",
    other_names: &["cursor-agent"],
    program: "cursor-agent",
    package: Package::Elsewhere,
    contracts: &[Contract::fact_sheet("2.0.0", "2026-11-17")],
    session_variables: &["CURSOR_AGENT"],
    special_tools: capabilities::SPECIAL_TOOLS,
    other_tools: capabilities::OTHER_TOOLS,
    other_tool_texts: &[],
    quirks: capabilities::QUIRKS,
    limits: TimeLimits { session_end_ms: 540_000, other_ms: 540_000 },
    search_order: 20,
    settings: &settings::SETTINGS,
    launch: launch::plain,
    takes_prompt: launch::always,
    shell_call,
    dialog: None,
    log: None,
    transcript: None,
    offline: None,
};

/// Decodes its payloads and encodes its replies.
struct Codec;

impl spec::Codec for Codec {
    fn decode(&self, payload: &[u8], caller: &Caller) -> Result<Vec<Event>, DecodeError> {
        decode::decode(payload, caller)
    }

    fn encode(&self, event: &Event, verdict: &Verdict) -> Reply {
        encode::encode(event, verdict)
    }

    fn is_own(&self, payload: &[u8]) -> Option<bool> {
        let own = Payload::read(payload).is_ok_and(|payload| payload.fields.contains_key(MARK));
        Some(own)
    }
}

/// The field that is in every payload of Cursor, and in no other.
const MARK: &str = "cursor_version";

fn shell_call(call: &ShellCall<'_>) -> Value {
    json!({
        "conversation_id": call.session,
        "cwd": call.work_dir,
        "hook_event_name": call.event,
        "cursor_version": "2.0.0",
        "workspace_roots": [call.work_dir],
        "tool_name": call.tool,
        "tool_input": {"command": call.command},
    })
}
