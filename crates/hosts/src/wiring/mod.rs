//! Wiring anyhook into an agent's settings: texts in, texts out. The command line reads and writes
//! the files themselves.

pub mod codex_trust;
mod entry;
mod injection;
pub mod json_hooks;
mod listed_entries;
mod settings;
pub mod toml_hooks;
mod yaml_list;

#[cfg(test)]
pub(crate) use entry::is_package_call;
pub use entry::{EntryForm, Unanswered, folders_of, form_of, is_ours, program_of};
pub(crate) use entry::{
    PACKAGE_SCRIPT, folders_in, has_package_call, is_entry_script, plugin_lines, script_command,
    script_name, unanswered_scripts,
};
pub use injection::{AgentStart, DisplacedSettings, InjectedSignal, Injection};

pub(crate) use injection::PERMISSION_SECONDS;
pub(crate) use listed_entries::{ListedEntries, no_obstacle};
pub(crate) use settings::{JsonSettings, status};
pub(crate) use toml_hooks::TomlSettings;
pub(crate) use yaml_list::YamlList;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhook_model::StateDir;

/// Where an agent's settings are.
#[derive(Clone, Debug)]
pub struct SettingsScope {
    /// The user's home folder.
    pub home: PathBuf,
    /// The user's `XDG_CONFIG_HOME`.
    pub config_home: PathBuf,
    /// The project, if its settings are meant and not the user's.
    pub project: Option<PathBuf>,
    /// Which of [`crate::folder_variables`] are set, and their values.
    pub variables: BTreeMap<&'static str, PathBuf>,
}

impl SettingsScope {
    /// Returns the folder that a variable names, otherwise one in the home folder.
    pub fn folder(&self, variable: &'static str, inner: &str) -> PathBuf {
        self.variables.get(variable).cloned().unwrap_or_else(|| self.home.join(inner))
    }
}

/// The texts of settings files, by path; files that do not exist are absent.
pub type SettingsTexts = BTreeMap<PathBuf, String>;

/// New texts of settings files; `None` for a file to delete.
pub type SettingsEdits = BTreeMap<PathBuf, Option<String>>;

/// How we are wired into an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WiringStatus {
    /// The commands or files with which the agent calls us.
    pub ours: Vec<String>,
    /// Events with one of our entries, if the agent's settings list them.
    pub events: Vec<String>,
    /// Events without one of our entries.
    pub missing: Vec<String>,
    /// Other hooks at the same events, which run in addition to ours.
    pub rivals: Vec<String>,
    /// The hooks that are not ours, at every event, in their order.
    pub others: Vec<OtherHook>,
    /// The command line with which the agent calls us before a tool.
    pub before_tool: Option<String>,
    /// The command lines with which it calls us at each event.
    pub entries: Vec<EntryLine>,
    /// What keeps the agent from calling us although we are wired in, and has to be removed by a
    /// person.
    pub obstacles: Vec<Obstacle>,
    /// What keeps it from calling us and is fixed by wiring us in again.
    pub stale: Vec<String>,
    /// Entries of an earlier version with which the agent calls us: wiring us in again updates
    /// them.
    pub outdated: Vec<String>,
    /// Our packages among the agent's plugins, by which it also calls us: where they are, or their
    /// names.
    pub packages: Vec<String>,
    /// Our folders that our plugin names, by their options.
    pub(crate) plugin_folders: Vec<(&'static str, PathBuf)>,
}

impl WiringStatus {
    /// Returns the command line with which the agent calls us at an event, by its name for it.
    pub fn line_at(&self, event: &str) -> Option<&str> {
        let named = |wanted: Option<&str>| {
            self.entries.iter().find(|entry| entry.event.as_deref() == wanted)
        };
        named(Some(event)).or_else(|| named(None)).map(|entry| entry.line.as_str())
    }

    /// Returns our folders as `install` wrote them into the agent's settings: an option such as
    /// `--state`, and the folder.
    pub fn folders(&self) -> Vec<(&'static str, PathBuf)> {
        let mut folders = self.plugin_folders.clone();
        folders.extend(self.ours.iter().flat_map(|command| folders_of(command)));
        folders.sort_unstable();
        folders.dedup();
        folders
    }
}

