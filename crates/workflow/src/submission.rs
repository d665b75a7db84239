//! What an agent hands in: a signal, and the artifacts that it names.

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

/// A signal with all that belongs to it, as it was on the disk.
#[derive(Debug)]
pub(crate) struct LoadedSubmission {
    signal: Value,
    artifacts: Artifacts,
    /// What is there and cannot be read.
    unreadable: BTreeMap<String, Vec<SchemaViolation>>,
    schemas: OwnSchemas,
}

impl LoadedSubmission {
    /// Reads the artifacts that the signal's stage makes, whether or not the signal names them.
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

    /// Says what becomes of a state with it. Nothing is written.
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
            // For the machine, an artifact that cannot be read is absent; what is wrong with it is
            // known here.
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

/// Returns what a stage or a review makes.
fn artifacts_of<'all>(
    definition: &'all WorkflowDefinition,
    name: &str,
) -> &'all [ArtifactDefinition] {
    let stage = definition.stage(name).map(|stage| stage.artifacts.as_slice());
    let review = || definition.review(name).map(|review| review.artifacts.as_slice());
    stage.or_else(review).unwrap_or_default()
}

impl Project {
    /// Returns where an agent's signal is, below the project.
    pub fn signal_path(&self, agent: &str) -> String {
        self.definition.path(agent, ArtifactKind::SIGNAL.file())
    }

    /// Reads an agent's signal, from its folder.
    pub fn read_signal(&self, agent: &str) -> Result<Value, WorkflowError> {
        let path = self.signal_path(agent);
        self.read_json(&path).map_err(|error| WorkflowError::file(FileKind::Other, &path, error))
    }

    /// Says what is wrong with what an agent would hand in now. Nothing is written, and nothing is
    /// wrong if it is not its turn.
    pub fn check_submission_of(&self, agent: &str) -> Result<(), WorkflowError> {
        let Some(state) = self.state()? else { return Ok(()) };
        let Some(signal) = self.signal_of(&state, agent)? else { return Ok(()) };
        LoadedSubmission::read(self, signal)?.complete(&self.definition, &state)?;
        Ok(())
    }

    /// Reads the signal of an agent that is to hand in its work; none if it is not its turn.
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

    /// Looks whether a session that is an agent of the workflow hands in its own work.
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

/// Says why a signal cannot be the one that an agent is to hand in.
fn wrong_signal(signal: &Value, state: &WorkflowState, agent: &str) -> Option<String> {
    let told = signal.get("agent").and_then(Value::as_str).unwrap_or(agent);
    if told != agent {
        return Some(format!("it is for `{told}`"));
    }
    let id = signal.get("id").and_then(Value::as_str).unwrap_or_default();
    let is_known = state.signals.iter().any(|known| known == id);
    is_known.then(|| format!("its id `{id}` belongs to a signal that was handed in before"))
}
