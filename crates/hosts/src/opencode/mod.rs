//! OpenCode, which has no hook commands: a small plugin of ours calls `anyhook hook opencode`.

mod decode;
mod encode;
mod facts;
mod log;

use std::path::PathBuf;

use anyhook_model::json::Object;
use anyhook_model::{
    Caller, DecodeError, Event, EventKind, Host, PromptType, Reply, ToolCall, Verdict,
};
use serde_json::Value;

use crate::Agent;
use crate::facts::{Capability, Quirk};
use crate::log::{LogHomes, LogPlace, LogSays, LogState};
use crate::tool;
use crate::wiring::{Call, Edits, Inspection, Scope, SettingsError, Texts};

/// OpenCode.
#[derive(Clone, Copy, Debug)]
pub struct OpenCode;

/// The plugin's text; `@BINARY@` and `@LIMIT_MS@` stand for what `install` fills in.
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
        // The plugin has no way to say anything when a session starts.
        *event != EventKind::SessionStart
    }

    fn refuse(&self, error: &DecodeError, guarded: bool) -> Reply {
        if guarded {
            let mut saying = crate::say::Saying::default();
            saying.say("deny", crate::say::unreadable(error));
            return saying.reply("");
        }
        crate::say::refuse(error, false)
    }
}

impl Agent for OpenCode {
    fn title(&self) -> &'static str {
        "OpenCode"
    }

    fn capabilities(&self) -> Vec<Capability> {
        facts::capabilities()
    }

    fn quirks(&self) -> &'static [Quirk] {
        facts::QUIRKS
    }

    fn prompt_tool(&self, tool: &str) -> Option<PromptType> {
        match tool {
            "question" => Some(PromptType::Question),
            _ => None,
        }
    }

    fn program(&self) -> &'static str {
        "opencode"
    }

    fn session_variable(&self) -> Option<&'static str> {
        Some("OPENCODE")
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
        let binary = Value::from(call.binary.to_string_lossy());
        let text = PLUGIN
            .replace("\"@BINARY@\"", &binary.to_string())
            .replace("@LIMIT_MS@", &LIMIT_MS.to_string());
        Ok(Edits::from([(path, Some(text))]))
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
            Some(binary) => found.ours.push(binary),
            None => found.missing.push("all".to_owned()),
        }
        Ok(found)
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

fn plugin_file(scope: &Scope) -> PathBuf {
    let folder = match &scope.project {
        Some(project) => project.join(".opencode"),
        None => scope.config_home.join("opencode"),
    };
    folder.join("plugins/anyhook.js")
}

fn is_our_plugin(text: &str) -> bool {
    text.starts_with("// anyhook for OpenCode")
}

/// Returns the program a plugin of ours calls.
fn binary_of(text: &str) -> Option<String> {
    let line = text.lines().find_map(|line| line.strip_prefix("const BINARY = "))?;
    serde_json::from_str(line.trim_end_matches(';')).ok()
}
