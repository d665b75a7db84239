//! OpenAI's Codex CLI.

mod capabilities;
mod decode;
mod dialog;
mod encode;
mod injection;
mod log;
mod offline;
mod settings;
mod usage;

use anyhook_model::approval_request::AgentQuestion;
use anyhook_model::{Caller, DecodeError, Event, PromptType, Reply, ToolCall, Verdict};

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
    id: "codex",
    process_names: &["codex"],
    project_variables: &[],
    folder_variables: &["CODEX_HOME"],
    hook_variables: &[],
    also_runs_hooks_of: &[],
    tools: capabilities::TOOLS,
    capabilities: capabilities::CAPABILITIES,
    opaque_fields: decode::OPAQUE_FIELDS,
    prompt_tools: &[(QUESTION_TOOL, PromptType::Question)],
    is_answered_by_keys: true,
    stop_cap: None,
    warns: WarningAudience::Person,
    late_refusal: &EXIT_CODE_REFUSAL,
    codec: &Codec,
};

/// Everything known about it.
pub static SPEC: HostSpec = HostSpec {
    protocol: &PROTOCOL,
    title: "Codex",
    other_names: &["codex-cli"],
    program: "codex",
    package: Package::Npm("@openai/codex"),
    contracts: &[Contract::run("0.166.0")],
    session_variables: &["CODEX_THREAD_ID", "CODEX_SESSION_ID", "CODEX_CI"],
    special_tools: &["view_image"],
    other_tools: capabilities::OTHER_TOOLS,
    other_tool_texts: &[("apply_patch", "command"), ("exec", "code")],
    quirks: capabilities::QUIRKS,
    limits: TimeLimits { session_end_ms: 2_700, other_ms: 540_000 },
    search_order: 2,
    settings: &settings::Settings,
    launch: arguments,
    takes_prompt: launch::always,
    shell_call: payload::shell_call,
    dialog: Some(dialog::read),
    log: Some(LogReader {
        places: log::places,
        begin: log::begin,
        read_line: log::read_line,
        usage: Some(usage::feed),
    }),
    transcript: None,
    offline: Some(&offline::Run),
};

/// The tool with which it asks the user.
const QUESTION_TOOL: &str = "request_user_input";

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
        question::of_tool(
            call,
            QUESTION_TOOL,
            QuestionForm { multiple: "multiple", free_text: None },
        )
    }
}

fn arguments(launch: &Launch<'_>) -> Vec<String> {
    let mut arguments = Vec::new();
    if let Some(session) = launch.resume {
        arguments.extend(["resume", session].map(str::to_owned));
    }
    if let Some(prompt) = launch.prompt {
        arguments.extend(["--", prompt].map(str::to_owned));
    }
    arguments
}
