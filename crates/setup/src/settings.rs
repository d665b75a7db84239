//! Agents on this machine: which are installed, and reading and writing their settings files.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhook_engine::Places;
use anyhook_engine::atomic_file::{AtomicFile, Unfinished};
use anyhook_engine::wait::try_poll_until;
use anyhook_hook::environment::{Environment, folder};
use anyhook_hook::full_binary;
use anyhook_hosts::wiring::{
    EntryFolders, HOOK_BINARY, HookInvocation, Obstacle, PROGRAM, SettingsEdits, SettingsScope,
    SettingsTexts, WiringStatus,
};
use anyhook_hosts::{AGENTS, HostSpec, folder_variables, planned};
use anyhook_model::host;
use anyhook_model::nearest::nearest;
use anyhook_model::{Host, OpenFormat, StateDir};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use crate::error::SetupError;

/// Returns where agents' settings are, the user's or the project's.
pub fn scope(environment: &Environment, project: bool) -> Result<SettingsScope, SetupError> {
    let Some(home) = environment.places.home.clone() else {
        return Err(SetupError::NoHome);
    };
    let project = project.then(|| environment.project_root());
    let variables = folder_variables().filter_map(|name| Some((name, folder(name)?))).collect();
    let config_home = folder("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
    Ok(SettingsScope { home, config_home, project, variables })
}

/// Returns the ids of all agents, for people.
pub fn ids() -> String {
    AGENTS.map(HostSpec::id).join(", ")
}

/// Returns the ids of all hosts that events may come from, for people: the agents' and that of the
/// open format itself.
pub fn host_ids() -> String {
    format!("{}, {}", OpenFormat.id(), ids())
}

/// Finds an agent by its id, or any other name for it, such as that of its program.
pub fn find(name: &str) -> Result<&'static HostSpec, SetupError> {
    let ids = host::host_ids(name);
    if let Some(known) = ids.iter().copied().find_map(anyhook_hosts::find) {
        return Ok(known);
    }
    match planned::refused().find(|(host, _)| host.ids.iter().any(|id| ids.contains(id))) {
        Some((host, refusal)) => Err(SetupError::NoHooks { host, refusal }),
        None => Err(SetupError::UnknownAgent(name.to_owned())),
    }
}

/// Returns the agent's id or program that a misspelt name probably means.
pub fn nearest_agent(name: &str) -> Option<&'static str> {
    let names = AGENTS.into_iter().flat_map(|agent| [agent.id(), agent.program]);
    nearest(&name.to_ascii_lowercase(), names)
}

/// Returns where an agent's program is, if it is on the `PATH`.
pub fn program(agent: &HostSpec) -> Option<PathBuf> {
    on_path(agent.program)
}

/// Returns whether a program is on the `PATH`.
pub fn is_on_path(program: &str) -> bool {
    on_path(program).is_some()
}

/// Returns where a program is, if it is on the `PATH`.
pub(crate) fn on_path(program: &str) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        fs::metadata(path)
            .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|folder| folder.join(program))
        .find(is_program)
}

/// Returns whether an agent is installed on this machine: its program, or the folder of its
/// settings, the user's or the project's.
pub fn is_here(agent: &HostSpec, scope: &SettingsScope) -> bool {
    let users = SettingsScope { project: None, ..scope.clone() };
    // A file in the home or in the project itself has no folder that tells anything.
    let is_anyones =
        |folder: &Path| folder == scope.home || scope.project.as_deref() == Some(folder);
    let has_folder = |file: &PathBuf| {
        file.parent().is_some_and(|folder| {
            let folder = if folder.ends_with("plugins") || folder.ends_with("hooks") {
                folder.parent().unwrap_or(folder)
            } else {
                folder
            };
            if is_anyones(folder) { file.is_file() } else { folder.is_dir() }
        })
    };
    program(agent).is_some()
        || [scope, &users].iter().any(|scope| agent.settings.files(scope).iter().any(has_folder))
}

/// Returns whether an agent calls us, by the user's settings, the project's, or a package of ours
/// among its plugins.
pub fn is_wired(agent: &HostSpec, environment: &Environment) -> bool {
    [false, true].into_iter().any(|project| {
        let found = scope(environment, project).and_then(|scope| inspect(agent, &scope));
        found.is_ok_and(|found| !found.ours.is_empty() || !found.packages.is_empty())
    })
}

