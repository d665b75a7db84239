//! xAI's Grok Build.
//!
//! It also runs the hooks in Claude Code's settings, with payloads and replies of its own form.

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
    id: "grok",
    process_names: &["grok"],
    project_variables: &["GROK_WORKSPACE_ROOT", "CLAUDE_PROJECT_DIR"],
    folder_variables: &["GROK_HOME"],
    hook_variables: &["GROK_HOOK_EVENT", "GROK_HOOK_NAME"],
    // Those of Cursor as well, in its nested layout only.
    also_runs_hooks_of: &["claude-code", "cursor"],
    tools: capabilities::TOOLS,
    capabilities: capabilities::CAPABILITIES,
    opaque_fields: decode::OPAQUE_FIELDS,
    prompt_tools: &[
        ("ask_user_question", PromptType::Question),
        ("exit_plan_mode", PromptType::PlanApproval),
    ],
    is_answered_by_keys: true,
    // It ends the turn itself after eight continuations.
    stop_cap: Some(8),
    warns: WarningAudience::Model(&[
        EventKind::BeforeTool,
        EventKind::AfterTool,
        EventKind::AfterToolFailure,
    ]),
    late_refusal: &EXIT_CODE_REFUSAL,
    codec: &Codec,
};

/// Everything known about it.
pub static SPEC: HostSpec = HostSpec {
    protocol: &PROTOCOL,
    title: "Grok",
    other_names: &["grok-build"],
    program: "grok",
    package: Package::Npm("@xai-official/grok"),
    contracts: &[Contract::run("1.0.41")],
    session_variables: &["GROK_AGENT", "GROK_SESSION_ID"],
    special_tools: &["monitor"],
    other_tools: capabilities::OTHER_TOOLS,
    other_tool_texts: &[],
    quirks: capabilities::QUIRKS,
    limits: TimeLimits { session_end_ms: 4_500, other_ms: 540_000 },
    search_order: 20,
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

/// Decodes its payloads and encodes its replies.
struct Codec;

impl spec::Codec for Codec {
    fn decode(&self, payload: &[u8], caller: &Caller) -> Result<Vec<Event>, DecodeError> {
        decode::decode(payload, caller)
    }

    fn encode(&self, event: &Event, verdict: &Verdict) -> Reply {
        encode::encode(event, verdict)
    }

    fn is_own(&self, payload: &[u8]) -> Option<bool> {
        Some(decode::is_own(payload))
    }

    fn wrapped_input(&self, call: &ToolCall, input: Value) -> Result<Value, String> {
        Ok(decode::wrapped_input(call, input))
    }
}

fn arguments(launch: &Launch<'_>) -> Vec<String> {
    let mut arguments = Vec::new();
    if let Some(session) = launch.resume {
        arguments.extend(["--resume", session].map(str::to_owned));
    }
    if let Some(prompt) = launch.prompt {
        // The value of this option may begin with a dash only behind an equals sign.
        let words = launch::arguments_of(launch.run);
        let is_single = words.last().is_some_and(|word| word == "-p" || word == "--single");
        if !is_single {
            arguments.push("--".to_owned());
        }
        arguments.push(prompt.to_owned());
    }
    arguments
}
