//! The folders of pipelines: their environment, and a folder for every job.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhook_engine::atomic_file::{AtomicFile, create_private_dir};
use anyhook_flow::JobId;
use anyhook_model::{RecordId, StateDir};

/// The folders of all pipelines.
#[derive(Clone, Debug)]
pub struct PipelineFolders {
    path: PathBuf,
}

impl PipelineFolders {
    /// Names them inside a state folder. Does not create anything.
    pub fn in_state_dir(state: &Path) -> Self {
        Self { path: StateDir::new(state).pipelines() }
    }

    /// Returns a pipeline's folder.
    pub fn of(&self, pipeline: &RecordId) -> PathBuf {
        self.path.join(pipeline.as_str())
    }

    /// Returns the folder of a job.
    pub fn job(&self, job: &JobId) -> PathBuf {
        self.of(&job.pipeline).join("jobs").join(job.number.to_string())
    }

    /// Returns the file with the environment of a pipeline's commands.
    pub fn environment(&self, pipeline: &RecordId) -> PathBuf {
        self.of(pipeline).join("environment.json")
    }

    /// Writes the environment, readable only by the current user: it may contain secrets. So it is
    /// not part of the plan: the store keeps its entries for a long time.
    pub fn write_environment(
        &self,
        pipeline: &RecordId,
        environment: &BTreeMap<String, String>,
    ) -> io::Result<()> {
        let folder = self.of(pipeline);
        let bytes = serde_json::to_vec(environment)?;
        let file = self.environment(pipeline);
        AtomicFile::new(&file).synced(true).replace_in(&bytes, || create_private_dir(&folder))
    }

    /// Deletes the environment of a pipeline that is over.
    pub fn forget_environment(&self, pipeline: &RecordId) {
        // It is fine if it is already gone.
        let _ = fs::remove_file(self.environment(pipeline));
    }

    /// Removes the folders of pipelines that are no longer known.
    pub fn forget(&self, is_known: impl Fn(&RecordId) -> bool) {
        for entry in fs::read_dir(&self.path).into_iter().flatten().flatten() {
            let id = RecordId::from_text(entry.file_name().to_string_lossy());
            if !is_known(&id)
                && let Err(error) = fs::remove_dir_all(entry.path())
            {
                tracing::warn!("cannot remove the folder of pipeline {id}: {error}");
            }
        }
    }
}
