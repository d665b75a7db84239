//! Anthropic's Claude Code.

mod capabilities;
mod decode;
mod dialog;
mod disabled;
mod encode;
mod injection;
mod log;
mod offline;
mod question;
mod settings;
mod shell_command;
mod transcript;
mod usage;

use anyhook_model::approval_request::{AgentQuestion, QuestionAnswer};
use anyhook_model::json::Object;
use anyhook_model::{Caller, DecodeError, Event, PromptType, Reply, ToolCall, Verdict};

use crate::contract::Contract;
use crate::launch::{self, Launch};
use crate::log::LogReader;
use crate::payload;
use crate::spec::{
    self, EXIT_CODE_REFUSAL, HostSpec, Package, Protocol, TimeLimits, WarningAudience,
};
use crate::transcript::TranscriptReader;

/// What the hook path needs.
pub static PROTOCOL: Protocol = Protocol {
    id: "claude-code",
    process_names: &["claude", "node", "bun"],
    project_variables: &["CLAUDE_PROJECT_DIR"],
    folder_variables: &["CLAUDE_CONFIG_DIR"],
    hook_variables: &[],
    also_runs_hooks_of: &[],
    tools: capabilities::TOOLS,
    capabilities: capabilities::CAPABILITIES,
    opaque_fields: decode::OPAQUE_FIELDS,
    prompt_tools: &[
        (question::TOOL, PromptType::Question),
        ("ExitPlanMode", PromptType::PlanApproval),
    ],
    is_answered_by_keys: false,
    // It ends the turn itself after eight consecutive blocks.
    stop_cap: Some(8),
    warns: WarningAudience::Person,
    late_refusal: &EXIT_CODE_REFUSAL,
    codec: &Codec,
};

/// Everything known about it.
pub static SPEC: HostSpec = HostSpec {
    protocol: &PROTOCOL,
    title: "Claude Code",
    other_names: &["claude"],
    program: "claude",
    package: Package::Npm("@anthropic-ai/claude-code"),
    contracts: &[Contract::run("2.1.325")],
    session_variables: &["CLAUDECODE", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_SESSION_ID"],
    special_tools: capabilities::SPECIAL_TOOLS,
    other_tools: capabilities::OTHER_TOOLS,
    other_tool_texts: &[("SlashCommand", "command"), ("Workflow", "script")],
    quirks: capabilities::QUIRKS,
    limits: TimeLimits { session_end_ms: 4_500, other_ms: 540_000 },
    search_order: 1,
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
    transcript: Some(TranscriptReader {
        read: transcript::read,
        place: "~/.claude/projects, one .jsonl per session",
    }),
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

    fn questions(&self, call: &ToolCall) -> Vec<AgentQuestion> {
        question::questions(call)
    }

    fn answered(&self, answers: &[QuestionAnswer]) -> Object {
        question::answered(answers)
    }

    fn running_command<'shell>(&self, shell_argument: &'shell str) -> Option<&'shell str> {
        Some(shell_command::command(shell_argument))
    }
}

fn arguments(launch: &Launch<'_>) -> Vec<String> {
    let mut arguments = Vec::new();
    if let Some(session) = launch.resume {
        arguments.extend(["--resume", session].map(str::to_owned));
    }
    if let Some(prompt) = launch.prompt {
        // Even after `--`, a single word could be the name of a command.
        let space = if prompt.contains(char::is_whitespace) { "" } else { " " };
        arguments.extend(["--".to_owned(), format!("{prompt}{space}")]);
    }
    arguments
}
