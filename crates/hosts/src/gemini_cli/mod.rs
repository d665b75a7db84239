//! Google's Gemini CLI.

mod decode;
mod dialog;
mod encode;
mod facts;
mod log;

use std::path::PathBuf;

use anyhook_model::inquiry::AgentQuestion;
use anyhook_model::json::{Object, PassedOn};
use anyhook_model::{
    Caller, DecodeError, Event, EventKind, Host, PromptType, Reply, ToolCall, Verdict,
};
use serde_json::{Value, json};

use crate::Agent;
use crate::command::{Command, CommandFile};
use crate::dialog::Dialog;
use crate::facts::{Capability, Quirk};
use crate::launch::{self, Launch};
use crate::log::{LogHomes, LogPlace, LogSays, LogState};
use crate::question::{self, Form};
use crate::tool::{self, OtherTool, Tool};
use crate::wiring::json_hooks::{self, Handler};
use crate::wiring::{
    Call, Edits, Injection, Inspection, JsonSettings, Obstacle, Scope, SettingsError, Start, Texts,
    Unanswered, is_ours,
};

/// Google's Gemini CLI.
#[derive(Clone, Copy, Debug)]
pub struct GeminiCli;

impl Host for GeminiCli {
    fn id(&self) -> &'static str {
        "gemini-cli"
    }

    fn process_names(&self) -> &'static [&'static str] {
        &["gemini", "node", "bun"]
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
        if guarded {
            let mut saying = crate::say::Saying::default();
            saying.say("decision", "deny");
            saying.say("reason", crate::say::unreadable(error));
            return saying.reply("");
        }
        crate::say::refuse(error, false)
    }

    fn project_variables(&self) -> &'static [&'static str] {
        &["GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR"]
    }

    fn prompt_tool(&self, tool: &str) -> Option<PromptType> {
        match tool {
            "ask_user" => Some(PromptType::Question),
            "exit_plan_mode" => Some(PromptType::PlanApproval),
            _ => None,
        }
    }

    fn questions(&self, call: &ToolCall) -> Vec<AgentQuestion> {
        let form = Form { multiple: "multiSelect", free_text: None };
        if call.name == "ask_user" { question::read(call, form) } else { Vec::new() }
    }

    fn is_answered_by_keys(&self) -> bool {
        true
    }
}

