//! Validates the files of a workflow, each against its schema.

use std::collections::BTreeSet;

use crate::definition::{ArtifactDefinition, SchemaChoice};
use crate::error::WorkflowError;
use crate::project::{CONFIG, Project};
use crate::schemas::{ArtifactKind, SchemaViolation, validate};

/// The result of validating a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Validated {
    /// Its schema; `None` if there is none.
    pub schema: Option<String>,
    /// What is wrong with it.
    pub faults: Vec<SchemaViolation>,
}

impl Project {
    /// Returns the paths of all existing files of the workflow, relative to the project.
    pub fn artifact_paths(&self) -> Vec<String> {
        let definition = &self.definition;
        let stages = definition.stages.iter().map(|stage| (&stage.agent.text, &stage.artifacts));
        let reviews =
            definition.reviews.iter().map(|review| (&review.agent.text, &review.artifacts));
        let mut paths = vec![CONFIG.to_owned()];
        for (agent, artifacts) in stages.chain(reviews) {
            let made = artifacts.iter().map(|artifact| definition.path(agent, &artifact.file.text));
            paths.extend(made);
            paths.push(self.signal_path(agent));
        }
        for kind in
            [ArtifactKind::STATE, ArtifactKind::CONTEXT_REFRESH, ArtifactKind::SECOND_OPINION]
        {
            paths.push(self.system_path(kind.file()));
        }
        paths.retain(|path| self.root.join(path).symlink_metadata().is_ok());
        // Several stages may have the same agent.
        let mut seen = BTreeSet::new();
        paths.retain(|path| seen.insert(path.clone()));
        paths
    }

    /// Validates a file against the schema that the workflow defines for it, or that its name
    /// implies.
    pub fn validate_file(&self, path: &str) -> Result<Validated, WorkflowError> {
        let choice = self.schema_choice(path);
        let faults = match (self.read_json(path), &choice) {
            (Err(error), _) => vec![SchemaViolation::new("", error.to_string())],
            (Ok(value), Some(SchemaChoice::Kind(kind))) => validate(*kind, &value),
            (Ok(value), Some(SchemaChoice::File(file))) => {
                let schemas = self.own_schemas()?;
                schemas.get(&file.text).map(|schema| schema.validate(&value)).unwrap_or_default()
            }
            // What cannot be checked does not pass.
            (Ok(_), None) => {
                vec![SchemaViolation::new("", format!("there is no schema for `{path}`"))]
            }
        };
        let schema = choice.map(|choice| match choice {
            SchemaChoice::Kind(kind) => kind.to_string(),
            SchemaChoice::File(file) => file.text,
        });
        Ok(Validated { schema, faults })
    }

    fn schema_choice(&self, path: &str) -> Option<SchemaChoice> {
        let definition = &self.definition;
        let of = |agent: &str, artifacts: &[ArtifactDefinition]| {
            let is = |one: &&ArtifactDefinition| definition.path(agent, &one.file.text) == path;
            artifacts.iter().find(is).map(|artifact| artifact.schema.clone())
        };
        let stage = definition.stages.iter().find_map(|one| of(&one.agent.text, &one.artifacts));
        let review =
            || definition.reviews.iter().find_map(|one| of(&one.agent.text, &one.artifacts));
        let known = || self.caller.method.kind_of_file(path).map(SchemaChoice::Kind);
        stage.or_else(review).or_else(known)
    }
}
