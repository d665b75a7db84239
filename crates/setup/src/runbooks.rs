//! Finds and reads runbooks on disk: the project's first, then the user's.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhook_engine::places::{PROJECT_LEVEL, find_root};
use anyhook_engine::problem::TextPosition;
use anyhook_engine::trust::{FileTrust, TrustStore};
use anyhook_engine::{Problem, Severity};
use anyhook_flow::runbook::{self, Finding, PromptDefinition, Runbook, RunbookFormat};
use anyhook_hook::environment::Environment;
use anyhook_model::host::HOST_IDS;

use crate::known_places::KnownPlaces;
use crate::shown;

/// The subfolder of a level that contains its runbooks.
const RUNBOOKS: &str = "runbooks";
/// The project's workflow, in the folder of its level.
const WORKFLOW: &str = "workflow.toml";
/// No runbook that people write is larger than this.
const SIZE_LIMIT: u64 = 256 * 1024;

/// A runbook on disk.
#[derive(Debug)]
pub struct FoundRunbook {
    /// Its file.
    pub file: PathBuf,
    /// Its text.
    pub text: String,
    /// Its parsed content; only usable if it has no errors.
    pub runbook: Runbook,
    /// Errors in it, and notes.
    pub findings: Vec<Finding>,
}

impl FoundRunbook {
    /// Reads a runbook.
    pub fn read(file: &Path) -> Self {
        let (text, read) = match read_text(file) {
            Ok(text) => {
                let extension = file.extension().and_then(|extension| extension.to_str());
                match RunbookFormat::of_extension(extension.unwrap_or_default()) {
                    Some(format) => {
                        let read = runbook::read(&text, format);
                        (text, Ok(read))
                    }
                    None => (text, Err("not a `.hcl` or `.toml` file".to_owned())),
                }
            }
            Err(why) => (String::new(), Err(why)),
        };
        let (runbook, findings) = match read {
            Ok(read) => {
                let mut findings = read.findings;
                findings.extend(around(&read.runbook, file));
                runbook::sort_by_place(&mut findings);
                (read.runbook, findings)
            }
            Err(why) => {
                let finding = Finding::error("unreadable", format!("it cannot be read: {why}"))
                    .hint(
                        "a runbook is a UTF-8 text file, `*.hcl` or `*.toml`, of at most 256 KiB",
                    );
                (Runbook::default(), vec![finding])
            }
        };
        Self { file: file.to_owned(), text, runbook, findings }
    }

    /// Returns whether its pipelines can run.
    pub fn is_usable(&self) -> bool {
        self.findings.iter().all(|finding| finding.severity == runbook::Severity::Note)
    }

    /// Returns the findings as they are drawn and printed.
    pub fn problems(&self) -> Vec<Problem> {
        self.findings.iter().map(|finding| problem(finding, &self.text)).collect()
    }
}

/// A runbook, or a workflow, that may need trust before it is run: always for an agent, otherwise
/// every runbook except the user's own.
#[derive(Debug)]
pub struct UnverifiedFile {
    /// Its path.
    pub path: PathBuf,
    /// Its content: what was shown or checked is what is used.
    pub text: String,
    /// Whether it is trusted.
    pub trust: FileTrust,
    /// Whether it is among the user's own.
    pub is_own: bool,
}

impl UnverifiedFile {
    /// Looks up the trust of a runbook or workflow whose text was read.
    pub fn of(path: &Path, text: &str, environment: &Environment) -> Self {
        let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let user = environment.places.user.as_ref().map(|user| user.join(RUNBOOKS));
        let is_own = user.is_some_and(|user| real(path).starts_with(real(&user)));
        let trust = match &environment.places.state {
            Some(state) => TrustStore::new(state).file_trust(path, text.as_bytes()),
            None => FileTrust::Never,
        };
        Self { path: path.to_owned(), text: text.to_owned(), trust, is_own }
    }

    /// Returns whether a person has trusted it, independently of the caller's environment.
    pub fn is_trusted_for_agents(&self, environment: &Environment) -> bool {
        KnownPlaces::find(environment).trusted_states().iter().any(|state| {
            let trust = TrustStore::new(state).file_trust(&self.path, self.text.as_bytes());
            trust == FileTrust::Trusted
        })
    }

    /// Returns whether it is a project's workflow and not a runbook.
    pub fn is_workflow(&self) -> bool {
        self.path.ends_with(Path::new(PROJECT_LEVEL).join(WORKFLOW))
    }

