//! Amp, which has no hook commands: a small plugin of ours calls `anyhook hook amp`.

mod capabilities;
mod decode;
mod encode;
mod settings;
#[cfg(test)]
mod tests;

use anyhook_model::{Caller, DecodeError, Event, EventKind, Reply, Verdict};

use crate::contract::Contract;
use crate::extension::{events, replies};
use crate::launch;
use crate::payload;
use crate::spec::{self, HostSpec, Package, Protocol, TimeLimits, WarningAudience};

/// What the hook path needs.
pub static PROTOCOL: Protocol = Protocol {
    id: "amp",
    process_names: &["amp", "bun", "node"],
    project_variables: &[],
    folder_variables: &[],
    hook_variables: &[],
    also_runs_hooks_of: &[],
    tools: capabilities::TOOLS,
    capabilities: capabilities::CAPABILITIES,
    opaque_fields: events::OPAQUE_FIELDS,
    prompt_tools: &[],
    is_answered_by_keys: false,
    stop_cap: Some(5),
    warns: WarningAudience::Model(&[
        EventKind::BeforeAgent,
        EventKind::AfterTool,
        EventKind::AfterToolFailure,
    ]),
    late_refusal: &replies::LATE_REFUSAL,
    codec: &Codec,
};

/// Everything known about it.
pub static SPEC: HostSpec = HostSpec {
    protocol: &PROTOCOL,
    title: "Amp",
    other_names: &[],
    program: "amp",
    package: Package::Npm("@ampcode/cli"),
    contracts: &[Contract::fact_sheet("0.0.1790142911", "2026-09-19")],
    session_variables: &[],
    special_tools: &[],
    other_tools: capabilities::OTHER_TOOLS,
    other_tool_texts: &[],
    quirks: capabilities::QUIRKS,
    limits: TimeLimits { session_end_ms: 540_000, other_ms: 540_000 },
    search_order: 27,
    settings: &settings::Settings,
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

    fn refuse(&self, error: &DecodeError, guarded: bool) -> Reply {
        replies::refuse(error, guarded)
    }
}
