//! Errors of workflow operations. The messages say what happened; the caller adds the next step and
//! the exit code.

use std::fmt;
use std::io;
use std::path::PathBuf;

use anyhook_flow::runbook::{Finding, Severity};
use anyhook_socket::ClientError;

use crate::context::ContextError;
use crate::refusal::WorkflowRefusal;
use crate::schemas::{SchemaError, SchemaViolation};

/// Why a workflow operation failed.
#[derive(Debug, thiserror::Error)]
pub enum WorkflowError {
    /// The rules do not allow it. The state is unchanged.
    #[error(transparent)]
    Refused(#[from] WorkflowRefusal),
    /// The workflow was not started.
    #[error("no workflow here")]
    NotBegun,
    /// There is no state to go back to.
    #[error("there is no state before the last change")]
    NoPreviousState,
    /// The definition cannot be read at all.
    #[error("`{}` cannot be read: {error}", file.display())]
    DefinitionUnreadable {
        /// The file.
        file: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// The definition is invalid.
    #[error("{0}")]
    Definition(Box<UnusableDefinition>),
    /// A file of the project cannot be used.
    #[error("{}", file_words(path, why))]
    File {
        /// What it is.
        kind: FileKind,
        /// Its path, relative to the project.
        path: String,
        /// The reason.
        why: FileError,
    },
    /// An artifact cannot be sent to another model.
    #[error("`{artifact}` cannot be reviewed: {why}")]
    NotReviewable {
        /// The artifact.
        artifact: String,
        /// The reason.
        why: NotReviewable,
    },
    /// A schema of the project's own cannot be used.
    #[error("invalid schema `{path}`: {error}")]
    Schema {
        /// Its path, relative to the project.
        path: String,
        /// The reason.
        error: SchemaError,
    },
    /// A folder of the project is a link that points outside of it.
    #[error("`{}` is outside the project: a link leads there", .0.display())]
    LinkOut(PathBuf),
    /// A file or folder cannot be read or written.
    #[error("cannot access `{}`: {error}", path.display())]
    At {
        /// The path.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// The lock file is not usable as a lock.
    #[error("cannot access `{}`: {error}", path.display())]
    LockUnusable {
        /// The path.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// Another process holds the lock.
    #[error("another process has been holding the workflow's state for too long")]
    Locked(PathBuf),
    /// Another supervisor runs this workflow.
    #[error("{} is already running this workflow", process_words(*.0))]
    AlreadyRunning(Option<u32>),
    /// A session submits the work of another agent.
    #[error("this is the session of `{own}`, but the signal is for `{agent}`")]
    SpeaksForAnother {
        /// The agent that the session is.
        own: String,
        /// The agent that the signal is from.
        agent: String,
    },
    /// An agent that should submit its work has not signalled that it is done.
    #[error("not done yet: `{path}` must say that you are done, but {why}")]
    NoSignal {
        /// The expected path of the signal.
        path: String,
        /// What is wrong with it.
        why: String,
        /// An example of a signal.
        example: String,
    },
    /// There is no context for an agent.
    #[error(transparent)]
    Context(#[from] ContextError),
    /// An artifact that an agent needs cannot be read.
    #[error("`{agent}` needs `{path}`, which the stage `{stage}` made: {why}")]
    InputUnreadable {
        /// The agent.
        agent: String,
        /// The artifact.
        path: String,
        /// The stage that made it.
        stage: String,
        /// The reason.
        why: Unreadable,
    },
    /// An artifact that an agent needs has changed since it was submitted.
    #[error("`{agent}` needs `{path}`, which has changed since the stage `{stage}` was completed")]
    InputChanged {
        /// The agent.
        agent: String,
        /// The artifact.
        path: String,
        /// The stage that made it.
        stage: String,
    },
    /// A person's answer is not one of the offered options.
    #[error("`{told}`, which {by} chose for `{stage}`, is not one of {}", offered.join(", "))]
    NotOffered {
        /// The answer.
        told: String,
        /// Who gave it.
        by: String,
        /// The stage it is about.
        stage: String,
        /// The offered options.
        offered: Vec<String>,
    },
    /// There is no command to start an agent with.
    #[error("no command to start `{0}`, and no agent program is on the PATH")]
    NoCommand(String),
    /// There is no folder for a daemon, because there is no home directory.
    #[error("no state folder, so there is no daemon")]
    NoDaemonFolder,
    /// There is no journal, because there is no home directory.
    #[error("no state folder, so there is no journal")]
    NoJournal,
    /// The daemon failed or refused it.
    #[error(transparent)]
    Daemon(#[from] ClientError),
    /// A system call failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl WorkflowError {
    /// Returns the error of a file or folder.
    pub(crate) fn at(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        |error| Self::At { path: path.into(), error }
    }

    /// Returns the error of a file of the project.
    pub(crate) fn file(kind: FileKind, path: &str, why: impl Into<FileError>) -> Self {
        Self::File { kind, path: path.to_owned(), why: why.into() }
    }
}

/// A definition that cannot be used.
#[derive(Debug)]
pub struct UnusableDefinition {
    /// Its file.
    pub file: PathBuf,
    /// Its text.
    pub text: String,
    /// Errors and notes.
    pub findings: Vec<Finding>,
}

impl fmt::Display for UnusableDefinition {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.findings.iter().filter(|one| one.severity != Severity::Note).count();
        let word = if count == 1 { "problem" } else { "problems" };
        write!(out, "{count} {word} in `{}`", self.file.display())
    }
}

/// The kind of a file of the project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// `project-config.json`.
    Config,
    /// The state of the workflow.
    State,
    /// The state before the last change.
    PreviousState,
    /// The kept documentation.
    Documentation,
    /// An artifact to be reviewed by another model.
    Reviewed,
    /// A signal, a schema or another artifact.
    Other,
}

/// Why a file of the project cannot be used.
#[derive(Debug)]
pub enum FileError {
    /// It cannot be read.
    Unreadable(Unreadable),
    /// It does not match its schema.
    Invalid(Vec<SchemaViolation>),
    /// It is not valid, which only shows when it is used.
    Unusable(String),
}

impl From<Unreadable> for FileError {
    fn from(why: Unreadable) -> Self {
        Self::Unreadable(why)
    }
}

/// Why a file of the project cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// It does not exist.
    #[error("it does not exist")]
    Absent,
    /// A link points outside of the project.
    #[error("it is outside the project")]
    Outside,
    /// It is not JSON.
    #[error("it is not JSON: {0}")]
    NotJson(String),
    /// It cannot be read.
    #[error("{0}")]
    Io(io::Error),
}

impl From<io::Error> for Unreadable {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::Absent,
            _ => Self::Io(error),
        }
    }
}

/// Why an artifact cannot be sent to another model.
#[derive(Debug, thiserror::Error)]
pub enum NotReviewable {
    /// It is too large.
    #[error("it is larger than 1 MiB")]
    TooLarge,
    /// It is not JSON.
    #[error("it is not JSON: {0}")]
    NotJson(String),
}

fn file_words(path: &str, why: &FileError) -> String {
    match why {
        FileError::Unreadable(why) => format!("cannot read `{path}`: {why}"),
        FileError::Invalid(faults) => {
            let lines: Vec<String> = faults.iter().map(|fault| format!("\n  {fault}")).collect();
            format!("`{path}` is not valid:{}", lines.concat())
        }
        FileError::Unusable(why) => format!("`{path}` is not valid: {why}"),
    }
}

fn process_words(process: Option<u32>) -> String {
    process.map_or_else(|| "another process".to_owned(), |id| format!("process {id}"))
}
