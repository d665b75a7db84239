//! Our hooks among Cline's: each is a file named after its event, in a folder of hooks.
//!
//! A folder may have several files for one event, with different endings, and Cline runs all of them,
//! in the order of their paths. Of several changed inputs, the last one counts, and a denial is a
//! changed input. So ours have the ending that comes last. It does not matter otherwise: the first
//! line says what runs the file.

use std::path::{Path, PathBuf};

use super::{FOLDER, FOLDER_VARIABLE};
use crate::spec;
use crate::wiring::{
    AgentStart, HookInvocation, Injection, SettingsEdits, SettingsError, SettingsScope,
    SettingsTexts, Unanswered, WiringStatus, status,
};

/// Its settings.
pub(super) struct Settings;

impl spec::SettingsEditor for Settings {
    fn files(&self, scope: &SettingsScope) -> Vec<PathBuf> {
        EVENTS.iter().map(|event| ours(scope, event)).collect()
    }

    fn further_files(&self, scope: &SettingsScope) -> Vec<PathBuf> {
        let own = self.files(scope);
        let mut files: Vec<PathBuf> =
            EVENTS.iter().flat_map(|event| all_files(scope, event)).collect();
        files.retain(|file| !own.contains(file));
        files
    }

    fn wire(
        &self,
        scope: &SettingsScope,
        texts: &SettingsTexts,
        call: &HookInvocation,
    ) -> Result<SettingsEdits, SettingsError> {
        let mut edits = SettingsEdits::new();
        for event in EVENTS {
            let path = ours(scope, event);
            if texts.get(&path).is_some_and(|text| !text.starts_with(&header(event))) {
                return Err(SettingsError::Taken { path });
            }
            edits.insert(path, Some(text(event, call)));
        }
        Ok(edits)
    }

    fn unwire(
        &self,
        scope: &SettingsScope,
        texts: &SettingsTexts,
    ) -> Result<SettingsEdits, SettingsError> {
        let paths = EVENTS.iter().map(|event| (ours(scope, event), event));
        let is_ours = |path: &PathBuf, event: &str| {
            texts.get(path).is_some_and(|text| text.starts_with(&header(event)))
        };
        Ok(paths
            .filter(|(path, event)| is_ours(path, event))
            .map(|(path, _)| (path, None))
            .collect())
    }

    fn inspect(
        &self,
        scope: &SettingsScope,
        texts: &SettingsTexts,
    ) -> Result<WiringStatus, SettingsError> {
        let mut commands = Vec::new();
        for event in EVENTS {
            for path in all_files(scope, event) {
                let Some(text) = texts.get(&path) else { continue };
                let line = line_of(text, event).map(str::to_owned);
                let command = line.unwrap_or_else(|| path.to_string_lossy().into_owned());
                commands.push(((*event).to_owned(), command));
            }
        }
        Ok(status(HOST, TOOL_EVENTS, &commands, EVENTS))
    }

    fn inject(&self, _start: &AgentStart<'_>) -> Result<Injection, SettingsError> {
        let why = "it only runs hooks from its folders: its option --hooks-dir has no effect";
        Ok(Injection { why_not: Some(why), ..Injection::default() })
    }
}

/// Its id.
const HOST: &str = "cline";

/// The events at which we are called.
///
/// Not `SessionShutdown`, which happens when a turn is interrupted, and not at the end of a session.
const EVENTS: &[&str] = &[
    "TaskStart",
    "TaskResume",
    "TaskComplete",
    "TaskError",
    "TaskCancel",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
];

/// The events at which an unanswered call is refused if a guard is installed.
const TOOL_EVENTS: &[&str] = &["PreToolUse"];

/// The endings that a file of hooks may have.
const ENDINGS: [&str; 12] =
    ["", ".bash", ".cjs", ".cts", ".js", ".mjs", ".mts", ".ps1", ".py", ".sh", ".ts", OURS];
/// The ending of ours.
const OURS: &str = ".zsh";

/// How long Cline waits for a hook.
const LIMIT_MS: u64 = 120_000;

/// What refuses a call that is not answered. It ends the run: the tool is not known here, and so
/// neither is an input with which it would fail.
const REFUSAL: Unanswered = Unanswered::RefusedWith {
    reply: r#"{"cancel": true, "errorMessage": "anyhook did not answer, and a guard that blocks on failure is installed, so this call is refused"}"#,
    otherwise: 0,
};

/// Returns its own folder of hooks.
fn folder(scope: &SettingsScope) -> PathBuf {
    let own = match &scope.project {
        Some(project) => project.join(FOLDER),
        None => scope.folder(FOLDER_VARIABLE, FOLDER),
    };
    own.join("hooks")
}

/// Returns every folder of hooks at a level.
fn folders(scope: &SettingsScope) -> [PathBuf; 2] {
    let other = match &scope.project {
        Some(project) => project.join(".clinerules/hooks"),
        None => scope.home.join("Documents/Cline/Hooks"),
    };
    [folder(scope), other]
}

fn ours(scope: &SettingsScope, event: &str) -> PathBuf {
    folder(scope).join(format!("{event}{OURS}"))
}

/// Returns every file that Cline would run at an event, at a level.
fn all_files(scope: &SettingsScope, event: &str) -> Vec<PathBuf> {
    let in_folder = |folder: &Path| -> Vec<PathBuf> {
        ENDINGS.iter().map(|ending| folder.join(format!("{event}{ending}"))).collect()
    };
    folders(scope).iter().flat_map(|folder| in_folder(folder)).collect()
}

/// Returns the first lines of our file for an event, and the beginning of the last one.
fn header(event: &str) -> String {
    format!(
        "#!/bin/sh\n# anyhook for Cline: made by `anyhook install cline`, called at {event}.\nexec "
    )
}

fn text(event: &str, call: &HookInvocation) -> String {
    let unanswered = if TOOL_EVENTS.contains(&event) { REFUSAL } else { Unanswered::GoesOn };
    format!("{}{}\n", header(event), call.command(HOST, LIMIT_MS, unanswered))
}

/// Returns the command line in our file for an event; `None` if the file is not ours.
fn line_of<'text>(text: &'text str, event: &str) -> Option<&'text str> {
    let line = text.strip_prefix(&header(event))?.strip_suffix('\n')?;
    crate::wiring::is_ours(line, HOST).then_some(line)
}
