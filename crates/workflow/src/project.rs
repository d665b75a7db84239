//! A project that has a workflow: its definition, and the files below its root.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhook_engine::atomic_file::AtomicFile;
use anyhook_engine::places::PROJECT_LEVEL;
use anyhook_flow::runbook::SpannedName;
use serde::Serialize;
use serde_json::Value;

use crate::caller::WorkflowCaller;
use crate::definition::{self, ParsedDefinition, SchemaChoice, WorkflowDefinition};
use crate::error::{FileError, FileKind, Unreadable, UnusableDefinition, WorkflowError};
use crate::machine::OwnSchemas;
use crate::method::Method;
use crate::schemas::{ArtifactKind, ArtifactSchema, validate};

/// The file in the project's configuration folder that defines its workflow.
pub const FILE: &str = "workflow.toml";
/// The file in the project's root that every agent is given.
pub const CONFIG: &str = "project-config.json";
/// The folder for files that anyhook itself writes, among the artifacts.
const SYSTEM: &str = "system";
/// Maximum size of a definition: people write none that is larger.
const DEFINITION_LIMIT: u64 = 256 * 1024;
/// Maximum size of an artifact: an agent cannot be given a larger one.
const ARTIFACT_LIMIT: u64 = 4 * 1024 * 1024;

/// A project and its workflow.
#[derive(Clone, Debug)]
pub struct Project {
    /// The project's root.
    pub root: PathBuf,
    /// The definition of its workflow.
    pub definition: WorkflowDefinition,
    /// The file of the definition; `None` if it is the one that comes with anyhook.
    pub file: Option<PathBuf>,
    /// Its text, as it was read.
    pub text: Option<String>,
    /// The process that works on it.
    pub caller: WorkflowCaller,
}

/// The text of a definition, and its parsed form.
#[derive(Debug)]
pub struct DefinitionText {
    /// The file.
    pub file: PathBuf,
    /// Its text.
    pub text: String,
    /// The parsed definition.
    pub reading: ParsedDefinition,
}

impl DefinitionText {
    /// Reads a definition, which may name the schemas of a method.
    pub fn read(file: &Path, method: &'static Method) -> Result<Self, WorkflowError> {
        let text = read_text(file, DEFINITION_LIMIT).map_err(|error| {
            WorkflowError::DefinitionUnreadable { file: file.to_owned(), error }
        })?;
        Ok(Self { file: file.to_owned(), reading: definition::read(&text, method), text })
    }

    /// Returns the project with this definition, whether or not it is usable.
    pub fn project(&self, root: PathBuf, caller: WorkflowCaller) -> Project {
        Project {
            root,
            definition: self.reading.definition.clone(),
            file: Some(self.file.clone()),
            text: Some(self.text.clone()),
            caller,
        }
    }
}

/// Returns the path of a project's definition, whether or not it exists.
pub fn definition_file(root: &Path) -> PathBuf {
    root.join(PROJECT_LEVEL).join(FILE)
}

impl Project {
    /// Reads the project in a folder, with its own workflow, or the one that comes with anyhook.
    pub fn at(root: PathBuf, caller: WorkflowCaller) -> Result<Self, WorkflowError> {
        let file = definition_file(&root);
        if file.symlink_metadata().is_err() {
            let definition = caller.method.definition().clone();
            return Ok(Self { root, definition, file: None, text: None, caller });
        }
        let written = DefinitionText::read(&file, caller.method)?;
        if written.reading.is_usable() {
            return Ok(written.project(root, caller));
        }
        let DefinitionText { file, text, reading } = written;
        let unusable = UnusableDefinition { file, text, findings: reading.findings };
        Err(WorkflowError::Definition(Box::new(unusable)))
    }

    /// Returns the folder for files that anyhook itself writes.
    pub fn system(&self) -> PathBuf {
        self.root.join(self.system_path(""))
    }

    /// Returns the path of a file that anyhook itself writes, relative to the project.
    pub fn system_path(&self, name: &str) -> String {
        format!("{}/{SYSTEM}/{name}", self.definition.folder)
    }