    /// Returns its path as one would write it here.
    pub fn name(&self, environment: &Environment) -> String {
        path_from(&self.path, environment)
    }
}

/// Returns the project's runbooks, as far as they can be read.
pub fn of_project(environment: &Environment) -> Vec<UnverifiedFile> {
    let places = &environment.places;
    let Some(root) = find_root(&environment.work_dir, places.home.as_deref()) else {
        return Vec::new();
    };
    let files = files_in(&root.join(PROJECT_LEVEL).join(RUNBOOKS)).unwrap_or_default();
    let read = |file: &PathBuf| {
        let text = read_text(file).ok()?;
        Some(UnverifiedFile::of(file, &text, environment))
    };
    files.iter().filter_map(read).collect()
}

/// Reads the runbook or workflow that an argument names: a file, or the name of one of the
/// project's. `None` if it is neither; an error if it cannot be read.
pub fn named(word: &Path, environment: &Environment) -> Option<Result<UnverifiedFile, String>> {
    let path = is_name(word).then(|| place(word, environment)).filter(|path| path.is_file())?;
    Some(read_text(&path).map(|text| UnverifiedFile::of(&path, &text, environment)))
}

/// Returns whether an argument may be the name of a runbook.
pub fn is_name(word: &Path) -> bool {
    let extension = word.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| RunbookFormat::of_extension(extension).is_some())
}

/// Returns the file that an argument names: as it is, else relative to the project, as in hints,
/// else among the project's runbooks.
pub fn place(word: &Path, environment: &Environment) -> PathBuf {
    let root = environment.project_root();
    let inner = root.join(PROJECT_LEVEL).join(RUNBOOKS);
    let level = root.join(PROJECT_LEVEL).join(word);
    // At the project's level only the workflow counts: `anyhook.toml` is not a runbook.
    let level = if word == Path::new(WORKFLOW) { level } else { inner.join(word) };
    let places = [environment.work_dir.join(word), root.join(word), inner.join(word), level];
    let found = places.iter().find(|path| path.is_file()).cloned();
    found.unwrap_or_else(|| {
        if word.components().count() == 1 { inner.join(word) } else { root.join(word) }
    })
}

/// Reads a text file that people can read, too.
fn read_text(file: &Path) -> Result<String, String> {
    let about = fs::metadata(file).map_err(|error| error.to_string())?;
    if !about.is_file() {
        return Err("it is not a file".to_owned());
    }
    if about.len() > SIZE_LIMIT {
        return Err(format!("it is larger than {SIZE_LIMIT} bytes"));
    }
    let bytes = fs::read(file).map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())
}

/// Reads a file that a runbook names, relative to the runbook's folder.
pub fn read_beside(runbook: &Path, path: &str) -> Result<String, String> {
    read_text(&runbook.parent().unwrap_or(Path::new("")).join(path))
}

/// Finds what a runbook assumes about its environment and is not the case.
fn around(runbook: &Runbook, file: &Path) -> Vec<Finding> {
    let mut findings = Vec::new();
    for agent in &runbook.agents {
        if let Some(host) =
            agent.host.as_ref().filter(|host| !HOST_IDS.contains(&host.text.as_str()))
        {
            let finding = Finding::error("unknown-host", format!("unknown host `{}`", host.text));
            findings.push(finding.at(&host.span).meant(
                &host.text,
                HOST_IDS.into_iter(),
                "known hosts",
            ));
        }
        if let Some(PromptDefinition::File(template)) = &agent.prompt
            && let Some(path) = template.as_plain()
            && let Err(why) = read_beside(file, path)
        {
            findings.push(
                Finding::error("prompt-file", format!("`{path}` cannot be read: {why}"))
                    .at(&template.span)
                    .hint("its path is relative to the runbook's folder"),
            );
        }
    }
    findings
}

/// Returns a finding as one that can be drawn and printed.
pub fn problem(finding: &Finding, text: &str) -> Problem {
    let severity = match finding.severity {
        runbook::Severity::Note => Severity::Note,
        runbook::Severity::Error => Severity::Error,
    };
    Problem {
        code: finding.code,
        severity,
        message: finding.message.clone(),
        hint: finding.hint.clone(),
        place: finding.span.as_ref().map(|span| TextPosition::in_text(text, span)),
    }
}

/// Returns a file's path as one would write it here.
pub fn path_from(file: &Path, environment: &Environment) -> String {
    match file.strip_prefix(&environment.work_dir) {
        Ok(inner) => inner.display().to_string(),
        Err(_) => shown(file, &environment.places),
    }
}