/// A command line with which an agent calls us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryLine {
    /// The agent's name for the event; `None` if it is the same at every other event.
    pub event: Option<String>,
    /// The command line.
    pub line: String,
}

/// A hook in an agent's settings that is not ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherHook {
    /// The agent's name for the event.
    pub event: String,
    /// The command.
    pub command: String,
}

/// Something that keeps an agent from calling anyhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// What it is, and in which file.
    pub what: String,
    /// What to do about it.
    pub way_out: String,
}

impl Obstacle {
    /// Creates the obstacle of a setting that disables hooks.
    pub(crate) fn setting(setting: &str, path: &Path) -> Self {
        let path = path.display();
        Self {
            what: format!("{setting} in {path} disables anyhook's hooks"),
            way_out: format!("remove it from {path}, then run anyhook doctor"),
        }
    }
}

/// Why settings cannot be changed. In that case nothing is changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// The file cannot be parsed.
    #[error("`{path}` is invalid: {why}")]
    Broken {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        why: String,
    },
    /// The file contains something else where hooks belong.
    #[error("`{path}`: {what} is not {expected}")]
    Unexpected {
        /// The file.
        path: PathBuf,
        /// The value that was examined.
        what: String,
        /// What it should be.
        expected: &'static str,
    },
    /// A file that we would write is there already, and somebody else's.
    #[error("`{path}` exists and is not anyhook's")]
    Taken {
        /// The file.
        path: PathBuf,
    },
}

/// The name of the full program.
pub const PROGRAM: &str = "anyhook";
/// The name of the small program, quick to start, which answers agents and delegates the rest.
pub const HOOK_BINARY: &str = "anyhook-hook";

/// How an agent calls us.
#[derive(Clone, Debug)]
pub struct HookInvocation {
    /// The program's path.
    pub binary: PathBuf,
    /// The small program's path, if there is one.
    pub small: Option<PathBuf>,
    /// The folders that entries name.
    pub folders: Option<EntryFolders>,
}

/// Folders that are named in an agent's entries, so that no variable of its process changes them.
#[derive(Clone, Debug)]
pub struct EntryFolders {
    /// The user's home folder.
    pub home: PathBuf,
    /// The user's level, such as `~/.config/agents`.
    pub config: PathBuf,
    /// The state folder, such as `~/.local/state/anyhook`.
    pub state: PathBuf,
}

impl EntryFolders {
    /// Returns the options that name them.
    pub fn options(&self) -> [(&'static str, &Path); 3] {
        [("--home", &self.home), ("--config", &self.config), ("--state", &self.state)]
    }

    /// Returns the path of the marker that says that a guard that blocks on failure is installed.
    pub fn marker(&self) -> PathBuf {
        StateDir::new(&self.state).guarded()
    }

    /// Returns whether a settings file can name them, which requires that they are valid text.
    fn are_texts(&self) -> bool {
        self.options().iter().all(|(_, folder)| folder.to_str().is_some())
    }
}

impl HookInvocation {
    /// Makes an agent call one program for everything.
    pub fn to(binary: impl Into<PathBuf>) -> Self {
        Self { binary: binary.into(), small: None, folders: None }
    }

    /// Returns the folders that entries name, if a settings file can name them.
    pub fn folders(&self) -> Option<&EntryFolders> {
        self.folders.as_ref().filter(|folders| folders.are_texts())
    }

    /// Returns the program that answers an agent's events.
    pub fn answering(&self) -> &Path {
        self.small.as_deref().unwrap_or(&self.binary)
    }
}

/// Returns words as a command line for a shell.
pub(crate) fn command_line<'words>(words: impl Iterator<Item = &'words str>) -> String {
    words.map(quoted).collect::<Vec<_>>().join(" ")
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Returns whether a character has no special meaning to a shell.
fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "/._-+:=".contains(letter)
}
