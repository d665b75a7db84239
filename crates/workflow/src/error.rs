//! Why something could not be done with a workflow. What is said here is what happened; the next
//! step and the exit code are the caller's to add.

use std::fmt;
use std::io;
use std::path::PathBuf;

use anyhook_flow::runbook::{Finding, Severity};
use anyhook_socket::ClientError;

use crate::context::ContextError;
use crate::refusal::WorkflowRefusal;
use crate::schemas::{SchemaError, SchemaViolation};

/// Why something could not be done with a workflow.
#[derive(Debug, thiserror::Error)]
pub enum WorkflowError {
    /// The rules are against it. The state is as it was.
    #[error(transparent)]
    Refused(#[from] WorkflowRefusal),
    /// The workflow was not begun.
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
    /// The definition says something that cannot be.
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
    /// An artifact cannot be given to another model.
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
    /// A folder of the project is a link that leads out of it.
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
    /// What is in the place of the lock is not a lock.
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
    /// A session hands in the work of another agent.
    #[error("this is the session of `{own}`, but the signal is for `{agent}`")]
    SpeaksForAnother {
        /// The agent that the session is.
        own: String,
        /// The agent that the signal is of.
        agent: String,
    },
    /// An agent that is to hand in its work has not said that it is done.
    #[error("not done yet: `{path}` must say that you are done, but {why}")]
    NoSignal {
        /// Where the signal is to be.
        path: String,
        /// What is wrong with it.
        why: String,
        /// A signal as it could be.
        example: String,
    },
    /// There is nothing that an agent can be given.
    #[error(transparent)]
    Context(#[from] ContextError),
    /// What an agent needs cannot be read.
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
    /// What an agent needs is not what was handed in.
    #[error("`{agent}` needs `{path}`, which has changed since the stage `{stage}` was completed")]
    InputChanged {
        /// The agent.
        agent: String,
        /// The artifact.
        path: String,
        /// The stage that made it.
        stage: String,
    },
    /// A person's answer is not one of those that were offered.
    #[error("`{told}`, which {by} chose for `{stage}`, is not one of {}", offered.join(", "))]
    NotOffered {
        /// The answer.
        told: String,
        /// Who gave it.
        by: String,
        /// What it is about.
        stage: String,
        /// What was offered.
        offered: Vec<String>,
    },
    /// Nothing says how an agent is started.
    #[error("no command to start `{0}`, and no agent program is on the PATH")]
    NoCommand(String),
    /// There is no place for a daemon, for want of a home.
    #[error("no state folder, so there is no daemon")]
    NoDaemonFolder,
    /// There is no journal, for want of a home.
    #[error("no state folder, so there is no journal")]
    NoJournal,
    /// The daemon could not do it.
    #[error(transparent)]
    Daemon(#[from] ClientError),
    /// The system could not do it.
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
    /// What is wrong with it or worth knowing.
    pub findings: Vec<Finding>,
}

impl fmt::Display for UnusableDefinition {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.findings.iter().filter(|one| one.severity != Severity::Note).count();
        let word = if count == 1 { "problem" } else { "problems" };
        write!(out, "{count} {word} in `{}`", self.file.display())
    }
}

/// What a file of the project is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// `project-config.json`.
    Config,
    /// The state of the workflow.
    State,
    /// The state before the last change.
    PreviousState,
    /// What is kept of documentation.
    Documentation,
    /// An artifact that another model is to look at.
    Reviewed,
    /// A signal, a schema or another artifact.
    Other,
}

/// Why a file of the project cannot be used.
#[derive(Debug)]
pub enum FileError {
    /// It cannot be read.
    Unreadable(Unreadable),
    /// It is not what it must be.
    Invalid(Vec<SchemaViolation>),
    /// It is not what it must be, which is found out when it is used.
    Unusable(String),
}

impl From<Unreadable> for FileError {
    fn from(why: Unreadable) -> Self {
        Self::Unreadable(why)
    }
}

/// Why a file below the project cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// It is not there.
    #[error("it does not exist")]
    Absent,
    /// A link leads out of the project.
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

/// Why an artifact cannot be given to another model.
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
