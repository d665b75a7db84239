//! OpenCode, which has no hook commands: a small plugin of ours calls `anyhook hook opencode`.

mod capabilities;
mod database;
pub(crate) mod decode;
mod dialog;
mod encode;
pub(crate) mod flavour;
mod injection;
pub(crate) mod log;
pub(crate) mod offline;
pub(crate) mod question;
pub(crate) mod settings;
mod usage;

use anyhook_model::approval_request::{AgentQuestion, QuestionAnswer};
use anyhook_model::json::Object;
use anyhook_model::{
    Caller, DecodeError, Event, EventKind, LateRefusal, PromptType, Reply, ToolCall, Verdict,
    exit_code,
};
use serde_json::{Value, json};

use crate::contract::Contract;
use crate::launch::{self, Launch};
use crate::log::{LogReader, LogState};
use crate::payload::ShellCall;
use crate::reply_builder::{self, ReplyBuilder};
use crate::spec::{self, HostSpec, Package, Protocol, TimeLimits, WarningAudience};

use flavour::Flavour;

static FLAVOUR: Flavour = Flavour {
    id: "opencode",
    title: "OpenCode",
    tools: capabilities::TOOLS,
    other_tools: capabilities::OTHER_TOOLS,
    folder: "opencode",
    project_folder: ".opencode",
    plugins: "plugins",
    // Release channels other than the stable one have their own database.
    databases: &["opencode*.db"],
    goes_on_without_screen: true,
    settings_variable: "OPENCODE_CONFIG_CONTENT",
    plugin_package: "@opencode-ai/plugin",
    models_variable: "OPENCODE_MODELS_PATH",
    quiet_variables: &[
        ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
        ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
        ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
    ],
};

/// Returns the module of our package for OpenCode that calls us.
pub(crate) fn package_module() -> String {
    settings::package_module(&FLAVOUR)
}

/// What the hook path needs.
pub static PROTOCOL: Protocol = Protocol {
    id: FLAVOUR.id,
    process_names: &["opencode", "node", "bun"],
    project_variables: &[],
    folder_variables: &["XDG_DATA_HOME"],
    hook_variables: &[],
    also_runs_hooks_of: &[],
    tools: capabilities::TOOLS,
    capabilities: capabilities::CAPABILITIES,
    opaque_fields: decode::OPAQUE_FIELDS,
    prompt_tools: &[(question::TOOL, PromptType::Question)],
    is_answered_by_keys: false,
    stop_cap: None,
    warns: WARNS,
    late_refusal: &LATE_REFUSAL,
    codec: &Codec(&FLAVOUR),
};

/// The plugin can address only the model: with a prompt, or with a result.
pub(crate) const WARNS: WarningAudience =
    WarningAudience::Model(&[EventKind::BeforeAgent, EventKind::AfterTool]);

/// Our plugin treats any other exit code as a failure, and a failure as no opinion.
pub(crate) static LATE_REFUSAL: LateRefusal = LateRefusal {
    stdout: "{\"deny\": \"anyhook reached no decision within its deadline, and a hook with on_failure: block is installed\"}\n",
    exit_code: exit_code::OK,
};

/// A little less than our plugin waits.
pub(crate) const LIMITS: TimeLimits = TimeLimits { session_end_ms: 540_000, other_ms: 540_000 };

/// Everything known about it.
pub static SPEC: HostSpec = HostSpec {
    protocol: &PROTOCOL,
    title: FLAVOUR.title,
    other_names: &[],
    program: "opencode",
    package: Package::Npm("opencode-ai"),
    contracts: &[Contract::run("1.18.33")],
    session_variables: &["OPENCODE"],
    special_tools: &[],
    other_tools: capabilities::OTHER_TOOLS,
    other_tool_texts: &[],
    quirks: capabilities::QUIRKS,
    limits: LIMITS,
    search_order: 3,
    settings: &settings::Settings(&FLAVOUR),
    launch: arguments,
    takes_prompt,
    shell_call,
    dialog: Some(dialog::read),
    log: Some(LogReader {
        places: |roots| log::places(&FLAVOUR, roots),
        begin: LogState::unnamed,
        read_line: log::read_line,
        usage: None,
    }),
    transcript: None,
    offline: Some(&offline::Run(&FLAVOUR)),
};

/// Decodes what our plugin sends, and encodes what it understands.
pub(crate) struct Codec(pub(crate) &'static Flavour);

impl spec::Codec for Codec {
    fn decode(&self, payload: &[u8], caller: &Caller) -> Result<Vec<Event>, DecodeError> {
        decode::decode(self.0, payload, caller)
    }

    fn encode(&self, event: &Event, verdict: &Verdict) -> Reply {
        encode::encode(self.0, event, verdict)
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
pub(crate) fn shell_call(call: &ShellCall<'_>) -> Value {
    json!({
        "hook": call.event,
        "directory": call.work_dir,
        "worktree": call.work_dir,
        "input": {"tool": call.tool, "sessionID": call.session, "callID": call.session},
        "output": {"args": {"command": call.command}},
    })
}

// Its screen ignores a prompt that is passed along with a session.
pub(crate) fn takes_prompt(launch: &Launch<'_>) -> bool {
    launch.resume.is_none() || is_headless(launch.run)
}

pub(crate) fn arguments(launch: &Launch<'_>) -> Vec<String> {
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
