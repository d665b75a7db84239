//! Promotes a hook from shadow to enforce in its HOOK.md.

use std::fs;
use std::path::{Path, PathBuf};

use anyhook_engine::atomic_file::AtomicFile;
use anyhook_engine::hook::Trust;
use anyhook_engine::trust::TrustStore;
use anyhook_engine::{Hook, Level, now};
use anyhook_hook::environment::Environment;
use anyhook_model::Mode;

use crate::error::SetupError;
use crate::hooks;

/// The change of a HOOK.md from `mode: shadow` to `mode: enforce`.
#[derive(Debug)]
pub struct Promotion<'hook> {
    hook: &'hook Hook,
    /// The hook's HOOK.md.
    pub file: PathBuf,
    /// The line that changes, from 1.
    pub line: usize,
    before: Vec<u8>,
    after: Vec<u8>,
}

impl<'hook> Promotion<'hook> {
    /// Finds the change; nothing is written yet.
    pub fn of(hook: &'hook Hook) -> Result<Self, SetupError> {
        let file = hook.folder.join("HOOK.md");
        let before = fs::read(&file).map_err(SetupError::unusable(&file))?;
        let Some((after, line)) = enforce(&before) else {
            return Err(SetupError::NoPlainMode(file));
        };
        Ok(Self { hook, file, line, before, after })
    }

    /// Writes the change. A trusted hook of the project stays trusted.
    pub fn write(self, environment: &Environment) -> Result<(), SetupError> {
        let Self { hook, file, before, after, .. } = self;
        let trusted = trusted(hook, environment);
        replace(&file, &after)?;
        if Hook::load(&hook.folder, hook.level).definition.mode != Mode::Enforce {
            // The file is not what it seems: no partial change is left.
            replace(&file, &before)?;
            return Err(SetupError::NoPlainMode(file));
        }
        if let Some((store, replaces)) = trusted {
            let staged = store.stage(&hook.folder)?.replacing(replaces);
            store.trust(staged, now())?;
        }
        Ok(())
    }
}

/// Returns the store in which a project's hook is trusted as it is, to be trusted again, and
/// whether it replaces the user's.
fn trusted(hook: &Hook, environment: &Environment) -> Option<(TrustStore, bool)> {
    let standing = hooks::installed(environment).hooks.into_iter().map(|standing| standing.hook);
    let trusted = standing
        .filter(|other| other.folder == hook.folder && other.level == Level::Project)
        .find(|other| other.trust == Trust::Trusted)?;
    Some((TrustStore::new(environment.places.state.as_deref()?), trusted.replaces))
}

/// Returns the file with `mode: enforce`, and the line that changed; `None` if it is not plain.
fn enforce(file: &[u8]) -> Option<(Vec<u8>, usize)> {
    let mut lines: Vec<Vec<u8>> =
        file.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let is_fence = |line: &Vec<u8>| line.trim_ascii() == b"---";
    let end = lines.iter().skip(1).position(is_fence)? + 1;
    let mut modes = (1..end).filter(|index| lines[*index].starts_with(b"mode"));
    let (place, None) = (modes.next()?, modes.next()) else { return None };
    let text = String::from_utf8(lines[place].clone()).ok()?;
    let (key, rest) = text.split_once(':')?;
    let value = rest.trim_start();
    let blanks = &rest[..rest.len() - value.len()];
    let after = ["shadow", "\"shadow\"", "'shadow'"]
        .iter()
        .find_map(|word| value.strip_prefix(word))
        .filter(|after| after.is_empty() || after.starts_with(|next: char| next.is_whitespace()))?;
    (key.trim_end() == "mode").then_some(())?;
    lines[place] = format!("{key}:{blanks}enforce{after}").into_bytes();
    Some((lines.concat(), place + 1))
}

/// Replaces a file atomically; it keeps its permissions.
fn replace(file: &Path, text: &[u8]) -> Result<(), SetupError> {
    let at_fault = SetupError::unusable(file);
    // A link stays a link: its target is replaced.
    let file = fs::canonicalize(file).map_err(&at_fault)?;
    let permissions = fs::metadata(&file).map_err(&at_fault)?.permissions();
    AtomicFile::new(&file).permissions(permissions).replace(text).map_err(at_fault)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_word_changes() {
        let of = |text: &str| {
            enforce(text.as_bytes()).map(|(text, line)| (String::from_utf8(text).unwrap(), line))
        };
        for (before, after) in [
            (
                "---\nname: a\nmode: shadow\n---\nmode: shadow\n",
                "---\nname: a\nmode: enforce\n---\nmode: shadow\n",
            ),
            (
                "---\r\nname: a\r\nmode:  'shadow' # for now\r\n---\r\n",
                "---\r\nname: a\r\nmode:  enforce # for now\r\n---\r\n",
            ),
            (
                "\u{feff}---\nname: a\nmode : \"shadow\"\n---",
                "\u{feff}---\nname: a\nmode : enforce\n---",
            ),
        ] {
            assert_eq!(of(before), Some((after.to_owned(), 3)), "{before}");
        }
        for odd in [
            "---\nname: a\n---\nmode: shadow\n",
            "---\nmode: shadows\n---\n",
            "---\nmode: shadow\nmode: shadow\n---\n",
            "---\nmodel: shadow\n---\n",
            "mode: shadow",
            "",
        ] {
            assert_eq!(of(odd), None, "{odd}");
        }
    }
}
