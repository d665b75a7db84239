//! A project that has a workflow: its definition, and files below its root.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhook_engine::atomic_file::AtomicFile;
use anyhook_engine::places::PROJECT_LEVEL;
use anyhook_flow::runbook::Name;
use anyhook_workflow::definition::{self, Definition, Reading, SchemaChoice};
use anyhook_workflow::machine::OwnSchemas;
use anyhook_workflow::schemas::{Fault, Kind, Schema, validate};
use serde::Serialize;
use serde_json::Value;

use crate::environment::Environment;
use crate::error::Trouble;
use crate::runbooks::{self, path_from};

/// The file in the project's level that says how its workflow goes.
pub const FILE: &str = "workflow.toml";
/// The file in the project's root that every agent is told of.
pub const CONFIG: &str = "project-config.json";
/// The folder of what anyhook itself writes, among the artifacts.
const SYSTEM: &str = "system";
/// No definition that people write is so large.
const DEFINITION_LIMIT: u64 = 256 * 1024;
/// No artifact that an agent can be given is so large.
const ARTIFACT_LIMIT: u64 = 4 * 1024 * 1024;

/// A project and how its workflow goes.
#[derive(Clone, Debug)]
pub struct Project {
    /// The project's root.
    pub root: PathBuf,
    /// How its workflow goes.
    pub definition: Definition,
    /// The file that says so; none if it is the one that comes with anyhook.
    pub file: Option<PathBuf>,
    /// Its text, as it was read.
    pub text: Option<String>,
}

/// The text of a definition, and what was read in it.
#[derive(Debug)]
pub struct Written {
    /// The file.
    pub file: PathBuf,
    /// Its text.
    pub text: String,
    /// What it says.
    pub reading: Reading,
}

impl Written {
    /// Reads a definition.
    pub fn read(file: &Path) -> Result<Self, Trouble> {
        let text = read_text(file, DEFINITION_LIMIT).map_err(|error| {
            let hint = match error.kind() {
                io::ErrorKind::NotFound => {
                    "there is no such file; `anyhook workflow init` writes the project's own"
                }
                _ => "a workflow is a text in UTF-8, of 256 KiB at most",
            };
            Trouble::input(format!("`{}` cannot be read: {error}", file.display())).hint(hint)
        })?;
        Ok(Self { file: file.to_owned(), reading: definition::read(&text), text })
    }

    /// Returns what it says, or draws what is wrong with it.
    pub fn usable(self, environment: &Environment) -> Result<Definition, Trouble> {
        if self.reading.is_usable() {
            return Ok(self.reading.definition);
        }
        Err(runbooks::unusable(&self.file, &self.text, &self.reading.findings, environment))
    }
}

/// Returns where a project's definition is, whether or not it is there.
pub fn definition_file(environment: &Environment) -> PathBuf {
    environment.project_root().join(PROJECT_LEVEL).join(FILE)
}

impl Project {
    /// Finds the project around, with its own workflow, or the one that comes with anyhook.
    pub fn find(environment: &Environment) -> Result<Self, Trouble> {
        Self::at(environment.project_root(), environment)
    }

    /// As [`find`](Self::find), of another project.
    pub fn at(root: PathBuf, environment: &Environment) -> Result<Self, Trouble> {
        let file = root.join(PROJECT_LEVEL).join(FILE);
        if file.symlink_metadata().is_err() {
            return Ok(Self { root, definition: definition::default(), file: None, text: None });
        }
        let written = Written::read(&file)?;
        let text = Some(written.text.clone());
        let definition = written.usable(environment)?;
        Ok(Self { root, definition, file: Some(file), text })
    }

    /// Returns the folder of what anyhook itself writes.
    pub fn system(&self) -> PathBuf {
        self.root.join(self.system_path(""))
    }

    /// Returns the path of something that anyhook itself writes, below the project.
    pub fn system_path(&self, name: &str) -> String {
        format!("{}/{SYSTEM}/{name}", self.definition.folder)
    }

    /// Returns where an agent's signal is, below the project.
    pub fn signal_path(&self, agent: &str) -> String {
        self.definition.path(agent, Kind::SIGNAL.row().file)
    }

    /// Returns the project's configuration; none if there is no file.
    pub fn config(&self) -> Result<Option<Value>, Trouble> {
        let value = match self.read_json(CONFIG) {
            Ok(value) => value,
            Err(Unreadable::Absent) => return Ok(None),
            Err(error) => return Err(error.trouble(CONFIG)),
        };
        match validate(Kind::PROJECT, &value).as_slice() {
            [] => Ok(Some(value)),
            faults => Err(invalid(CONFIG, faults).hint("anyhook schema project-config")),
        }
    }

    /// Reads a JSON file below the project, unless it is too large.
    pub fn read_json(&self, path: &str) -> Result<Value, Unreadable> {
        let text = self.read_text(path)?;
        serde_json::from_str(&text).map_err(|error| Unreadable::NotJson(error.to_string()))
    }

    /// Reads a file below the project, unless it is too large. A way out of the project is none.
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