    /// Returns the project's configuration; `None` if there is no file.
    pub fn config(&self) -> Result<Option<Value>, WorkflowError> {
        let value = match self.read_json(CONFIG) {
            Ok(value) => value,
            Err(Unreadable::Absent) => return Ok(None),
            Err(error) => return Err(WorkflowError::file(FileKind::Config, CONFIG, error)),
        };
        let faults = validate(ArtifactKind::PROJECT, &value);
        if faults.is_empty() {
            return Ok(Some(value));
        }
        Err(WorkflowError::file(FileKind::Config, CONFIG, FileError::Invalid(faults)))
    }

    /// Reads a JSON file below the project, unless it is too large.
    pub fn read_json(&self, path: &str) -> Result<Value, Unreadable> {
        let text = self.read_text(path)?;
        serde_json::from_str(&text).map_err(|error| Unreadable::NotJson(error.to_string()))
    }

    /// Reads a file below the project, unless it is too large. Paths that lead out of the project
    /// are refused.
    pub fn read_text(&self, path: &str) -> Result<String, Unreadable> {
        let whole = self.root.join(path);
        let inner = match (fs::canonicalize(&whole), fs::canonicalize(&self.root)) {
            (Ok(file), Ok(root)) => file.starts_with(root),
            (Err(error), _) | (_, Err(error)) => return Err(error.into()),
        };
        if !inner {
            return Err(Unreadable::Outside);
        }
        Ok(read_text(&whole, ARTIFACT_LIMIT)?)
    }

    /// Creates a folder below the project. No link may lead out of it.
    pub fn make_folder(&self, folder: &Path) -> Result<(), WorkflowError> {
        let there = folder.ancestors().find(|one| one.symlink_metadata().is_ok());
        let resolved = there.map_or_else(|| Ok(self.root.clone()), fs::canonicalize);
        let root = fs::canonicalize(&self.root).map_err(WorkflowError::at(&self.root))?;
        if !resolved.map_err(WorkflowError::at(folder))?.starts_with(root) {
            return Err(WorkflowError::LinkOut(folder.to_owned()));
        }
        fs::create_dir_all(folder).map_err(WorkflowError::at(folder))
    }

    /// Atomically writes a JSON file below the project.
    pub fn write_json(&self, path: &str, value: &impl Serialize) -> Result<(), WorkflowError> {
        let whole = self.root.join(path);
        self.make_folder(whole.parent().unwrap_or(&self.root))?;
        let text = serde_json::to_string_pretty(value).map_err(io::Error::from)? + "\n";
        write_whole(&whole, text.as_bytes()).map_err(WorkflowError::at(whole))
    }

    /// Returns the schemas that the definition reads from files of the project.
    pub fn own_schemas(&self) -> Result<OwnSchemas, WorkflowError> {
        let mut schemas = OwnSchemas::new();
        for path in schema_files(&self.definition).map(|file| file.text.as_str()) {
            let text = self.read_text(path);
            let text = text.map_err(|error| WorkflowError::file(FileKind::Other, path, error))?;
            let schema = ArtifactSchema::new(&text)
                .map_err(|error| WorkflowError::Schema { path: path.to_owned(), error })?;
            schemas.insert(path.to_owned(), schema);
        }
        Ok(schemas)
    }
}

/// Returns the schemas that are files of the project.
pub fn schema_files(definition: &WorkflowDefinition) -> impl Iterator<Item = &SpannedName> {
    let of_stages = definition.stages.iter().flat_map(|stage| &stage.artifacts);
    let of_reviews = definition.reviews.iter().flat_map(|review| &review.artifacts);
    of_stages.chain(of_reviews).filter_map(|artifact| match &artifact.schema {
        SchemaChoice::File(file) => Some(file),
        SchemaChoice::Kind(_) => None,
    })
}

fn read_text(file: &Path, limit: u64) -> io::Result<String> {
    let about = fs::metadata(file)?;
    let fault = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
    if !about.is_file() {
        return Err(fault("it is not a file".to_owned()));
    }
    let mut bytes = Vec::new();
    File::open(file)?.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(fault(format!("it is larger than {limit} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| fault("it is not UTF-8".to_owned()))
}

/// Atomically and durably writes a file.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    // With the usual permissions of a new file here, not those of a secret.
    AtomicFile::new(path).mode(0o666).synced(true).replace(bytes)
}
