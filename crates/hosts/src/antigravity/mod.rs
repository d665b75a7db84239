//! Antigravity CLI, by Google.

mod capabilities;
mod decode;
mod encode;
mod settings;
#[cfg(test)]
mod tests;

use anyhook_model::{Caller, DecodeError, Event, LateRefusal, Reply, Verdict};
use serde_json::{Value, json};

use crate::contract::Contract;
use crate::launch;
use crate::payload::ShellCall;
use crate::reply_builder;
use crate::spec::{self, HostSpec, Package, Protocol, TimeLimits, WarningAudience};

/// What the hook path needs.
pub static PROTOCOL: Protocol = Protocol {
    id: "antigravity",
    process_names: &["agy"],
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
    warns: WarningAudience::Model(&[]),
    late_refusal: &REFUSAL,
    codec: &Codec,
};

/// Everything known about it.
pub static SPEC: HostSpec = HostSpec {
    protocol: &PROTOCOL,
    title: "Antigravity CLI",
    other_names: &["agy", "antigravity-cli"],
    program: "agy",
    package: Package::Elsewhere,
    contracts: &[Contract::fact_sheet("1.1.9", "2026-11-17")],
    session_variables: &[],
    special_tools: capabilities::SPECIAL_TOOLS,
    other_tools: capabilities::OTHER_TOOLS,
    other_tool_texts: &[],
    quirks: capabilities::QUIRKS,
    limits: TimeLimits { session_end_ms: 540_000, other_ms: 540_000 },
    search_order: 26,
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

    fn refuse(&self, error: &DecodeError, guarded: bool) -> Reply {
        if guarded {
            return encode::denial(&reply_builder::unreadable(error));
        }
        reply_builder::refuse(error, guarded)
    }
}

/// Exit codes mean nothing to it.
static REFUSAL: LateRefusal = LateRefusal {
    stdout: "{\"decision\": \"deny\", \"reason\": \"anyhook did not answer in time\"}\n",
    exit_code: 0,
};

fn shell_call(call: &ShellCall<'_>) -> Value {
    json!({
        "conversationId": call.session,
        "workspacePaths": [call.work_dir],
        "stepIdx": 1,
        "toolCall": {
            "name": call.tool,
            "args": {"CommandLine": call.command, "Cwd": call.work_dir},
        },
    })
}
