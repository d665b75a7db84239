//! Accepts what a person changes with a command in running sessions: none reports it as missing.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

use anyhook_engine::trust::digest;
use anyhook_engine::{now, session_guards};
use anyhook_hook::environment::Environment;

use crate::hooks;

/// When a file was written, and its length.
type Mark = Option<(SystemTime, u64)>;

/// The hooks and settings files before a command.
#[derive(Debug)]
pub struct SettingsBefore {
    hooks: BTreeMap<PathBuf, (String, String)>,
    /// The settings files and programs, each with its modification time and length.
    files: BTreeMap<String, Mark>,
}

impl SettingsBefore {
    /// Records what is installed.
    pub fn look(environment: &Environment) -> Self {
        let installed = hooks::installed(environment).hooks.into_iter();
        let hooks = installed.map(|standing| {
            let hook = &standing.hook;
            let content = digest(&hook.folder).ok();
            let stands = format!("{content:?} {:?} {:?}", hook.trust, standing.out);
            (hook.folder.clone(), (hook.name().to_owned(), stands))
        });
        let state = environment.places.state.as_deref();
        let files = state.map(session_guards::watched_files).unwrap_or_default().into_iter();
        let files = files.map(|path| {
            let mark = mark(&path);
            (path, mark)
        });
        Self { hooks: hooks.collect(), files: files.collect() }
    }

    /// Accepts the differences in every running session. A difference that cannot be accepted is an
    /// alarm there, and `anyhook reload` clears it.
    pub fn accept_changes(self, environment: &Environment) {
        let Some(state) = environment.places.state.as_deref() else { return };
        let after = Self::look(environment);
        let mut names: Vec<&str> = Vec::new();
        for (folder, hook) in self.hooks.iter().chain(&after.hooks) {
            if self.hooks.get(folder) != after.hooks.get(folder) {
                names.push(&hook.0);
            }
        }
        for path in self.files.keys().chain(after.files.keys()) {
            // One that is no longer part of an installation is checked again.
            let now = after.files.get(path).copied().unwrap_or_else(|| mark(path));
            if self.files.get(path) != Some(&now) {
                names.push(path);
            }
        }
        names.sort_unstable();
        names.dedup();
        if !names.is_empty() {
            let _ = session_guards::accept(state, &names, now());
        }
    }
}

fn mark(path: &str) -> Mark {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}
