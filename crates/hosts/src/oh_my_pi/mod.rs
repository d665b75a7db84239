//! oh-my-pi, which has no hook commands: a small extension of ours calls `anyhook hook oh-my-pi`.

mod capabilities;
mod decode;
mod encode;
mod log;
mod offline;
mod patch;
mod settings;
#[cfg(test)]
mod tests;

use anyhook_model::{Caller, DecodeError, Event, PromptType, Reply, Verdict};

use crate::contract::Contract;
use crate::extension::{events, replies, sessions};
use crate::launch::{self, Launch};
use crate::log::{LogReader, LogState};
use crate::payload;
use crate::spec::{self, HostSpec, Package, Protocol, TimeLimits, WarningAudience};

/// What the hook path needs.
pub static PROTOCOL: Protocol = Protocol {
    id: "oh-my-pi",
    process_names: &["omp", "bun"],
    project_variables: &[],
    folder_variables: &[settings::FOLDER_VARIABLE],
    hook_variables: &[],
    also_runs_hooks_of: &[],
    tools: capabilities::TOOLS,
    capabilities: capabilities::CAPABILITIES,
    opaque_fields: events::OPAQUE_FIELDS,
    prompt_tools: &[(QUESTION_TOOL, PromptType::Question)],
    is_answered_by_keys: true,
    stop_cap: None,
    warns: WarningAudience::Person,
    late_refusal: &replies::LATE_REFUSAL,
    codec: &Codec,
};

/// Everything known about it.
pub static SPEC: HostSpec = HostSpec {
    protocol: &PROTOCOL,
    title: "oh-my-pi",
    other_names: &["omp"],
    program: "omp",
    package: Package::Npm("@oh-my-pi/pi-coding-agent"),
    contracts: &[Contract::run("18.2.3")],
    session_variables: &["OMPCODE"],
    special_tools: capabilities::SPECIAL_TOOLS,
    other_tools: capabilities::OTHER_TOOLS,
    other_tool_texts: &[],
    quirks: capabilities::QUIRKS,
    limits: TimeLimits { session_end_ms: 1_710, other_ms: 25_200 },
    search_order: 21,
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

/// The tool with which it asks the user.
const QUESTION_TOOL: &str = "ask";

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
    let resume = launch.resume.map(|session| ["--resume", session]);
    let prompt = launch.prompt.map(|prompt| ["--", prompt]);
    resume.into_iter().chain(prompt).flatten().map(str::to_owned).collect()
}
