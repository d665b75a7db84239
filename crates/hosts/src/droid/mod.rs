//! Factory's Droid.

mod capabilities;
mod decode;
mod encode;
mod log;
mod offline;
mod settings;
#[cfg(test)]
mod tests;

use anyhook_model::{Caller, DecodeError, Event, EventKind, PromptType, Reply, ToolCall, Verdict};
use serde_json::Value;

use crate::contract::Contract;
use crate::launch::{self, Launch};
use crate::log::LogReader;
use crate::payload;
use crate::spec::{
    self, EXIT_CODE_REFUSAL, HostSpec, Package, Protocol, TimeLimits, WarningAudience,
};

/// What the hook path needs.
pub static PROTOCOL: Protocol = Protocol {
    id: "droid",
    process_names: &["droid", "node"],
    // Its current folder, from which a command of its shell does not move it.
    project_variables: &["FACTORY_PROJECT_DIR", "DROID_PROJECT_DIR"],
    folder_variables: &[HOME_VARIABLE],
    // Set for hooks only, and not for the commands of its shell.
    hook_variables: &["FACTORY_PROJECT_DIR"],
    also_runs_hooks_of: &[],
    tools: capabilities::TOOLS,
    capabilities: capabilities::CAPABILITIES,
    opaque_fields: decode::OPAQUE_FIELDS,
    prompt_tools: &[
        ("AskUser", PromptType::Question),
        ("ExitSpecMode", PromptType::PlanApproval),
        ("ProposeMission", PromptType::PlanApproval),
    ],
    is_answered_by_keys: true,
    stop_cap: None,
    // Of a hook's messages, it shows those after a tool and at a stop, and only on its screen.
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
    title: "Droid",
    other_names: &["factory-droid", "factory"],
    program: "droid",
    package: Package::Npm("droid"),
    contracts: &[Contract::run("0.215.0")],
    session_variables: &["FACTORY_EXEC_TARGET_AUTONOMY"],
    special_tools: &[],
    other_tools: capabilities::OTHER_TOOLS,
    other_tool_texts: &[],
    quirks: capabilities::QUIRKS,
    limits: TimeLimits { session_end_ms: 540_000, other_ms: 540_000 },
    search_order: 12,
    settings: &settings::Settings,
    launch: arguments,
    takes_prompt: launch::always,
    shell_call: payload::shell_call,
    dialog: None,
    log: Some(LogReader {
        places: log::places,
        begin: log::begin,
        read_line: log::read_line,
        usage: None,
    }),
    transcript: None,
    offline: Some(&offline::Run),
};

/// The variable that takes the place of the home folder.
const HOME_VARIABLE: &str = "FACTORY_HOME_OVERRIDE";
/// Its own folder in the home folder, and in a project.
const FOLDER: &str = ".factory";

/// Decodes its payloads and encodes its replies.
struct Codec;

impl spec::Codec for Codec {
    fn decode(&self, payload: &[u8], caller: &Caller) -> Result<Vec<Event>, DecodeError> {
        decode::decode(payload, caller)
    }

    fn encode(&self, event: &Event, verdict: &Verdict) -> Reply {
        encode::encode(event, verdict)
    }

    fn wrapped_input(&self, call: &ToolCall, input: Value) -> Result<Value, String> {
        decode::merged_input(call, input)
    }
}

fn arguments(launch: &Launch<'_>) -> Vec<String> {
    let option = launch::arguments_of(launch.run).first().is_some_and(|word| word == "exec");
    let option = if option { "--session-id" } else { "--resume" };
    let resume = launch.resume.map(|session| [option.to_owned(), session.to_owned()]);
    resume.into_iter().flatten().chain(launch.prompt.map(str::to_owned)).collect()
}
