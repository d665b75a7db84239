//! OpenCode, which has no hook commands: a small plugin of ours calls `anyhook hook opencode`.

mod decode;
mod dialog;
mod encode;
mod facts;
mod injection;
mod log;
mod question;
mod usage;

use std::path::PathBuf;

pub use usage::MessageTally;

use anyhook_model::inquiry::{AgentQuestion, QuestionAnswer};
use anyhook_model::json::{Object, PassedOn};
use anyhook_model::{
    Caller, DecodeError, Event, EventKind, Host, LateRefusal, PromptType, Reply, ToolCall, Verdict,
    exit_code,
};
use serde_json::Value;

use crate::Agent;
use crate::command::{Command, CommandFile};
use crate::dialog::Dialog;
use crate::facts::{Capability, Quirk};
use crate::launch::{self, Launch};
use crate::log::{LogHomes, LogPlace, LogSays, LogState};
use crate::tool::{self, OtherTool, Tool};
use crate::wiring::{
    Call, Displaced, Edits, Injection, Inspection, PERMISSION_SECONDS, Scope, SettingsError, Start,
    Texts, folders_in,
};

/// OpenCode.
#[derive(Clone, Copy, Debug)]
pub struct OpenCode;

/// The plugin's text; names like `@BINARY@` stand for what `install` fills in.
pub const PLUGIN: &str = include_str!("plugin.js");

impl Host for OpenCode {
    fn id(&self) -> &'static str {
        "opencode"
    }

    fn process_names(&self) -> &'static [&'static str] {
        &["opencode", "node", "bun"]
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

    fn can_warn(&self, event: &EventKind) -> bool {
        // What the plugin can say, it says to the model: with a prompt, or with a result.
        matches!(event, EventKind::BeforeAgent | EventKind::AfterTool)
    }

    fn warns_person(&self) -> bool {
        false
    }

    fn refuse(&self, error: &DecodeError, guarded: bool) -> Reply {
        if guarded {
            let mut saying = crate::say::Saying::default();
            saying.say("deny", crate::say::unreadable(error));
            return saying.reply("");
        }
        crate::say::refuse(error, false)
    }

    // Our plugin takes any other exit code for a failure, and a failure for no opinion.
    fn late_refusal(&self) -> &'static LateRefusal {
        &LateRefusal {
            stdout: "{\"deny\": \"anyhook found no decision within its deadline, and a hook with on_failure: block is installed\"}\n",
            exit_code: exit_code::OK,
        }
    }

    fn prompt_tool(&self, tool: &str) -> Option<PromptType> {
        (tool == question::TOOL).then_some(PromptType::Question)
    }

    fn questions(&self, call: &ToolCall) -> Vec<AgentQuestion> {
        question::questions(call)
    }

    fn answered(&self, answers: &[QuestionAnswer]) -> Object {
        question::answered(answers)
    }
}

