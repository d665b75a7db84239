//! The environment of a process: which variables are used, and what they mean.

use std::env;
use std::path::PathBuf;

use anyhook_engine::Places;
use anyhook_engine::journal::Journal;
use anyhook_engine::places::{FolderOverrides, find_root};
use anyhook_engine::settings::Settings;

/// What the process inherited from its environment.
#[derive(Clone, Debug)]
pub struct Environment {
    /// Where things are.
    pub places: Places,
    /// The folder the process was started in.
    pub work_dir: PathBuf,
    /// The id that the agent's launcher gave it.
    pub agent_id: Option<String>,
}

impl Environment {
    /// Reads `HOME`, `XDG_CONFIG_HOME` and `XDG_STATE_HOME`; the running program is taken as
    /// `anyhook`.
    pub fn read() -> Self {
        Self::of(running_program(), &FolderOverrides::default())
    }

    /// Like [`read`](Self::read), with `anyhook` given, or not known yet, and with named folders
    /// that override variables.
    pub fn of(anyhook: Option<PathBuf>, named: &FolderOverrides) -> Self {
        let places = Places { binary: anyhook, ..Places::discover_with(named) };
        Self {
            places,
            work_dir: env::current_dir().unwrap_or_else(|_| PathBuf::from("/")),
            agent_id: env::var("ANYHOOK_AGENT_ID").ok().filter(|id| !id.is_empty()),
        }
    }

    /// Returns the journal; `None` without a home folder.
    pub fn journal(&self) -> Option<Journal> {
        let settings = Settings::load(&self.places, None).journal;
        self.places.state.as_deref().map(|state| Journal::with(state, settings))
    }

    /// Returns the project's root, or the current folder if there is none.
    pub fn project_root(&self) -> PathBuf {
        find_root(&self.work_dir, self.places.home.as_deref())
            .unwrap_or_else(|| self.work_dir.clone())
    }
}

/// Returns the path of the running program, as `anyhook`; if it was replaced in the meantime, the
/// path of the new one.
pub fn running_program() -> Option<PathBuf> {
    let Ok(program) = env::current_exe() else { return Some(PathBuf::from("anyhook")) };
    match program.to_str().and_then(|path| path.strip_suffix(" (deleted)")) {
        Some(path) if !program.exists() => Some(PathBuf::from(path)),
        _ => Some(program),
    }
}

/// Returns a folder named by a variable; a relative path is ignored.
pub fn folder(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}
