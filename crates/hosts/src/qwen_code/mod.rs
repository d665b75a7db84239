//! Alibaba's Qwen Code.

mod capabilities;
mod decode;
mod disabled;
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
use crate::spec::{self, HostSpec, Package, Protocol, TimeLimits, WarningAudience};

/// What the hook path needs.
pub static PROTOCOL: Protocol = Protocol {
    id: "qwen-code",
    process_names: &["qwen", "node", "bun"],
    project_variables: &["QWEN_PROJECT_DIR"],
    folder_variables: &[HOME_VARIABLE],
    hook_variables: &["QWEN_PROJECT_DIR"],
    also_runs_hooks_of: &[],
    tools: capabilities::TOOLS,
    capabilities: capabilities::CAPABILITIES,
    opaque_fields: decode::OPAQUE_FIELDS,
    prompt_tools: &[
        ("ask_user_question", PromptType::Question),
        ("exit_plan_mode", PromptType::PlanApproval),
    ],
    is_answered_by_keys: true,
    // It ends the turn itself after eight consecutive blocks.
    stop_cap: Some(8),
    // It shows no message of a hook, except at a stop.
    warns: WarningAudience::Model(&[
        EventKind::BeforeAgent,
        EventKind::AfterTool,
        EventKind::AfterToolFailure,
    ]),
    // With exit 2, a hook that allows the call would override it.
    late_refusal: &LateRefusal {
        stdout: concat!(
            r#"{"continue": false, "stopReason": "anyhook reached no decision within its deadline, "#,
            r#"and a hook with on_failure: block is installed", "decision": "block", "reason": "#,
            r#""anyhook reached no decision within its deadline, and a hook with on_failure: block "#,
            r#"is installed"}"#,
            "\n"
        ),
        exit_code: exit_code::OK,
    },
    codec: &Codec,
};

/// Everything known about it.
pub static SPEC: HostSpec = HostSpec {
    protocol: &PROTOCOL,
    title: "Qwen Code",
    other_names: &["qwen"],
    program: "qwen",
    package: Package::Npm("@qwen-code/qwen-code"),
    contracts: &[Contract::run("0.24.4")],
    session_variables: &["QWEN_CODE", "QWEN_CODE_SESSION_ID"],
    special_tools: capabilities::SPECIAL_TOOLS,
    other_tools: capabilities::OTHER_TOOLS,
    other_tool_texts: &[],
    quirks: capabilities::QUIRKS,
    limits: TimeLimits { session_end_ms: 4_500, other_ms: 540_000 },
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

/// The variable that names its own folder.
const HOME_VARIABLE: &str = "QWEN_HOME";
/// Its own folder in the home folder, and in a project.
const FOLDER: &str = ".qwen";

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
        encode::refuse(error, guarded)
    }
}

fn arguments(launch: &Launch<'_>) -> Vec<String> {
    let last = launch::arguments_of(launch.run).pop().unwrap_or_default();
    let resume = launch.resume.map(|session| format!("--resume={session}"));
    let prompts = ["-p", "--prompt", "-i", "--prompt-interactive"];
    if prompts.contains(&last.as_str()) {
        return launch.prompt.map(str::to_owned).into_iter().chain(resume).collect();
    }
    let prompt = launch.prompt.map(|prompt| format!("--prompt-interactive={prompt}"));
    resume.into_iter().chain(prompt).collect()
}
