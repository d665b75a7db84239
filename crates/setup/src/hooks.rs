//! Finds hooks that are installed or named: by name, by folder, or by a folder of hooks.

use std::path::{Path, PathBuf};

use anyhook_engine::discover::{InstalledHooks, ReadDepth};
use anyhook_engine::failure_streak::{self, FailureStreak};
use anyhook_engine::hook::{Hook, Trust};
use anyhook_engine::places::{HOOKS, PROJECT_LEVEL, find_root};
use anyhook_engine::script_check;
use anyhook_engine::{Level, Problem, Severity};
use anyhook_hook::environment::Environment;

use crate::error::SetupError;

/// Returns all hooks that are installed for work in the current folder.
pub fn installed(environment: &Environment) -> InstalledHooks {
    let root = find_root(&environment.work_dir, environment.places.home.as_deref());
    let mut installed = InstalledHooks::find(
        &environment.places,
        root.as_deref(),
        &environment.work_dir,
        ReadDepth::All,
    );
    for standing in &mut installed.hooks {
        let hook = &mut standing.hook;
        // Problems of the trusted copy are fixed by trusting the hook again, not by what the copy's
        // findings suggest.
        if matches!(hook.trust, Trust::Changed(_)) && hook.fault().is_some() {
            hook.problems = as_written(hook).problems;
        }
    }
    installed
}

/// Returns problems of a hook that neither its definition nor an event shows: a script that cannot
/// be started, a placeholder, failures at every run.
pub fn findings(hook: &Hook, environment: &Environment) -> Vec<Problem> {
    let mut problems = script_check::check(hook, &program_folders());
    let state = environment.places.state.as_deref();
    if let Some(streak) = state.and_then(|state| failure_streak::worth_telling(state, hook)) {
        let FailureStreak { runs, cause } = streak;
        let words = format!("its last {runs} runs all failed: {cause}");
        let hint = format!("anyhook log --hook {} --verdict failed", hook.name());
        problems.push(Problem::new("always-fails", Severity::Error, words).hint(hint));
    }
    problems
}

/// Returns the folders in which programs are found.
fn program_folders() -> Vec<PathBuf> {
    std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default()
}

/// Returns the `hooks` folder of a level.
pub fn hooks_folder(level: Level, environment: &Environment) -> Result<PathBuf, SetupError> {
    let places = &environment.places;
    match level {
        Level::Managed => Ok(places.managed.join(HOOKS)),
        Level::User => {
            places.user.as_ref().map(|user| user.join(HOOKS)).ok_or(SetupError::NoUserLevel)
        }
        Level::Project | Level::Program => {
            let root = find_root(&environment.work_dir, places.home.as_deref());
            Ok(root.unwrap_or_else(|| environment.work_dir.clone()).join(PROJECT_LEVEL).join(HOOKS))
        }
    }
}

/// Finds the hooks that `names` refer to.
pub fn find(names: &[PathBuf], environment: &Environment) -> Result<Vec<Hook>, SetupError> {
    let mut found = Vec::new();
    let installed = installed(environment);
    for name in names {
        let by_name: Vec<Hook> = installed
            .hooks
            .iter()
            .filter(|standing| is_called(&standing.hook, name))
            .map(|standing| as_written(&standing.hook))
            .collect();
        if !by_name.is_empty() && name.components().count() == 1 {
            found.extend(by_name);
            continue;
        }
        found.extend(
            at_path(&environment.work_dir.join(name))
                .ok_or_else(|| SetupError::UnknownHook(name.clone()))?,
        );
    }
    Ok(found)
}

/// Returns whether a hook, or its folder, has this name.
fn is_called(hook: &Hook, name: &Path) -> bool {
    Path::new(hook.name()) == name
        || hook.folder.file_name().is_some_and(|folder| folder == name.as_os_str())
}

/// Returns a hook as its author wrote it: the source, not the trusted copy.
fn as_written(hook: &Hook) -> Hook {
    if hook.folder == hook.runs_from || hook.folder.symlink_metadata().is_err() {
        return hook.clone();
    }
    Hook::load(&hook.folder, hook.level)
}

/// Loads the hook, or the hooks, at a path.
fn at_path(path: &Path) -> Option<Vec<Hook>> {
    let load = |folder: &Path| Hook::load(folder, Level::User);
    if path.is_file() && path.file_name()? == "HOOK.md" {
        let folder = std::fs::canonicalize(path).ok()?;
        return Some(vec![load(folder.parent()?)]);
    }
    // `.` and `..` have no name of their own to compare the hook's with.
    let path = if path.file_name().is_none() || path.ends_with(".") || path.ends_with("..") {
        std::fs::canonicalize(path).ok()?
    } else {
        path.to_owned()
    };
    if !path.is_dir() {
        return None;
    }
    let inner: Vec<PathBuf> = std::fs::read_dir(&path)
        .ok()?
        .flatten()
        .map(|entry| entry.path())
        .filter(|folder| folder.join("HOOK.md").symlink_metadata().is_ok())
        .collect();
    if path.join("HOOK.md").symlink_metadata().is_ok() || inner.is_empty() {
        return Some(vec![load(&path)]);
    }
    let mut inner = inner;
    inner.sort();
    Some(inner.iter().map(|folder| load(folder)).collect())
}
