//! What the output of a hook can contain that only the agent itself acts on.
//!
//! It cannot be known what a program prints. But whoever wants a tool's output replaced has to write
//! the name of that field somewhere: in the command, or in a file that the command names.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhook_hosts::native_hooks::NativeFormat;

/// Files are read up to this length.
const FILE_LIMIT: u64 = 1024 * 1024;

/// Where the files that a command names are.
#[derive(Clone, Copy, Debug)]
pub struct Folders<'path> {
    /// The home folder.
    pub home: &'path Path,
    /// The project, or where the session is.
    pub project: &'path Path,
}

/// Returns what only the agent can do for a hook, as far as its command shows: in the order of the
/// format, each once.
pub fn only_native(
    format: &NativeFormat,
    command: &str,
    folders: Folders<'_>,
) -> Vec<(&'static str, &'static str)> {
    let texts: Vec<String> = std::iter::once(command.to_owned())
        .chain(named_files(command, folders).iter().filter_map(|path| read(path)))
        .collect();
    let is_there = |word: &str| texts.iter().any(|text| has_word(text, word));
    format.only_native.iter().filter(|(word, _)| is_there(word)).copied().collect()
}

/// Returns the paths that words of a command line may mean.
fn named_files(command: &str, folders: Folders<'_>) -> Vec<PathBuf> {
    let is_between = |letter: char| letter.is_whitespace() || "\"'`;|&<>()=".contains(letter);
    let path = |word: &str| {
        let inside = |rest: &str| rest.trim_start_matches('/').to_owned();
        for variable in ["~", "$HOME", "${HOME}"] {
            if let Some(rest) = word.strip_prefix(variable) {
                return folders.home.join(inside(rest));
            }
        }
        // Every agent has a variable of its own for the project.
        let name = word.trim_start_matches("${").trim_start_matches('$');
        match name.split_once("_PROJECT_DIR") {
            Some((_, rest)) if word.starts_with('$') => {
                folders.project.join(inside(rest.trim_start_matches('}')))
            }
            _ => folders.project.join(word),
        }
    };
    // Quotes may be around the variable alone: "$CLAUDE_PROJECT_DIR"/guard.sh
    let whole = command.replace(['"', '\''], "");
    let words = whole.split(is_between).filter(|word| !word.is_empty());
    words.map(path).filter(|path| path.is_file()).collect()
}

fn read(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(FILE_LIMIT).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns whether a text has a word, not as a part of another.
fn has_word(text: &str, word: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}