    /// Returns where a file that a person named is, below the project.
    pub fn inner_path(&self, named: &Path, environment: &Environment) -> Result<String, Trouble> {
        let shown = named.display();
        let whole = environment.work_dir.join(named);
        let resolved = fs::canonicalize(&whole).map_err(|error| {
            Trouble::input(format!("`{shown}` cannot be read: {error}"))
                .hint("`anyhook workflow status` shows which artifacts there are")
        })?;
        let root = fs::canonicalize(&self.root).unwrap_or_else(|_| self.root.clone());
        let inner = resolved.strip_prefix(&root).map_err(|_| {
            Trouble::input(format!("`{shown}` is outside of the project"))
                .hint(format!("artifacts are below `{}`", self.root.display()))
        })?;
        let inner = inner.to_str().filter(|inner| !inner.is_empty());
        inner.map(str::to_owned).ok_or_else(|| Trouble::input(format!("`{shown}` is no artifact")))
    }

    /// Makes a folder below the project. No link leads out of it.
    pub fn make_folder(&self, folder: &Path) -> Result<(), Trouble> {
        let there = folder.ancestors().find(|one| one.symlink_metadata().is_ok());
        let resolved = there.map_or_else(|| Ok(self.root.clone()), fs::canonicalize);
        let root = fs::canonicalize(&self.root).map_err(|error| Trouble::at(&self.root, error))?;
        if !resolved.map_err(|error| Trouble::at(folder, error))?.starts_with(root) {
            let why =
                format!("`{}` is outside of the project: a link leads there", folder.display());
            return Err(Trouble::input(why).hint("put a folder of the project in the link's place"));
        }
        fs::create_dir_all(folder).map_err(|error| Trouble::at(folder, error))
    }

    /// Writes a JSON file below the project: all of it, or nothing.
    pub fn write_json(&self, path: &str, value: &impl Serialize) -> Result<(), Trouble> {
        let whole = self.root.join(path);
        self.make_folder(whole.parent().unwrap_or(&self.root))?;
        let text = serde_json::to_string_pretty(value).map_err(io::Error::from)? + "\n";
        write_whole(&whole, text.as_bytes()).map_err(|error| Trouble::at(&whole, error))
    }

    /// Returns the schemas that the definition takes from files of the project.
    pub fn own_schemas(&self, environment: &Environment) -> Result<OwnSchemas, Trouble> {
        let mut schemas = OwnSchemas::new();
        for path in schema_files(&self.definition).map(|file| file.text.as_str()) {
            let text = self.read_text(path).map_err(|error| error.trouble(path))?;
            let schema = Schema::new(&text).map_err(|error| {
                let path = path_from(&self.root.join(path), environment);
                Trouble::input(format!("`{path}` cannot be used: {error}"))
                    .hint("everything that a schema refers to must be in it; nothing is fetched")
            })?;
            schemas.insert(path.to_owned(), schema);
        }
        Ok(schemas)
    }
}

/// Returns the schemas that are files of the project.
pub fn schema_files(definition: &Definition) -> impl Iterator<Item = &Name> {
    let of_stages = definition.stages.iter().flat_map(|stage| &stage.artifacts);
    let of_reviews = definition.reviews.iter().flat_map(|review| &review.artifacts);
    of_stages.chain(of_reviews).filter_map(|artifact| match &artifact.schema {
        SchemaChoice::File(file) => Some(file),
        SchemaChoice::Kind(_) => None,
    })
}

/// Why a file below the project cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// It is not there.
    #[error("it is not there")]
    Absent,
    /// A link leads out of the project.
    #[error("it is outside of the project")]
    Outside,
    /// It is no JSON.
    #[error("it is not JSON: {0}")]
    NotJson(String),
    /// It cannot be read.
    #[error("{0}")]
    Io(io::Error),
}

impl From<io::Error> for Unreadable {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::Absent,
            _ => Self::Io(error),
        }
    }
}

impl Unreadable {
    /// Says which file it is.
    pub fn trouble(&self, path: &str) -> Trouble {
        let hint = match self {
            Self::Absent => "write it, or mend the path; it is below the project's root",
            Self::Outside => "put the file itself into the project",
            Self::NotJson(_) => "mend it there",
            Self::Io(_) => "it is to be a file in UTF-8 of 4 MiB at most that can be read",
        };
        Trouble::input(format!("`{path}` cannot be used: {self}")).hint(hint)
    }
}

/// Says everything that is wrong with a file.
pub fn invalid(path: &str, faults: &[Fault]) -> Trouble {
    let lines: Vec<String> = faults.iter().map(|fault| format!("\n  {fault}")).collect();
    Trouble::input(format!("`{path}` is not valid:{}", lines.concat()))
}

fn read_text(file: &Path, limit: u64) -> io::Result<String> {
    let about = fs::metadata(file)?;
    let fault = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
    if !about.is_file() {
        return Err(fault("it is no file".to_owned()));
    }
    let mut bytes = Vec::new();
    File::open(file)?.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(fault(format!("it has more than {limit} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| fault("it is not UTF-8".to_owned()))
}

/// Writes a file: all of it and durably, or nothing.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    // With the permissions that any new file has here, not those of a secret.
    AtomicFile::new(path).mode(0o666).synced(true).replace(bytes)
}
