//! Artifacts that are others than when their stage was completed.

use crate::state::StageState;

use super::error::Unreadable;
use super::project::Project;

/// Tells whether a stage's artifact is there, and another than when it was completed.
pub fn has_changed(project: &Project, stage: &StageState, path: &str) -> bool {
    match project.read_json(path) {
        Ok(value) => stage.has_changed(path, &value),
        Err(Unreadable::Absent) => false,
        // It could be read then.
        Err(_) => stage.artifact_digests.contains_key(path),
    }
}
