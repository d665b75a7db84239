//! Last-known events: the events at which each hook was last known to decide, and so those at which
//! a HOOK.md that cannot be read now blocks.
//!
//! `known` in the state folder has one line for each hook that was read in full: its events, its
//! hosts, its folder. It is read and written when hooks are read, not when an index answers, and
//! replaced atomically; of two concurrent writers the last wins, and the other's line comes back
//! when its hooks are read again.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use anyhook_model::{EventKind, FailMode, HookTrigger, Mode, Spelling, StateDir};

use crate::atomic_file::{AtomicFile, create_private_dir};
use crate::hook::{Hook, Level, read_regular};
use crate::problem::{Problem, Severity};
use crate::regular_file::read_own;

/// What the file begins with.
///
/// - 1: events, hosts and folder of a hook, separated by tabs.
const HEADER: &str = "anyhook-known 1";
/// More hooks than this are not remembered.
const LIMIT: usize = 5_000;
/// A longer file is not one of ours.
const SIZE_LIMIT: u64 = 64 * 1024 * 1024;
/// Where a hook blocks that cannot be read and was never known.
const DEFAULT: [EventKind; 2] = [EventKind::BeforeTool, EventKind::PermissionRequest];

/// What was last known about hooks, by their folders.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct LastKnown(BTreeMap<String, Events>);

/// Where a hook was last known to decide; nowhere if it ran in the background or in shadow mode.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Events {
    kinds: Vec<EventKind>,
    hosts: Vec<String>,
}

impl LastKnown {
    /// Reads what is known; empty if there is none, or it cannot be read.
    pub(crate) fn read(state: Option<&Path>) -> Self {
        let bytes =
            state.and_then(|state| read_own(&StateDir::new(state).known(), SIZE_LIMIT).ok());
        let text = String::from_utf8(bytes.unwrap_or_default()).unwrap_or_default();
        let Some(lines) = text.strip_prefix(HEADER) else { return Self::default() };
        let line = |line: &str| {
            let [kinds, hosts, folder] = line.splitn(3, '\t').collect::<Vec<_>>()[..] else {
                return None;
            };
            let words = |text: &str| -> Vec<String> {
                text.split(',').filter(|word| !word.is_empty()).map(str::to_owned).collect()
            };
            let kinds = words(kinds).iter().map(|name| EventKind::from_name(name)).collect();
            Some((folder.to_owned(), Events { kinds, hosts: words(hosts) }))
        };
        Self(lines.lines().filter_map(line).collect())
    }

