//! Detects artifacts that have changed since their stage was completed.

use crate::state::StageState;

use super::error::Unreadable;
use super::project::Project;

/// Returns whether a stage's artifact exists, and has changed since the stage was completed.
pub fn has_changed(project: &Project, stage: &StageState, path: &str) -> bool {
    match project.read_json(path) {
        Ok(value) => stage.has_changed(path, &value),
        Err(Unreadable::Absent) => false,
        // It could be read at that time.
        Err(_) => stage.artifact_digests.contains_key(path),
    }
}
