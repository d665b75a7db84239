//! The gate watcher: asks people at the gates of all workflows, as a separate process next to the
//! daemon.
//!
//! `workflow run --wait` asks by itself. At a gate that subagents reach, no process waits: their
//! hook's process ends at once. So the daemon starts this one when a workflow has changed, and when
//! the daemon itself starts. It holds every question open, writes answers into the states, and ends
//! when there is nothing left to ask or the daemon is gone. There is at most one for each user.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use anyhook_engine::file_lock::lock_within;
use anyhook_engine::regular_file::open_own;
use anyhook_socket::DaemonFolder;
use jiff::SignedDuration;
use rustix::fs::OFlags;

use crate::caller::WorkflowCaller;
use crate::gate_request::StageGate;
use crate::opinion::{WITHIN, opinion_since};
use crate::project::{Project, definition_file};
use crate::question::OpenQuestion;
use crate::registry;
use crate::state::WorkflowState;

/// How often states are checked.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// A watcher that is about to end releases the lock within this time; one that continues has seen
/// every change by then.
const TURN: Duration = Duration::from_secs(3);

/// Ensures that a daemon is running, which starts the watcher. Never waits and never fails: without
/// a daemon run `anyhook workflow status` to see what is pending.
pub fn announce(caller: &WorkflowCaller) {
    let Some(state) = caller.places.state.as_deref() else { return };
    let folder = DaemonFolder::in_state_dir(state);
    // A person stopped it: `workflow status` shows the questions.
    if folder.is_stopped() {
        return;
    }
    if UnixStream::connect(folder.socket()).is_ok() || folder.make().is_err() {
        return;
    }
    // A surplus daemon ends by itself: the store belongs to a single daemon.
    let _ = (caller.start_daemon)(caller.places.binary.as_deref(), &folder);
}

/// Runs the watcher process.
pub fn run(caller: &WorkflowCaller) {
    // The daemon's end must not interrupt applying an answer.
    let _ = rustix::process::setsid();
    let Some(_turn) = registry::folder(caller).and_then(|folder| take_turn(&folder)) else {
        return;
    };
    let mut watched = WatchedWorkflows::default();
    let mut questions: BTreeMap<(PathBuf, String), OpenQuestion> = BTreeMap::new();
    loop {
        watched.look(caller);
        questions.retain(|(root, _), asked| {
            watched.projects.get(root).is_some_and(|(_, project, state)| {
                asked.gate.is_still_asked(&project.definition, state)
            })
        });
        let mut is_asked = false;
        for (root, (_, project, state)) in &watched.projects {
            let asked = state.stages.iter().filter(|(_, stage)| stage.asks.is_some());
            for (name, _) in asked {
                is_asked = true;
                let key = (root.clone(), name.clone());
                match questions.get(&key).map(OpenQuestion::answer) {
                    Some(Ok(Some(resolution))) => {
                        // An answer that cannot be applied stays answered: the question is not
                        // asked again.
                        let _ = questions[&key].gate.apply(project, &resolution);
                    }
                    Some(Ok(None)) => {}
                    // The daemon is gone. The next one starts another watcher.
                    Some(Err(_)) => return,
                    None if awaits_opinion(project, state, name) => {}
                    None => {
                        let gate = StageGate::of(project, state, name);
                        let asked = gate.and_then(|gate| OpenQuestion::hold(&gate, caller).ok());
                        questions.extend(asked.map(|asked| (key, asked)));
                    }
                }
            }
        }
        if !is_asked {
            return;
        }
        thread::sleep(LOOK_EVERY);
    }
}

fn take_turn(folder: &Path) -> Option<File> {
    registry::make(folder).ok()?;
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE;
    let file = open_own(&folder.join(".asking.lock"), flags).ok()?;
    lock_within(TURN, Duration::from_millis(50), || file.try_lock()).ok()?;
    Some(file)
}

/// Returns whether a second opinion on a stage is still pending: people decide after they know it.
fn awaits_opinion(project: &Project, state: &WorkflowState, name: &str) -> bool {
    let Some(stage) = state.stages.get(name) else { return false };
    let Some(completed) = stage.completed_at else { return false };
    let is_wanted =
        project.definition.wants_second_opinion(name, state.execution_mode, state.risk());
    let limit = SignedDuration::try_from(WITHIN).unwrap_or(SignedDuration::ZERO);
    let is_fresh = anyhook_engine::now().duration_since(completed) < limit;
    is_wanted && is_fresh && opinion_since(project, stage).is_none()
}

/// When the files that define a workflow's course were last changed.
type Stamp = [Option<(SystemTime, u64)>; 2];

/// The recorded workflows, as far as they can be read.
#[derive(Default)]
struct WatchedWorkflows {
    projects: BTreeMap<PathBuf, (Stamp, Project, WorkflowState)>,
}

impl WatchedWorkflows {
    /// Reads what has changed since the last call.
    fn look(&mut self, caller: &WorkflowCaller) {
        let mut now = BTreeMap::new();
        for entry in registry::all(caller) {
            let root = entry.project;
            if let Some((stamp, project, state)) = self.projects.remove(&root)
                && stamp == stamp_of(&project)
            {
                now.insert(root, (stamp, project, state));
                continue;
            }
            let Ok(project) = Project::at(root.clone(), caller.clone()) else { continue };
            // Before reading: a change in the meantime is seen by the next call.
            let stamp = stamp_of(&project);
            if let Ok(state) = project.begun() {
                now.insert(root, (stamp, project, state));
            }
        }
        self.projects = now;
    }
}

fn stamp_of(project: &Project) -> Stamp {
    [project.state_file(), definition_file(&project.root)].map(|file| {
        let about = file.metadata().ok()?;
        Some((about.modified().ok()?, std::os::unix::fs::MetadataExt::ino(&about)))
    })
}