impl Agent for OpenCode {
    fn title(&self) -> &'static str {
        "OpenCode"
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
        "opencode"
    }

    fn session_variables(&self) -> &'static [&'static str] {
        &["OPENCODE"]
    }

    fn tried_version(&self) -> &'static str {
        "1.18.33"
    }

    fn settings_files(&self, scope: &Scope) -> Vec<PathBuf> {
        vec![plugin_file(scope)]
    }

    fn wire(&self, scope: &Scope, texts: &Texts, call: &Call) -> Result<Edits, SettingsError> {
        let path = plugin_file(scope);
        if texts.get(&path).is_some_and(|text| !is_our_plugin(text)) {
            return Err(SettingsError::Unexpected {
                path,
                what: "the file".to_owned(),
                expected: "our plugin",
            });
        }
        Ok(Edits::from([(path, Some(plugin(call)))]))
    }

    fn unwire(&self, scope: &Scope, texts: &Texts) -> Result<Edits, SettingsError> {
        let path = plugin_file(scope);
        let is_ours = texts.get(&path).is_some_and(|text| is_our_plugin(text));
        Ok(if is_ours { Edits::from([(path, None)]) } else { Edits::new() })
    }

    fn inspect(&self, scope: &Scope, texts: &Texts) -> Result<Inspection, SettingsError> {
        let path = plugin_file(scope);
        let mut found = Inspection::default();
        match texts.get(&path).and_then(|text| binary_of(text)) {
            Some(binary) => {
                found.ours.push(binary);
                let arguments = texts.get(&path).map(|text| arguments_of(text));
                found.plugin_folders = folders_in(&arguments.unwrap_or_default());
                // Each of them is what an earlier version did not have.
                let marks = ["\"--state\"", "const DIALOG_ARGUMENTS"];
                let is_newest = |text: &String| marks.iter().all(|mark| text.contains(mark));
                if !texts.get(&path).is_some_and(is_newest) {
                    found.outdated.push("all".to_owned());
                }
            }
            None => found.missing.push("all".to_owned()),
        }
        Ok(found)
    }

    fn inject(&self, start: &Start<'_>) -> Result<Injection, SettingsError> {
        injection::inject(start)
    }

    fn displaced(
        &self,
        _scope: &Scope,
        _run: &str,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Option<Displaced> {
        variable(injection::VARIABLE).map(Displaced::Text)
    }

    fn command_file(&self, scope: &Scope, command: &Command<'_>) -> Option<CommandFile> {
        Some(CommandFile {
            path: folder(scope).join(format!("commands/{}.md", command.name)),
            text: command.markdown(&[("description", command.description)], "$ARGUMENTS"),
            call: format!("/{}", command.name),
        })
    }

    fn package(&self) -> &'static str {
        "opencode-ai"
    }

    // Its screen drops a prompt that comes with a session.
    fn takes_prompt(&self, launch: &Launch<'_>) -> bool {
        launch.resume.is_none() || is_headless(launch.run)
    }

    fn launch(&self, launch: &Launch<'_>) -> Vec<String> {
        let mut arguments = Vec::new();
        if let Some(session) = launch.resume {
            arguments.extend(["--session", session].map(str::to_owned));
        }
        if let Some(prompt) = launch.prompt.filter(|_| self.takes_prompt(launch)) {
            if is_headless(launch.run) {
                arguments.extend(["--", prompt].map(str::to_owned));
            } else {
                arguments.push(format!("--prompt={prompt}"));
            }
        }
        arguments
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

/// How long a hook may take.
const LIMIT_MS: u64 = 600_000;
/// How long a dialog may wait for an answer from elsewhere.
const DIALOG_LIMIT_MS: u64 = PERMISSION_SECONDS * 1000;

/// Tells whether a command line is `opencode run`.
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

/// Options that may come before a command, with a value of their own.
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

/// Returns the plugin that calls us.
fn plugin(call: &Call) -> String {
    let marker = call.folders().map(|folders| folders.marker().to_string_lossy().into_owned());
    let values: [(&str, Value); 4] = [
        ("\"@BINARY@\"", call.answering().to_string_lossy().into()),
        ("\"@ARGUMENTS@\"", call.arguments("opencode", LIMIT_MS).into()),
        ("\"@DIALOG_ARGUMENTS@\"", call.arguments("opencode", DIALOG_LIMIT_MS).into()),
        ("\"@MARKER@\"", marker.unwrap_or_default().into()),
    ];
    let text = PLUGIN
        .replace("@LIMIT_MS@", &LIMIT_MS.to_string())
        .replace("@DIALOG_LIMIT_MS@", &DIALOG_LIMIT_MS.to_string());
    // Each stands before what it is filled with, so that no path is taken for another's place.
    values.iter().fold(text, |text, (place, value)| text.replacen(place, &value.to_string(), 1))
}

fn plugin_file(scope: &Scope) -> PathBuf {
    folder(scope).join("plugins/anyhook.js")
}

/// Returns the folder it has for itself.
fn folder(scope: &Scope) -> PathBuf {
    match &scope.project {
        Some(project) => project.join(".opencode"),
        None => scope.config_home.join("opencode"),
    }
}

fn is_our_plugin(text: &str) -> bool {
    text.starts_with("// anyhook for OpenCode")
}

/// Returns the arguments a plugin of ours calls its program with.
fn arguments_of(text: &str) -> Vec<String> {
    let line = text.lines().find_map(|line| line.strip_prefix("const ARGUMENTS = "));
    let read = line.map(|line| serde_json::from_str(line.trim_end_matches(';')));
    read.and_then(Result::ok).unwrap_or_default()
}

/// Returns the program a plugin of ours calls.
fn binary_of(text: &str) -> Option<String> {
    let line = text.lines().find_map(|line| line.strip_prefix("const BINARY = "))?;
    serde_json::from_str(line.trim_end_matches(';')).ok()
}
