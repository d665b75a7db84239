//! The workflows that this user has run, over all projects: a small file for each in the state
//! folder, written whenever a workflow's state is.
//!
//! It only says where to look. Where a workflow is, its project's state file says.

use std::fs::{self, DirBuilder};
use std::io::Read;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use anyhook_engine::atomic_file::AtomicFile;
use anyhook_engine::regular_file::open_own;
use anyhook_engine::sha256_hex;
use anyhook_model::StateDir;
use anyhook_model::report::workflow::ListedWorkflow;
use anyhook_workflow::state::State;
use jiff::{SignedDuration, Timestamp};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::project::Project;
use crate::environment::Environment;

/// A project that is gone for so long is forgotten.
const FORGOTTEN: SignedDuration = SignedDuration::from_hours(30 * 24);

/// No entry is so large.
const ENTRY_LIMIT: u64 = 64 * 1024;

/// A workflow, as it was when its state was last written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The project's root.
    pub project: PathBuf,
    /// The workflow's name.
    pub workflow: String,
    /// This run of it.
    pub id: String,
    /// Where it was.
    pub status: String,
    /// In which mode.
    #[serde(default)]
    pub execution_mode: Option<String>,
    /// At which stage.
    #[serde(default)]
    pub stage: Option<String>,
    /// When.
    pub updated_at: Timestamp,
}

/// Returns the folder of the registry.
pub fn folder(environment: &Environment) -> Option<PathBuf> {
    Some(StateDir::new(environment.places.state.as_ref()?).workflows())
}

/// Remembers a workflow whose state was written.
///
/// Nothing depends on it that must not fail: an agent's sandbox may forbid to write there.
pub fn remember(project: &Project, environment: &Environment, state: &State) {
    let Some(folder) = folder(environment) else { return };
    let root = fs::canonicalize(&project.root).unwrap_or_else(|_| project.root.clone());
    let entry = Entry {
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

fn write(folder: &Path, entry: &Entry) -> std::io::Result<()> {
    make(folder)?;
    AtomicFile::new(&file_of(folder, &entry.project)).replace(&serde_json::to_vec(entry)?)
}

/// Makes the folder, for the user alone.
pub fn make(folder: &Path) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn file_of(folder: &Path, project: &Path) -> PathBuf {
    let digest = sha256_hex(project.as_os_str().as_encoded_bytes());
    folder.join(format!("{}.json", digest.get(..16).unwrap_or(&digest)))
}

/// Returns every workflow that is remembered. Files that are not entries are passed over.
pub fn all(environment: &Environment) -> Vec<Entry> {
    let Some(folder) = folder(environment) else { return Vec::new() };
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|file| file.path());
    let files = files.filter(|path| path.extension().is_some_and(|end| end == "json"));
    let entries = files.filter_map(|path| {
        let file = open_own(&path, OFlags::RDONLY).ok()?;
        serde_json::from_reader(file.take(ENTRY_LIMIT)).ok()
    });
    let mut entries: Vec<Entry> = entries.collect();
    entries.sort_by(|one, other| one.project.cmp(&other.project));
    entries
}

/// Returns where every workflow is, the one that changed last first. Projects that have been gone
/// for long are forgotten.
pub fn list(environment: &Environment, now: Timestamp) -> Vec<ListedWorkflow> {
    let mut listed = Vec::new();
    for entry in all(environment) {
        let one = look(&entry, environment);
        if one.status == GONE && now.duration_since(entry.updated_at) > FORGOTTEN {
            if let Some(folder) = folder(environment) {
                let _ = fs::remove_file(file_of(&folder, &entry.project));
            }
            continue;
        }
        listed.push(one);
    }
    listed.sort_by_key(|one| std::cmp::Reverse(one.since));
    listed
}

const GONE: &str = "gone";

fn look(entry: &Entry, environment: &Environment) -> ListedWorkflow {
    let known = ListedWorkflow {
        project: entry.project.display().to_string(),
        workflow: entry.workflow.clone(),
        id: entry.id.clone(),
        status: GONE.to_owned(),
        execution_mode: entry.execution_mode.clone(),
        stage: entry.stage.clone(),
        waiting_for: None,
        since: entry.updated_at,
        problem: None,
    };
    if !entry.project.is_dir() {
        return known;
    }
    let read = Project::at(entry.project.clone(), environment)
        .and_then(|project| Ok(project.state()?.map(|state| (project, state))));
    match read {
        Ok(Some((project, state))) => ListedWorkflow {
            workflow: state.workflow.clone(),
            id: state.id.clone(),
            status: state.status.name().to_owned(),
            execution_mode: state.execution_mode.map(|mode| mode.name().to_owned()),
            stage: state.current_stage.clone(),
            waiting_for: waiting_for(&project, &state),
            since: since(&state),
            ..known
        },
        // The project is there, and the workflow is not.
        Ok(None) => known,
        Err(trouble) => ListedWorkflow {
            status: "unreadable".to_owned(),
            problem: Some(trouble.message().to_owned()),
            ..known
        },
    }
}

/// Says who has to do something.
fn waiting_for(project: &Project, state: &State) -> Option<String> {
    use anyhook_workflow::machine::next;
    use anyhook_workflow::ways::is_stuck;
    use anyhook_workflow::words::{Asks, WorkflowStatus};

    if matches!(state.status, WorkflowStatus::Completed | WorkflowStatus::Aborted) {
        return None;
    }
    let stages = project.definition.stages.iter();
    let of_person = stages.filter_map(|stage| {
        let name = &stage.name.text;
        let now = state.stages.get(name)?;
        match now.asks {
            Some(Asks::Approval) => Some(format!("a person: approve {name}")),
            Some(Asks::Choice) => Some(format!("a person: bugs of {name}")),
            None if is_stuck(now) => Some(format!("a person: {name} is {}", now.status.name())),
            None => None,
        }
    });
    let agents = next(&project.definition, state).into_iter().map(|one| one.agent);
    let all: Vec<String> = of_person.chain(agents).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

/// Returns since when a workflow is as it is: a person is asked since the stage was completed,
/// whatever others have done meanwhile.
fn since(state: &State) -> Timestamp {
    let paused = state.paused_at.as_ref().and_then(|stage| state.stages.get(stage));
    paused.and_then(|stage| stage.completed_at).unwrap_or(state.updated_at)
}
