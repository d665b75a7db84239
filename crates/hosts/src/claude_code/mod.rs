//! Claude Code.

mod decode;
mod dialog;
mod encode;
mod facts;
mod injection;
mod log;
mod off;
mod question;
mod running;
mod transcript;

pub(crate) use log::is_prompt;

use std::path::PathBuf;

use anyhook_model::inquiry::{AgentQuestion, QuestionAnswer};
use anyhook_model::json::{Object, PassedOn};
use anyhook_model::{
    Caller, DecodeError, Event, EventKind, Host, PromptType, Reply, ToolCall, Verdict,
};
use serde_json::{Value, json};

use crate::Agent;
use crate::command::{Command, CommandFile};
use crate::dialog::Dialog;
use crate::facts::{Capability, Quirk};
use crate::launch::Launch;
use crate::log::{LogHomes, LogPlace, LogSays, LogState};
use crate::tool::{self, OtherTool, Tool};
use crate::wiring::json_hooks::Handler;
use crate::wiring::{
    Call, Displaced, Edits, Injection, Inspection, JsonSettings, Scope, SettingsError, Start,
    Texts, Unanswered,
};

pub use transcript::{Transcript, TranscriptPayload, read_transcript};

/// Anthropic's Claude Code.
#[derive(Clone, Copy, Debug)]
pub struct ClaudeCode;

impl Host for ClaudeCode {
    fn id(&self) -> &'static str {
        "claude-code"
    }

    fn process_names(&self) -> &'static [&'static str] {
        &["claude", "node", "bun"]
    }

    fn decode(&self, payload: &[u8], caller: &Caller) -> Result<Vec<Event>, DecodeError> {
        decode::decode(payload, caller)
    }

    fn passed_on(&self) -> &'static [PassedOn] {
        decode::PASSED_ON
    }

    fn encode(&self, event: &Event, verdict: &Verdict) -> Reply {
        encode::encode(event, verdict)
    }

    fn native_input(&self, call: &ToolCall, changed: &Object) -> Result<Option<Value>, String> {
        tool::native_input(facts::TOOLS, call, changed)
    }

    fn questions(&self, call: &ToolCall) -> Vec<AgentQuestion> {
        question::questions(call)
    }

    fn answered(&self, answers: &[QuestionAnswer]) -> Object {
        question::answered(answers)
    }

    fn can_ask(&self, event: &Event) -> bool {
        crate::facts::can_ask(&facts::capabilities(), event)
    }

    fn refuse(&self, error: &DecodeError, guarded: bool) -> Reply {
        crate::say::refuse(error, guarded)
    }

    fn project_variables(&self) -> &'static [&'static str] {
        &["CLAUDE_PROJECT_DIR"]
    }

    // The host ends the turn itself after eight blocks in a row.
    fn stop_cap(&self) -> Option<u32> {
        Some(8)
    }

    fn running_command<'shell>(&self, shell_argument: &'shell str) -> Option<&'shell str> {
        Some(running::command(shell_argument))
    }

    fn prompt_tool(&self, tool: &str) -> Option<PromptType> {
        match tool {
            question::TOOL => Some(PromptType::Question),
            "ExitPlanMode" => Some(PromptType::PlanApproval),
            _ => None,
        }
    }
}

