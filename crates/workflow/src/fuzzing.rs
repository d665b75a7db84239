//! Fuzz targets of workflows: any definition file, and any signals of agents.

#![expect(clippy::similar_names, reason = "a state has stages")]

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::Value;

use crate::context::context;
use crate::definition::read;
use crate::graph::{mermaid, svg};
use crate::machine::{
    Artifacts, NewWorkflow, OwnSchemas, PersonDecision, SignalSubmission, WorkflowEffects, approve,
    choose, complete, late, lost, next, reject, retry, rollback, start, time_limit,
};
use crate::method::Method;
use crate::refusal::WorkflowRefusal;
use crate::state::WorkflowState;
use crate::vocabulary::{Decision, StageStatus};
use anyhook_flow::fuzzing::places_are_in;

/// Reads bytes as a `workflow.toml`; a usable one is started and drawn.
pub fn workflow_file(data: &[u8], method: &'static Method) {
    let text = String::from_utf8_lossy(data);
    let reading = read(&text, method);
    places_are_in(&text, &reading.findings);
    let definition = &reading.definition;
    if !reading.is_usable() {
        svg(definition, None);
        mermaid(definition, None);
        return;
    }
    let (state, _) = start(definition, NewWorkflow::default(), Timestamp::UNIX_EPOCH);
    assert_eq!(state.fits(definition), None);
    assert_eq!(
        WorkflowState::read(&with_id(&state)).map(|read| read.stages),
        Ok(state.stages.clone())
    );
    for one in next(definition, &state) {
        let given = context(definition, &state, &one.agent);
        assert!(
            given.is_ok_and(|given| !given.outputs.is_empty() || state.execution_mode.is_none())
        );
    }
    assert!(svg(definition, Some(&state)).ends_with("</svg>\n"));
    mermaid(definition, Some(&state));
}

/// Returns a state as it is stored; it must have an id, which the caller that starts it assigns.
fn with_id(state: &WorkflowState) -> Value {
    WorkflowState { id: "w".to_owned(), ..state.clone() }.to_json()
}

/// An action: a line of the input.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum FuzzAction {
    /// An agent's signal, with files.
    Signal(Value, Artifacts),
    Approve(String),
    Reject(String),
    Fix(String),
    DeployAnyway(String),
    Retry(String),
    Rollback(String),
    /// The first working agent ends.
    Ends(String),
    /// Minutes pass.
    Waits(u16),
}

/// Reads bytes as lines with actions on a workflow, one after the other.
pub fn workflow_signal(data: &[u8], method: &'static Method) {
    walk(data, method);
}

fn walk(data: &[u8], method: &'static Method) -> WorkflowState {
    let definition = method.definition();
    let first = NewWorkflow { id: "w".to_owned(), ..NewWorkflow::default() };
    let mut at = Timestamp::UNIX_EPOCH;
    let (mut state, _) = start(definition, first, at);
    for line in String::from_utf8_lossy(data).lines() {
        let Ok(said) = serde_json::from_str(line) else { continue };
        at += SignedDuration::from_secs(1);
        let choice = PersonDecision { by: "kim", note: None, at };
        let after = match said {
            FuzzAction::Signal(signal, artifacts) => {
                for (path, value) in &artifacts {
                    // Every fault has a location in the value.
                    for fault in method.validate_file(path, value) {
                        let parent =
                            fault.pointer.rsplit_once('/').map_or("", |(parent, _)| parent);
                        assert!(value.pointer(parent).is_some(), "{fault} {value}");
                    }
                }
                let schemas = OwnSchemas::new();
                let submission = SignalSubmission {
                    signal: &signal,
                    artifacts: &artifacts,
                    schemas: &schemas,
                    at,
                };
                complete(definition, &state, submission)
            }
            FuzzAction::Approve(stage) => approve(definition, &state, &stage, choice),
            FuzzAction::Reject(stage) => reject(definition, &state, &stage, choice),
            FuzzAction::Fix(stage) => choose(definition, &state, &stage, Decision::Fix, choice),
            FuzzAction::DeployAnyway(stage) => {
                choose(definition, &state, &stage, Decision::DeployAnyway, choice)
            }
            FuzzAction::Retry(stage) => retry(definition, &state, &stage, choice),
            FuzzAction::Rollback(stage) => rollback(definition, &state, &stage, choice),
            FuzzAction::Ends(reason) => match next(definition, &state).first() {
                Some(one) => lost(definition, &state, one, &reason, at),
                None => continue,
            },
            FuzzAction::Waits(minutes) => {
                let waited = SignedDuration::from_mins(i64::from(minutes));
                at += waited;
                let mut all = next(definition, &state);
                all.retain(|one| time_limit(definition, one).is_some_and(|limit| limit <= waited));
                late(definition, &state, &all, at)
            }
        };
        state = taken(&state, after);
    }
    state
}

/// Checks that the result is a state that can be stored and read.
fn taken(
    before: &WorkflowState,
    after: Result<(WorkflowState, WorkflowEffects), WorkflowRefusal>,
) -> WorkflowState {
    match after {
        Ok((state, effects)) => {
            let is_same = state == *before;
            assert_eq!(is_same, effects.is_unchanged);
            assert_eq!(state.revision, before.revision + u64::from(!is_same));
            assert_eq!(WorkflowState::read(&state.to_json()).as_ref(), Ok(&state));
            for stage in state.stages.values() {
                assert!(!stage.is_completed() || !stage.output_artifacts.is_empty());
                assert!(stage.status != StageStatus::InProgress || stage.attempts > 0);
            }
            state
        }
        Err(refusal) => {
            assert!(!refusal.to_string().is_empty() && !refusal.hint().is_empty());
            before.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::method;
    use crate::vocabulary::WorkflowStatus;

    fn seeds(target: &str) -> Vec<(String, Vec<u8>)> {
        let folder = format!("{}/../../fuzz/seeds/{target}", env!("CARGO_MANIFEST_DIR"));
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        files
            .map(|file| {
                (
                    file.file_name().unwrap().to_str().unwrap().to_owned(),
                    std::fs::read(file).unwrap(),
                )
            })
            .collect()
    }

    #[test]
    fn the_seeds_pass() {
        let files = seeds("workflow_file");
        assert!(files.len() >= 3);
        for (_, seed) in files {
            workflow_file(&seed, method());
        }
        assert!(!seeds("workflow_signal").is_empty());
    }

    #[test]
    fn the_seeds_go_as_far_as_they_should() {
        for (name, seed) in seeds("workflow_signal") {
            let state = walk(&seed, method());
            let expected = match name.as_str() {
                "whole.jsonl" => WorkflowStatus::Completed,
                "bugs.jsonl" => WorkflowStatus::Running,
                _ => WorkflowStatus::Blocked,
            };
            assert_eq!(state.status, expected, "{name}");
        }
    }
}