/// Returns whether our packages among agents' plugins find the program.
pub fn do_packages_find_us(environment: &Environment) -> bool {
    stable_path(environment).is_ok_and(|path| path.is_file()) || is_on_path(PROGRAM)
}

/// Inspects how an agent's settings call us.
pub fn inspect(agent: &HostSpec, scope: &SettingsScope) -> Result<WiringStatus, SetupError> {
    let mut texts = read(agent, scope)?;
    let mut unreadable = Vec::new();
    let mut read_further = |paths: Vec<PathBuf>, texts: &mut SettingsTexts| {
        for path in paths {
            match read_bounded(&path) {
                Ok(Some(text)) => drop(texts.insert(path, text)),
                // We do not write these, and often they do not exist.
                Ok(None) => {}
                Err(error) => unreadable.push(Obstacle {
                    what: format!(
                        "`{}`, which may switch hooks off, cannot be read: {error}",
                        path.display()
                    ),
                    way_out: "check the file and its permissions".to_owned(),
                }),
            }
        }
    };
    read_further(agent.settings.further_files(scope), &mut texts);
    read_further(agent.settings.files_named_in(scope, &texts), &mut texts);
    let mut found = agent.settings.inspect(scope, &texts)?;
    found.obstacles.extend(unreadable);
    Ok(found)
}

/// Returns what keeps an agent that calls us from doing so in this project, in all settings.
pub fn obstacles(agent: &HostSpec, environment: &Environment) -> Vec<Obstacle> {
    if !is_wired(agent, environment) {
        return Vec::new();
    }
    let mut found: Vec<Obstacle> = Vec::new();
    for project in [false, true] {
        let inspected = scope(environment, project).and_then(|scope| inspect(agent, &scope));
        let Ok(inspected) = inspected else { continue };
        for obstacle in inspected.obstacles {
            if !found.contains(&obstacle) {
                found.push(obstacle);
            }
        }
    }
    found
}

/// Reads a file that an agent reads, too; `None` if it does not exist.
pub(crate) fn read_bounded(path: &Path) -> io::Result<Option<String>> {
    // Opened without blocking: a named pipe may have no writer.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, flags, rustix::fs::Mode::empty()) {
        Ok(file) => fs::File::from(file),
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut text = String::new();
    file.take(FILE_LIMIT + 1).read_to_string(&mut text)?;
    if text.len() as u64 > FILE_LIMIT {
        return Err(io::Error::other("it is too large"));
    }
    Ok(Some(text))
}

/// Settings files are read up to this length.
const FILE_LIMIT: u64 = 4 * 1024 * 1024;

/// Asks an agent's program for its version; `None` if it does not answer soon.
pub fn version(program: &Path) -> Option<String> {
    let mut child = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let limit = Instant::now() + VERSION_LIMIT;
    let ended = try_poll_until(limit, Duration::from_millis(10), || child.try_wait()).ok()?;
    if ended.is_none() {
        // Its time is up.
        let _ = child.kill();
        let _ = child.wait();
        return None;
    }
    let mut text = String::new();
    child.stdout?.take(4096).read_to_string(&mut text).ok()?;
    let is_version = |word: &&str| {
        word.starts_with(|letter: char| letter.is_ascii_digit()) && word.contains('.')
    };
    text.split_whitespace()
        .map(|word| word.trim_start_matches('v').trim_end_matches(['.', ',']))
        .find(is_version)
        .map(str::to_owned)
}

/// How long a program may take to print its version.
const VERSION_LIMIT: Duration = Duration::from_secs(10);

/// Reads the settings files of an agent.
pub fn read(agent: &HostSpec, scope: &SettingsScope) -> Result<SettingsTexts, SetupError> {
    let mut texts = SettingsTexts::new();
    for path in agent.settings.files(scope) {
        let is_special = |path: &Path| fs::metadata(path).is_ok_and(|found| !found.is_file());
        if is_special(&path) {
            return Err(SetupError::NotAFile(path));
        }
        match fs::read_to_string(&path) {
            Ok(text) => {
                texts.insert(path, text);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if path.is_symlink() {
                    return Err(SetupError::DanglingLink(path));
                }
            }
            Err(cause) => return Err(SetupError::Unreadable { path, cause }),
        }
    }
    Ok(texts)
}