/// The runbooks for work in the current folder.
#[derive(Debug, Default)]
pub struct InstalledRunbooks {
    /// Those of the project, then those of the user.
    pub runbooks: Vec<FoundRunbook>,
    /// Folders that could not be read, and duplicate names.
    pub notes: Vec<String>,
}

impl InstalledRunbooks {
    /// Reads all of them.
    pub fn find(environment: &Environment) -> Self {
        let places = &environment.places;
        let project = find_root(&environment.work_dir, places.home.as_deref());
        let project = project.map(|root| root.join(PROJECT_LEVEL));
        let mut installed = Self::default();
        for level in project.iter().chain(&places.user) {
            let folder = level.join(RUNBOOKS);
            match files_in(&folder) {
                Ok(files) => {
                    installed.runbooks.extend(files.iter().map(|file| FoundRunbook::read(file)));
                }
                Err(error) => {
                    let folder = shown(&folder, places);
                    installed.notes.push(format!("`{folder}` cannot be read: {error}"));
                }
            }
        }
        installed.notes.extend(same_names(&installed.runbooks, environment));
        installed
    }
}

/// Returns the runbooks in a folder, sorted; empty if the folder does not exist.
pub fn files_in(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let is_runbook = |file: &PathBuf| {
        let extension = file.extension().and_then(|extension| extension.to_str());
        extension.is_some_and(|extension| RunbookFormat::of_extension(extension).is_some())
    };
    let mut files: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(is_runbook).collect();
    files.sort();
    Ok(files)
}

/// Reports which pipelines are in more than one runbook.
fn same_names(runbooks: &[FoundRunbook], environment: &Environment) -> Vec<String> {
    let mut notes = Vec::new();
    for (number, found) in runbooks.iter().enumerate() {
        // One that could not be parsed completely may have a name twice, or none.
        let names = found.runbook.pipelines.iter().map(|pipeline| pipeline.name.text.as_str());
        for name in names.filter(|name| !name.is_empty()).collect::<BTreeSet<_>>() {
            let earlier =
                runbooks[..number].iter().find(|other| other.runbook.pipeline(name).is_some());
            if let Some(earlier) = earlier {
                let files = [earlier, found].map(|found| path_from(&found.file, environment));
                notes.push(format!(
                    "the pipeline `{name}` is in both `{}` and `{}`",
                    files[0], files[1]
                ));
            }
        }
    }
    notes
}

/// Finds a pipeline by its name, in one runbook or in all that are installed: the runbook's file,
/// its text, and its parsed content, which is valid.
pub fn find_pipeline(
    environment: &Environment,
    name: &str,
    file: Option<&Path>,
) -> Result<(PathBuf, String, Runbook), FindError> {
    let runbooks = match file {
        Some(file) => vec![FoundRunbook::read(&environment.work_dir.join(file))],
        None => InstalledRunbooks::find(environment).runbooks,
    };
    let broken: Vec<PathBuf> = runbooks
        .iter()
        .filter(|found| !found.is_usable())
        .map(|found| found.file.clone())
        .collect();
    let names: Vec<String> = runbooks
        .iter()
        .flat_map(|found| &found.runbook.pipelines)
        .map(|pipeline| pipeline.name.text.clone())
        .collect();
    let of_file = file.is_some();
    let mut with_it = runbooks
        .into_iter()
        // A named runbook is checked in any case: its errors may be the reason.
        .filter(|found| found.runbook.pipeline(name).is_some() || of_file && !found.is_usable());
    match (with_it.next(), with_it.next()) {
        (Some(found), None) if found.is_usable() => Ok((found.file, found.text, found.runbook)),
        (Some(found), None) => Err(FindError::Unusable(Box::new(found))),
        (Some(one), Some(other)) => Err(FindError::Twice([one.file, other.file])),
        (None, _) => {
            let near = anyhook_engine::problem::nearest(name, names.iter().map(String::as_str));
            Err(FindError::Unknown { near: near.map(str::to_owned), broken })
        }
    }
}

/// Why a pipeline was not found.
#[derive(Debug)]
pub enum FindError {
    /// Its runbook has errors.
    Unusable(Box<FoundRunbook>),
    /// Two runbooks have a pipeline of this name.
    Twice([PathBuf; 2]),
    /// No runbook has it.
    Unknown {
        /// A pipeline with a similar name.
        near: Option<String>,
        /// Runbooks that have errors, and may contain it.
        broken: Vec<PathBuf>,
    },
}
