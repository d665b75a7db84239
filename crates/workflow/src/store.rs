//! The workflow state file, which is authoritative.
//!
//! A process that changes it holds a lock from reading to writing, so that two concurrent
//! completions lose nothing. It is replaced atomically; the state before the last change is kept
//! next to it, so that it can be restored. A file that cannot be read is refused: nothing is
//! guessed.
//!
//! It is a file of the project and not the daemon's: agents submit from sandboxes that may not
//! reach a socket, and it moves with the artifacts it is about.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhook_engine::failpoints;
use anyhook_engine::file_lock::lock_within;
use anyhook_engine::regular_file::open_regular;
use rustix::fs::OFlags;

use crate::error::{FileError, FileKind, Unreadable, WorkflowError};
use crate::project::{Project, write_whole};
use crate::registry;
use crate::schemas::ArtifactKind;
use crate::state::WorkflowState;

/// The lock is held only for as long as it takes to read some files and to write one.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How often a process that waits for the lock retries.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Every point at which a test may kill the process while a state is written. A test compares it
/// with the calls below.
pub const FAULT_POINTS: &[&str] =
    &["workflow.state.begun", "workflow.state.kept", "workflow.state.written"];

impl Project {
    /// Returns the state file.
    pub fn state_file(&self) -> PathBuf {
        self.system().join(ArtifactKind::STATE.file())
    }

    /// Returns the file of the state before the last change.
    pub fn previous_file(&self) -> PathBuf {
        self.system().join("workflow-state.previous.json")
    }

    /// Reads the state; `None` if the workflow was not started.
    pub fn state(&self) -> Result<Option<WorkflowState>, WorkflowError> {
        self.read_state(&self.state_file(), FileKind::State)
    }

    /// Reads the state before the last change, if there is one.
    pub(crate) fn previous_state(&self) -> Result<Option<WorkflowState>, WorkflowError> {
        self.read_state(&self.previous_file(), FileKind::PreviousState)
    }

    fn read_state(
        &self,
        file: &Path,
        kind: FileKind,
    ) -> Result<Option<WorkflowState>, WorkflowError> {
        let path = file.strip_prefix(&self.root).unwrap_or(file).to_string_lossy().into_owned();
        let value = match self.read_json(&path) {
            Ok(value) => value,
            Err(Unreadable::Absent) => return Ok(None),
            Err(error) => return Err(WorkflowError::file(kind, &path, error)),
        };
        WorkflowState::read(&value)
            .map(Some)
            .map_err(|faults| WorkflowError::file(kind, &path, FileError::Invalid(faults)))
    }

    /// Reads the state of a workflow that was started and follows the rules of its definition.
    pub fn begun(&self) -> Result<WorkflowState, WorkflowError> {
        let state = self.state()?.ok_or(WorkflowError::NotBegun)?;
        self.check_fit(&state)?;
        Ok(state)
    }

    /// Checks that a state follows the rules of the definition.
    pub(crate) fn check_fit(&self, state: &WorkflowState) -> Result<(), WorkflowError> {
        state.fits(&self.definition).map_or(Ok(()), |refusal| Err(refusal.into()))
    }

    /// Locks the state; the lock is held until the file is dropped.
    pub(crate) fn lock(&self) -> Result<File, WorkflowError> {
        let folder = self.system();
        self.make_folder(&folder)?;
        let path = folder.join(".workflow-state.lock");
        // The folder is the project's: anything may be in place of the lock file.
        let file = open_regular(&path, OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE)
            .map_err(|error| WorkflowError::LockUnusable { path: path.clone(), error })?;
        match lock_within(TIMEOUT, LOOK_EVERY, || file.try_lock()) {
            Ok(()) => Ok(file),
            Err(TryLockError::WouldBlock) => Err(WorkflowError::Locked(path)),
            Err(TryLockError::Error(error)) => Err(WorkflowError::At { path, error }),
        }
    }

    /// Writes the state. The caller holds the lock.
    pub(crate) fn write(&self, state: &WorkflowState) -> Result<(), WorkflowError> {
        let file = self.state_file();
        let bytes = serde_json::to_vec_pretty(&state.to_json()).map_err(std::io::Error::from)?;
        failpoints::point("workflow.state.begun");
        self.keep_previous()?;
        failpoints::point("workflow.state.kept");
        write_whole(&file, &bytes).map_err(WorkflowError::at(file))?;
        failpoints::point("workflow.state.written");
        registry::remember(self, state);
        Ok(())
    }

    /// Copies the current state to the file of the previous state. At any time one of the two is
    /// complete.
    fn keep_previous(&self) -> Result<(), WorkflowError> {
        let (file, previous) = (self.state_file(), self.previous_file());
        let Ok(bytes) = fs::read(&file) else { return Ok(()) };
        write_whole(&previous, &bytes).map_err(WorkflowError::at(previous))
    }
}

#[cfg(test)]
mod tests {
    use super::FAULT_POINTS;

    #[test]
    fn every_fault_point_is_passed_once() {
        let source = include_str!("store.rs");
        let calls = source.split("failpoints::point(\"").skip(1);
        let passed: Vec<&str> = calls.filter_map(|rest| rest.split('"').next()).collect();
        assert_eq!(passed, FAULT_POINTS);
    }
}