    /// Remembers hooks that were read in full.
    pub(crate) fn remember<'hooks>(
        state: &Path,
        hooks: impl Iterator<Item = &'hooks Hook>,
    ) -> io::Result<()> {
        let mut known = Self::read(Some(state));
        let mut is_new = false;
        for hook in hooks.filter(|hook| is_own(hook.level) && hook.fault().is_none()) {
            let definition = &hook.definition;
            let decides = definition.mode == Mode::Enforce && !definition.is_async;
            let kinds = definition.triggers.iter().filter(|_| decides);
            let events = Events {
                kinds: kinds.map(|trigger| trigger.kind.clone()).collect(),
                hosts: definition.hosts.clone(),
            };
            let Some(folder) = hook.folder.to_str().filter(|folder| !folder.contains('\n')) else {
                continue;
            };
            if known.0.get(folder) != Some(&events) {
                known.0.insert(folder.to_owned(), events);
                is_new = true;
            }
        }
        if !is_new || known.0.len() > LIMIT {
            return Ok(());
        }
        let mut text = format!("{HEADER}\n");
        for (folder, Events { kinds, hosts }) in &known.0 {
            let kinds: Vec<&str> =
                kinds.iter().map(|kind| kind.name(Spelling::Canonical)).collect();
            text.push_str(&format!("{}\t{}\t{folder}\n", kinds.join(","), hosts.join(",")));
        }
        AtomicFile::new(&StateDir::new(state).known())
            .replace_in(text.as_bytes(), || create_private_dir(state))
    }

    /// Makes a hook that cannot be read block where it was last known to decide.
    pub(crate) fn apply(&self, hook: &mut Hook) {
        if !is_own(hook.level) || hook.fault().is_none_or(|fault| fault.code != "unreadable") {
            return;
        }
        let file = hook.file();
        let events = match hook.folder.to_str().and_then(|folder| self.0.get(folder)) {
            Some(events) => events.clone(),
            // Front matter that cannot be parsed says itself whether its failure blocks.
            None if read_regular(&file).is_ok_and(|bytes| !is_blank(&bytes)) => return,
            None => Events { kinds: DEFAULT.to_vec(), hosts: Vec::new() },
        };
        // A missing file is not an unreadable one.
        let is_there = match file.symlink_metadata() {
            Ok(_) => true,
            Err(error) => error.kind() == io::ErrorKind::PermissionDenied,
        };
        if !is_there || events.kinds.is_empty() {
            return;
        }
        block_at(hook, &events);
        if let Some(problem) = hook.problems.iter_mut().find(|one| one.code == "unreadable") {
            let hint = problem.hint.as_deref().unwrap_or("fix it, or remove the hook's folder");
            problem.message = format!(
                "{}, so the hook blocks at {} (`{}`: {hint})",
                problem.message,
                names(&events.kinds),
                file.display()
            );
        }
    }

    /// Makes the stand-in for a folder of hooks that cannot be read: it blocks where the hooks in
    /// it were last known to decide.
    pub(crate) fn folder(&self, folder: &Path, level: Level, error: &io::Error) -> Hook {
        let mut events = Events::default();
        for (known, of) in &self.0 {
            if Path::new(known).parent() == Some(folder) {
                events.kinds.extend(of.kinds.iter().cloned());
            }
        }
        events.kinds.sort_by_key(|kind| EventKind::all().position(|one| one == *kind));
        events.kinds.dedup();
        if events.kinds.is_empty() {
            events.kinds = DEFAULT.to_vec();
        }
        let mut hook = Hook::unread(folder, level);
        block_at(&mut hook, &events);
        let message = format!(
            "the hooks folder `{}` cannot be read: {error}, and it may contain a guard, so everything is blocked at {} (make it readable, or remove it)",
            folder.display(),
            names(&events.kinds)
        );
        let problem = Problem::new("unreadable-folder", Severity::Unusable, message);
        hook.problems.push(problem);
        hook
    }
}

fn is_own(level: Level) -> bool {
    matches!(level, Level::Managed | Level::User)
}

/// Returns whether a HOOK.md was emptied.
pub(crate) fn is_blank(file: &[u8]) -> bool {
    file.trim_ascii().is_empty()
}

fn block_at(hook: &mut Hook, events: &Events) {
    let definition = &mut hook.definition;
    let trigger =
        |kind: &EventKind| HookTrigger { kind: kind.clone(), spelling: Spelling::Canonical };
    definition.triggers = events.kinds.iter().map(trigger).collect();
    definition.hosts.clone_from(&events.hosts);
    definition.on_failure = FailMode::Block;
    definition.mode = Mode::Enforce;
    definition.is_async = false;
}

fn names(kinds: &[EventKind]) -> String {
    let names: Vec<&str> = kinds.iter().map(|kind| kind.name(Spelling::Canonical)).collect();
    names.join(", ")
}

