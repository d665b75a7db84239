//! The entries in an agent's settings, compared with what `anyhook install` would write now.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhook_engine::digest::sha256_hex;
use anyhook_hook::environment::Environment;
use anyhook_hosts::HostSpec;
use anyhook_hosts::wiring::{
    HOOK_BINARY, HookInvocation, PROGRAM, SettingsScope, SettingsTexts, WiringStatus, is_ours,
    program_of,
};
use anyhook_model::proof::FileMark;

use crate::error::SetupError;
use crate::{settings, shown};

/// The entries in one place of an agent's settings.
#[derive(Debug)]
pub struct Entries {
    /// How the agent calls us.
    pub status: WiringStatus,
    /// Why they are not what they should be, if so.
    pub fault: Option<String>,
}

impl Entries {
    /// Reads them.
    pub fn read(
        agent: &HostSpec,
        scope: &SettingsScope,
        environment: &Environment,
    ) -> Result<Self, SetupError> {
        let status = settings::inspect(agent, scope)?;
        let fault = fault(agent, scope, &status, environment)?;
        Ok(Self { status, fault })
    }

    /// Returns the digest of the command lines; `None` if there are none.
    pub fn digest(&self) -> Option<String> {
        let mut text = String::new();
        for entry in &self.status.entries {
            let event = entry.event.as_deref().unwrap_or_default();
            text.push_str(&format!("{event}\n{}\n", entry.line));
        }
        (!text.is_empty()).then(|| sha256_hex(text.as_bytes()))
    }

    /// Returns the programs that they call, and the full one beside a small one.
    pub fn calls(&self) -> Vec<FileMark> {
        let mut programs: BTreeSet<PathBuf> = BTreeSet::new();
        for program in self.status.entries.iter().filter_map(|entry| program_of(&entry.line)) {
            programs.insert(program.with_file_name(PROGRAM));
            programs.insert(program);
        }
        programs.iter().filter_map(|program| mark(program)).collect()
    }
}

/// Returns what identifies a file without reading it; `None` if it does not exist.
pub fn mark(path: &Path) -> Option<FileMark> {
    let path = fs::canonicalize(path).ok()?;
    let metadata = fs::metadata(&path).ok()?;
    let nanoseconds = |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000) + rest;
    Some(FileMark {
        path: path.to_string_lossy().into_owned(),
        size: metadata.len(),
        modified_ns: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
        changed_ns: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
    })
}

/// Returns the programs that an entry may name: the small one may have been installed by a build that
/// came with it.
pub(super) fn calls(environment: &Environment) -> Result<Vec<HookInvocation>, SetupError> {
    let call = settings::call(environment)?;
    let small = call.binary.with_file_name(HOOK_BINARY);
    let with_small = (call.small.is_none() && small.exists())
        .then(|| HookInvocation { small: Some(small), ..call.clone() });
    Ok(std::iter::once(call).chain(with_small).collect())
}

/// Returns why entries are not what they should be, if so.
fn fault(
    agent: &HostSpec,
    scope: &SettingsScope,
    status: &WiringStatus,
    environment: &Environment,
) -> Result<Option<String>, SetupError> {
    let texts = settings::read(agent, scope)?;
    let mut first = None;
    for call in calls(environment)? {
        let mut edits = agent.settings.wire(scope, &texts, &call)?;
        edits.retain(|path, after| texts.get(path) != after.as_ref());
        if edits.is_empty() {
            return Ok(status.obstacles.first().map(|obstacle| obstacle.what.clone()));
        }
        if first.is_none() {
            let mut after = texts.clone();
            for (path, text) in edits {
                match text {
                    Some(text) => drop(after.insert(path, text)),
                    None => drop(after.remove(&path)),
                }
            }
            let expected = agent.settings.inspect(scope, &after)?;
            first = Some(difference(agent, status, &expected, &texts, &after, environment));
        }
    }
    Ok(first)
}

/// Returns how entries differ from what is expected.
fn difference(
    agent: &HostSpec,
    found: &WiringStatus,
    expected: &WiringStatus,
    texts: &SettingsTexts,
    after: &SettingsTexts,
    environment: &Environment,
) -> String {
    for entry in &expected.entries {
        let event = entry.event.as_deref();
        let at = event.map(|event| format!(" at {event}")).unwrap_or_default();
        let ours = found.entries.iter().filter(|other| other.event == entry.event);
        let others = found.others.iter().filter(|other| Some(other.event.as_str()) == event);
        let lines: Vec<&str> = ours
            .map(|other| other.line.as_str())
            .chain(others.map(|other| other.command.as_str()))
            .collect();
        if lines.contains(&entry.line.as_str()) {
            continue;
        }
        let nearest = lines.into_iter().max_by_key(|line| alike(line, &entry.line));
        let Some(line) = nearest.filter(|line| alike(line, &entry.line) * 2 > entry.line.len())
        else {
            return format!("its settings do not call anyhook{at}");
        };
        let programs = (program_of(line), program_of(&entry.line));
        if let (Some(named), Some(ours)) = &programs
            && is_ours(line, agent.id())
            && named != ours
        {
            return format!(
                "its entry{at} runs another program: `{}`, not `{}`",
                named.display(),
                ours.display()
            );
        }
        let (byte, piece) = first_difference(line, &entry.line);
        return format!(
            "its entry{at} differs from what `anyhook install {}` writes, from byte {byte}: `{piece}`",
            agent.id()
        );
    }
    for (path, text) in after {
        let now = texts.get(path).map_or("", String::as_str);
        if now != text {
            let same = now.lines().zip(text.lines()).take_while(|(one, other)| one == other);
            return format!(
                "`{}` differs from what `anyhook install {}` writes, from line {}",
                shown(path, &environment.places),
                agent.id(),
                same.count() + 1
            );
        }
    }
    let gone = texts.keys().find(|path| !after.contains_key(*path));
    let path = gone.map(|path| shown(path, &environment.places)).unwrap_or_default();
    format!("`{path}` should not be there")
}

/// Returns how many bytes two lines have in common at their start and at their end.
fn alike(one: &str, other: &str) -> usize {
    let start = one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count();
    let rest = |line: &str| line.len() - start;
    let end = one.bytes().rev().zip(other.bytes().rev()).take_while(|(one, other)| one == other);
    start + end.take(rest(one).min(rest(other))).count()
}

/// Returns the first byte, from 1, at which a line differs from another, and what it has there.
fn first_difference(line: &str, expected: &str) -> (usize, String) {
    let same = line.chars().zip(expected.chars()).take_while(|(one, other)| one == other);
    let start: usize = same.map(|(letter, _)| letter.len_utf8()).sum();
    (start + 1, line[start..].chars().take(40).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_byte_that_differs_is_named() {
        assert_eq!(
            first_difference("anyhook hoOk codex", "anyhook hook codex"),
            (11, "Ok codex".to_owned())
        );
        assert_eq!(first_difference("über x", "über y"), (7, "x".to_owned()));
        assert_eq!(first_difference("a", "ab"), (2, String::new()));
        assert_eq!(alike("abXcd", "abYcd"), 4);
        assert_eq!(alike("aaa", "aaaa"), 3);
    }

    #[test]
    fn a_file_that_is_replaced_has_another_mark() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("program");
        assert_eq!(mark(&file), None);
        fs::write(&file, "one").unwrap();
        let before = mark(&file).unwrap();
        assert_eq!(mark(&file), Some(before.clone()));
        fs::write(&file, "other").unwrap();
        assert_ne!(mark(&file), Some(before));
    }
}
