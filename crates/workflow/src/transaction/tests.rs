//! Tests of transactions on a disk: one per change.

use std::fs;
use std::path::Path;

use anyhook_engine::Places;
use anyhook_engine::journal::Journal;
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::caller::WorkflowCaller;
use crate::testing::method;
use crate::vocabulary::WorkflowStatus;

/// A project whose workflow was started, and its folder.
fn begun() -> (TempDir, Project) {
    let (folder, project) = project();
    let (changed, is_new) = project.begin().unwrap();
    assert!(is_new && changed.not_journaled.is_none());
    (folder, project)
}

fn project() -> (TempDir, Project) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("project");
    fs::create_dir(&root).unwrap();
    let state = folder.path().join("state");
    let caller = WorkflowCaller {
        places: Places {
            managed: folder.path().join("managed"),
            user: None,
            state: Some(state),
            home: None,
            binary: None,
        },
        work_dir: root.clone(),
        agent: None,
        session: None,
        method: method(),
        start_daemon: |_, _| Err(io::ErrorKind::NotFound.into()),
    };
    let project = Project::at(root, caller).unwrap();
    (folder, project)
}

fn write(root: &Path, path: &str, value: &Value) {
    let file = root.join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, value.to_string()).unwrap();
}

fn requirements(project: &Project) -> Value {
    let text = include_str!("../fixtures/pm-output.json");
    let path = "ARTIFACTS/product-manager/product-requirements-packet.json";
    write(&project.root, path, &serde_json::from_str(text).unwrap());
    json!({
        "id": "s1", "agent": "product_manager", "stage": "requirements", "status": "completed",
        "completed_at": "2026-01-02T03:04:05Z", "output_artifacts": [path], "summary": "written",
    })
}

/// Returns the kinds of all journaled events, in order.
fn journaled(project: &Project) -> Vec<EventKind> {
    let state = project.caller.places.state.as_ref().unwrap();
    let mut events = Vec::new();
    let mut take = |record: Record| events.push(record.event);
    Journal::new(state).reader().read_on(&mut take).unwrap();
    events
}

#[test]
fn what_was_not_begun_is_not_begun_by_a_signal() {
    let (_folder, project) = project();
    let error = project.submit(json!({"agent": "product_manager"})).unwrap_err();
    assert!(matches!(error, WorkflowError::NotBegun), "{error}");
    assert!(project.submit_of("product_manager").unwrap().is_none());
    assert!(!project.system().exists());
}

#[test]
fn a_signal_changes_the_state_once_and_ends_the_session_in_the_same_breath() {
    let (_folder, mut project) = begun();
    project.caller.agent = Some("product_manager".to_owned());
    project.caller.session = Some("session-of-run".to_owned());
    let before = journaled(&project).len();
    let signal = requirements(&project);
    let changed = project.submit(signal.clone()).unwrap();
    assert_eq!(project.state().unwrap(), Some(changed.state.clone()));
    assert_eq!(changed.state.signals, ["s1"]);
    let journal = journaled(&project);
    let added = &journal[before..];
    assert_eq!(added.len(), changed.effects.told.len() + 1, "{added:?}");
    let is_of_workflow = |event: &&EventKind| matches!(event, EventKind::Other(name) if name.starts_with("workflow:"));
    assert_eq!(added.iter().filter(is_of_workflow).count() + 1, added.len(), "{added:?}");

    let again = project.submit(signal).unwrap();
    assert!(again.effects.is_unchanged);
    assert_eq!(project.state().unwrap(), Some(changed.state));
    assert_eq!(journaled(&project).len(), journal.len(), "nothing is journaled twice");
}

#[test]
fn what_is_refused_leaves_no_trace() {
    let (_folder, mut project) = begun();
    let (state, journal) = (fs::read(project.state_file()).unwrap(), journaled(&project));
    let mut signal = requirements(&project);
    signal["stage"] = json!("architecture");
    let error = project.submit(signal.clone()).unwrap_err();
    assert!(matches!(error, WorkflowError::Refused(WorkflowRefusal::NotOwner { .. })), "{error}");

    signal["stage"] = json!("requirements");
    project.caller.agent = Some("qa-engineer".to_owned());
    let error = project.submit(signal).unwrap_err();
    assert!(matches!(error, WorkflowError::SpeaksForAnother { .. }), "{error}");

    let error = project.change(|_| Err(WorkflowRefusal::Nobody)).unwrap_err();
    assert!(matches!(error, WorkflowError::Refused(WorkflowRefusal::Nobody)), "{error}");
    assert_eq!(fs::read(project.state_file()).unwrap(), state);
    assert_eq!(journaled(&project), journal);
    assert!(!project.previous_file().exists());
}

#[test]
fn an_agent_whose_turn_it_is_hands_in_what_it_wrote_down() {
    let (_folder, project) = begun();
    assert!(project.submit_of("qa_engineer").unwrap().is_none(), "it is not its turn");
    let error = project.submit_of("product_manager").unwrap_err();
    let WorkflowError::NoSignal { path, why, example } = error else { panic!("{error}") };
    assert_eq!(why, "it does not exist");
    assert!(example.contains("\"agent\":\"product_manager\""), "{example}");

    let signal = requirements(&project);
    write(&project.root, &path, &signal);
    project.check_submission_of("product_manager").unwrap();
    assert_eq!(project.state().unwrap().unwrap().signals, [] as [&str; 0], "it was only looked at");
    let changed = project.submit_of("product_manager").unwrap().unwrap();
    assert_eq!(changed.state.signals, ["s1"]);
}

#[test]
fn a_state_that_cannot_be_read_is_replaced_and_kept() {
    let (_folder, project) = begun();
    fs::write(project.state_file(), "{").unwrap();
    assert!(project.change(|_| Err(WorkflowRefusal::Nobody)).is_err());
    let replaced = project.replace(Replacement::Fresh, "ann", Some("damaged")).unwrap();
    assert_eq!(replaced.changed.state.status, WorkflowStatus::Running);
    let kept = project.root.join(replaced.kept.unwrap());
    assert_eq!(fs::read_to_string(kept).unwrap(), "{");
    let line = replaced.changed.state.history.last().unwrap();
    assert_eq!(line.sentence(), "started over by ann: damaged");
    // The previous file holds the damaged state, which is not a state.
    let error = project.replace(Replacement::Previous, "ann", None).unwrap_err();
    assert!(matches!(error, WorkflowError::File { .. }), "{error}");
}
