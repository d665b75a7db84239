//! The artifacts that come with a signal.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{SignalSubmission, ValidSignal};
use crate::definition::{ArtifactDefinition, SchemaChoice, WorkflowDefinition};
use crate::digest::digest;
use crate::refusal::{ArtifactDefect, WorkflowRefusal};
use crate::schemas::{ArtifactKind, validate};
use crate::vocabulary::Mode;

/// A valid artifact.
pub struct ValidArtifact<'all> {
    pub path: String,
    pub kind: Option<ArtifactKind>,
    pub value: &'all Value,
}

impl ValidArtifact<'_> {
    pub fn text(&self, key: &str) -> Option<&str> {
        self.value.get(key).and_then(Value::as_str)
    }
}

/// Returns the digest of each artifact, by its path.
pub fn digests(made: &[ValidArtifact<'_>]) -> BTreeMap<String, String> {
    made.iter().map(|one| (one.path.clone(), digest(one.value))).collect()
}

/// Returns the artifacts of a signal, after validating each.
pub fn artifacts<'all>(
    definition: &WorkflowDefinition,
    signal: &ValidSignal,
    wanted: &[ArtifactDefinition],
    mode: Option<Mode>,
    submission: SignalSubmission<'all>,
) -> Result<Vec<ValidArtifact<'all>>, WorkflowRefusal> {
    let stage = || signal.stage.clone();
    let wanted: Vec<(&ArtifactDefinition, String)> = wanted
        .iter()
        .filter(|artifact| artifact.is_made_in(mode))
        .map(|artifact| (artifact, definition.path(&signal.agent, &artifact.file.text)))
        .collect();
    let mut paths: BTreeSet<&str> = BTreeSet::new();
    for told in &signal.output_artifacts {
        let told = told.strip_prefix("./").unwrap_or(told);
        let known = wanted.iter().find(|(one, path)| path == told || one.file.text == told);
        let (_, path) = known
            .ok_or_else(|| WorkflowRefusal::NoSchema { stage: stage(), path: told.to_owned() })?;
        paths.insert(path);
    }
    let is_missing = |(one, path): &&(&ArtifactDefinition, String)| {
        one.required && signal.is_done() && !paths.contains(path.as_str())
    };
    if let Some((_, path)) = wanted.iter().find(is_missing) {
        return Err(WorkflowRefusal::MissingArtifact { stage: stage(), path: path.clone() });
    }
    let mut made = Vec::new();
    // All faults at once: an agent can then fix everything in one turn.
    let mut wrong = Vec::new();
    for (artifact, path) in wanted.iter().filter(|(_, path)| paths.contains(path.as_str())) {
        let Some(value) = submission.artifacts.get(path) else {
            wrong.push((path.clone(), ArtifactDefect::Absent));
            continue;
        };
        let (kind, faults) = match &artifact.schema {
            SchemaChoice::Kind(kind) => (Some(*kind), validate(*kind, value)),
            SchemaChoice::File(file) => match submission.schemas.get(&file.text) {
                Some(schema) => (None, schema.validate(value)),
                None => {
                    return Err(WorkflowRefusal::NoSchema { stage: stage(), path: path.clone() });
                }
            },
        };
        if !faults.is_empty() {
            wrong.push((path.clone(), ArtifactDefect::Faults(faults)));
        }
        made.push(ValidArtifact { path: path.clone(), kind, value });
    }
    if wrong.is_empty() { Ok(made) } else { Err(WorkflowRefusal::Artifacts(wrong)) }
}
