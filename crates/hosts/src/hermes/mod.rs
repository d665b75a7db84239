//! Hermes Agent of Nous Research. Its hook commands can neither change a call nor ask a person, and
//! are skipped without a word until a person agrees to them: a small plugin of ours calls
//! `anyhook hook hermes`.

mod capabilities;
mod decode;
mod encode;
mod log;
mod offline;
mod settings;
#[cfg(test)]
mod tests;

use anyhook_model::{Caller, DecodeError, Event, EventKind, PromptType, Reply, Verdict};

use crate::contract::Contract;
use crate::extension::{events, replies};
use crate::launch::{self, Launch};
use crate::log::{LogReader, LogState};
use crate::payload;
use crate::spec::{self, HostSpec, Package, Protocol, TimeLimits, WarningAudience};

/// What the hook path needs.
pub static PROTOCOL: Protocol = Protocol {
    id: "hermes",
    process_names: &["hermes", "python3", "python"],
    project_variables: &[],
    folder_variables: &[HOME_VARIABLE],
    hook_variables: &[],
    also_runs_hooks_of: &[],
    tools: capabilities::TOOLS,
    capabilities: capabilities::CAPABILITIES,
    opaque_fields: events::OPAQUE_FIELDS,
    prompt_tools: &[("clarify", PromptType::Question)],
    is_answered_by_keys: true,
    stop_cap: Some(3),
    // A plugin cannot write on its screen.
    warns: WarningAudience::Model(&[
        EventKind::SessionStart,
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
    title: "Hermes Agent",
    other_names: &["hermes-agent"],
    program: "hermes",
    package: Package::PyPi("hermes-agent"),
    contracts: &[Contract::run("0.19.0")],
    session_variables: &["HERMES_SESSION_ID"],
    special_tools: capabilities::SPECIAL_TOOLS,
    other_tools: capabilities::OTHER_TOOLS,
    other_tool_texts: &[],
    quirks: capabilities::QUIRKS,
    limits: TimeLimits { session_end_ms: 54_000, other_ms: 540_000 },
    search_order: 22,
    settings: &settings::Settings,
    launch: arguments,
    takes_prompt,
    shell_call: payload::shell_call,
    dialog: None,
    log: Some(LogReader {
        places: log::places,
        begin: LogState::unnamed,
        read_line: log::read_line,
        usage: None,
    }),
    transcript: None,
    offline: Some(&offline::Run),
};

/// The variable that names its own folder.
const HOME_VARIABLE: &str = "HERMES_HOME";
/// Its own folder in the home folder.
const FOLDER: &str = ".hermes";

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

/// Returns whether a start takes its prompt as an argument, which only a start without a screen does.
fn takes_prompt(launch: &Launch<'_>) -> bool {
    let words = launch::arguments_of(launch.run);
    words.iter().any(|word| ["-q", "--query", "-z", "--oneshot"].contains(&word.as_str()))
}

fn arguments(launch: &Launch<'_>) -> Vec<String> {
    let prompt = launch.prompt.filter(|_| takes_prompt(launch)).map(str::to_owned);
    let resume = launch.resume.map(|session| format!("--resume={session}"));
    // The prompt follows the option that is last on its command line.
    prompt.into_iter().chain(resume).collect()
}
