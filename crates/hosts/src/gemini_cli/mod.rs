//! Google's Gemini CLI.

mod capabilities;
mod decode;
mod dialog;
mod encode;
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
use crate::reply_builder::{self, ReplyBuilder};
use crate::spec::{
    self, EXIT_CODE_REFUSAL, HostSpec, Package, Protocol, TimeLimits, WarningAudience,
};

/// What the hook path needs.
pub static PROTOCOL: Protocol = Protocol {
    id: "gemini-cli",
    process_names: &["gemini", "node", "bun"],
    project_variables: &["GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR"],
    folder_variables: &[HOME_VARIABLE],
    hook_variables: &[],
    also_runs_hooks_of: &[],
    tools: capabilities::TOOLS,
    capabilities: capabilities::CAPABILITIES,
    opaque_fields: decode::OPAQUE_FIELDS,
    prompt_tools: &[
        (QUESTION_TOOL, PromptType::Question),
        ("exit_plan_mode", PromptType::PlanApproval),
    ],
    is_answered_by_keys: true,
    stop_cap: None,
    warns: WarningAudience::Person,
    late_refusal: &EXIT_CODE_REFUSAL,
    codec: &Codec,
};

/// Everything known about it.
pub static SPEC: HostSpec = HostSpec {
    protocol: &PROTOCOL,
    title: "Gemini CLI",
    other_names: &["gemini"],
    program: "gemini",
    package: Package::Npm("@google/gemini-cli"),
    contracts: &[Contract::run("0.61.0")],
    session_variables: &["GEMINI_CLI", "GEMINI_SESSION_ID"],
    special_tools: &[],
    other_tools: capabilities::OTHER_TOOLS,
    other_tool_texts: &[],
    quirks: capabilities::QUIRKS,
    limits: TimeLimits { session_end_ms: 4_500, other_ms: 540_000 },
    search_order: 4,
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

/// The variable that names the home folder it should use, which contains its own folder.
const HOME_VARIABLE: &str = "GEMINI_CLI_HOME";
/// Its own folder in that home folder, and in a project.
const FOLDER: &str = ".gemini";

/// The tool with which it asks the user.
const QUESTION_TOOL: &str = "ask_user";

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
            let mut builder = ReplyBuilder::default();
            builder.set("decision", "deny");
            builder.set("reason", reply_builder::unreadable(error));
            return builder.reply("");
        }
        reply_builder::refuse(error, false)
    }

    fn questions(&self, call: &ToolCall) -> Vec<AgentQuestion> {
        question::of_tool(
            call,
            QUESTION_TOOL,
            QuestionForm { multiple: "multiSelect", free_text: None },
        )
    }
}

fn arguments(launch: &Launch<'_>) -> Vec<String> {
    let last = launch::arguments_of(launch.run).pop().unwrap_or_default();
    let resume = launch.resume.map(|session| ["--resume", session].map(str::to_owned));
    let resume = resume.into_iter().flatten();
    if ["-p", "--prompt", "-i", "--prompt-interactive"].contains(&last.as_str()) {
        return launch.prompt.map(str::to_owned).into_iter().chain(resume).collect();
    }
    let prompt = launch.prompt.map(|prompt| format!("--prompt-interactive={prompt}"));
    resume.chain(prompt).collect()
}
