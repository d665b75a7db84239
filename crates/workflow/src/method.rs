//! A method: a workflow that comes ready-made, with the schemas of what its agents make.
//!
//! It is data: a `workflow.toml` and a folder of JSON Schemas, such as those of the pack
//! `delivery-workflow`. A project that has no `workflow.toml` of its own goes by it, and one that has
//! may use its schemas by their names.

use std::path::Path;
use std::sync::OnceLock;
use std::{fs, io};

use serde_json::Value;

use crate::definition::{SchemaChoice, WorkflowDefinition, read};
use crate::schemas::{ArtifactKind, KindRow, OWN_KINDS, SchemaViolation, validate};

/// A workflow that comes ready-made.
#[derive(Debug)]
pub struct Method {
    text: &'static str,
    rows: Vec<KindRow>,
    definition: OnceLock<WorkflowDefinition>,
}

impl Method {
    /// Takes the text of its `workflow.toml`, and the name and text of each of its schemas.
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

    /// Returns the text of its `workflow.toml`, as people get it to change it.
    pub fn text(&self) -> &'static str {
        self.text
    }

    /// Returns its workflow.
    pub fn definition(&'static self) -> &'static WorkflowDefinition {
        self.definition.get_or_init(|| read(self.text, self).definition)
    }

    /// Goes through every kind of artifact that a workflow may name: those of the method, then those
    /// that anyhook itself reads or writes.
    pub fn kinds(&'static self) -> impl Iterator<Item = ArtifactKind> + Clone {
        self.rows.iter().map(ArtifactKind::new).chain(OWN_KINDS.iter().copied())
    }

    /// Finds a kind by its name.
    pub fn kind(&'static self, name: &str) -> Option<ArtifactKind> {
        self.kinds().find(|kind| kind.name() == name)
    }

    /// Finds the kind of a file by the file's name, wherever it is.
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

    /// Returns everything that is wrong with a file of its workflow, known by its name.
    ///
    /// A file that has no schema is at fault: it never passes.
    pub fn validate_file(&'static self, path: &str, value: &Value) -> Vec<SchemaViolation> {
        match self.kind_of_file(path) {
            Some(kind) => validate(kind, value),
            None => vec![SchemaViolation::new("", format!("there is no schema for `{path}`"))],
        }
    }
}
