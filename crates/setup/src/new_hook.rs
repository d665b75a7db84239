//! Creates a new hook from a template: its HOOK.md, a script, and test cases that pass.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhook_engine::definition::{self, name_fault};
use anyhook_engine::matcher::Matcher;
use anyhook_engine::script_check::{PLACEHOLDER_REASON, placeholder_description};
use anyhook_engine::{Problem, Severity};
use anyhook_model::{Caller, EventKind, Host, OpenFormat};
use serde_json::{Value, json};

use crate::error::SetupError;

/// The script's name in its folder, whatever its language.
pub const SCRIPT: &str = "scripts/run";

/// A hook to be created.
#[derive(Debug)]
pub struct NewHook {
    /// Its name.
    name: String,
    /// The events it runs at, without duplicates.
    triggers: Vec<TriggerEvent>,
    /// A regular expression for the tool's name.
    tool: Option<String>,
    /// A regular expression to search for in the tool's input.
    pattern: Option<String>,
    /// The script's language.
    language: Language,
}

/// An event that a hook runs at.
#[derive(Debug)]
struct TriggerEvent {
    kind: EventKind,
    /// Its name, as its author spells it.
    name: String,
}

/// A script's language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// POSIX shell.
    Sh,
    /// Bash.
    Bash,
    /// Python.
    Py,
    /// JavaScript, for node.
    Js,
}

/// Why a hook cannot be created as described.
#[derive(Debug)]
pub enum NewHookError {
    /// The name is not allowed, and why.
    Name(&'static str),
    /// There is no such event.
    UnknownTrigger(String),
    /// A tool or a pattern was given for an event without a tool.
    NoToolEvent(EventKind),
    /// Its definition would not pass a check.
    Definition(Problem),
}

impl NewHook {
    /// Describes a hook; `triggers` are events in either spelling.
    pub fn new(
        name: &str,
        triggers: &[String],
        tool: Option<&str>,
        pattern: Option<&str>,
        language: Language,
    ) -> Result<Self, NewHookError> {
        if let Some(fault) = name_fault(name) {
            return Err(NewHookError::Name(fault));
        }
        let triggers = read_triggers(triggers, tool.is_some() || pattern.is_some())?;
        let hook = Self {
            name: name.to_owned(),
            triggers,
            tool: tool.map(str::to_owned),
            pattern: pattern.map(str::to_owned),
            language,
        };
        let read = definition::read(hook_file(&hook).as_bytes(), name);
        match read.problems.into_iter().find(|problem| problem.severity > Severity::Note) {
            Some(problem) => Err(NewHookError::Definition(problem)),
            None => Ok(hook),
        }
    }

    /// Writes it into its folder. Returns the paths of the files, relative to the folder.
    pub fn write(&self, folder: &Path) -> Result<Vec<String>, SetupError> {
        let hook_file = hook_file(self);
        let matcher = definition::read(hook_file.as_bytes(), &self.name).matcher;
        let mut files = vec![
            ("HOOK.md".to_owned(), hook_file, 0o644),
            (SCRIPT.to_owned(), script(self), 0o755),
        ];
        for (name, case) in cases(self, &matcher) {
            files.push((format!("tests/{name}.json"), format!("{case:#}\n"), 0o644));
        }
        for (name, content, mode) in &files {
            write(&folder.join(name), content, *mode)?;
        }
        Ok(files.into_iter().map(|(name, _, _)| name).collect())
    }