/// What an installation changed, so that it can be reverted byte for byte.
///
/// Both texts are kept because the current one does not show, for example, whether an empty `hooks`
/// was there before us. A file that was edited since only loses our entries.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct RecordedInstallation {
    /// The version of this file.
    pub v: u32,
    /// Each file, before and after.
    pub files: BTreeMap<String, RecordedChange>,
    /// The program that the entries call: sessions notice if it is replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<PathBuf>,
}

/// A file before and after; `None` for a file that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedChange {
    /// The text before.
    pub before: Option<String>,
    /// The text after.
    pub after: Option<String>,
}

impl RecordedInstallation {
    /// Returns where the record of an installation is kept.
    fn path(state: &Path, agent: &HostSpec, scope: &SettingsScope) -> PathBuf {
        let name = place_name(agent, scope);
        StateDir::new(state).installed().join(format!("{name}.json"))
    }

    /// Reads the record of an installation, if there is one.
    pub fn load(state: &Path, agent: &HostSpec, scope: &SettingsScope) -> Option<Self> {
        serde_json::from_slice(&fs::read(Self::path(state, agent, scope)).ok()?).ok()
    }

    /// Stores the record.
    pub fn keep(
        &self,
        state: &Path,
        agent: &HostSpec,
        scope: &SettingsScope,
    ) -> Result<(), SetupError> {
        // It contains whole settings files, and those may contain keys.
        keep_private(&Self::path(state, agent, scope), self)
    }

    /// Removes the record.
    pub fn forget(state: &Path, agent: &HostSpec, scope: &SettingsScope) {
        // If it remains, the next installation overwrites it.
        let _ = fs::remove_file(Self::path(state, agent, scope));
    }
}

/// Returns a name for an agent's settings, the user's or a project's.
pub(crate) fn place_name(agent: &HostSpec, scope: &SettingsScope) -> String {
    let place = match &scope.project {
        Some(project) => project.to_string_lossy().replace('/', "%"),
        None => "user".to_owned(),
    };
    format!("{}-{place}", agent.id())
}

/// Writes a record that only its owner may read.
pub(crate) fn keep_private(path: &Path, record: &impl Serialize) -> Result<(), SetupError> {
    let text =
        serde_json::to_string_pretty(record).map_err(|error| cannot_write(path, error.into()))?;
    Staged::new(path, &text, 0o600)?.put()
}

/// Writes edits; for a link its target is written.
///
/// Everything is staged before the first file changes, so that one that cannot be written leaves
/// the others unchanged. Codex, for example, would silently skip hooks without its trust.
pub fn write(edits: &SettingsEdits) -> Result<(), SetupError> {
    let mut staged = Vec::new();
    let mut leaving = Vec::new();
    for (path, text) in edits {
        match text {
            Some(text) => staged.push(Staged::new(path, text, 0o644)?),
            None => {
                refuse_locked(path)?;
                leaving.push(path);
            }
        }
    }
    staged.into_iter().try_for_each(Staged::put)?;
    leaving
        .into_iter()
        .try_for_each(|path| fs::remove_file(path).map_err(|error| cannot_write(path, error)))
}

/// A file's new text next to it, ready to replace it.
struct Staged {
    path: PathBuf,
    file: Unfinished,
}

impl Staged {
    /// Writes the text next to the file; a new one gets this mode.
    fn new(path: &Path, text: &str, mode: u32) -> Result<Self, SetupError> {
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let refused = |error: io::Error| cannot_write(&path, error);
        let parent = path.parent().unwrap_or(&path);
        fs::create_dir_all(parent).map_err(refused)?;
        refuse_locked(&path)?;
        let mode = match fs::metadata(&path) {
            Ok(metadata) => metadata.permissions(),
            Err(_) => fs::Permissions::from_mode(mode),
        };
        let place = AtomicFile::new(&path).permissions(mode).synced(true);
        let mut file = place.begin().map_err(|error| refused(error.kind().into()))?;
        place.fill(&mut file, text.as_bytes()).map_err(refused)?;
        Ok(Self { path, file })
    }

