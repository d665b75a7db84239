//! The hooks that agents run themselves, as their settings files have them: read, taken out and put
//! back, texts in, texts out; and what the agent makes of their output.
//!
//! One file for each agent, a [`NativeFormat`] each. An agent that anyhook cannot be installed in
//! has one, too: its hooks can be listed.
//!
//! What each agent does was found out by running it, except for Cursor, whose documentation says it.

mod answer;
mod claude_code;
mod codex;
mod copilot;
mod cursor;
mod gemini_cli;
mod matching;
mod qwen_code;
mod settings;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use anyhook_model::EventKind;
use anyhook_model::json::Object;
use serde_json::Value;

pub use answer::{NativeAnswer, NativeOutcome};
pub use matching::MatcherForm;
pub use settings::{Parked, park, read, unpark};

use crate::wiring::SettingsScope;

/// Every agent whose own hooks are known, by name.
pub const FORMATS: [&NativeFormat; 6] = [
    &claude_code::FORMAT,
    &codex::FORMAT,
    &copilot::FORMAT,
    &cursor::FORMAT,
    &gemini_cli::FORMAT,
    &qwen_code::FORMAT,
];

/// Finds the hooks of an agent by its id.
pub fn find(host: &str) -> Option<&'static NativeFormat> {
    FORMATS.into_iter().find(|format| format.host == host)
}

/// How an agent's own hooks are written, when it runs them, and what it makes of their output.
pub struct NativeFormat {
    /// The agent's id.
    pub host: &'static str,
    /// Its display name.
    pub title: &'static str,
    /// Returns the settings files with its hooks.
    pub files: fn(&SettingsScope) -> Vec<PathBuf>,
    /// Returns the folders in which each `.json` file has hooks.
    pub folders: fn(&SettingsScope) -> Vec<PathBuf>,
    /// How a file lists them.
    pub layout: Layout,
    /// Keys below `hooks` that are settings and no events.
    pub other_keys: &'static [&'static str],
    /// Settings that switch all hooks off: the path of the key, and the value that does.
    pub switches: &'static [(&'static [&'static str], bool)],
    /// The events at which anyhook is asked, too.
    pub events: &'static [NativeEvent],
    /// Reads one handler: how it is run, or why it cannot be run by anyone else.
    pub command: fn(&NativeEvent, &Object) -> Result<NativeCommand, String>,
    /// Reads a matcher.
    pub matcher: fn(&NativeEvent, &str) -> MatcherForm,
    /// Other names under which a matcher finds a tool: the tool, its other names.
    pub tool_names: &'static [(&'static str, &'static [&'static str])],
    /// Whether a command that stands under several matchers of an event runs only once.
    pub same_command_once: bool,
    /// Whether it identifies a hook by its position in the file, so that none may be taken out from
    /// before one that stays.
    pub counts_positions: bool,
    /// Where it starts hooks.
    pub starts_in: StartFolder,
    /// What a hook can make only the agent itself do: the word for it in its output, and what.
    pub only_native: &'static [(&'static str, &'static str)],
    /// Turns the payload that we are given into the one that a hook at this event is given.
    pub payload: fn(&NativeEvent, Object) -> Object,
    /// What it makes of the output of a hook.
    pub answer: fn(&NativeEvent, &NativeOutcome<'_>) -> NativeAnswer,
}

impl std::fmt::Debug for NativeFormat {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("NativeFormat").field(&self.host).finish()
    }
}

impl NativeFormat {
    /// Finds an event by the agent's own name.
    pub fn event(&self, name: &str) -> Option<&'static NativeEvent> {
        self.events.iter().find(|event| event.name == name)
    }

    /// Returns every name of what a matcher of an event is compared with: a tool's, or another
    /// value of the payload. `None` if the agent ignores matchers there.
    pub fn targets<'payload>(
        &self,
        event: &NativeEvent,
        payload: &'payload Object,
    ) -> Option<Vec<&'payload str>> {
        let value = payload.get(event.target?).and_then(Value::as_str).unwrap_or_default();
        let others = self.tool_names.iter().filter(|(name, _)| *name == value);
        Some(std::iter::once(value).chain(others.flat_map(|(_, names)| *names).copied()).collect())
    }
}

/// How a settings file lists hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// By event, in groups with a matcher: `{"PreToolUse": [{"matcher": …, "hooks": […]}]}`.
    Groups,
    /// By event: `{"preToolUse": [{"matcher": …, "command": …}]}`, or in groups.
    Flat,
}

/// The folder in which an agent starts hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartFolder {
    /// That of the session.
    Session,
    /// The project's for its own hooks; for the user's, this one in the home folder.
    OfSettings(&'static str),
}

/// An event of an agent at which anyhook is asked, too.
#[derive(Clone, Debug)]
pub struct NativeEvent {
    /// The agent's name for it.
    pub name: &'static str,
    /// What it is to us.
    pub kind: EventKind,
    /// The field of the payload that a matcher is compared with, if there is one.
    pub target: Option<&'static str>,
    /// How long a hook may take if its handler does not say, in milliseconds.
    pub default_ms: u64,
    /// The agent's name for the event in the payloads that we are given.
    pub asked_as: &'static str,
    /// Whether a call that failed is reported here, too.
    pub reports_failures: bool,
    /// In which cases we are not asked although the agent runs its own hooks.
    pub unasked: Option<&'static str>,
}

