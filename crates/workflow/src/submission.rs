//! What an agent submits: a signal, and the artifacts that it names.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::briefing::Briefing;
use crate::definition::{ArtifactDefinition, WorkflowDefinition};
use crate::error::{FileKind, Unreadable, WorkflowError};
use crate::event::agent_named;
use crate::machine::{self, Artifacts, OwnSchemas, SignalSubmission, WorkflowEffects};
use crate::project::Project;
use crate::refusal::{ArtifactDefect, WorkflowRefusal};
use crate::schemas::{ArtifactKind, SchemaViolation};
use crate::state::WorkflowState;

/// A signal with its artifacts, as read from disk.
#[derive(Debug)]
pub(crate) struct LoadedSubmission {
    signal: Value,
    artifacts: Artifacts,
    /// Artifacts that exist but cannot be read.
    unreadable: BTreeMap<String, Vec<SchemaViolation>>,
    schemas: OwnSchemas,
}

impl LoadedSubmission {
    /// Reads the artifacts of the signal's stage, whether or not the signal names them.
    pub(crate) fn read(project: &Project, signal: Value) -> Result<Self, WorkflowError> {
        let text = |name: &str| signal.get(name).and_then(Value::as_str).unwrap_or_default();
        let made = artifacts_of(&project.definition, text("stage"));
        let mut artifacts = Artifacts::new();
        let mut unreadable = BTreeMap::new();
        for artifact in made {
            let path = project.definition.path(text("agent"), &artifact.file.text);
            match project.read_json(&path) {
                Ok(value) => drop(artifacts.insert(path, value)),
                Err(Unreadable::Absent) => {}
                Err(error) => {
                    unreadable.insert(path, vec![SchemaViolation::new("", error.to_string())]);
                }
            }
        }
        Ok(Self { artifacts, unreadable, schemas: project.own_schemas()?, signal })
    }

    /// Applies it to a state. Nothing is written.
    pub(crate) fn complete(
        &self,
        definition: &WorkflowDefinition,
        state: &WorkflowState,
    ) -> Result<(WorkflowState, WorkflowEffects), WorkflowRefusal> {
        let at = anyhook_engine::now();
        let Self { signal, artifacts, schemas, unreadable } = self;
        let completed = machine::complete(
            definition,
            state,
            SignalSubmission { signal, artifacts, schemas, at },
        );
        completed.map_err(|refusal| match refusal {
            // To the machine, an unreadable artifact is absent; the actual reason is known here.
            WorkflowRefusal::Artifacts(wrong) => {
                let known = |(path, wrong): (String, ArtifactDefect)| {
                    let why = unreadable.get(&path).cloned().map(ArtifactDefect::Faults);
                    (path, why.unwrap_or(wrong))
                };
                WorkflowRefusal::Artifacts(wrong.into_iter().map(known).collect())
            }
            other => other,
        })
    }
}

/// Returns the artifacts of a stage or a review.
fn artifacts_of<'all>(
    definition: &'all WorkflowDefinition,
    name: &str,
) -> &'all [ArtifactDefinition] {
    let stage = definition.stage(name).map(|stage| stage.artifacts.as_slice());
    let review = || definition.review(name).map(|review| review.artifacts.as_slice());
    stage.or_else(review).unwrap_or_default()
}

impl Project {
    /// Returns the path of an agent's signal, relative to the project.
    pub fn signal_path(&self, agent: &str) -> String {
        self.definition.path(agent, ArtifactKind::SIGNAL.file())
    }

    /// Reads an agent's signal, from its folder.
    pub fn read_signal(&self, agent: &str) -> Result<Value, WorkflowError> {
        let path = self.signal_path(agent);
        self.read_json(&path).map_err(|error| WorkflowError::file(FileKind::Other, &path, error))
    }

    /// Checks what an agent would submit now. Nothing is written, and there is no error if it is
    /// not its turn.
    pub fn check_submission_of(&self, agent: &str) -> Result<(), WorkflowError> {
        let Some(state) = self.state()? else { return Ok(()) };
        let Some(signal) = self.signal_of(&state, agent)? else { return Ok(()) };
        LoadedSubmission::read(self, signal)?.complete(&self.definition, &state)?;
        Ok(())
    }

    /// Reads the signal of an agent that should submit its work; `None` if it is not its turn.
    pub(crate) fn signal_of(
        &self,
        state: &WorkflowState,
        agent: &str,
    ) -> Result<Option<Value>, WorkflowError> {
        if !machine::next(&self.definition, state).iter().any(|one| one.agent == agent) {
            return Ok(None);
        }
        let path = self.signal_path(agent);
        let why = match self.read_json(&path) {
            Ok(signal) => match wrong_signal(&signal, state, agent) {
                Some(why) => why,
                None => return Ok(Some(signal)),
            },
            Err(error) => error.to_string(),
        };
        let example = Briefing::read(self, state, agent)?.signal();
        Err(WorkflowError::NoSignal { path, why, example })
    }

    /// Checks that a session that is an agent of the workflow submits its own work.
    pub(crate) fn check_speaker(&self, agent: &str) -> Result<(), WorkflowError> {
        let own = self.caller.agent.as_deref();
        match own.and_then(|name| agent_named(&self.definition, name)) {
            Some(own) if own != agent => {
                Err(WorkflowError::SpeaksForAnother { own, agent: agent.to_owned() })
            }
            _ => Ok(()),
        }
    }
}

/// Returns why a signal cannot be the one that an agent should submit.
fn wrong_signal(signal: &Value, state: &WorkflowState, agent: &str) -> Option<String> {
    let told = signal.get("agent").and_then(Value::as_str).unwrap_or(agent);
    if told != agent {
        return Some(format!("it is for `{told}`"));
    }
    let id = signal.get("id").and_then(Value::as_str).unwrap_or_default();
    let is_known = state.signals.iter().any(|known| known == id);
    is_known.then(|| format!("its id `{id}` belongs to a signal that was handed in before"))
}