/// Returns whether a path exists, even as a dangling link.
pub(crate) fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    use super::*;

    fn hook(scratch: &Path, name: &str, matter: &str) -> PathBuf {
        let folder = scratch.join("hooks").join(name);
        fs::create_dir_all(folder.join("scripts")).unwrap();
        let text = format!("---\nname: {name}\ndescription: d\n{matter}\n---\n");
        fs::write(folder.join("HOOK.md"), text).unwrap();
        fs::write(folder.join("scripts/run.sh"), "exit 0\n").unwrap();
        folder
    }

    /// What a hook in a folder blocks at, if it cannot be read.
    fn blocks_at(known: &LastKnown, folder: &Path) -> Option<Vec<String>> {
        let mut hook = Hook::load(folder, Level::User);
        known.apply(&mut hook);
        hook.fault()?;
        hook.blocks_on_failure().then(|| hook.trigger_names())
    }

    #[test]
    fn what_cannot_be_read_blocks_where_it_was_last_known() {
        let scratch = tempfile::tempdir().unwrap();
        let state = scratch.path().join("state");
        let stop = hook(scratch.path(), "stop", "trigger: before_stop\nhosts: [codex]");
        let log = hook(scratch.path(), "log", "trigger: before_tool\nasync: true");
        let new = hook(scratch.path(), "new", "trigger: before_stop");
        let read = [&stop, &log].map(|folder| Hook::load(folder, Level::User));
        LastKnown::remember(&state, read.iter()).unwrap();
        let known = LastKnown::read(Some(&state));
        for folder in [&stop, &log, &new] {
            assert_eq!(blocks_at(&known, folder), None);
            fs::write(folder.join("HOOK.md"), "").unwrap();
        }
        assert_eq!(blocks_at(&known, &stop).unwrap(), ["before_stop"]);
        assert_eq!(blocks_at(&known, &log), None, "it never decided anything");
        assert_eq!(blocks_at(&known, &new).unwrap(), ["before_tool", "permission_request"]);
        let nothing = LastKnown::default();
        assert_eq!(blocks_at(&nothing, &stop).unwrap(), ["before_tool", "permission_request"]);

        fs::write(stop.join("HOOK.md"), "---\nname: [\n---\n").unwrap();
        assert_eq!(blocks_at(&known, &stop).unwrap(), ["before_stop"]);
        assert_eq!(blocks_at(&nothing, &stop), None, "it does not say that it blocks");

        fs::remove_file(stop.join("HOOK.md")).unwrap();
        assert_eq!(blocks_at(&known, &stop), None, "it no longer exists");
        symlink("nowhere", stop.join("HOOK.md")).unwrap();
        assert_eq!(blocks_at(&known, &stop).unwrap(), ["before_stop"]);
    }

    #[test]
    fn a_folder_that_cannot_be_read_blocks_where_its_hooks_did() {
        let scratch = tempfile::tempdir().unwrap();
        let state = scratch.path().join("state");
        let folders = [
            hook(scratch.path(), "one", "trigger: [before_stop, before_tool]"),
            hook(scratch.path(), "two", "trigger: before_tool"),
        ];
        let hooks = folders.map(|folder| Hook::load(&folder, Level::User));
        LastKnown::remember(&state, hooks.iter()).unwrap();
        let error = io::Error::from(io::ErrorKind::PermissionDenied);
        let events = |known: &LastKnown| {
            known.folder(&scratch.path().join("hooks"), Level::User, &error).trigger_names()
        };
        assert_eq!(events(&LastKnown::read(Some(&state))), ["before_stop", "before_tool"]);
        assert_eq!(events(&LastKnown::default()), ["before_tool", "permission_request"]);
    }

    #[test]
    fn what_is_known_survives_a_round_trip_and_damage_is_nothing() {
        let scratch = tempfile::tempdir().unwrap();
        let state = scratch.path().join("state");
        let folder = hook(scratch.path(), "one", "trigger: [before_stop, before_tool]");
        let hooks = [Hook::load(&folder, Level::User)];
        LastKnown::remember(&state, hooks.iter()).unwrap();
        let known = LastKnown::read(Some(&state));
        assert_eq!(known.0.len(), 1);
        LastKnown::remember(&state, [].iter()).unwrap();
        assert_eq!(LastKnown::read(Some(&state)), known);
        for damage in ["", "anyhook-known 2\nbefore_tool\t\t/x\n", "\u{0}"] {
            fs::write(StateDir::new(&state).known(), damage).unwrap();
            assert_eq!(LastKnown::read(Some(&state)), LastKnown::default());
        }
    }
}
