//! Looks at the machine and the project. Nothing is written.

use std::fs;
use std::path::{Path, PathBuf};

use anyhook_engine::Level;
use anyhook_hook::environment::Environment;
use anyhook_hosts::HostSpec;
use anyhook_hosts::wiring::{OtherHook, SettingsScope};
use anyhook_model::report::init::{InitAgent, InitNativeHook, InitPack, InitProject, InitReport};

use crate::error::SetupError;
use crate::install::{InstallPlan, chosen};
use crate::packs::level::PackLevel;
use crate::packs::options::OptionValues;
use crate::packs::source::SourcePlace;
use crate::packs::status::{self, PackStatus};
use crate::packs::{FoundPack, PackFiles};
use crate::{settings, shown};

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    /// The agents that were named, or all that are here.
    pub agents: Vec<InitAgent>,
    /// The project, if there is one.
    pub project: Option<InitProject>,
    /// The packs that were added, and at which level.
    pub added: Vec<(String, Level)>,
}

/// What the files of a project tell of its tools.
#[derive(Clone, Debug, Default)]
pub struct ProjectFacts {
    /// Its languages.
    pub languages: Vec<String>,
    /// The command that runs its tests.
    pub test_command: Option<String>,
    /// Its formatters that are installed.
    pub formatters: Vec<String>,
    /// Its linters that are installed.
    pub linters: Vec<String>,
}

/// Looks at the agents that are named, or at all that are here, and at the project.
pub fn survey(
    environment: &Environment,
    agents: &[String],
    facts: ProjectFacts,
) -> Result<Survey, SetupError> {
    let scope = settings::scope(environment, false)?;
    let agents = chosen(agents, &scope)?;
    let mut added = Vec::new();
    for level in PackLevel::all(None, environment)? {
        let names = level.lock.lock.packs.iter().map(|pack| (pack.name.clone(), level.level));
        added.extend(names);
    }
    Ok(Survey {
        agents: agents.into_iter().map(|agent| of_agent(agent, &scope, environment)).collect(),
        project: project(environment, facts),
        added,
    })
}

fn of_agent(
    agent: &'static HostSpec,
    scope: &SettingsScope,
    environment: &Environment,
) -> InitAgent {
    let call = settings::call(environment);
    let plan = call.and_then(|call| InstallPlan::wire(agent, scope, &call));
    let (was_installed, problem) = match plan {
        Ok(plan) => (plan.edits.is_empty(), None),
        Err(error) => (false, Some(error.to_string())),
    };
    InitAgent {
        id: agent.id().to_owned(),
        title: agent.title.to_owned(),
        was_installed,
        native_hooks: native_hooks(agent, environment),
        problem,
        ..InitAgent::default()
    }
}

/// Returns the hooks in an agent's settings that are not ours: the user's, then the project's.
fn native_hooks(agent: &HostSpec, environment: &Environment) -> Vec<InitNativeHook> {
    let scopes = [false, true].map(|project| settings::scope(environment, project));
    let mut found: Vec<InitNativeHook> = Vec::new();
    for scope in scopes.into_iter().flatten() {
        let files = agent.settings.files(&scope);
        let hooks = settings::inspect(agent, &scope).map(|status| status.others);
        let file =
            files.first().map(|file| file.to_string_lossy().into_owned()).unwrap_or_default();
        let hook = |hook: OtherHook| InitNativeHook {
            file: file.clone(),
            event: Some(hook.event),
            command: Some(hook.command),
        };
        let plugins = files.iter().flat_map(|file| plugins_beside(file));
        let plugin = |path: PathBuf| InitNativeHook {
            file: path.to_string_lossy().into_owned(),
            event: None,
            command: None,
        };
        let all = hooks.unwrap_or_default().into_iter().map(hook).chain(plugins.map(plugin));
        for hook in all {
            if !found.contains(&hook) {
                found.push(hook);
            }
        }
    }
    found
}

/// Returns the other plugins in the folder of ours.
fn plugins_beside(file: &Path) -> Vec<PathBuf> {
    let Some(folder) = file.parent().filter(|folder| folder.ends_with("plugins")) else {
        return Vec::new();
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_script = |path: &PathBuf| {
        path.extension().is_some_and(|extension| extension == "js" || extension == "ts")
    };
    let mut found: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path != file && is_script(path)).collect();
    found.sort();
    found
}

