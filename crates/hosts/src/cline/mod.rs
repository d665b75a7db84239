//! Cline's command line.

mod capabilities;
mod decode;
mod encode;
mod log;
mod offline;
mod parts;
mod refusal;
mod settings;
#[cfg(test)]
mod tests;

use anyhook_model::{
    Caller, DecodeError, Event, EventKind, LateRefusal, PromptType, Reply, ToolCall, Verdict,
    exit_code,
};
use serde_json::{Value, json};

use crate::contract::Contract;
use crate::launch::Launch;
use crate::log::LogReader;
use crate::payload::ShellCall;
use crate::reply_builder;
use crate::spec::{self, HostSpec, Package, Protocol, TimeLimits, WarningAudience};

/// What the hook path needs.
pub static PROTOCOL: Protocol = Protocol {
    id: "cline",
    process_names: &["cline", "node"],
    project_variables: &[],
    folder_variables: &[FOLDER_VARIABLE],
    hook_variables: &[],
    also_runs_hooks_of: &[],
    tools: capabilities::TOOLS,
    capabilities: capabilities::CAPABILITIES,
    opaque_fields: decode::OPAQUE_FIELDS,
    prompt_tools: &[("ask_question", PromptType::Question)],
    is_answered_by_keys: true,
    stop_cap: None,
    // It shows no message of a hook to the user.
    warns: WarningAudience::Model(&[
        EventKind::BeforeTool,
        EventKind::AfterTool,
        EventKind::AfterToolFailure,
    ]),
    // Which tool it is, is not known then, so nothing but the end of the run is sure.
    late_refusal: &LateRefusal {
        stdout: concat!(
            r#"{"cancel": true, "errorMessage": "anyhook reached no decision within its deadline, "#,
            r#"and a hook with on_failure: block is installed"}"#,
            "\n"
        ),
        exit_code: exit_code::OK,
    },
    codec: &Codec,
};

/// Everything known about it.
pub static SPEC: HostSpec = HostSpec {
    protocol: &PROTOCOL,
    title: "Cline",
    other_names: &["cline-cli"],
    program: "cline",
    package: Package::Npm("cline"),
    contracts: &[Contract::run("3.0.65")],
    session_variables: &["CLINE_CONNECTOR_CLI_LAUNCH"],
    special_tools: capabilities::SPECIAL_TOOLS,
    other_tools: capabilities::OTHER_TOOLS,
    other_tool_texts: &[],
    quirks: capabilities::QUIRKS,
    // It waits for two minutes.
    limits: TimeLimits { session_end_ms: 100_000, other_ms: 100_000 },
    search_order: 13,
    settings: &settings::Settings,
    launch: arguments,
    takes_prompt,
    shell_call,
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
const FOLDER_VARIABLE: &str = "CLINE_DIR";
/// Its own folder in the home folder, and in a project.
const FOLDER: &str = ".cline";

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
        Ok(parts::whole(call, input))
    }

    fn refuse(&self, error: &DecodeError, guarded: bool) -> Reply {
        if guarded {
            return encode::unreadable(error);
        }
        reply_builder::refuse(error, false)
    }
}

/// Returns what its hooks receive before a shell call.
fn shell_call(call: &ShellCall<'_>) -> Value {
    json!({
        "hookName": "tool_call",
        "sessionContext": {"rootSessionId": call.session},
        "workspaceRoots": [call.work_dir],
        "parent_agent_id": null,
        "tool_call": {"id": "call_0", "name": call.tool, "input": {"commands": [call.command]}},
    })
}

/// Returns whether a start takes its prompt as an argument, which one that resumes a session does
/// not.
fn takes_prompt(launch: &Launch<'_>) -> bool {
    launch.resume.is_none()
}

fn arguments(launch: &Launch<'_>) -> Vec<String> {
    match (launch.resume, launch.prompt) {
        (Some(session), _) => vec!["--id".to_owned(), session.to_owned()],
        (None, Some(text)) => vec![prompt(text)],
        (None, None) => Vec::new(),
    }
}

/// Returns a prompt as an argument: a single word would be taken for a command.
fn prompt(text: &str) -> String {
    let space = if text.contains(char::is_whitespace) { "" } else { " " };
    format!("{text}{space}")
}
