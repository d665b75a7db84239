//! pi, which has no hook commands: a small extension of ours calls `anyhook hook pi`.

mod capabilities;
mod decode;
mod encode;
mod log;
mod offline;
mod settings;
#[cfg(test)]
mod tests;

use anyhook_model::{Caller, DecodeError, Event, Reply, Verdict};

use crate::contract::Contract;
use crate::extension::{events, replies, sessions};
use crate::launch::{self, Launch};
use crate::log::{LogReader, LogState};
use crate::payload;
use crate::spec::{self, HostSpec, Package, Protocol, TimeLimits, WarningAudience};

/// What the hook path needs.
pub static PROTOCOL: Protocol = Protocol {
    id: "pi",
    process_names: &["pi", "node", "bun"],
    project_variables: &[],
    folder_variables: &[settings::FOLDER_VARIABLE],
    hook_variables: &[],
    also_runs_hooks_of: &[],
    tools: capabilities::TOOLS,
    capabilities: capabilities::CAPABILITIES,
    opaque_fields: events::OPAQUE_FIELDS,
    prompt_tools: &[],
    is_answered_by_keys: false,
    stop_cap: None,
    warns: WarningAudience::Person,
    late_refusal: &replies::LATE_REFUSAL,
    codec: &Codec,
};

/// Everything known about it.
pub static SPEC: HostSpec = HostSpec {
    protocol: &PROTOCOL,
    title: "pi",
    other_names: &["pi-coding-agent"],
    program: "pi",
    package: Package::Npm("@earendil-works/pi-coding-agent"),
    contracts: &[Contract::run("1.5.0")],
    session_variables: &["PI_CODING_AGENT", "PI_SESSION_ID"],
    special_tools: capabilities::SPECIAL_TOOLS,
    other_tools: capabilities::OTHER_TOOLS,
    other_tool_texts: &[("codemode", "code")],
    quirks: capabilities::QUIRKS,
    limits: TimeLimits { session_end_ms: 54_000, other_ms: 540_000 },
    search_order: 20,
    settings: &settings::Settings,
    launch: arguments,
    takes_prompt: launch::always,
    shell_call: payload::shell_call,
    dialog: None,
    log: Some(LogReader {
        places: log::places,
        begin: LogState::unnamed,
        read_line: sessions::read_line,
        usage: Some(sessions::count),
    }),
    transcript: None,
    offline: Some(&offline::Run),
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

fn arguments(launch: &Launch<'_>) -> Vec<String> {
    let resume = launch.resume.map(|session| ["--session", session]);
    let prompt = launch.prompt.map(|prompt| ["--", prompt]);
    resume.into_iter().chain(prompt).flatten().map(str::to_owned).collect()
}
