//! Registry of the workflows that this user has run, over all projects: a small file for each in
//! the state folder, written whenever a workflow's state is.
//!
//! It only says where to look. The status of a workflow is in its project's state file.

use std::fs::{self, DirBuilder};
use std::io::Read;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use anyhook_engine::atomic_file::AtomicFile;
use anyhook_engine::regular_file::open_own;
use anyhook_engine::sha256_hex;
use anyhook_model::StateDir;
use jiff::{SignedDuration, Timestamp};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use crate::caller::WorkflowCaller;
use crate::error::WorkflowError;
use crate::project::Project;
use crate::state::WorkflowState;

/// A project that has been gone for this long is forgotten.
const FORGOTTEN: SignedDuration = SignedDuration::from_hours(30 * 24);

/// Maximum size of an entry.
const ENTRY_LIMIT: u64 = 64 * 1024;

/// A workflow, as it was when its state was last written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegistryEntry {
    /// The project's root.
    pub project: PathBuf,
    /// The workflow's name.
    pub workflow: String,
    /// The id of this run.
    pub id: String,
    /// Its status.
    pub status: String,
    /// Its mode.
    #[serde(default)]
    pub execution_mode: Option<String>,
    /// Its current stage.
    #[serde(default)]
    pub stage: Option<String>,
    /// When it happened.
    pub updated_at: Timestamp,
}

/// Returns the folder of the registry.
pub(crate) fn folder(caller: &WorkflowCaller) -> Option<PathBuf> {
    Some(StateDir::new(caller.places.state.as_ref()?).workflows())
}

/// Records a workflow whose state was written.
///
/// Errors are ignored, and nothing critical depends on it: an agent's sandbox may forbid writing
/// there.
pub(crate) fn remember(project: &Project, state: &WorkflowState) {
    let Some(folder) = folder(&project.caller) else { return };
    let root = fs::canonicalize(&project.root).unwrap_or_else(|_| project.root.clone());
    let entry = RegistryEntry {
        workflow: state.workflow.clone(),
        id: state.id.clone(),
        status: state.status.name().to_owned(),
        execution_mode: state.execution_mode.map(|mode| mode.name().to_owned()),
        stage: state.current_stage.clone(),
        updated_at: state.updated_at,
        project: root,
    };
    let _ = write(&folder, &entry);
}

fn write(folder: &Path, entry: &RegistryEntry) -> std::io::Result<()> {
    make(folder)?;
    AtomicFile::new(&file_of(folder, &entry.project)).replace(&serde_json::to_vec(entry)?)
}

/// Creates the folder, accessible only to the user.
pub(crate) fn make(folder: &Path) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn file_of(folder: &Path, project: &Path) -> PathBuf {
    let digest = sha256_hex(project.as_os_str().as_encoded_bytes());
    folder.join(format!("{}.json", digest.get(..16).unwrap_or(&digest)))
}

/// Returns every recorded workflow. Files that are not entries are skipped.
pub fn all(caller: &WorkflowCaller) -> Vec<RegistryEntry> {
    let Some(folder) = folder(caller) else { return Vec::new() };
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|file| file.path());
    let files = files.filter(|path| path.extension().is_some_and(|end| end == "json"));
    let entries = files.filter_map(|path| {
        let file = open_own(&path, OFlags::RDONLY).ok()?;
        serde_json::from_reader(file.take(ENTRY_LIMIT)).ok()
    });
    let mut entries: Vec<RegistryEntry> = entries.collect();
    entries.sort_by(|one, other| one.project.cmp(&other.project));
    entries
}

/// A recorded workflow, as it is now.
#[derive(Debug)]
pub struct ListedEntry {
    /// As it was when its state was last written.
    pub entry: RegistryEntry,
    /// Its current status.
    pub now: EntryStatus,
}

/// The current status of a recorded workflow.
#[derive(Debug)]
pub enum EntryStatus {
    /// Its project, and its state.
    There(Box<(Project, WorkflowState)>),
    /// The project does not exist, or has no workflow any more.
    Gone,
    /// It cannot be read.
    Unreadable(WorkflowError),
}

/// Returns every workflow, as it is now. Projects that have been gone for long are forgotten.
pub fn list(caller: &WorkflowCaller, now: Timestamp) -> Vec<ListedEntry> {
    let mut listed = Vec::new();
    for entry in all(caller) {
        let found = look(&entry, caller);
        if matches!(found, EntryStatus::Gone) && now.duration_since(entry.updated_at) > FORGOTTEN {
            if let Some(folder) = folder(caller) {
                let _ = fs::remove_file(file_of(&folder, &entry.project));
            }
            continue;
        }
        listed.push(ListedEntry { entry, now: found });
    }
    listed
}

fn look(entry: &RegistryEntry, caller: &WorkflowCaller) -> EntryStatus {
    if !entry.project.is_dir() {
        return EntryStatus::Gone;
    }
    let read = Project::at(entry.project.clone(), caller.clone())
        .and_then(|project| Ok(project.state()?.map(|state| (project, state))));
    match read {
        Ok(found) => found.map_or(EntryStatus::Gone, |found| EntryStatus::There(Box::new(found))),
        Err(error) => EntryStatus::Unreadable(error),
    }
}
