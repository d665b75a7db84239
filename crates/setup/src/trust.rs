//! Trust in a project's files: its hooks, its file of MCP servers, its runbooks.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhook_engine::discover::InstalledHooks;
use anyhook_engine::hook::Trust;
use anyhook_engine::trust::{FileTrust, StagedCopy, TrustError, TrustStore};
use anyhook_engine::{Hook, Level, Problem, now};
use anyhook_hook::environment::Environment;
use anyhook_mcp::ServerFailure;

use crate::error::SetupError;
use crate::mcp_servers::{self, ProjectFile};
use crate::runbooks::{self, UnverifiedFile};

/// What a person asks to trust.
#[derive(Clone, Copy, Debug)]
pub struct TrustRequest<'asked> {
    /// Hooks by name or folder, runbooks by file, or the file of MCP servers.
    pub paths: &'asked [PathBuf],
    /// Everything that is not trusted.
    pub all: bool,
    /// Hooks of the user that a hook of the same name is to replace.
    pub replace: &'asked [String],
}

/// What may be trusted.
#[derive(Debug)]
pub enum Candidate {
    /// A hook of the project.
    Hook(Box<Hook>),
    /// The project's file of MCP servers.
    Servers(ProjectFile),
    /// A runbook, or the project's workflow.
    Runbook(UnverifiedFile),
}

/// What was shown to a person: this, and nothing else, is trusted.
#[derive(Debug)]
pub enum ShownItem {
    /// A copy of a hook.
    Hook(StagedCopy),
    /// The file of MCP servers, as it was read.
    Servers(ProjectFile),
    /// A runbook, as it was read.
    Runbook(UnverifiedFile),
}

/// Why what was requested cannot be trusted.
#[derive(Debug)]
pub enum CandidateError {
    /// The file of MCP servers cannot be read.
    Servers(ServerFailure),
    /// A runbook cannot be read, and why.
    Runbook(PathBuf, String),
    /// Nothing in the project has this name.
    Unknown(PathBuf),
}

impl Candidate {
    /// Returns its name.
    pub fn name(&self, environment: &Environment) -> String {
        match self {
            Self::Hook(hook) => hook.name().to_owned(),
            Self::Servers(_) => mcp_servers::FILE.to_owned(),
            Self::Runbook(runbook) => runbook.name(environment),
        }
    }

    /// Returns its kind, in a word for programs, and its path.
    pub fn place(&self) -> (&'static str, &Path) {
        match self {
            Self::Hook(hook) => ("hook", &hook.folder),
            Self::Servers(file) => ("mcp", &file.path),
            Self::Runbook(runbook) => ("runbook", &runbook.path),
        }
    }

    /// Returns what would be trusted, without showing it.
    pub fn into_shown(self, store: &TrustStore) -> Result<ShownItem, TrustError> {
        Ok(match self {
            Self::Hook(hook) => ShownItem::Hook(store.stage(&hook.folder)?),
            Self::Servers(file) => ShownItem::Servers(file),
            Self::Runbook(runbook) => ShownItem::Runbook(runbook),
        })
    }
}

impl ShownItem {
    /// Returns what keeps the hook from running, if anything.
    pub fn fault(&self) -> Option<Problem> {
        match self {
            Self::Hook(staged) => Hook::load(staged.folder(), Level::Project).fault().cloned(),
            Self::Servers(_) | Self::Runbook(_) => None,
        }
    }

    /// Trusts it; a hook may replace the user's of the same name.
    pub fn trust(self, store: &TrustStore, replaces: bool) -> Result<(), TrustError> {
        match self {
            Self::Hook(staged) => store.trust(staged.replacing(replaces), now()).map(drop),
            Self::Servers(file) => store.trust_file(&file.path, &file.content, now()).map(drop),
            Self::Runbook(UnverifiedFile { path, text, .. }) => {
                store.trust_file(&path, text.as_bytes(), now()).map(drop)
            }
        }
    }
}

