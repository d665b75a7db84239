//! GitHub's Copilot CLI.
//!
//! It has two dialects, and the spelling of an event's name in its settings selects one. With
//! `PreToolUse`, payloads name their event and have fields and tools as Claude Code has them; with
//! `preToolUse`, they have names of their own and do not say which event they are. Both accept the
//! same replies, and the first one more, so our entries have that spelling. Both are decoded.

mod capabilities;
mod decode;
mod encode;
mod log;
mod offline;
mod settings;
#[cfg(test)]
mod tests;

use anyhook_model::{
    Caller, DecodeError, Event, EventKind, LateRefusal, PromptType, Reply, Verdict, exit_code,
};

use crate::contract::Contract;
use crate::launch::{self, Launch};
use crate::log::LogReader;
use crate::payload;
use crate::reply_builder;
use crate::spec::{self, HostSpec, Package, Protocol, TimeLimits, WarningAudience};

/// What the hook path needs.
pub static PROTOCOL: Protocol = Protocol {
    id: "copilot",
    process_names: &["copilot", "node"],
    project_variables: &["COPILOT_PROJECT_DIR", "CLAUDE_PROJECT_DIR"],
    folder_variables: &[HOME_VARIABLE],
    // COPILOT_CLI is also set for the commands of its shell, and so for agents started there.
    hook_variables: &["COPILOT_PROJECT_DIR"],
    // Those of the project only: `.claude/settings.json` and `.claude/settings.local.json`.
    also_runs_hooks_of: &["claude-code"],
    tools: capabilities::TOOLS,
    capabilities: capabilities::CAPABILITIES,
    opaque_fields: decode::OPAQUE_FIELDS,
    prompt_tools: &[
        (QUESTION_TOOL, PromptType::Question),
        ("AskUserQuestion", PromptType::Question),
    ],
    is_answered_by_keys: true,
    // It ends the turn itself after eight consecutive blocks.
    stop_cap: Some(8),
    // It shows no message of a hook to the user.
    warns: WarningAudience::Model(&[
        EventKind::SessionStart,
        EventKind::BeforeAgent,
        EventKind::BeforeTool,
        EventKind::AfterTool,
        EventKind::AfterToolFailure,
    ]),
    // The exit code denies on its own, but without a reason.
    late_refusal: &LateRefusal {
        stdout: "{\"permissionDecision\": \"deny\", \"permissionDecisionReason\": \"anyhook reached no decision within its deadline, and a hook with on_failure: block is installed\"}\n",
        exit_code: exit_code::BLOCKED,
    },
    codec: &Codec,
};

/// Everything known about it.
pub static SPEC: HostSpec = HostSpec {
    protocol: &PROTOCOL,
    title: "Copilot CLI",
    other_names: &["copilot-cli", "github-copilot", "github-copilot-cli"],
    program: "copilot",
    package: Package::Npm("@github/copilot"),
    contracts: &[Contract::run("1.0.102")],
    session_variables: &["COPILOT_CLI", "COPILOT_AGENT_SESSION_ID"],
    special_tools: capabilities::SPECIAL_TOOLS,
    other_tools: capabilities::OTHER_TOOLS,
    other_tool_texts: &[],
    quirks: capabilities::QUIRKS,
    limits: TimeLimits { session_end_ms: 540_000, other_ms: 540_000 },
    search_order: 5,
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

/// The variable that names the folder of its settings.
const HOME_VARIABLE: &str = "COPILOT_HOME";

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
            return encode::unreadable(error);
        }
        reply_builder::refuse(error, false)
    }
}

fn arguments(launch: &Launch<'_>) -> Vec<String> {
    let last = launch::arguments_of(launch.run).pop().unwrap_or_default();
    let resume = launch.resume.map(|session| format!("--resume={session}"));
    if ["-p", "--prompt", "-i", "--interactive"].contains(&last.as_str()) {
        return launch.prompt.map(str::to_owned).into_iter().chain(resume).collect();
    }
    let prompt = launch.prompt.map(|prompt| format!("--interactive={prompt}"));
    resume.into_iter().chain(prompt).collect()
}