/// Describes the project; the home folder is none, and neither is a folder without anything.
fn project(environment: &Environment, facts: ProjectFacts) -> Option<InitProject> {
    let root = environment.project_root();
    let git = root.join(".git").symlink_metadata().is_ok();
    let is_home = environment.places.home.as_ref().is_some_and(|home| *home == root);
    let is_project = git || !facts.languages.is_empty() || facts.test_command.is_some();
    let ProjectFacts { languages, test_command, formatters, linters } = facts;
    (is_project && !is_home).then(|| InitProject {
        git,
        default_branch: default_branch(&root),
        languages,
        test_command,
        formatters,
        linters,
        secret_files: secret_files(&root),
        root: root.to_string_lossy().into_owned(),
    })
}

/// Returns the default branch of the remote, as git knows it since the clone.
fn default_branch(root: &Path) -> Option<String> {
    let head = fs::read_to_string(root.join(".git/refs/remotes/origin/HEAD")).ok()?;
    let branch = head.trim().strip_prefix("ref: refs/remotes/origin/")?;
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./".contains(letter);
    (!branch.is_empty() && branch.chars().all(is_plain)).then(|| branch.to_owned())
}

/// Returns the names of files at the top of a project that look as if they held secrets.
fn secret_files(root: &Path) -> Vec<String> {
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut found: Vec<String> = names.filter(|name| is_secret(name)).collect();
    found.sort();
    found
}

fn is_secret(name: &str) -> bool {
    let samples = [".example", ".sample", ".template", ".dist"];
    let is_env = name == ".env" || name.starts_with(".env.") || name == ".envrc";
    let is_key = [".pem", ".key", ".p12", ".pfx"].iter().any(|end| name.ends_with(end));
    let is_known = ["id_rsa", "id_ed25519", ".npmrc", ".netrc", "credentials.json"].contains(&name);
    (is_env || is_key || is_known) && !samples.iter().any(|end| name.ends_with(end))
}

/// Finds the packs that are there without a record, and what is in the way of others: these are not
/// added.
pub fn check(
    report: &mut InitReport,
    environment: &Environment,
    files: PackFiles,
) -> Result<(), SetupError> {
    for pack in report.packs.iter_mut().filter(|pack| !pack.was_added) {
        let level = PackLevel::read(level_of(pack), environment)?;
        let found = FoundPack::of_place(&SourcePlace::BuiltIn(pack.name.clone()), files)?;
        let whole = found.pack(&OptionValues::new())?;
        let hooks = status::hooks(&whole, &level.hooks_folder, None);
        if let Some(place) = hooks.iter().find(|place| place.standing.is_in_the_way()) {
            let path = shown(&place.folder, &environment.places);
            pack.problem = Some(format!("`{path}` is in the way"));
        }
        pack.was_added = hooks.iter().any(|place| place.standing == PackStatus::Same);
        pack.chosen &= pack.problem.is_none() && !pack.was_added;
    }
    Ok(())
}

/// Returns the level that a pack is for.
pub fn level_of(pack: &InitPack) -> Level {
    if pack.level == Level::Project.word() { Level::Project } else { Level::User }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_with_secrets_are_known_by_name() {
        for name in [".env", ".env.local", "server.pem", "id_ed25519", ".npmrc"] {
            assert!(is_secret(name), "{name}");
        }
        for name in [".env.example", "main.rs", ".environment", "key", "a.pem.sample"] {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn the_default_branch_is_that_of_the_remote() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(default_branch(root.path()), None);
        let folder = root.path().join(".git/refs/remotes/origin");
        fs::create_dir_all(&folder).unwrap();
        let says = |text: &str| {
            fs::write(folder.join("HEAD"), text).unwrap();
            default_branch(root.path())
        };
        assert_eq!(says("ref: refs/remotes/origin/dev/next\n").as_deref(), Some("dev/next"));
        assert_eq!(says("ref: refs/remotes/origin/a|b\n"), None);
        assert_eq!(says("0123abcd\n"), None);
    }
}
