//! Wiring anyhook into an agent's settings: texts in, texts out. The files themselves are read and
//! written by the command line.

pub mod codex_trust;
mod injection;
pub mod json_hooks;
mod settings;

pub use injection::{Displaced, Emission, Injection, Start};

pub(crate) use injection::PERMISSION_SECONDS;
pub(crate) use settings::JsonSettings;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Where an agent's settings are.
#[derive(Clone, Debug)]
pub struct Scope {
    /// The user's home.
    pub home: PathBuf,
    /// The user's `XDG_CONFIG_HOME`.
    pub config_home: PathBuf,
    /// The project, if its settings are meant and not the user's.
    pub project: Option<PathBuf>,
    /// Folders that agents let people choose: variable and value.
    pub variables: BTreeMap<&'static str, PathBuf>,
}

impl Scope {
    /// Returns the folder a variable names, else one in the home folder.
    pub fn folder(&self, variable: &'static str, inner: &str) -> PathBuf {
        self.variables.get(variable).cloned().unwrap_or_else(|| self.home.join(inner))
    }
}

/// The variables in which agents let people choose a folder.
pub const FOLDER_VARIABLES: [&str; 2] = ["CLAUDE_CONFIG_DIR", "CODEX_HOME"];

/// The texts of settings files, by path; a file that is not there is not in it.
pub type Texts = BTreeMap<PathBuf, String>;

/// New texts of settings files; none for a file that is to go.
pub type Edits = BTreeMap<PathBuf, Option<String>>;

/// How we are wired into an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inspection {
    /// The commands or files by which the agent calls us.
    pub ours: Vec<String>,
    /// Events without an entry of ours.
    pub missing: Vec<String>,
    /// Other hooks at the same events, which run beside ours.
    pub rivals: Vec<String>,
    /// What keeps the agent from calling us although we are wired in, and a person has to take away.
    pub obstacles: Vec<String>,
    /// What keeps it from calling us, and wiring us in again puts right.
    pub stale: Vec<String>,
}

/// Why settings cannot be changed. Nothing is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// The file cannot be read as what it should be.
    #[error("`{path}` is broken: {why}")]
    Broken {
        /// Which file.
        path: PathBuf,
        /// What is wrong, and where.
        why: String,
    },
    /// The file holds something else where hooks belong.
    #[error("`{path}`: {what} is not {expected}")]
    Unexpected {
        /// Which file.
        path: PathBuf,
        /// What was looked at.
        what: String,
        /// What it should be.
        expected: &'static str,
    },
}

/// The name of the program that can do everything.
pub const PROGRAM: &str = "anyhook";
/// The name of the small program, quick to start, which answers agents and hands over the rest.
pub const SMALL_PROGRAM: &str = "anyhook-hook";

/// How an agent calls us.
#[derive(Clone, Debug)]
pub struct Call {
    /// The program's path.
    pub binary: PathBuf,
    /// The small program's path, where there is one.
    pub small: Option<PathBuf>,
}

impl Call {
    /// Has an agent call one program for everything.
    pub fn to(binary: impl Into<PathBuf>) -> Self {
        Self { binary: binary.into(), small: None }
    }

    /// Returns the command line for a shell, answering a little before the host's own limit.
    pub fn command(&self, host: &str, limit_ms: u64) -> String {
        format!(
            "{} hook {host} --deadline-ms {}",
            quoted(&self.answering().to_string_lossy()),
            limit_ms / 10 * 9
        )
    }

    /// Returns the program that answers an agent's events.
    pub fn answering(&self) -> &Path {
        self.small.as_deref().unwrap_or(&self.binary)
    }
}

/// Tells whether a command line is one of ours for this host: nothing but our program and its
/// arguments, so that a line somebody wrote around it stays theirs.
pub fn is_ours(command: &str, host: &str) -> bool {
    let Some((program, arguments)) = split(command) else { return false };
    let mut words = arguments.split_whitespace();
    Path::new(&program).file_name().is_some_and(|name| name == PROGRAM || name == SMALL_PROGRAM)
        && words.next() == Some("hook")
        && words.next() == Some(host)
        && match words.next() {
            None => true,
            Some("--deadline-ms") => words.next().is_some() && words.next().is_none(),
            Some(_) => false,
        }
}

/// Returns the program of one of our command lines.
pub fn program_of(command: &str) -> Option<PathBuf> {
    split(command).map(|(program, _)| PathBuf::from(program))
}

/// Splits a command line into its first word, without quotes, and the rest.
fn split(command: &str) -> Option<(String, &str)> {
    let mut program = String::new();
    let mut is_quoted = false;
    let mut letters = command.char_indices();
    while let Some((index, letter)) = letters.next() {
        match letter {
            '\'' => is_quoted = !is_quoted,
            '\\' if !is_quoted => program.push(letters.next()?.1),
            ' ' if !is_quoted => return Some((program, &command[index..])),
            _ => program.push(letter),
        }
    }
    None
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Tells whether a letter means nothing but itself to a shell.
fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "/._-+:=".contains(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_quoted_and_known_again() {
        let binary = PathBuf::from("/home/a b/it's/anyhook");
        let small = Some(PathBuf::from("/home/a b/it's/anyhook-hook"));
        let one = Call::to(&binary);
        let command = one.command("codex", 600_000);
        assert_eq!(command, r"'/home/a b/it'\''s/anyhook' hook codex --deadline-ms 540000");
        let both = Call { binary, small };
        let quicker = both.command("codex", 600_000);
        assert_eq!(quicker, r"'/home/a b/it'\''s/anyhook-hook' hook codex --deadline-ms 540000");
        for (command, call) in [(command, one), (quicker, both)] {
            assert!(is_ours(&command, "codex"), "{command}");
            assert!(!is_ours(&command, "claude-code"), "{command}");
            assert_eq!(program_of(&command).as_deref(), Some(call.answering()));
        }
    }

    #[test]
    fn a_line_around_ours_is_not_ours() {
        assert!(is_ours("anyhook hook codex", "codex"));
        assert!(is_ours("anyhook-hook hook codex", "codex"));
        for theirs in [
            "log.sh; anyhook hook codex",
            "anyhook hook codex | tee log",
            "anyhook hook codex; say done",
            "anyhook hook codex --deadline-ms 5 && x",
            "/opt/anyhook-log/bin/log hook codex",
            "anyhook-hooks hook codex",
            "anyhook-hook-log hook codex",
            "anyhook-hook emit codex",
            "anyhook hook codex-next",
            "echo anyhook hook codex",
            "'anyhook hook codex",
            "anyhook",
            "",
        ] {
            assert!(!is_ours(theirs, "codex"), "{theirs}");
        }
    }
}
