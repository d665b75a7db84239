//! Prepares the launch of an agent: hooks for this one launch, if its settings do not have it call
//! us, and the arguments for its prompt.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhook_engine::atomic_file::{AtomicFile, create_private_dir};
use anyhook_engine::places::find_root;
use anyhook_hosts::launch::{self, Launch};
use anyhook_hosts::wiring::{
    self, DisplacedSettings, EntryFolders, HOOK_BINARY, HookInvocation, Injection, Obstacle,
    SettingsError, SettingsScope, SettingsTexts, WiringStatus,
};
use anyhook_hosts::{HostSpec, find, folder_variables};

/// The variable that tells an agent's hooks its id.
pub const AGENT_ID: &str = "ANYHOOK_AGENT_ID";

/// Settings files are read up to this length.
const FILE_LIMIT: u64 = 4 * 1024 * 1024;

/// A launch of an agent.
#[derive(Clone, Copy, Debug)]
pub struct AgentLaunch<'start> {
    /// The agent's id.
    pub agent_id: &'start str,
    /// Its host, if given; otherwise it is derived from the command line.
    pub host: Option<&'start str>,
    /// Its command line.
    pub run: &'start str,
    /// Where it runs.
    pub folder: &'start Path,
    /// Variables it is given.
    pub variables: &'start BTreeMap<String, String>,
    /// Its prompt, if that is passed as an argument.
    pub prompt: Option<&'start str>,
    /// The session it resumes.
    pub resume: Option<&'start str>,
    /// The state folder, for the entries of its hooks.
    pub state: Option<&'start Path>,
}

/// What is added to a launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchAdditions {
    /// Its host, if known.
    pub host: Option<&'static str>,
    /// Arguments that come after its command line.
    pub arguments: Vec<String>,
    /// Its prompt, if it does not take it as an argument: it must be typed once the agent is ready.
    pub to_type: Option<String>,
    /// Variables that are added to those it is given, or override them.
    pub variables: BTreeMap<String, String>,
    /// What a person should know: that it does not call us, or not as it should.
    pub warning: Option<LaunchWarning>,
}

/// What a person should know about an agent before it works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchWarning {
    /// The message.
    pub text: String,
    /// The next step.
    pub hint: String,
}

/// Prepares a launch. Files are put into `own`, which belongs to this launch alone; `user` is where
/// the user's settings are, and `binary` the program that agents call.
pub fn prepare(
    start: &AgentLaunch<'_>,
    user: &SettingsScope,
    binary: &Path,
    own: &Path,
) -> io::Result<LaunchAdditions> {
    let agent = start.host.or_else(|| launch::of_command(start.run)).and_then(find);
    let to_do = Launch { run: start.run, prompt: start.prompt, resume: start.resume };
    let mut additions =
        LaunchAdditions { host: agent.map(HostSpec::id), ..LaunchAdditions::default() };
    additions.variables.insert(AGENT_ID.to_owned(), start.agent_id.to_owned());
    match agent {
        Some(agent) => {
            if !(agent.takes_prompt)(&to_do) {
                additions.to_type = start.prompt.map(str::to_owned);
            }
            let user = moved(user, start.variables);
            let wiring = Wiring::find(agent, &user, start.folder);
            additions.warning = wiring.warning(agent);
            if !wiring.calls_us {
                match injection(agent, start, &user, binary, own) {
                    Ok(injection) => add(&mut additions, injection, agent)?,
                    Err(error) => {
                        let text = format!("{} does not call anyhook: {error}", agent.id());
                        let hint = "fix the file, or move it away".to_owned();
                        additions.warning = Some(LaunchWarning { text, hint });
                    }
                }
            }
        }
        None => {
            additions.warning = Some(LaunchWarning {
                text: "unknown agent program: anyhook only sees when it exits".to_owned(),
                hint: "if it is a supported agent, set its host in the runbook".to_owned(),
            });
        }
    }
    additions.arguments.extend(launch::arguments(additions.host, &to_do));
    Ok(additions)
}