    /// Returns whether the script blocks whenever it runs: its matcher selects what to block.
    fn blocks(&self) -> bool {
        self.triggers.iter().all(|trigger| trigger.kind.takes_input_change())
            && self.pattern.is_some()
    }
}

/// Parses the events that a hook runs at, without duplicates.
fn read_triggers(words: &[String], has_matcher: bool) -> Result<Vec<TriggerEvent>, NewHookError> {
    let mut triggers: Vec<TriggerEvent> = Vec::new();
    for word in words.iter().map(|word| word.trim()) {
        let Some((kind, spelling)) = EventKind::in_any_spelling(word) else {
            return Err(NewHookError::UnknownTrigger(word.to_owned()));
        };
        if has_matcher && !kind.has_matcher() {
            return Err(NewHookError::NoToolEvent(kind));
        }
        if triggers.iter().all(|known| known.kind != kind) {
            let name = kind.name(spelling).to_owned();
            triggers.push(TriggerEvent { kind, name });
        }
    }
    Ok(triggers)
}

fn write(path: &Path, content: &str, mode: u32) -> Result<(), SetupError> {
    let parent = path.parent().unwrap_or(path);
    fs::create_dir_all(parent).map_err(SetupError::unusable(parent))?;
    fs::write(path, content).map_err(SetupError::unusable(path))?;
    fs::set_permissions(path, Permissions::from_mode(mode)).map_err(SetupError::unusable(path))
}

/// Single-quoted YAML only needs doubled quotes.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn hook_file(hook: &NewHook) -> String {
    let name = &hook.name;
    let names: Vec<&str> = hook.triggers.iter().map(|trigger| trigger.name.as_str()).collect();
    let trigger = match names.as_slice() {
        [one] => (*one).to_owned(),
        several => format!("[{}]", several.join(", ")),
    };
    // It decides nothing until its author has written it and enables it.
    let mut matter = format!(
        "---\nname: {name}\ndescription: {}\ntrigger: {trigger}\nmode: shadow\n",
        placeholder_description(name)
    );
    if hook.tool.is_some() || hook.pattern.is_some() {
        matter.push_str("matcher:\n");
        for (key, value) in [("tool", &hook.tool), ("pattern", &hook.pattern)] {
            if let Some(value) = value {
                matter.push_str(&format!("  {key}: {}\n", quoted(value)));
            }
        }
    }
    let meaning = match hook.triggers.as_slice() {
        [TriggerEvent { kind: EventKind::BeforeStop, .. }] => {
            "the agent keeps working, with the reason as feedback"
        }
        [TriggerEvent { kind: EventKind::BeforeTool, .. }] => {
            "the tool does not run, and the model sees the reason"
        }
        [TriggerEvent { kind: EventKind::BeforeAgent, .. }] => "the prompt is rejected",
        [TriggerEvent { kind: EventKind::PermissionRequest, .. }] => "the permission is denied",
        _ => "the reason is reported, and the agent acts on it if it can",
    };
    matter.push_str(&format!(
        "timeout: 5000\n---\n\n# {name}\n\nReads the event as JSON on standard input.\n\n- Exit 0: continue.\n- Exit 2: block, with the reason on standard error; {meaning}.\n"
    ));
    matter
}

/// Returns the script's text.
///
/// With a pattern the matcher selects what to block, so the script blocks; without, it shows how to
/// read the event.
fn script(hook: &NewHook) -> String {
    let blocks = hook.blocks();
    let reason = PLACEHOLDER_REASON;
    match hook.language {
        Language::Sh | Language::Bash => {
            let shell =
                if hook.language == Language::Sh { "#!/bin/sh" } else { "#!/usr/bin/env bash" };
            if blocks {
                format!(
                    "{shell}\n# The matcher already found what to block; the event is on standard input.\necho \"{reason}\" >&2\nexit 2\n"
                )
            } else {
                format!(
                    "{shell}\n# The event arrives as one line of JSON.\nevent=$(cat)\n\ncase \"$event\" in\n*'block me'*)\n\techo \"{reason}\" >&2\n\texit 2\n\t;;\nesac\nexit 0\n"
                )
            }
        }
        Language::Py => {
            let condition = if blocks { "" } else { "if \"block me\" in json.dumps(event):\n    " };
            let end = if blocks { "" } else { "    " };
            format!(
                "#!/usr/bin/env python3\nimport json\nimport sys\n\nevent = json.load(sys.stdin)\n{condition}print(\"{reason}\", file=sys.stderr)\n{end}sys.exit(2)\n"
            )
        }
        Language::Js => {
            let body = format!("console.error(\"{reason}\");\nprocess.exit(2);\n");
            let body = if blocks {
                body
            } else {
                format!(
                    "if (JSON.stringify(event).includes(\"block me\")) {{\n  {}}}\n",
                    body.replace(";\np", ";\n  p")
                )
            };
            format!(
                "#!/usr/bin/env node\nconst event = JSON.parse(require(\"fs\").readFileSync(0, \"utf8\"));\n{body}"
            )
        }
    }
}

/// Makes the test cases, for the first event that the hook runs at: a harmless one, and one that
/// the script blocks.
fn cases(hook: &NewHook, matcher: &Matcher) -> Vec<(&'static str, Value)> {
    let Some(TriggerEvent { kind, name: trigger }) = hook.triggers.first() else {
        return Vec::new();
    };
    let event = |command: &str| {
        let mut event = json!({"event_type": trigger});
        if kind.has_matcher() {
            event["tool_name"] = "Shell".into();
            event["tool_input"] = json!({"command": command});
        } else {
            event["note"] = command.into();
        }
        event
    };
    let runs = |event: &Value| {
        let caller = Caller::new("/", anyhook_engine::now());
        let decoded = OpenFormat.decode(event.to_string().as_bytes(), &caller).unwrap_or_default();
        let tool = decoded.into_iter().next().and_then(|event| event.tool);
        tool.is_none_or(|tool| matcher.mismatch(&tool).is_none())
    };
    let everyday = event("echo hello");
    let decision = match (runs(&everyday), hook.blocks()) {
        (false, _) => "skipped",
        (true, true) => "deny",
        (true, false) => "none",
    };
    let mut cases = vec![(
        "everyday",
        json!({"description": "an everyday event", "event": everyday, "expect": {"decision": decision}}),
    )];
    let blocked = event("block me");
    if runs(&blocked) {
        cases.push((
            "blocked",
            json!({"description": "an event that is blocked", "event": blocked, "expect": {"decision": "deny", "reason": PLACEHOLDER_REASON}}),
        ));
    }
    cases
}
