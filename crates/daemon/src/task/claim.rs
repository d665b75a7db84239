//! The claim on a task: which supervisor owns it, and its status.
//!
//! A claim is written and locked under another name before it gets its final one by `link()`, which
//! fails if there is one. So of several supervisors one gets the task, and any process that sees a
//! claim sees it locked as long as its supervisor lives: the lock is released however it ends.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhook_engine::process_name;
use anyhook_model::ProcessName;
use serde::{Deserialize, Serialize};

use super::{TASK_VERSION, TaskError, TaskResult, TaskStatus};

/// The owner of a task.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TaskOwner {
    v: u32,
    /// The supervisor.
    pub(crate) process: ProcessName,
    /// The mark of the command and all processes it starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) mark: Option<String>,
}

impl TaskOwner {
    /// Returns this process as the owner. If the system does not report when it was started, only
    /// the lock identifies it.
    pub(super) fn ours(mark: Option<String>) -> Self {
        let pid = std::process::id();
        let process =
            process_name::of(pid).unwrap_or(ProcessName { pid, started: 0, namespace: None });
        Self { v: TASK_VERSION, process, mark }
    }
}

/// A task that this process has to run.
#[derive(Debug)]
pub(super) struct TaskClaim {
    /// Held for its lock; not inherited by child processes.
    _file: File,
}

impl TaskClaim {
    /// Claims the task; `None` if another process has.
    pub(super) fn make(folder: &Path, owner: &TaskOwner) -> io::Result<Option<Self>> {
        let mut file = tempfile::Builder::new().prefix(".claim").tempfile_in(folder)?;
        file.as_file().lock()?;
        serde_json::to_writer(&mut file, owner)?;
        file.flush()?;
        file.as_file().sync_all()?;
        match fs::hard_link(file.path(), path(folder)) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
            Err(error) => return Err(error),
        }
        // A task that is running must be known as such, even after a power loss.
        File::open(folder)?.sync_all()?;
        let (file, _name) = file.into_parts();
        Ok(Some(Self { _file: file }))
    }
}

/// Returns the path of a task's claim.
pub(super) fn path(folder: &Path) -> PathBuf {
    folder.join("claim")
}

/// Returns whether the task has been started.
pub(crate) fn is_there(folder: &Path) -> bool {
    path(folder).exists()
}

/// Returns the owner of the task.
pub(crate) fn owner(folder: &Path) -> Result<Option<TaskOwner>, TaskError> {
    let path = path(folder);
    match fs::read(&path) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|error| TaskError::Foreign { path, why: error.to_string() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(TaskError::File { path, error }),
    }
}

/// Returns the status of a task.
pub fn status(folder: &Path) -> Result<TaskStatus, TaskError> {
    look(folder, File::try_lock_shared)
}

/// Waits until a task's supervisor is gone, for whatever reason, and returns its status then. It
/// need not have been started by this process.
pub fn wait(folder: &Path) -> Result<TaskStatus, TaskError> {
    look(folder, |file| file.lock_shared().map_err(TryLockError::Error))
}

fn look(
    folder: &Path,
    lock: impl Fn(&File) -> Result<(), TryLockError>,
) -> Result<TaskStatus, TaskError> {
    let path = path(folder);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(TaskStatus::NotBegun),
        Err(error) => return Err(TaskError::File { path, error }),
    };
    loop {
        match lock(&file) {
            // The result is written before the lock is released.
            Ok(()) => return Ok(ended(folder)?.map_or(TaskStatus::InDoubt, TaskStatus::Ended)),
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(TryLockError::WouldBlock) => {
                let owner = owner(folder)?;
                return Ok(
                    owner.map_or(TaskStatus::NotBegun, |owner| TaskStatus::Running(owner.process))
                );
            }
            Err(TryLockError::Error(error)) => return Err(TaskError::File { path, error }),
        }
    }
}

fn ended(folder: &Path) -> Result<Option<TaskResult>, TaskError> {
    let path = folder.join("ended");
    match fs::read(&path) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|error| TaskError::Foreign { path, why: error.to_string() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(TaskError::File { path, error }),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    fn nobody() -> TaskOwner {
        TaskOwner::ours(None)
    }

    #[test]
    fn of_many_one_has_it_and_nobody_sees_it_unlocked() {
        let folder = tempfile::tempdir().unwrap();
        let start = Barrier::new(17);
        let (won, seen) = std::thread::scope(|scope| {
            let claims: Vec<_> = (0..16)
                .map(|_| {
                    scope.spawn(|| {
                        start.wait();
                        TaskClaim::make(folder.path(), &nobody()).unwrap()
                    })
                })
                .collect();
            let watcher = scope.spawn(|| {
                start.wait();
                std::iter::repeat_with(|| status(folder.path()).unwrap())
                    .find(|status| *status != TaskStatus::NotBegun)
            });
            let won: Vec<_> =
                claims.into_iter().filter_map(|thread| thread.join().unwrap()).collect();
            (won, watcher.join().unwrap().unwrap())
        });
        assert_eq!(won.len(), 1);
        assert_eq!(seen, TaskStatus::Running(nobody().process));
        drop(won);
        assert_eq!(status(folder.path()).unwrap(), TaskStatus::InDoubt);
        assert_eq!(wait(folder.path()).unwrap(), TaskStatus::InDoubt);
        assert!(TaskClaim::make(folder.path(), &nobody()).unwrap().is_none(), "not even then");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(status(&folder.path().join("nowhere")).unwrap(), TaskStatus::NotBegun);
        drop(TaskClaim::make(folder.path(), &nobody()).unwrap());
        fs::write(folder.path().join("ended"), "{\"v\":").unwrap();
        let error = status(folder.path()).unwrap_err();
        assert!(error.to_string().contains("ended` cannot be read"), "{error}");
    }
}