/// Returns what to trust: what was named, or everything that is not trusted.
pub fn candidates(
    asked: TrustRequest<'_>,
    installed: &InstalledHooks,
    environment: &Environment,
) -> Result<Vec<Candidate>, CandidateError> {
    let project = installed
        .hooks
        .iter()
        .map(|standing| standing.hook.clone())
        .filter(|hook| hook.level == Level::Project && hook.folder.symlink_metadata().is_ok());
    // If only replacements are named, the hooks of these names are meant.
    let named: Vec<PathBuf> = if asked.paths.is_empty() && !asked.all {
        asked.replace.iter().map(PathBuf::from).collect()
    } else {
        asked.paths.to_vec()
    };
    let servers = mcp_servers::project_file(environment);
    if named.is_empty() {
        let hooks = project.filter(|hook| hook.trust != Trust::Trusted).map(Box::new);
        // Errors in a file that was not named are reported by `doctor`.
        let servers = servers.ok().flatten().filter(|file| file.trust != FileTrust::Trusted);
        let runbooks = runbooks::of_project(environment).into_iter();
        let runbooks = runbooks.filter(|runbook| runbook.trust != FileTrust::Trusted);
        return Ok(hooks
            .map(Candidate::Hook)
            .chain(servers.map(Candidate::Servers))
            .chain(runbooks.map(Candidate::Runbook))
            .collect());
    }
    let project: Vec<Hook> = project.collect();
    let mut servers = Some(servers);
    let mut found = Vec::new();
    for word in &named {
        if mcp_servers::is_meant(word, environment)
            && mcp_servers::project_path(environment).exists()
        {
            let file = servers.take().transpose().map_err(CandidateError::Servers)?;
            found.extend(file.flatten().map(Candidate::Servers));
        } else if let Some(runbook) = runbooks::named(word, environment) {
            let unreadable = |why| CandidateError::Runbook(word.clone(), why);
            found.push(Candidate::Runbook(runbook.map_err(unreadable)?));
        } else {
            let hook = project.iter().find(|hook| is_meant(hook, word, environment));
            let hook = hook.ok_or_else(|| CandidateError::Unknown(word.clone()))?;
            found.push(Candidate::Hook(Box::new(hook.clone())));
        }
    }
    Ok(found)
}

/// Returns whether an argument names a hook: its name or its folder.
fn is_meant(hook: &Hook, word: &Path, environment: &Environment) -> bool {
    Path::new(hook.name()) == word
        || hook.folder.file_name().is_some_and(|name| name == word.as_os_str())
        || fs::canonicalize(environment.work_dir.join(word))
            .is_ok_and(|full| fs::canonicalize(&hook.folder).is_ok_and(|folder| folder == full))
}

/// The hooks of other levels that may have the same name as one of the project's.
#[derive(Debug)]
pub struct Rivals<'installed>(Vec<&'installed Hook>);

impl<'installed> Rivals<'installed> {
    /// Finds them.
    pub fn new(installed: &'installed InstalledHooks) -> Self {
        let hooks = installed.hooks.iter().map(|standing| &standing.hook);
        Self(hooks.filter(|hook| hook.level < Level::Project).collect())
    }

    /// Returns the hook that a candidate could replace, or that takes precedence over it.
    pub fn rival_of(&self, candidate: &Candidate) -> Option<&'installed Hook> {
        let Candidate::Hook(hook) = candidate else { return None };
        let written = Hook::load(&hook.folder, Level::Project);
        let named = |rival: &&&Hook| rival.name() == written.name();
        let firm = self.0.iter().filter(named).find(|rival| !is_replaceable(rival));
        firm.or_else(|| self.0.iter().filter(|_| hook.nesting == 0).find(named)).copied()
    }

    /// Returns whether the candidate can replace the user's hook of this name.
    pub fn can_replace(&self, candidate: &Candidate, name: &str) -> bool {
        let rival = self.rival_of(candidate);
        rival.is_some_and(|rival| rival.name() == name && is_replaceable(rival))
    }
}

/// Returns whether a project's hook may replace this one.
pub fn is_replaceable(rival: &Hook) -> bool {
    rival.level == Level::User && !rival.definition.is_locked()
}

