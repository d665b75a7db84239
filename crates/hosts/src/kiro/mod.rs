//! Kiro, on the command line (3.0 and later) and in its editor (1.0 and later).

mod capabilities;
mod decode;
mod encode;
mod settings;
#[cfg(test)]
mod tests;

use anyhook_model::{Caller, DecodeError, Event, EventKind, Reply, Verdict};

use crate::contract::Contract;
use crate::launch;
use crate::payload;
use crate::spec::{
    self, EXIT_CODE_REFUSAL, HostSpec, Package, Protocol, TimeLimits, WarningAudience,
};

/// What the hook path needs.
pub static PROTOCOL: Protocol = Protocol {
    id: "kiro",
    process_names: &["kiro-cli"],
    project_variables: &[],
    folder_variables: &[],
    hook_variables: &[],
    also_runs_hooks_of: &[],
    tools: capabilities::TOOLS,
    capabilities: capabilities::CAPABILITIES,
    opaque_fields: decode::OPAQUE_FIELDS,
    prompt_tools: &[],
    is_answered_by_keys: false,
    stop_cap: None,
    warns: WarningAudience::Model(&[
        EventKind::SessionStart,
        EventKind::BeforeAgent,
        EventKind::AfterTool,
    ]),
    late_refusal: &EXIT_CODE_REFUSAL,
    codec: &Codec,
};

/// Everything known about it.
pub static SPEC: HostSpec = HostSpec {
    protocol: &PROTOCOL,
    title: "Kiro",
    other_names: &["kiro-cli"],
    program: "kiro-cli",
    package: Package::Elsewhere,
    contracts: &[Contract::fact_sheet("3.0.0", "2026-11-17")],
    session_variables: &[],
    special_tools: capabilities::SPECIAL_TOOLS,
    other_tools: capabilities::OTHER_TOOLS,
    other_tool_texts: &[],
    quirks: capabilities::QUIRKS,
    limits: TimeLimits { session_end_ms: 540_000, other_ms: 540_000 },
    search_order: 23,
    settings: &settings::SETTINGS,
    launch: launch::plain,
    takes_prompt: launch::always,
    shell_call: payload::shell_call,
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
}
