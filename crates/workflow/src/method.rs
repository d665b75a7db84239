//! Methods: predefined workflows with the schemas of their agents' artifacts.
//!
//! A method is data: a `workflow.toml` and a folder of JSON Schemas, such as those of the pack
//! `delivery-workflow`. A project without a `workflow.toml` of its own uses it, and one that has
//! its own may use its schemas by name.

use std::path::Path;
use std::sync::OnceLock;
use std::{fs, io};

use serde_json::Value;

use crate::definition::{SchemaChoice, WorkflowDefinition, read};
use crate::schemas::{ArtifactKind, KindRow, OWN_KINDS, SchemaViolation, validate};

/// A predefined workflow.
#[derive(Debug)]
pub struct Method {
    text: &'static str,
    rows: Vec<KindRow>,
    definition: OnceLock<WorkflowDefinition>,
}

impl Method {
    /// Makes a method from the text of its `workflow.toml`, and the name and text of each of its
    /// schemas.
    pub fn new(
        text: &'static str,
        schemas: impl IntoIterator<Item = (&'static str, &'static str)>,
    ) -> Self {
        let rows = schemas.into_iter().map(|(name, text)| KindRow { name, text, file: None });
        Self { text, rows: rows.collect(), definition: OnceLock::new() }
    }

    /// Reads it from a folder: `workflow.toml`, and `schemas/NAME.json`. It stays in memory.
    pub fn read_folder(folder: &Path) -> io::Result<Self> {
        let kept = |path: &Path| fs::read_to_string(path).map(|text| &*text.leak());
        let mut files: Vec<_> = fs::read_dir(folder.join("schemas"))?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<io::Result<_>>()?;
        files.retain(|file| file.extension().is_some_and(|end| end == "json"));
        files.sort();
        let mut schemas = Vec::new();
        for file in &files {
            let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            schemas.push((&*name.leak(), kept(file)?));
        }
        Ok(Self::new(kept(&folder.join("workflow.toml"))?, schemas))
    }

    /// Returns the text of its `workflow.toml`, as people get it for editing.
    pub fn text(&self) -> &'static str {
        self.text
    }

    /// Returns its workflow.
    pub fn definition(&'static self) -> &'static WorkflowDefinition {
        self.definition.get_or_init(|| read(self.text, self).definition)
    }

    /// Iterates over every kind of artifact that a workflow may name: those of the method, then
    /// those that anyhook itself reads or writes.
    pub fn kinds(&'static self) -> impl Iterator<Item = ArtifactKind> + Clone {
        self.rows.iter().map(ArtifactKind::new).chain(OWN_KINDS.iter().copied())
    }

    /// Finds a kind by its name.
    pub fn kind(&'static self, name: &str) -> Option<ArtifactKind> {
        self.kinds().find(|kind| kind.name() == name)
    }

    /// Finds the kind of a file by its file name, in any folder.
    pub fn kind_of_file(&'static self, path: &str) -> Option<ArtifactKind> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let own = OWN_KINDS.iter().copied().find(|kind| kind.file() == name);
        own.or_else(|| {
            let definition = self.definition();
            let stages = definition.stages.iter().flat_map(|stage| &stage.artifacts);
            let reviews = definition.reviews.iter().flat_map(|review| &review.artifacts);
            let made = stages.chain(reviews).find(|artifact| artifact.file.text == name)?;
            match made.schema {
                SchemaChoice::Kind(kind) => Some(kind),
                SchemaChoice::File(_) => None,
            }
        })
    }

    /// Returns everything that is wrong with a file of its workflow, whose kind is found by its
    /// name.
    ///
    /// A file without a schema is a violation: it never passes.
    pub fn validate_file(&'static self, path: &str, value: &Value) -> Vec<SchemaViolation> {
        match self.kind_of_file(path) {
            Some(kind) => validate(kind, value),
            None => vec![SchemaViolation::new("", format!("there is no schema for `{path}`"))],
        }
    }
}