impl Agent for GeminiCli {
    fn title(&self) -> &'static str {
        "Gemini CLI"
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
        "gemini"
    }

    fn session_variables(&self) -> &'static [&'static str] {
        &["GEMINI_CLI", "GEMINI_SESSION_ID"]
    }

    fn tried_version(&self) -> &'static str {
        "0.61.0"
    }

    fn limit_ms(&self, event: &EventKind) -> u64 {
        if *event == EventKind::SessionEnd { 4_500 } else { 540_000 }
    }

    fn settings_files(&self, scope: &Scope) -> Vec<PathBuf> {
        vec![settings(scope).path]
    }

    fn wire(&self, scope: &Scope, texts: &Texts, call: &Call) -> Result<Edits, SettingsError> {
        let file = settings(scope);
        let handlers: Vec<Handler> = EVENTS.iter().map(|event| handler(event, call)).collect();
        let text = file.wire(texts, &handlers)?;
        Ok(Edits::from([(file.path, Some(text))]))
    }

    fn unwire(&self, scope: &Scope, texts: &Texts) -> Result<Edits, SettingsError> {
        settings(scope).unwire(texts)
    }

    fn inspect(&self, scope: &Scope, texts: &Texts) -> Result<Inspection, SettingsError> {
        let file = settings(scope);
        let mut found = file.inspect(texts, EVENTS)?;
        let Some(text) = texts.get(&file.path) else { return Ok(found) };
        if json_hooks::value(&file.path, text, &["hooksConfig", "enabled"])? == Some(false.into()) {
            found.obstacles.push(Obstacle::setting("hooksConfig.enabled = false", &file.path));
        }
        for keys in [["hooksConfig", "disabled"], ["hooks", "disabled"]] {
            let disabled = json_hooks::value(&file.path, text, &keys)?.unwrap_or_default();
            let is_off = |name: &Value| {
                name.as_str().is_some_and(|name| name == NAME || is_ours(name, "gemini-cli"))
            };
            if disabled.as_array().is_some_and(|names| names.iter().any(is_off)) {
                let setting = format!("{}, which lists anyhook,", keys.join("."));
                found.obstacles.push(Obstacle::setting(&setting, &file.path));
            }
        }
        Ok(found)
    }

    fn inject(&self, _start: &Start<'_>) -> Result<Injection, SettingsError> {
        let why = "it takes hooks from its settings files and nowhere else";
        Ok(Injection { why_not: Some(why), ..Injection::default() })
    }

    fn command_file(&self, scope: &Scope, command: &Command<'_>) -> Option<CommandFile> {
        Some(CommandFile {
            path: folder(scope).join(format!("commands/{}.toml", command.name)),
            text: command.toml("{{args}}"),
            call: format!("/{}", command.name),
        })
    }

    fn package(&self) -> &'static str {
        "@google/gemini-cli"
    }

    fn launch(&self, launch: &Launch<'_>) -> Vec<String> {
        let last = launch::arguments_of(launch.run).pop().unwrap_or_default();
        let resume = launch.resume.map(|session| ["--resume", session].map(str::to_owned));
        let resume = resume.into_iter().flatten();
        if ["-p", "--prompt", "-i", "--prompt-interactive"].contains(&last.as_str()) {
            return launch.prompt.map(str::to_owned).into_iter().chain(resume).collect();
        }
        let prompt = launch.prompt.map(|prompt| format!("--prompt-interactive={prompt}"));
        resume.chain(prompt).collect()
    }

    fn dialog(&self, screen: &str) -> Option<Dialog> {
        dialog::read(screen)
    }

    fn log_places(&self, homes: &LogHomes) -> Vec<LogPlace> {
        log::places(homes)
    }

    fn read_log_line(&self, state: &mut LogState, line: &str) -> Option<LogSays> {
        log::read_line(state, line)
    }
}

/// The name of our entries, by which the host can switch them off.
const NAME: &str = "anyhook";

/// The events we are called at: one entry each, without a matcher.
const EVENTS: &[&str] = &[
    "SessionStart",
    "SessionEnd",
    "BeforeAgent",
    "AfterAgent",
    "BeforeTool",
    "AfterTool",
    "PreCompress",
    "Notification",
];

/// The events at which a call that is not answered is refused, where a guard is installed.
const TOOL_EVENTS: &[&str] = &["BeforeTool"];

fn settings(scope: &Scope) -> JsonSettings {
    let path = folder(scope).join("settings.json");
    JsonSettings { host: "gemini-cli", path, tool_events: TOOL_EVENTS }
}

/// Returns the folder it has for itself.
fn folder(scope: &Scope) -> PathBuf {
    // The variable names a home, not the folder itself.
    let home = || scope.folder("GEMINI_CLI_HOME", "");
    scope.project.clone().unwrap_or_else(home).join(".gemini")
}

fn handler(event: &&'static str, call: &Call) -> Handler {
    // In milliseconds, unlike the other hosts.
    let limit = if *event == "SessionEnd" { 5_000 } else { 600_000 };
    // It takes every exit code above 1 for a block, also that of a shell that finds no program.
    let unanswered = if TOOL_EVENTS.contains(event) {
        Unanswered::Refused { otherwise: 1 }
    } else {
        Unanswered::Softened
    };
    let command = call.command("gemini-cli", limit, unanswered);
    Handler {
        event,
        handler: json!({"type": "command", "name": NAME, "command": command, "timeout": limit}),
    }
}