/// The copy of a hook that would run, compared with what was trusted before.
#[derive(Debug)]
pub struct TrustReview {
    /// The copy.
    pub copy: Hook,
    /// What it is compared with.
    pub earlier: Option<EarlierTrust>,
    /// Its files, HOOK.md first.
    pub files: Vec<ReviewedFile>,
    /// Files that no longer exist.
    pub removed: Vec<PathBuf>,
}

/// What was trusted before this hook.
#[derive(Debug)]
pub enum EarlierTrust {
    /// The same hook, with different content.
    Changed,
    /// The same content at another path: a copy of the project, or a second clone.
    SameContent(PathBuf),
}

/// A file of a hook, compared with what was trusted before.
#[derive(Debug)]
pub struct ReviewedFile {
    /// Its path inside the hook's folder.
    pub path: PathBuf,
    /// Its content.
    pub piece: HookPart,
    /// How it compares; `None` if there is nothing to compare it with.
    pub change: Option<FileComparison>,
}

/// How a file compares with what was trusted before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileComparison {
    /// It did not exist.
    New,
    /// It is the same.
    Same,
    /// It has changed.
    Changed,
}

/// One entry of a hook's folder, with everything that trust covers.
#[derive(Debug, PartialEq, Eq)]
pub enum HookPart {
    /// A file.
    File {
        /// Its content.
        bytes: Vec<u8>,
        /// Whether it is executable.
        runnable: bool,
    },
    /// A link, and its target.
    Link(PathBuf),
    /// It cannot be read.
    Missing,
}

impl TrustReview {
    /// Compares the copy of a hook that would run with what was trusted before.
    pub fn new(hook: &Hook, staged: &StagedCopy, store: &TrustStore) -> Result<Self, SetupError> {
        let (earlier, before) = match &hook.trust {
            Trust::Changed(_) => (Some(EarlierTrust::Changed), store.latest(&hook.folder)),
            Trust::Never => {
                let same = store.same_content(staged);
                (same.as_ref().map(|same| EarlierTrust::SameContent(same.source.clone())), same)
            }
            _ => (None, None),
        };
        let before = before.map(|record| store.copy_of(&record));
        let paths = files(staged.folder())?;
        let mut removed = before.as_deref().map_or(Ok(Vec::new()), files)?;
        removed.retain(|path| !paths.contains(path));
        let reviewed = |path: PathBuf| {
            let piece = HookPart::read(&staged.folder().join(&path));
            let old = before.as_ref().map(|before| HookPart::read(&before.join(&path)));
            let change = old.map(|old| match old {
                HookPart::Missing => FileComparison::New,
                old if old == piece => FileComparison::Same,
                _ => FileComparison::Changed,
            });
            ReviewedFile { path, piece, change }
        };
        let copy = Hook::load(staged.folder(), Level::Project);
        Ok(Self { copy, earlier, files: paths.into_iter().map(reviewed).collect(), removed })
    }
}

impl HookPart {
    fn read(path: &Path) -> Self {
        if let Ok(target) = fs::read_link(path) {
            return Self::Link(target);
        }
        let Ok(bytes) = fs::read(path) else { return Self::Missing };
        let mode = fs::metadata(path).map_or(0, |metadata| metadata.permissions().mode());
        Self::File { bytes, runnable: mode & 0o111 != 0 }
    }
}

/// Returns the files and links of a folder, HOOK.md first.
fn files(folder: &Path) -> Result<Vec<PathBuf>, SetupError> {
    let mut found = Vec::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(next) = pending.pop() {
        for entry in fs::read_dir(&next).map_err(SetupError::unusable(&next))?.flatten() {
            let path = entry.path();
            if path.is_dir() && !path.is_symlink() {
                pending.push(path);
            } else if let Ok(inner) = path.strip_prefix(folder) {
                found.push(inner.to_owned());
            }
        }
    }
    found.sort_by_key(|path| (path.as_path() != Path::new("HOOK.md"), path.clone()));
    Ok(found)
}