impl NativeEvent {
    /// Returns what it is to us.
    pub fn kinds(&self) -> Vec<EventKind> {
        let failure = self.reports_failures.then_some(EventKind::AfterToolFailure);
        std::iter::once(self.kind.clone()).chain(failure).collect()
    }

    const fn with_failures(mut self) -> Self {
        self.reports_failures = true;
        self
    }

    const fn asked_as(mut self, name: &'static str) -> Self {
        self.asked_as = name;
        self
    }

    const fn unasked(mut self, when: &'static str) -> Self {
        self.unasked = Some(when);
        self
    }
}

/// Creates the row of an event.
const fn event(
    name: &'static str,
    kind: EventKind,
    target: &'static str,
    default_ms: u64,
) -> NativeEvent {
    let target = if target.is_empty() { None } else { Some(target) };
    NativeEvent {
        name,
        kind,
        target,
        default_ms,
        asked_as: name,
        reports_failures: false,
        unasked: None,
    }
}

/// A hook in an agent's settings that is not ours.
#[derive(Clone, Debug, PartialEq)]
pub struct NativeHook {
    /// The settings file.
    pub file: PathBuf,
    /// The agent's name for the event.
    pub event: String,
    /// Where it stands below the event.
    pub place: HandlerPlace,
    /// The fields of its group except for the handlers, if it is in one.
    pub group: Option<Object>,
    /// The handler, as it is written.
    pub handler: Value,
    /// Its matcher, if it has one.
    pub matcher: Option<String>,
    /// The command, or what it is instead.
    pub label: String,
    /// How it is run, or why it cannot be carried over.
    pub command: Result<NativeCommand, String>,
}

/// Where a handler stands below its event, counted from zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HandlerPlace {
    /// The group, or the handler itself if there are no groups.
    pub group: usize,
    /// The handler in its group.
    pub handler: usize,
}

/// How an agent runs a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NativeCommand {
    /// What is started.
    pub program: NativeProgram,
    /// How long it may take, in milliseconds.
    pub timeout_ms: u64,
    /// Whether a failure of it blocks.
    pub blocks_on_failure: bool,
    /// Variables that are set for it.
    pub variables: Vec<(String, String)>,
    /// The folder it is started in, if it is not that of the session.
    pub folder: Option<String>,
}

/// What is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NativeProgram {
    /// A command line, by this shell and its option.
    Shell {
        /// The shell; without one, that of the user.
        shell: Option<&'static str>,
        /// The command line.
        line: String,
    },
    /// A program and its arguments, in which `${CLAUDE_PROJECT_DIR}` stands for the project.
    Program(Vec<String>),
}

impl NativeCommand {
    /// Makes a command that a shell runs.
    fn by_shell(shell: Option<&'static str>, line: &str, timeout_ms: u64) -> Self {
        Self {
            program: NativeProgram::Shell { shell, line: line.to_owned() },
            timeout_ms,
            blocks_on_failure: false,
            variables: Vec::new(),
            folder: None,
        }
    }

    /// Returns the command as people know it.
    pub fn line(&self) -> String {
        match &self.program {
            NativeProgram::Shell { line, .. } => line.clone(),
            NativeProgram::Program(words) => words.join(" "),
        }
    }
}

/// Returns the text of a handler's command, which must not be missing.
fn command_text(handler: &Object, key: &str) -> Result<String, String> {
    match handler.get(key).and_then(Value::as_str) {
        Some(text) if !text.trim().is_empty() && !text.contains('\0') => Ok(text.to_owned()),
        _ => Err(format!("it has no `{key}`")),
    }
}

/// Refuses handlers that are no commands, or that run in the background.
fn refuse_others(handler: &Object) -> Result<(), String> {
    match handler.get("type").map(|kind| kind.as_str().unwrap_or_default()) {
        None | Some("command") => {}
        Some(kind) => return Err(format!("it is no command but of the type `{kind}`")),
    }
    for key in ["async", "asyncRewake"] {
        if handler.get(key).is_some_and(|value| *value == true) {
            return Err(format!(
                "it runs in the background (`{key}`), and its output reaches the model later"
            ));
        }
    }
    Ok(())
}

/// Returns a positive number of a handler.
fn number(handler: &Object, key: &str) -> Option<f64> {
    handler.get(key)?.as_f64().filter(|number| *number > 0.0)
}

/// Returns seconds in milliseconds.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a conversion of floating-point numbers saturates"
)]
fn milliseconds(seconds: f64) -> u64 {
    (seconds * 1000.0) as u64
}

/// Returns the variables of a handler's `env`.
fn variables(handler: &Object) -> Vec<(String, String)> {
    let fields = handler.get("env").and_then(Value::as_object).into_iter().flatten();
    let is_name = |name: &String| !name.is_empty() && !name.contains(['=', '\0']);
    let text = |(name, value): (&String, &Value)| {
        let value = value.as_str().filter(|value| !value.contains('\0'))?;
        is_name(name).then(|| (name.clone(), value.to_owned()))
    };
    fields.filter_map(text).collect()
}

/// Returns the payload as it is: hooks are given the same.
fn same_payload(_event: &NativeEvent, payload: Object) -> Object {
    payload
}

/// Returns no folder.
fn no_folders(_scope: &SettingsScope) -> Vec<PathBuf> {
    Vec::new()
}