/// Removes what was created for a launch.
pub fn forget(own: &Path) -> io::Result<()> {
    match fs::remove_dir_all(own) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// How an agent's settings have it call us.
#[derive(Debug, Default)]
struct Wiring {
    calls_us: bool,
    /// What keeps it from calling us.
    obstacles: Vec<Obstacle>,
    /// What keeps it from calling us until it is reinstalled.
    stale: Vec<String>,
}

impl Wiring {
    /// Inspects the user's settings and the project's.
    fn find(agent: &HostSpec, user: &SettingsScope, folder: &Path) -> Self {
        let root = find_root(folder, Some(&user.home));
        let projects = root.into_iter().chain([folder.to_owned()]);
        let mut found = Self::default();
        for project in [None].into_iter().chain(projects.map(Some)) {
            let scope = SettingsScope { project, ..user.clone() };
            // What cannot be read is ignored; the agent itself will complain.
            let Ok(inspection) = inspect(agent, &scope) else { continue };
            let WiringStatus { ours, obstacles, stale, .. } = inspection;
            found.calls_us |= !ours.is_empty();
            found.stale.extend(stale.into_iter().filter(|_| !ours.is_empty()));
            found.obstacles.extend(obstacles);
        }
        found
    }

    fn warning(&self, agent: &HostSpec) -> Option<LaunchWarning> {
        let name = agent.id();
        let (why, hint) = match (self.obstacles.first(), self.stale.first()) {
            (Some(obstacle), _) => (&obstacle.what, "anyhook doctor".to_owned()),
            (None, Some(stale)) => (stale, format!("anyhook install {name}")),
            (None, None) => return None,
        };
        Some(LaunchWarning { text: format!("{name} does not call anyhook: {why}"), hint })
    }
}

fn inspect(agent: &HostSpec, scope: &SettingsScope) -> Result<WiringStatus, SettingsError> {
    let files = agent.settings.files(scope).into_iter().chain(agent.settings.further_files(scope));
    let texts_of = |files: &mut dyn Iterator<Item = PathBuf>| -> SettingsTexts {
        files.filter_map(|path| Some((path.clone(), read(&path)?))).collect()
    };
    let mut files = files;
    let mut texts = texts_of(&mut files);
    let named = texts_of(&mut agent.settings.files_named_in(scope, &texts).into_iter());
    texts.extend(named);
    agent.settings.inspect(scope, &texts)
}

fn injection(
    agent: &HostSpec,
    start: &AgentLaunch<'_>,
    user: &SettingsScope,
    binary: &Path,
    own: &Path,
) -> Result<Injection, SettingsError> {
    let variable = |name: &str| start.variables.get(name).cloned();
    let displaced = match agent.settings.displaced(user, start.run, &variable) {
        Some(DisplacedSettings::File(path)) => read(&start.folder.join(path)),
        Some(DisplacedSettings::Text(text)) => Some(text),
        None => None,
    };
    let small = Some(binary.with_file_name(HOOK_BINARY)).filter(|small| small.is_file());
    // The agent's events must go where the daemon reads them.
    let folders = start.state.map(|state| EntryFolders {
        home: user.home.clone(),
        config: user.config_home.join("agents"),
        state: state.to_owned(),
    });
    let call = HookInvocation { binary: binary.to_owned(), small, folders };
    agent.settings.inject(&wiring::AgentStart {
        agent_id: start.agent_id,
        folder: own,
        displaced: displaced.as_deref(),
        call: &call,
    })
}

fn add(additions: &mut LaunchAdditions, injection: Injection, agent: &HostSpec) -> io::Result<()> {
    for (path, text) in injection.files {
        write(&path, &text)?;
    }
    additions.arguments = injection.arguments;
    let variables = injection.variables.into_iter();
    additions.variables.extend(variables.map(|(name, value)| (name.to_owned(), value)));
    if let Some(why) = injection.why_not {
        additions.warning = Some(LaunchWarning {
            text: format!("{} does not call anyhook: {why}", agent.id()),
            hint: format!("anyhook install {}", agent.id()),
        });
    }
    Ok(())
}

/// Returns where settings are for an agent that is given its own variables.
fn moved(user: &SettingsScope, variables: &BTreeMap<String, String>) -> SettingsScope {
    let folder =
        |name: &str| variables.get(name).map(PathBuf::from).filter(|folder| folder.is_absolute());
    let mut scope = user.clone();
    if let Some(home) = folder("HOME") {
        scope.config_home = home.join(".config");
        scope.home = home;
    }
    if let Some(config_home) = folder("XDG_CONFIG_HOME") {
        scope.config_home = config_home;
    }
    let chosen = folder_variables().filter_map(|name| Some((name, folder(name)?)));
    scope.variables.extend(chosen);
    scope
}

/// Reads a settings file if it is a regular file and not too long.
fn read(path: &Path) -> Option<String> {
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    File::open(path).ok()?.take(FILE_LIMIT).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Writes a file that only the current user can read: the user's settings in it may contain keys.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    AtomicFile::new(path).replace_in(text.as_bytes(), || create_private_dir(folder))
}

#[cfg(test)]
mod tests;