impl Agent for ClaudeCode {
    fn title(&self) -> &'static str {
        "Claude Code"
    }

    fn capabilities(&self) -> Vec<Capability> {
        facts::capabilities()
    }

    fn tools(&self) -> &'static [Tool] {
        facts::TOOLS
    }

    fn other_tools(&self) -> &'static [OtherTool] {
        facts::OTHER_TOOLS
    }

    fn quirks(&self) -> &'static [Quirk] {
        facts::QUIRKS
    }

    fn program(&self) -> &'static str {
        "claude"
    }

    fn session_variables(&self) -> &'static [&'static str] {
        &["CLAUDECODE", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_SESSION_ID"]
    }

    fn tried_version(&self) -> &'static str {
        "2.1.325"
    }

    fn limit_ms(&self, event: &EventKind) -> u64 {
        if *event == EventKind::SessionEnd { 4_500 } else { 540_000 }
    }

    fn settings_files(&self, scope: &Scope) -> Vec<PathBuf> {
        vec![settings(scope).path]
    }

    fn wire(&self, scope: &Scope, texts: &Texts, call: &Call) -> Result<Edits, SettingsError> {
        let file = settings(scope);
        let handlers: Vec<Handler> = EVENTS.iter().map(|event| handler(event, call, 600)).collect();
        let text = file.wire(texts, &handlers)?;
        Ok(Edits::from([(file.path, Some(text))]))
    }

    fn unwire(&self, scope: &Scope, texts: &Texts) -> Result<Edits, SettingsError> {
        settings(scope).unwire(texts)
    }

    fn further_files(&self, scope: &Scope) -> Vec<PathBuf> {
        off::further_files(scope)
    }

    fn files_named_in(&self, scope: &Scope, texts: &Texts) -> Vec<PathBuf> {
        off::plugin_files(scope, texts)
    }

    fn inspect(&self, scope: &Scope, texts: &Texts) -> Result<Inspection, SettingsError> {
        let mut found = settings(scope).inspect(texts, EVENTS)?;
        found.obstacles = off::obstacles(scope, texts)?;
        Ok(found)
    }

    fn inject(&self, start: &Start<'_>) -> Result<Injection, SettingsError> {
        injection::inject(start)
    }

    fn displaced(
        &self,
        _scope: &Scope,
        run: &str,
        _variable: &dyn Fn(&str) -> Option<String>,
    ) -> Option<Displaced> {
        injection::displaced(run)
    }

    fn command_file(&self, scope: &Scope, command: &Command<'_>) -> Option<CommandFile> {
        let fields =
            [("description", command.description), ("argument-hint", command.argument_hint)];
        Some(CommandFile {
            path: folder(scope).join(format!("commands/{}.md", command.name)),
            text: command.markdown(&fields, "$ARGUMENTS"),
            call: format!("/{}", command.name),
        })
    }

    fn package(&self) -> &'static str {
        "@anthropic-ai/claude-code"
    }

    fn launch(&self, launch: &Launch<'_>) -> Vec<String> {
        let mut arguments = Vec::new();
        if let Some(session) = launch.resume {
            arguments.extend(["--resume", session].map(str::to_owned));
        }
        if let Some(prompt) = launch.prompt {
            // Even after `--` one word could be the name of a command.
            let space = if prompt.contains(char::is_whitespace) { "" } else { " " };
            arguments.extend(["--".to_owned(), format!("{prompt}{space}")]);
        }
        arguments
    }

    fn dialog(&self, screen: &str) -> Option<Dialog> {
        dialog::read(screen)
    }

    fn log_places(&self, homes: &LogHomes) -> Vec<LogPlace> {
        log::places(homes)
    }

    fn begin_log(&self, file_name: &str) -> LogState {
        log::begin(file_name)
    }

    fn read_log_line(&self, state: &mut LogState, line: &str) -> Option<LogSays> {
        log::read_line(state, line)
    }
}

/// The events we are called at: one entry each, without a matcher.
const EVENTS: &[&str] = &[
    "SessionStart",
    "SessionEnd",
    "UserPromptSubmit",
    "PreToolUse",
    "PermissionRequest",
    "PostToolUse",
    "PostToolUseFailure",
    "Stop",
    "StopFailure",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "PostCompact",
    "Notification",
];

/// The events at which a call that is not answered is refused, where a guard is installed.
const TOOL_EVENTS: &[&str] = &["PreToolUse", "PermissionRequest"];

fn settings(scope: &Scope) -> JsonSettings {
    let path = folder(scope).join("settings.json");
    JsonSettings { host: "claude-code", path, tool_events: TOOL_EVENTS }
}

/// Returns the folder it has for itself.
fn folder(scope: &Scope) -> PathBuf {
    match &scope.project {
        Some(project) => project.join(".claude"),
        None => scope.folder("CLAUDE_CONFIG_DIR", ".claude"),
    }
}

fn handler(event: &&'static str, call: &Call, permission_seconds: u64) -> Handler {
    let seconds = match *event {
        // At the end of a session the host waits only a moment.
        "SessionEnd" => 5,
        "PermissionRequest" => permission_seconds,
        _ => 600,
    };
    let mut handler = json!({"type": "command"});
    if TOOL_EVENTS.contains(event) {
        // What it takes for a failure blocks, so without a guard there must be none. It also covers
        // what no entry can: that we did not answer within the host's own limit.
        let unanswered = Unanswered::Refused { otherwise: 0 };
        handler["command"] = call.command("claude-code", seconds * 1000, unanswered).into();
        handler["timeout"] = seconds.into();
        handler["onFailure"] = "block".into();
    } else {
        // A prompt must not be blocked by a program that is missing.
        handler["command"] = call.command("claude-code", seconds * 1000, Unanswered::GoesOn).into();
        handler["timeout"] = seconds.into();
    }
    Handler { event, handler }
}
