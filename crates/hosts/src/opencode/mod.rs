//! OpenCode, which has no hook commands: a small plugin of ours calls `anyhook hook opencode`.

mod capabilities;
mod database;
mod decode;
mod dialog;
mod encode;
mod injection;
mod log;
mod question;
mod settings;
mod usage;

use anyhook_model::approval_request::{AgentQuestion, QuestionAnswer};
use anyhook_model::json::Object;
use anyhook_model::{
    Caller, DecodeError, Event, EventKind, LateRefusal, PromptType, Reply, ToolCall, Verdict,
    exit_code,
};
use serde_json::{Value, json};

use crate::launch::{self, Launch};
use crate::log::{LogReader, LogState};
use crate::payload::ShellCall;
use crate::reply_builder::{self, ReplyBuilder};
use crate::spec::{self, HostSpec, Protocol, TimeLimits, WarningAudience};

/// What the hook path needs.
pub static PROTOCOL: Protocol = Protocol {
    id: "opencode",
    process_names: &["opencode", "node", "bun"],
    project_variables: &[],
    folder_variables: &["XDG_DATA_HOME"],
    tools: capabilities::TOOLS,
    capabilities: capabilities::CAPABILITIES,
    opaque_fields: decode::OPAQUE_FIELDS,
    prompt_tools: &[(question::TOOL, PromptType::Question)],
    is_answered_by_keys: false,
    stop_cap: None,
    // The plugin can address only the model: with a prompt, or with a result.
    warns: WarningAudience::Model(&[EventKind::BeforeAgent, EventKind::AfterTool]),
    // Our plugin treats any other exit code as a failure, and a failure as no opinion.
    late_refusal: &LateRefusal {
        stdout: "{\"deny\": \"anyhook reached no decision within its deadline, and a hook with on_failure: block is installed\"}\n",
        exit_code: exit_code::OK,
    },
    codec: &Codec,
};

/// Everything known about it.
pub static SPEC: HostSpec = HostSpec {
    protocol: &PROTOCOL,
    title: "OpenCode",
    other_names: &[],
    program: "opencode",
    package: "opencode-ai",
    tried_version: "1.18.33",
    session_variables: &["OPENCODE"],
    special_tools: &[],
    other_tools: capabilities::OTHER_TOOLS,
    other_tool_texts: &[],
    quirks: capabilities::QUIRKS,
    limits: TimeLimits { session_end_ms: 540_000, other_ms: 540_000 },
    search_order: 3,
    settings: &settings::Settings,
    launch: arguments,
    takes_prompt,
    shell_call,
    dialog: Some(dialog::read),
    log: Some(LogReader {
        places: log::places,
        begin: LogState::unnamed,
        read_line: log::read_line,
        usage: None,
    }),
    transcript: None,
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

    fn refuse(&self, error: &DecodeError, guarded: bool) -> Reply {
        if guarded {
            let mut builder = ReplyBuilder::default();
            builder.set("deny", reply_builder::unreadable(error));
            return builder.reply("");
        }
        reply_builder::refuse(error, false)
    }

    fn questions(&self, call: &ToolCall) -> Vec<AgentQuestion> {
        question::questions(call)
    }

    fn answered(&self, answers: &[QuestionAnswer]) -> Object {
        question::answered(answers)
    }
}

/// Returns what our plugin sends before a shell call.
fn shell_call(call: &ShellCall<'_>) -> Value {
    json!({
        "hook": call.event,
        "directory": call.work_dir,
        "worktree": call.work_dir,
        "input": {"tool": call.tool, "sessionID": call.session, "callID": call.session},
        "output": {"args": {"command": call.command}},
    })
}

// Its screen ignores a prompt that is passed along with a session.
fn takes_prompt(launch: &Launch<'_>) -> bool {
    launch.resume.is_none() || is_headless(launch.run)
}

fn arguments(launch: &Launch<'_>) -> Vec<String> {
    let mut arguments = Vec::new();
    if let Some(session) = launch.resume {
        arguments.extend(["--session", session].map(str::to_owned));
    }
    if let Some(prompt) = launch.prompt.filter(|_| takes_prompt(launch)) {
        if is_headless(launch.run) {
            arguments.extend(["--", prompt].map(str::to_owned));
        } else {
            arguments.push(format!("--prompt={prompt}"));
        }
    }
    arguments
}

/// Returns whether a command line is `opencode run`.
fn is_headless(run: &str) -> bool {
    let mut words = launch::arguments_of(run).into_iter();
    while let Some(word) = words.next() {
        if !word.starts_with('-') {
            return word == "run";
        }
        if OPTIONS_WITH_VALUE.contains(&word.as_str()) {
            words.next();
        }
    }
    false
}

/// Options with a value that may come before a command.
const OPTIONS_WITH_VALUE: [&str; 11] = [
    "--log-level",
    "--port",
    "--hostname",
    "--mdns-domain",
    "--cors",
    "-m",
    "--model",
    "-s",
    "--session",
    "--agent",
    "--replay-limit",
];
