//! The hint and the exit code for errors of a workflow.

use anyhook_workflow::error::{
    FileError, FileKind, NotReviewable, Unreadable, UnusableDefinition, WorkflowError,
};

use super::CommandError;

/// The hint for a state file that cannot be used.
const WAY_BACK: &str = "`anyhook workflow reset --previous` goes back one change, `anyhook workflow reset --all` starts over; both keep a copy of this file";
/// What a project's own schema must be.
pub const WHOLE_SCHEMA: &str = "a schema must contain everything it refers to; nothing is fetched";

impl From<WorkflowError> for CommandError {
    fn from(error: WorkflowError) -> Self {
        match error {
            WorkflowError::Io(error) => error.into(),
            WorkflowError::Daemon(error) => error.into(),
            WorkflowError::At { path, error } => Self::at(&path, error),
            WorkflowError::NoJournal => Self::no_journal(),
            error => {
                let trouble = if is_about_input(&error) {
                    Self::input(message(&error))
                } else {
                    Self::problem(message(&error))
                };
                match hint(&error) {
                    Some(hint) => trouble.hint(hint),
                    None => trouble,
                }
            }
        }
    }
}

/// Returns whether it is about the arguments, or about a file that a person wrote.
fn is_about_input(error: &WorkflowError) -> bool {
    !matches!(
        error,
        WorkflowError::LockUnusable { .. }
            | WorkflowError::Locked(_)
            | WorkflowError::AlreadyRunning(_)
            | WorkflowError::NotOffered { .. }
            | WorkflowError::NoCommand(_)
            | WorkflowError::NoDaemonFolder
    )
}

fn message(error: &WorkflowError) -> String {
    match error {
        WorkflowError::NoCommand(agent) => format!(
            "no command is set to start `{agent}`, and no agent that anyhook can start is on the PATH"
        ),
        other => other.to_string(),
    }
}

fn hint(error: &WorkflowError) -> Option<String> {
    let hint = match error {
        WorkflowError::Refused(refusal) => return Some(refusal.hint()),
        WorkflowError::Context(error) => return Some(error.hint()),
        WorkflowError::File { kind, why, .. } => return file_hint(*kind, why).map(str::to_owned),
        WorkflowError::NotBegun => "anyhook workflow init",
        WorkflowError::NoPreviousState => "start over: `anyhook workflow reset --all`",
        WorkflowError::DefinitionUnreadable { error, .. } => match error.kind() {
            std::io::ErrorKind::NotFound => {
                "no such file; `anyhook workflow init` creates the project's own"
            }
            _ => "a workflow is a UTF-8 text file of at most 256 KiB",
        },
        WorkflowError::NotReviewable { why: NotReviewable::TooLarge, .. } => {
            "too long for a careful review; review it in parts"
        }
        WorkflowError::NotReviewable { why: NotReviewable::NotJson(_), .. } => {
            "workflow artifacts are JSON files"
        }
        WorkflowError::Schema { .. } => WHOLE_SCHEMA,
        WorkflowError::LinkOut(_) => "replace the link with a folder in the project",
        WorkflowError::LockUnusable { .. } => "remove it: the lock must be an empty regular file",
        WorkflowError::Locked(path) => {
            return Some(format!("`fuser {}` shows which", path.display()));
        }
        WorkflowError::AlreadyRunning(process) => {
            let how = process.map(|id| format!(" with `kill {id}`")).unwrap_or_default();
            return Some(format!("wait for it, or stop it{how}: its agents keep working"));
        }
        WorkflowError::SpeaksForAnother { agent, .. } => {
            return Some(format!("let `{agent}` hand in its own work"));
        }
        WorkflowError::NoSignal { example, .. } => {
            return Some(format!("write your artifacts, then this file:\n{example}"));
        }
        WorkflowError::InputUnreadable { stage, .. } => {
            return Some(format!("redo the stage: anyhook workflow reset {stage}"));
        }
        WorkflowError::InputChanged { stage, .. } => {
            return Some(format!(
                "undo the change, or redo the stage: anyhook workflow reset {stage}"
            ));
        }
        WorkflowError::NotOffered { stage, .. } => {
            return Some(format!(
                "anyhook workflow approve {stage}, or anyhook workflow reject {stage}"
            ));
        }
        WorkflowError::NoCommand(_) => {
            "anyhook workflow run --with COMMAND, or `run = \"COMMAND\"` in .agents/workflow.toml"
        }
        WorkflowError::NoDaemonFolder => "set HOME",
        WorkflowError::Definition(_)
        | WorkflowError::At { .. }
        | WorkflowError::NoJournal
        | WorkflowError::Daemon(_)
        | WorkflowError::Io(_) => return None,
    };
    Some(hint.to_owned())
}

fn file_hint(kind: FileKind, why: &FileError) -> Option<&'static str> {
    match (kind, why) {
        (FileKind::State, _) => Some(WAY_BACK),
        (FileKind::Documentation, _) => Some("fix it or move it away; it is never overwritten"),
        (FileKind::Reviewed, _) => {
            Some("an artifact is a JSON file in the project, of at most 1 MiB")
        }
        (_, FileError::Unreadable(why)) => Some(match why {
            Unreadable::Absent => "write it, or fix the path; it is relative to the project root",
            Unreadable::Outside => "put the file itself into the project",
            Unreadable::NotJson(_) => "fix it there",
            Unreadable::Io(_) => "it must be a readable UTF-8 file of at most 4 MiB",
        }),
        (FileKind::Config, FileError::Invalid(_)) => Some("anyhook schema project-config"),
        (_, FileError::Invalid(_) | FileError::Unusable(_)) => None,
    }
}

impl CommandError {
    /// As [`From`], for the project of the current folder: findings about its definition are drawn.
    pub fn of_workflow(
        error: WorkflowError,
        environment: &crate::environment::Environment,
    ) -> Self {
        match error {
            WorkflowError::Definition(unusable) => {
                let UnusableDefinition { file, text, findings } = *unusable;
                crate::runbooks::unusable(&file, &text, &findings, environment)
            }
            error => error.into(),
        }
    }
}
