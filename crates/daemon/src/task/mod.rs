//! A command that outlives the daemon and leaves its result.
//!
//! ```text
//!  daemon ── prepare ──▶ FOLDER/task.json
//!         ── begin ────▶ keeper (`__keeper FOLDER`): FOLDER/claim, locked as long as it lives
//!                          └── sh -c TEXT sh ARGUMENTS… ──▶ FOLDER/output, or its terminal
//!         ◀── wait ────    FOLDER/ended
//! ```
//!
//! The daemon may be killed at any moment: the keeper goes on, whoever comes next finds it by its
//! claim, and no second keeper runs the command. A claim that nobody holds and that has no end is in
//! doubt: whether the command has done its work, a person has to say. What is left of it is found by
//! the mark in its environment, which the claim names.

mod begin;
mod claim;
mod output;
pub mod supervisor;

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhook_engine::atomic_file::AtomicFile;
use anyhook_engine::run::process_tree::ShutdownGrace;
use anyhook_model::ProcessName;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub(crate) use begin::{CLAIMED, first_words, signal};
pub use begin::{begin, end_leftovers, stop};
pub(crate) use claim::is_there as is_begun;
pub use claim::{status, wait};
pub use output::output_end;

/// The argument that makes the program keep a task.
pub const ARGUMENT: &str = "__keeper";

/// How long a command has to end with all it has started.
const SHUTDOWN_GRACE: ShutdownGrace = ShutdownGrace {
    grace: Duration::from_secs(5),
    insist: Duration::from_secs(5),
    look_every: Duration::from_millis(20),
};

/// The version of [`Task`] and [`TaskResult`].
///
/// - 1: the first.
pub const TASK_VERSION: u32 = 1;

/// What is to be run, as `task.json` in a folder of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// [`TASK_VERSION`].
    pub v: u32,
    /// The command, for `sh -c`.
    pub text: String,
    /// Its arguments (`"$@"`).
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Variables on top of the environment.
    #[serde(default)]
    pub variables: BTreeMap<String, String>,
    /// A file with the environment, a JSON object: it may hold secrets, so it is not part of this.
    pub environment: PathBuf,
    /// Its working folder.
    pub cwd: PathBuf,
    /// How long it may take, in milliseconds; however long, if it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Whether it is run on the terminal its keeper was started on.
    #[serde(default)]
    pub terminal: bool,
}

/// How a task ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskResult {
    /// [`TASK_VERSION`].
    pub v: u32,
    /// Its exit code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    /// The signal that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Whether it timed out.
    #[serde(default)]
    pub timed_out: bool,
    /// Whether somebody had it ended, or its terminal went away.
    #[serde(default)]
    pub killed: bool,
    /// Why it could not be started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// When it happened.
    pub at: Timestamp,
}

impl TaskResult {
    /// Tells whether it ended by itself, and well.
    pub fn is_success(&self) -> bool {
        self.code == Some(0) && !self.timed_out && !self.killed
    }
}

/// How a task stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskStatus {
    /// Nobody has begun it.
    NotBegun,
    /// This keeper runs it.
    Running(ProcessName),
    /// It is over.
    Ended(TaskResult),
    /// Its keeper is gone and left no result.
    InDoubt,
}

/// Why a task cannot be dealt with.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// A file cannot be used.
    #[error("cannot access `{}`: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// A file holds what this version does not know.
    #[error("`{}` cannot be read: {why}", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// No keeper could be started.
    #[error("the task in `{}` could not be started: {why}", folder.display())]
    NotBegun {
        /// The task's folder.
        folder: PathBuf,
        /// The reason.
        why: String,
    },
    /// It needs a terminal, which only a session has.
    #[error("the task in `{}` needs a terminal", .0.display())]
    NeedsTerminal(PathBuf),
    /// The system does not let the keeper hear signals or take a terminal.
    #[error("{what}: {error}")]
    System {
        /// What was wanted.
        what: &'static str,
        /// Why not.
        error: io::Error,
    },
}

impl TaskError {
    /// Returns the next step.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::File { .. } => "check the folder's permissions and free disk space",
            Self::Foreign { .. } => "use the version of anyhook that wrote it",
            Self::NotBegun { .. } => "anyhook daemon logs",
            Self::NeedsTerminal(_) => "start it in a session",
            Self::System { .. } => "check the system limits (ulimit -a)",
        }
    }

    /// Says that a file cannot be used.
    fn file(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |error| Self::File { path: path.to_owned(), error }
    }
}

/// Writes a task down, in a folder for us alone. To do it again changes nothing.
pub fn prepare(folder: &Path, task: &Task) -> Result<(), TaskError> {
    make_folder(folder)?;
    write_json(&folder.join("task.json"), task)
}

fn make_folder(folder: &Path) -> Result<(), TaskError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .and_then(|()| fs::set_permissions(folder, fs::Permissions::from_mode(0o700)))
        .map_err(TaskError::file(folder))
}

/// Reads what is to be run.
pub fn read(folder: &Path) -> Result<Task, TaskError> {
    let path = folder.join("task.json");
    let bytes = fs::read(&path).map_err(TaskError::file(&path))?;
    let task: Task = serde_json::from_slice(&bytes)
        .map_err(|error| TaskError::Foreign { path: path.clone(), why: error.to_string() })?;
    if task.v != TASK_VERSION {
        let why = format!("it has version {}, but this is {TASK_VERSION}", task.v);
        return Err(TaskError::Foreign { path, why });
    }
    Ok(task)
}

/// Returns the keeper that has a task, or had it.
pub(crate) fn owner(folder: &Path) -> Result<Option<ProcessName>, TaskError> {
    Ok(claim::owner(folder)?.map(|owner| owner.process))
}

/// Writes a file for us alone, whole or not at all.
fn write_json(path: &Path, value: &impl Serialize) -> Result<(), TaskError> {
    let bytes = serde_json::to_vec(value).map_err(io::Error::from);
    let written = bytes.and_then(|bytes| AtomicFile::new(path).synced(true).replace(&bytes));
    written.map_err(TaskError::file(path))
}
