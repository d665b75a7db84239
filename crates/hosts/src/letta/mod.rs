//! Letta Code.

mod capabilities;
mod decode;
mod encode;
mod log;
mod offline;
mod settings;
#[cfg(test)]
mod tests;

use anyhook_model::{Caller, DecodeError, Event, EventKind, PromptType, Reply, Verdict};
use serde_json::{Value, json};

use crate::contract::Contract;
use crate::launch::{self, Launch};
use crate::log::{LogReader, LogState};
use crate::payload::ShellCall;
use crate::spec::{
    self, EXIT_CODE_REFUSAL, HostSpec, Package, Protocol, TimeLimits, WarningAudience,
};

/// What the hook path needs.
pub static PROTOCOL: Protocol = Protocol {
    id: "letta",
    process_names: &["letta", "node", "bun"],
    project_variables: &[],
    folder_variables: &[],
    hook_variables: &["LETTA_HOOK_EVENT"],
    also_runs_hooks_of: &[],
    tools: capabilities::TOOLS,
    capabilities: capabilities::CAPABILITIES,
    opaque_fields: decode::OPAQUE_FIELDS,
    prompt_tools: &[
        ("AskUserQuestion", PromptType::Question),
        ("ExitPlanMode", PromptType::PlanApproval),
    ],
    is_answered_by_keys: true,
    stop_cap: None,
    // What a hook prints for people is lost among its lines on the screen.
    warns: WarningAudience::Model(&[
        EventKind::SessionStart,
        EventKind::BeforeAgent,
        EventKind::AfterTool,
        EventKind::AfterToolFailure,
    ]),
    late_refusal: &EXIT_CODE_REFUSAL,
    codec: &Codec,
};

/// Everything known about it.
pub static SPEC: HostSpec = HostSpec {
    protocol: &PROTOCOL,
    title: "Letta Code",
    other_names: &["letta-code"],
    program: "letta",
    package: Package::Npm("@letta-ai/letta-code"),
    contracts: &[Contract::run("0.25.9")],
    session_variables: &["LETTA_AGENT_ID", "LETTA_CONVERSATION_ID"],
    special_tools: &[],
    other_tools: capabilities::OTHER_TOOLS,
    other_tool_texts: &[],
    quirks: capabilities::QUIRKS,
    limits: TimeLimits { session_end_ms: 540_000, other_ms: 540_000 },
    search_order: 21,
    settings: &settings::Settings,
    launch: arguments,
    takes_prompt,
    shell_call,
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

/// Its own folder in the home folder, and in a project.
const FOLDER: &str = ".letta";

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

/// Returns what its hooks receive before a shell call, with a session of its own.
fn shell_call(call: &ShellCall<'_>) -> Value {
    json!({
        "event_type": call.event,
        "working_directory": call.work_dir,
        "tool_name": call.tool,
        "tool_input": {"command": call.command},
        "session_id": call.session,
    })
}

/// Returns whether a start takes its prompt as an argument, which only a start without a screen does.
fn takes_prompt(launch: &Launch<'_>) -> bool {
    let words = launch::arguments_of(launch.run);
    words.iter().any(|word| word == "-p" || word == "--prompt")
}

/// It has no option for a session as we name it: an agent's id is not a conversation.
fn arguments(launch: &Launch<'_>) -> Vec<String> {
    let prompt = launch.prompt.filter(|_| takes_prompt(launch));
    prompt.map(str::to_owned).into_iter().collect()
}
