//! Junie of `JetBrains`, on the command line.

mod capabilities;
mod decode;
mod encode;
mod settings;
#[cfg(test)]
mod tests;

use anyhook_model::{Caller, DecodeError, Event, Reply, Verdict};

use crate::contract::Contract;
use crate::launch;
use crate::payload;
use crate::spec::{
    self, EXIT_CODE_REFUSAL, HostSpec, Package, Protocol, TimeLimits, WarningAudience,
};

/// What the hook path needs.
pub static PROTOCOL: Protocol = Protocol {
    id: "junie",
    process_names: &["junie"],
    project_variables: &[],
    folder_variables: &[],
    hook_variables: &[],
    also_runs_hooks_of: &[],
    tools: capabilities::TOOLS,
    capabilities: capabilities::CAPABILITIES,
    opaque_fields: decode::OPAQUE_FIELDS,
    prompt_tools: &[],
    is_answered_by_keys: false,
    stop_cap: Some(8),
    // What it does with what a hook prints is not documented.
    warns: WarningAudience::Model(&[]),
    late_refusal: &EXIT_CODE_REFUSAL,
    codec: &Codec,
};

/// Everything known about it.
pub static SPEC: HostSpec = HostSpec {
    protocol: &PROTOCOL,
    title: "Junie",
    other_names: &["junie-cli"],
    program: "junie",
    package: Package::Npm("@jetbrains/junie"),
    contracts: &[Contract {
        note: Some(
            "hooks that block are those of the early access program; the stable version documents SessionStart alone",
        ),
        ..Contract::fact_sheet("0.0.0", "2026-11-17")
    }],
    session_variables: &[],
    special_tools: &[],
    other_tools: &[],
    other_tool_texts: &[],
    quirks: capabilities::QUIRKS,
    limits: TimeLimits { session_end_ms: 540_000, other_ms: 540_000 },
    search_order: 28,
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
