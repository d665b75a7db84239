//! Claude Code.

mod decode;
mod dialog;
mod encode;
mod facts;
mod injection;
mod log;
mod transcript;

use std::path::PathBuf;

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
use crate::tool;
use crate::wiring::json_hooks::{self, Handler};
use crate::wiring::{
    Call, Displaced, Edits, Injection, Inspection, JsonSettings, Scope, SettingsError, Start, Texts,
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

    fn prompt_tool(&self, tool: &str) -> Option<PromptType> {
        match tool {
            "AskUserQuestion" => Some(PromptType::Question),
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

    fn quirks(&self) -> &'static [Quirk] {
        facts::QUIRKS
    }

    fn program(&self) -> &'static str {
        "claude"
    }

    fn session_variable(&self) -> Option<&'static str> {
        Some("CLAUDECODE")
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
        let local =
            scope.project.as_ref().map(|project| project.join(".claude/settings.local.json"));
        local.into_iter().chain([PathBuf::from(MANAGED)]).collect()
    }

    fn inspect(&self, scope: &Scope, texts: &Texts) -> Result<Inspection, SettingsError> {
        let mut found = settings(scope).inspect(texts, EVENTS)?;
        for (path, text) in texts {
            for key in ["disableAllHooks", "allowManagedHooksOnly"] {
                if json_hooks::value(path, text, &[key])? == Some(true.into()) {
                    found
                        .obstacles
                        .push(format!("{key} in {} switches our hooks off", path.display()));
                }
            }
        }
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

/// The settings that whoever looks after the machine has made.
const MANAGED: &str = "/etc/claude-code/managed-settings.json";

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

fn settings(scope: &Scope) -> JsonSettings {
    JsonSettings { host: "claude-code", path: folder(scope).join("settings.json") }
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
    let command = call.command("claude-code", seconds * 1000);
    Handler {
        event,
        handler: json!({"type": "command", "command": command, "timeout": seconds, "onFailure": "block"}),
    }
}
