//! Known places: the folders of anyhook for this user, whatever the caller's environment says.
//!
//! `HOME` and `XDG_*` are set by the caller, which may be an agent. Guards against agents are
//! therefore also looked for below the home folder that the password database names, and in the
//! folders that `install` wrote into agents' settings there.

use std::fs;
use std::path::{Path, PathBuf};

use anyhook_engine::Places;
use anyhook_hook::environment::Environment;
use anyhook_hosts::AGENTS;
use anyhook_hosts::wiring::SettingsScope;

use crate::{passwd, settings};

/// The folders of one user.
#[derive(Debug, Default)]
pub struct KnownPlaces {
    /// The user's level: that of the environment first.
    pub users: Vec<PathBuf>,
    /// The state folders: that of the environment first; others only if they exist.
    pub states: Vec<PathBuf>,
    /// The state folders that exist and that no variable of the caller selected.
    fixed_states: Vec<PathBuf>,
}

impl KnownPlaces {
    /// Finds all of them.
    pub fn find(environment: &Environment) -> Self {
        let places = &environment.places;
        let mut known = Self::default();
        known.users.extend(places.user.clone());
        known.states.extend(places.state.clone());
        let passwd_home = passwd_home();
        if let Some(home) = &passwd_home {
            add(&mut known.users, home.join(".config/agents"));
            known.add_state(home.join(".local/state/anyhook"), true);
            known.add_installed(&plain_scope(home), true);
        }
        if let Some(home) = &places.home
            && passwd_home.as_ref() != Some(home)
        {
            known.add_installed(&plain_scope(home), false);
        }
        if let Ok(scope) = settings::scope(environment, false) {
            known.add_installed(&scope, false);
        }
        known
    }

    /// Returns the state folders that are authoritative if the caller is an agent: those that its
    /// environment did not select, if there are any.
    pub fn trusted_states(&self) -> &[PathBuf] {
        if self.fixed_states.is_empty() { &self.states } else { &self.fixed_states }
    }

    /// Returns the state folders other than that of the environment.
    pub fn other_states(&self, places: &Places) -> impl Iterator<Item = &PathBuf> {
        let own = places.state.clone();
        self.states.iter().filter(move |state| Some(*state) != own.as_ref())
    }

    /// Adds the folders that `install` wrote into the user's settings of each agent.
    fn add_installed(&mut self, scope: &SettingsScope, is_fixed: bool) {
        // Settings that cannot be read name nothing; `doctor` reports what is wrong with them.
        let found = AGENTS.into_iter().filter_map(|agent| settings::inspect(agent, scope).ok());
        for (option, folder) in found.flat_map(|found| found.folders()) {
            match option {
                "--config" => add(&mut self.users, folder),
                "--state" => self.add_state(folder, is_fixed),
                _ => {}
            }
        }
    }

    fn add_state(&mut self, folder: PathBuf, is_fixed: bool) {
        if !folder.is_dir() {
            return;
        }
        if is_fixed {
            add(&mut self.fixed_states, folder.clone());
        }
        add(&mut self.states, folder);
    }
}

/// Adds a folder, unless it is included under this name or another.
fn add(folders: &mut Vec<PathBuf>, folder: PathBuf) {
    let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let new = real(&folder);
    if folders.iter().all(|known| real(known) != new) {
        folders.push(folder);
    }
}

/// Returns where agents' settings are by default.
fn plain_scope(home: &Path) -> SettingsScope {
    SettingsScope {
        home: home.to_owned(),
        config_home: home.join(".config"),
        project: None,
        variables: std::collections::BTreeMap::new(),
    }
}

/// Returns the home folder from the user database.
fn passwd_home() -> Option<PathBuf> {
    passwd_home_of_tests().or_else(|| passwd::user()?.home)
}

/// In builds for tests, the home folder that replaces that of the user database.
#[cfg(debug_assertions)]
fn passwd_home_of_tests() -> Option<PathBuf> {
    anyhook_hook::environment::folder("ANYHOOK_PASSWD_HOME")
}

/// Only builds for tests have another home folder.
#[cfg(not(debug_assertions))]
fn passwd_home_of_tests() -> Option<PathBuf> {
    None
}
