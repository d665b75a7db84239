//! Looks at the machine and the project. Nothing is written.

use std::fs;
use std::path::{Path, PathBuf};

use anyhook_engine::Level;
use anyhook_hook::environment::Environment;
use anyhook_hosts::HostSpec;
use anyhook_hosts::wiring::{OtherHook, SettingsScope};
use anyhook_model::report::init::{
    InitAgent, InitImport, InitNativeHook, InitPack, InitProject, InitReport,
};

use crate::error::SetupError;
use crate::import::plan::{HookFate, ImportPlan, PlannedHook};
use crate::install::{InstallPlan, chosen};
use crate::packs::level::PackLevel;
use crate::packs::options::OptionValues;
use crate::packs::source::SourcePlace;
use crate::packs::status::{self, PackStatus};
use crate::packs::{self, FoundPack, Pack, PackFiles, PackHook};
use crate::{hooks, settings, shown};

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
    files: PackFiles,
) -> Result<Survey, SetupError> {
    let scope = settings::scope(environment, false)?;
    let agents = chosen(agents, &scope)?;
    Ok(Survey {
        agents: agents.into_iter().map(|agent| of_agent(agent, &scope, environment)).collect(),
        project: project(environment, facts),
        added: active_packs(environment, files),
    })
}

/// Returns the packs of which every hook runs, and at which level.
///
/// What a repository says about itself, as in its `packs.lock`, does not count: hooks that are not
/// trusted protect from nothing.
fn active_packs(environment: &Environment, files: PackFiles) -> Vec<(String, Level)> {
    let installed = hooks::installed(environment).hooks;
    let is_active = |pack: &Pack, hook: &PackHook, level: Level| {
        installed.iter().any(|standing| {
            let found = &standing.hook;
            let of_pack = found.definition.metadata.get("pack");
            found.level == level
                && found.name() == hook.name()
                && of_pack.is_some_and(|name| *name == pack.name.as_str())
                && standing.out.is_none()
        })
    };
    let levels = [Level::Managed, Level::User, Level::Project];
    let packs = packs::all(files).into_iter().filter_map(|pack| {
        let is_at = |level: &Level| pack.hooks.iter().all(|hook| is_active(&pack, hook, *level));
        let level = levels.into_iter().find(is_at)?;
        Some((pack.name.clone(), level))
    });
    packs.collect()
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
        import: importable(agent, environment),
        problem,
        ..InitAgent::default()
    }
}

/// Returns what of the user's own hooks can be imported without a loss, if anything.
fn importable(agent: &'static HostSpec, environment: &Environment) -> Option<InitImport> {
    // What cannot be read is what `anyhook import` reports.
    let plan = ImportPlan::of(agent, false, false, environment).ok()?;
    let hooks: Vec<String> = plan.importable().map(|(_, name)| name.to_owned()).collect();
    let stays = |hook: &&PlannedHook| matches!(hook.fate, HookFate::NotCarriedOver(_));
    let staying = plan.hooks.iter().filter(stays).count();
    (!hooks.is_empty()).then_some(InitImport { hooks, staying, chosen: false })
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

/// Finds packs that cannot be added, because something is at the place of one of their hooks.
pub fn check(report: &mut InitReport, environment: &Environment, files: PackFiles) {
    for pack in report.packs.iter_mut().filter(|pack| !pack.was_added) {
        pack.problem = problem(pack, environment, files).unwrap_or_else(|error| {
            // A project's `packs.lock` may be anything.
            Some(error.to_string())
        });
        pack.chosen &= pack.problem.is_none();
    }
}

fn problem(
    pack: &InitPack,
    environment: &Environment,
    files: PackFiles,
) -> Result<Option<String>, SetupError> {
    let level = PackLevel::read(level_of(pack), environment)?;
    let found = FoundPack::of_place(&SourcePlace::BuiltIn(pack.name.clone()), files)?;
    let whole = found.pack(&OptionValues::new())?;
    let hooks = status::hooks(&whole, &level.hooks_folder, None);
    let Some(place) = hooks.iter().find(|place| place.standing != PackStatus::Absent) else {
        return Ok(None);
    };
    let path = shown(&place.folder, &environment.places);
    Ok(Some(match (place.standing, level.level) {
        (PackStatus::Same, Level::Project) => {
            format!("`{path}` is there and not trusted; anyhook trust shows it")
        }
        _ => format!("`{path}` is in the way"),
    }))
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
