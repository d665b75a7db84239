//! Tasks: commands that outlive the daemon and leave their result in a file.
//!
//! ```text
//!  daemon ── prepare ──▶ FOLDER/task.json
//!         ── begin ────▶ supervisor (`__keeper FOLDER`): FOLDER/claim, locked as long as it lives
//!                          └── sh -c TEXT sh ARGUMENTS… ──▶ FOLDER/output, or its terminal
//!         ◀── wait ────    FOLDER/ended
//! ```
//!
//! The daemon may be killed at any moment: the supervisor continues, the next daemon finds it by
//! its claim, and no second supervisor runs the command. A claim that is not locked and has no
//! result is in doubt: a person has to say whether the command has done its work. Processes left
//! behind are found by the mark in their environment, which is recorded in the claim.

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

/// The argument that makes the program the supervisor of a task.
pub const ARGUMENT: &str = "__keeper";

/// How long a command and all processes it has started have to exit.
const SHUTDOWN_GRACE: ShutdownGrace = ShutdownGrace {
    grace: Duration::from_secs(5),
    insist: Duration::from_secs(5),
    look_every: Duration::from_millis(20),
};

/// The version of [`Task`] and [`TaskResult`].
///
/// - 1: the first.
pub const TASK_VERSION: u32 = 1;

/// What is to be run, as `task.json` in its own folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// [`TASK_VERSION`].
    pub v: u32,
    /// The command, for `sh -c`.
    pub text: String,
    /// Its arguments (`"$@"`).
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Variables in addition to the environment.
    #[serde(default)]
    pub variables: BTreeMap<String, String>,
    /// A file with the environment, a JSON object: it may contain secrets, so it is not part of
    /// this.
    pub environment: PathBuf,
    /// Its working directory.
    pub cwd: PathBuf,
    /// Its time limit in milliseconds; none if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Whether it runs on the terminal its supervisor was started on.
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
    /// Whether it was ended on request, or its terminal was closed.
    #[serde(default)]
    pub killed: bool,
    /// Why it could not be started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// When it ended.
    pub at: Timestamp,
}

impl TaskResult {
    /// Returns whether it exited by itself, with success.
    pub fn is_success(&self) -> bool {
        self.code == Some(0) && !self.timed_out && !self.killed
    }
}

/// The status of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskStatus {
    /// It was not started.
    NotBegun,
    /// This supervisor runs it.
    Running(ProcessName),
    /// It is over.
    Ended(TaskResult),
    /// Its supervisor is gone and left no result.
    InDoubt,
}

/// Errors of tasks.
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
    /// The content of a file is not known to this version.
    #[error("`{}` cannot be read: {why}", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// No supervisor could be started.
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
    /// The supervisor could not handle signals or take a terminal.
    #[error("{what}: {error}")]
    System {
        /// What was attempted.
        what: &'static str,
        /// The reason.
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

    /// Returns the error for a file that cannot be used.
    fn file(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |error| Self::File { path: path.to_owned(), error }
    }
}

/// Writes a task to a folder that only the current user can access. Idempotent.
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

/// Reads a task.
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

/// Returns the supervisor that has a task, or had it.
pub(crate) fn owner(folder: &Path) -> Result<Option<ProcessName>, TaskError> {
    Ok(claim::owner(folder)?.map(|owner| owner.process))
}

/// Atomically replaces a file that only the current user can read.
fn write_json(path: &Path, value: &impl Serialize) -> Result<(), TaskError> {
    let bytes = serde_json::to_vec(value).map_err(io::Error::from);
    let written = bytes.and_then(|bytes| AtomicFile::new(path).synced(true).replace(&bytes));
    written.map_err(TaskError::file(path))
}