    fn put(self) -> Result<(), SetupError> {
        let Self { path, file } = self;
        file.put(&path).map(drop).map_err(|error| cannot_write(&path, error))
    }
}

/// Refuses a file that its owner has made read-only, which could be replaced or removed
/// nevertheless.
fn refuse_locked(path: &Path) -> Result<(), SetupError> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.permissions().mode() & 0o222 == 0 => {
            Err(cannot_write(path, io::Error::other("it is read-only")))
        }
        _ => Ok(()),
    }
}

fn cannot_write(path: &Path, cause: io::Error) -> SetupError {
    SetupError::Unwritable { path: path.to_owned(), cause }
}

/// Returns how agents call us: by the programs at their stable path. The small one answers, if it
/// is next to the running program.
pub fn call(environment: &Environment) -> Result<HookInvocation, SetupError> {
    let binary = stable_path(environment)?;
    let small = small_program(environment).map(|_| binary.with_file_name(HOOK_BINARY));
    let Places { home, user, state, .. } = environment.places.clone();
    let folders = match (home, user, state) {
        (Some(home), Some(config), Some(state)) => Some(EntryFolders { home, config, state }),
        _ => None,
    };
    Ok(HookInvocation { binary, small, folders })
}

/// A program that has to be copied to where agents call it, because another build or none is there.
#[derive(Debug)]
pub struct ProgramCopy {
    /// Where it goes.
    pub target: PathBuf,
    /// Whether another build is there.
    pub replaces: bool,
    content: Vec<u8>,
}

impl ProgramCopy {
    /// Returns the copy to make; `None` if it is there already.
    fn new(source: &Path, target: PathBuf) -> Result<Option<Self>, SetupError> {
        let replaces = target.exists();
        if replaces && fs::canonicalize(source).ok() == fs::canonicalize(&target).ok() {
            return Ok(None);
        }
        let content = fs::read(source).map_err(SetupError::unusable(source))?;
        if fs::read(&target).is_ok_and(|there| there == content) {
            return Ok(None);
        }
        Ok(Some(Self { target, replaces, content }))
    }

    /// Returns the size of the program.
    pub fn length(&self) -> u64 {
        self.content.len() as u64
    }

    /// Makes the copy.
    pub fn make(&self) -> Result<(), SetupError> {
        let target = &self.target;
        let refused = |error: io::Error| cannot_write(target, error);
        let parent = target.parent().unwrap_or(target);
        fs::create_dir_all(parent).map_err(refused)?;
        let permissions = fs::Permissions::from_mode(0o755);
        AtomicFile::new(target).permissions(permissions).replace(&self.content).map_err(refused)
    }
}

/// Returns the copies of the running program, and of the small one next to it, that have to be made
/// so that agents call this build.
pub fn program_copies(environment: &Environment) -> Result<Vec<ProgramCopy>, SetupError> {
    let target = stable_path(environment)?;
    let Some(source) = &environment.places.binary else {
        return Err(SetupError::NoProgram);
    };
    let small_target = target.with_file_name(HOOK_BINARY);
    // Without a small one, agents may still call that of an earlier version: they get this program,
    // which understands the same call.
    let small = small_program(environment)
        .or_else(|| small_target.exists().then(|| source.clone()))
        .map(|small| ProgramCopy::new(&small, small_target))
        .transpose()?
        .flatten();
    Ok(ProgramCopy::new(source, target)?.into_iter().chain(small).collect())
}

/// Copies the running program, and the small one next to it, to a stable path.
pub fn put_where_they_stay(environment: &Environment) -> Result<(), SetupError> {
    program_copies(environment)?.iter().try_for_each(ProgramCopy::make)
}

/// Returns where the program is copied to: `~/.local/share/anyhook/bin/anyhook`.
fn stable_path(environment: &Environment) -> Result<PathBuf, SetupError> {
    let data = folder("XDG_DATA_HOME")
        .or_else(|| environment.places.home.as_ref().map(|home| home.join(".local/share")));
    let data = data.ok_or(SetupError::NoHome)?;
    Ok(data.join("anyhook/bin").join(PROGRAM))
}

/// Returns the small program next to the running one.
fn small_program(environment: &Environment) -> Option<PathBuf> {
    full_binary::sibling(environment.places.binary.as_deref()?, HOOK_BINARY)
}
