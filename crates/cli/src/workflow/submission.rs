//! What an agent hands in: a signal, and the artifacts that it names.

use std::collections::BTreeMap;

use anyhook_workflow::definition::{ArtifactDefinition, Definition};
use anyhook_workflow::machine::{self, Artifacts, Effects, OwnSchemas, Submission};
use anyhook_workflow::refusal::{Refusal, Wrong};
use anyhook_workflow::schemas::Fault;
use anyhook_workflow::state::State;
use serde_json::Value;

use super::project::{Project, Unreadable};
use crate::environment::Environment;
use crate::error::Trouble;

/// A signal with all that belongs to it, as it was on the disk.
#[derive(Debug)]
pub struct HandedIn {
    signal: Value,
    artifacts: Artifacts,
    /// What is there and cannot be read.
    unreadable: BTreeMap<String, Vec<Fault>>,
    schemas: OwnSchemas,
}

impl HandedIn {
    /// Reads the artifacts that the signal's stage makes, whether or not the signal names them.
    pub fn read(
        project: &Project,
        signal: Value,
        environment: &Environment,
    ) -> Result<Self, Trouble> {
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
                    unreadable.insert(path, vec![Fault::new("", error.to_string())]);
                }
            }
        }
        Ok(Self { artifacts, unreadable, schemas: project.own_schemas(environment)?, signal })
    }

    /// Says what becomes of a state with it. Nothing is written.
    pub fn complete(
        &self,
        definition: &Definition,
        state: &State,
    ) -> Result<(State, Effects), Refusal> {
        let at = anyhook_engine::now();
        let Self { signal, artifacts, schemas, unreadable } = self;
        let completed =
            machine::complete(definition, state, Submission { signal, artifacts, schemas, at });
        completed.map_err(|refusal| match refusal {
            // One that cannot be read is none for the machine; what is wrong with it is known here.
            Refusal::Artifacts(wrong) => {
                let known = |(path, wrong): (String, Wrong)| {
                    let why = unreadable.get(&path).cloned().map(Wrong::Faults);
                    (path, why.unwrap_or(wrong))
                };
                Refusal::Artifacts(wrong.into_iter().map(known).collect())
            }
            other => other,
        })
    }
}

/// Returns what a stage or a review makes.
pub fn artifacts_of<'all>(definition: &'all Definition, name: &str) -> &'all [ArtifactDefinition] {
    let stage = definition.stage(name).map(|stage| stage.artifacts.as_slice());
    let review = || definition.review(name).map(|review| review.artifacts.as_slice());
    stage.or_else(review).unwrap_or_default()
}
