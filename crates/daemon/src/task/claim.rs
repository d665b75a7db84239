//! Whose a task is, and how it stands.
//!
//! A claim is written and locked under another name before it gets its own by `link()`, which
//! fails if there is one. So of many keepers one has the task, and whoever sees a claim sees it
//! locked as long as its keeper lives: no way of ending leaves the lock behind.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhook_engine::process_name;
use anyhook_model::ProcessName;
use serde::{Deserialize, Serialize};

use super::{TASK_VERSION, TaskError, TaskResult, TaskStatus};

/// Who has a task.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TaskOwner {
    v: u32,
    /// The keeper.
    pub(crate) process: ProcessName,
    /// What the command and all it starts are known by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) mark: Option<String>,
}

impl TaskOwner {
    /// Says that this process is the keeper. Where the system does not tell when it was started,
    /// the lock has to do.
    pub(super) fn ours(mark: Option<String>) -> Self {
        let pid = std::process::id();
        let process =
            process_name::of(pid).unwrap_or(ProcessName { pid, started: 0, namespace: None });
        Self { v: TASK_VERSION, process, mark }
    }
}

/// A task that is ours to run.
#[derive(Debug)]
pub(super) struct TaskClaim {
    /// Held for its lock; not inherited by what we start.
    _file: File,
}

impl TaskClaim {
    /// Claims the task; none if somebody else has.
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
        // What runs must be known to run, even if the machine stops.
        File::open(folder)?.sync_all()?;
        let (file, _name) = file.into_parts();
        Ok(Some(Self { _file: file }))
    }
}

/// Returns the path of a task's claim.
pub(super) fn path(folder: &Path) -> PathBuf {
    folder.join("claim")
}

/// Tells whether somebody has begun the task.
pub(crate) fn is_there(folder: &Path) -> bool {
    path(folder).exists()
}

/// Returns who has the task.
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

/// Tells how a task stands.
pub fn status(folder: &Path) -> Result<TaskStatus, TaskError> {
    look(folder, File::try_lock_shared)
}

/// Waits until a task's keeper is gone, for whatever reason, and tells how it stands then. Nobody
/// needs to have started it from here.
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
            // The end is written before the lock goes.
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
