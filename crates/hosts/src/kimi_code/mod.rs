//! Moonshot AI's Kimi Code, the program that followed the Python program Kimi CLI.

mod capabilities;
mod decode;
mod disabled;
mod encode;
mod log;
mod offline;
mod settings;
#[cfg(test)]
mod tests;

use anyhook_model::approval_request::AgentQuestion;
use anyhook_model::{Caller, DecodeError, Event, EventKind, PromptType, Reply, ToolCall, Verdict};

use crate::contract::Contract;
use crate::launch::{self, Launch};
use crate::log::LogReader;
use crate::payload;
use crate::question::{self, QuestionForm};
use crate::spec::{
    self, EXIT_CODE_REFUSAL, HostSpec, Package, Protocol, TimeLimits, WarningAudience,
};

/// What the hook path needs.
pub static PROTOCOL: Protocol = Protocol {
    id: "kimi-code",
    // The first is the title that it gives its process.
    process_names: &["kimi-code", "kimi", "node", "bun"],
    project_variables: &[],
    folder_variables: &[HOME_VARIABLE],
    hook_variables: &[],
    also_runs_hooks_of: &[],
    tools: capabilities::TOOLS,
    capabilities: capabilities::CAPABILITIES,
    opaque_fields: decode::OPAQUE_FIELDS,
    prompt_tools: &[
        (QUESTION_TOOL, PromptType::Question),
        ("ExitPlanMode", PromptType::PlanApproval),
    ],
    is_answered_by_keys: true,
    // It does not ask again after a blocked stop.
    stop_cap: Some(1),
    // Only with a prompt does what a hook prints reach somebody.
    warns: WarningAudience::Model(&[EventKind::BeforeAgent]),
    late_refusal: &EXIT_CODE_REFUSAL,
    codec: &Codec,
};

/// Everything known about it.
pub static SPEC: HostSpec = HostSpec {
    protocol: &PROTOCOL,
    title: "Kimi Code",
    other_names: &["kimi"],
    program: "kimi",
    package: Package::Npm("@moonshot-ai/kimi-code"),
    contracts: &[Contract::run("2.1.0")],
    session_variables: &[],
    special_tools: capabilities::SPECIAL_TOOLS,
    other_tools: capabilities::OTHER_TOOLS,
    other_tool_texts: &[],
    quirks: capabilities::QUIRKS,
    // It has a limit of ten minutes for each hook, also at the end of a session.
    limits: TimeLimits { session_end_ms: 540_000, other_ms: 540_000 },
    search_order: 6,
    settings: &settings::Settings,
    launch: arguments,
    takes_prompt,
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

/// The variable that names its own folder.
const HOME_VARIABLE: &str = "KIMI_CODE_HOME";
/// Its own folder in the home folder.
const FOLDER: &str = ".kimi-code";

/// The tool with which it asks the user.
const QUESTION_TOOL: &str = "AskUserQuestion";

/// Decodes its payloads and encodes its replies.
struct Codec;

impl spec::Codec for Codec {
    fn decode(&self, payload: &[u8], caller: &Caller) -> Result<Vec<Event>, DecodeError> {
        decode::decode(payload, caller)
    }

    fn encode(&self, event: &Event, verdict: &Verdict) -> Reply {
        encode::encode(event, verdict)
    }

    fn questions(&self, call: &ToolCall) -> Vec<AgentQuestion> {
        let form = QuestionForm { multiple: "multi_select", free_text: None };
        question::of_tool(call, QUESTION_TOOL, form)
    }
}

/// Returns whether a start takes its prompt as an argument: on its screen it takes none.
fn takes_prompt(launch: &Launch<'_>) -> bool {
    let last = launch::arguments_of(launch.run).pop().unwrap_or_default();
    ["-p", "--prompt"].contains(&last.as_str())
}

fn arguments(launch: &Launch<'_>) -> Vec<String> {
    let prompt = launch.prompt.filter(|_| takes_prompt(launch)).map(str::to_owned);
    let resume = launch.resume.map(|session| format!("--session={session}"));
    prompt.into_iter().chain(resume).collect()
}
