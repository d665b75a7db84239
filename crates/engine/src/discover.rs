//! Discovers the installed hooks on three levels, and decides which of them are in effect.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhook_model::{SkipReason, Skipped};

use crate::hook::{Hook, Level, Trust};
use crate::last_known::{LastKnown, is_there};
use crate::places::{HOOKS, Places};
use crate::problem::{Problem, Severity};
use crate::roots::{ProjectFolder, Roots};
use crate::trust::{
    KnownRecords, Lookup, TrustPlaces, TrustRecord, TrustStore, digest, digest_is, find_fault,
};

/// All installed hooks in the order they run.
#[derive(Clone, Debug, Default)]
pub struct InstalledHooks {
    /// The hooks, each with the reason it is left out, if any.
    pub hooks: Vec<HookStatus>,
    /// Folders that could not be read or are ignored, and why.
    pub notes: Vec<String>,
    /// Hooks found to be irrelevant to an event without being read in full.
    pub passed: OmittedHooks,
}

/// Hooks that are not among the installed ones because they are irrelevant to an event.
#[derive(Clone, Debug, Default)]
pub struct OmittedHooks {
    /// Those that are named, and why they were left out.
    pub skipped: Vec<Skipped>,
    /// How many more there are whose matcher does not match.
    pub more_skipped: usize,
    /// How many are for other events.
    pub other_events: usize,
}

/// At most this many hooks whose matcher does not match are named; the others are counted. A
/// hundred of them are common, and would make up most of a record.
pub(crate) const MISMATCHES_NAMED: usize = 20;

/// A hook and whether it is in effect.
#[derive(Clone, Debug)]
pub struct HookStatus {
    /// The hook.
    pub hook: Hook,
    /// Why it is always skipped, if it is.
    pub out: Option<SkipReason>,
}

impl InstalledHooks {
    /// Finds the hooks of all levels for work in `work_dir` of the project at `root`.
    pub fn find(places: &Places, root: Option<&Path>, work_dir: &Path, reading: ReadDepth) -> Self {
        Self::find_in(places, &Roots::of(root), work_dir, reading)
    }

    /// Finds the hooks of all levels, and of all roots of an event.
    pub fn find_in(places: &Places, roots: &Roots, work_dir: &Path, reading: ReadDepth) -> Self {
        let state = places.state.as_deref();
        let mut finder = Finder { reading, state, hooks: Vec::new(), notes: Vec::new() };
        finder.managed(&places.managed);
        if let Some(user) = &places.user {
            finder.level(&user.join(HOOKS), Level::User, 0, &|_| true);
        }
        let own = roots.own(work_dir, places.home.as_deref());
        for hook in &mut finder.hooks {
            hook.root = roots.of_user_hooks(own.as_deref());
        }
        let store = places.state.as_deref().map(TrustStore::new);
        let folders = roots.folders(work_dir, own.as_deref());
        // A project that was moved is at its new place now: what is missing is reported there.
        let moved_to = folders.iter().find(|project| project.is_own);
        let moved_to = moved_to.filter(|_| folders.first().is_some_and(|it| !it.root.exists()));
        let moved_to = moved_to.and_then(ProjectFolder::repository);
        for project in &folders {
            finder.project(project, store.as_ref(), moved_to.as_deref());
        }
        finder.apply_last_known();
        Self { hooks: settle(finder.hooks), notes: finder.notes, passed: OmittedHooks::default() }
    }

    /// Takes hooks as given, in the order they run.
    pub fn of(hooks: Vec<Hook>) -> Self {
        Self { hooks: settle(hooks), ..Self::default() }
    }

    /// Adds hooks, each at its position in the order.
    pub fn add(&mut self, hooks: impl IntoIterator<Item = Hook>) {
        let known = std::mem::take(&mut self.hooks).into_iter().map(|standing| standing.hook);
        self.hooks = settle(known.chain(hooks).collect());
    }
}

/// How much of what is found is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadDepth {
    /// Everything, for display to people.
    All,
    /// Only what may run. Untrusted hooks are known only by their folder's name: a repository must
    /// not be able to keep an agent waiting until a guard's time is up.
    WhatMayRun,
}

struct Finder<'places> {
    reading: ReadDepth,
    state: Option<&'places Path>,
    hooks: Vec<Hook>,
    notes: Vec<String>,
}

impl Finder<'_> {
    /// Loads every folder in a `hooks` folder.
    ///
    /// On the hook path only those that `is_known` are read: a repository that no one trusts must
    /// not cost more than its names.
    fn level(
        &mut self,
        hooks_folder: &Path,
        level: Level,
        nesting: usize,
        is_known: &dyn Fn(&Path) -> bool,
    ) {
        let entries = match fs::read_dir(hooks_folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound && !is_there(hooks_folder) => {
                return;
            }
            Err(error) => return self.unreadable(hooks_folder, level, &error),
        };
        for entry in entries {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    self.notes
                        .push(format!("`{}` cannot be read: {error}", hooks_folder.display()));
                    continue;
                }
            };
            let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
            // A plain file next to the hooks is not a hook; a broken link or loop is someone's
            // mistake.
            let is_file = match entry.file_type() {
                Ok(kind) if !kind.is_symlink() => !kind.is_dir(),
                _ => fs::metadata(entry.path()).is_ok_and(|metadata| !metadata.is_dir()),
            };
            if hidden || is_file {
                continue;
            }
            let path = entry.path();
            let is_read = self.reading == ReadDepth::All || is_known(&path);
            let mut hook =
                if is_read { Hook::load(&path, level) } else { Hook::unread(&path, level) };
            hook.nesting = nesting;
            self.hooks.push(hook);
        }
    }

    /// Reports that a folder of hooks cannot be read. An untrusted one does not block because of
    /// that.
    fn unreadable(&mut self, hooks_folder: &Path, level: Level, error: &io::Error) {
        self.notes.push(format!("`{}` cannot be read: {error}", hooks_folder.display()));
        if level < Level::Project {
            self.hooks.push(LastKnown::read(self.state).folder(hooks_folder, level, error));
        }
    }

    /// Makes hooks that cannot be read block where they were last known to decide.
    fn apply_last_known(&mut self) {
        let is_unreadable =
            |hook: &&mut Hook| hook.fault().is_some_and(|fault| fault.code == "unreadable");
        let mut unreadable = self.hooks.iter_mut().filter(is_unreadable).peekable();
        if unreadable.peek().is_none() {
            return;
        }
        let known = LastKnown::read(self.state);
        unreadable.for_each(|hook| known.apply(hook));
    }

    /// Loads the managed level, if only root can write there.
    fn managed(&mut self, managed: &Path) {
        let hooks_folder = managed.join(HOOKS);
        match hooks_folder.try_exists() {
            Ok(true) => {}
            Ok(false) => return,
            // The parent is a file, so there is nothing below it.
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => return,
            Err(error) => return self.unreadable(&hooks_folder, Level::Managed, &error),
        }
        for folder in [managed, &hooks_folder] {
            if let Some(fault) = not_roots_alone(folder) {
                return self
                    .notes
                    .push(format!("ignoring managed hooks: `{}` {fault}", folder.display()));
            }
        }
        let before = self.hooks.len();
        self.level(&hooks_folder, Level::Managed, 0, &|_| true);
        for hook in &mut self.hooks[before..] {
            if let Some((part, fault)) = find_fault(&hook.folder, not_roots_alone) {
                let message =
                    format!("`{}` {fault}, so the hook is not treated as managed", part.display());
                let problem = Problem::new("managed", Severity::Unusable, message);
                hook.problems.push(problem.hint(
                    "make it owned by root and writable only by root (chown root, chmod go-w)",
                ));
            }
        }
    }

    /// Returns what was trusted in a project's folder; `None` if that cannot be looked up.
    fn trusted(&mut self, places: &TrustPlaces, store: &TrustStore) -> Option<KnownRecords> {
        match store.known(places) {
            Ok(known) => Some(known),
            Err(error) => {
                self.notes.push(format!(
                    "cannot read trust records, so this project's hooks won't run: {error}"
                ));
                None
            }
        }
    }

    /// Loads a project's hooks, each as far as it is trusted.
    fn project(
        &mut self,
        project: &ProjectFolder,
        store: Option<&TrustStore>,
        moved_to: Option<&str>,
    ) {
        let (hooks_folder, nesting) = (project.hooks(), project.nesting);
        let before = self.hooks.len();
        let Some(store) = store else {
            self.level(&hooks_folder, Level::Project, nesting, &|_| false);
            return self.belong_to(project, before);
        };
        let known = self.trusted(&project.trust_places(), store);
        let lookup = |folder: &Path| {
            let name = folder.file_name().unwrap_or_default();
            known.as_ref().map(|known| known.lookup(store, name))
        };
        let is_known = |folder: &Path| lookup(folder) != Some(Lookup::Never);
        self.level(&hooks_folder, Level::Project, nesting, &is_known);
        let mut gone = known.as_ref().map(KnownRecords::names).unwrap_or_default();
        for hook in &mut self.hooks[before..] {
            gone.remove(hook.folder.file_name().unwrap_or_default());
            match lookup(&hook.folder) {
                Some(Lookup::Never) => {}
                Some(Lookup::Trusted(records)) => apply_trust(hook, store, &records),
                Some(Lookup::Unreadable) => {
                    hook.trust = Trust::Changed(
                        "its trust record cannot be read; run `anyhook trust` to recreate it"
                            .to_owned(),
                    );
                }
                None => hook.trust = Trust::Changed("cannot read trust records".to_owned()),
            }
        }
        // A trusted hook that no longer exists has changed, too: checking out another branch must
        // not remove a guard.
        for (name, record) in gone {
            let repository = record.repository.as_ref().map(|place| place.id.as_str());
            if !project.is_own && moved_to.is_some() && repository == moved_to {
                continue;
            }
            let mut hook = Hook::load(&store.copy_of(&record), Level::Project);
            hook.nesting = nesting;
            hook.folder = hooks_folder.join(name);
            hook.trust = Trust::Changed(
                "its folder was removed from the project; run `anyhook untrust` to forget it"
                    .to_owned(),
            );
            self.hooks.push(hook);
        }
        self.belong_to(project, before);
    }

    /// Records for the hooks from `start` on which project they belong to, where that is not the
    /// pinned one; drops those already found by another path.
    fn belong_to(&mut self, project: &ProjectFolder, start: usize) {
        if !project.is_own {
            return;
        }
        let real = |hook: &Hook| fs::canonicalize(&hook.folder).ok();
        let known: Vec<PathBuf> = self.hooks[..start].iter().filter_map(real).collect();
        let mut found = self.hooks.split_off(start);
        found.retain(|hook| real(hook).is_none_or(|folder| !known.contains(&folder)));
        for hook in &mut found {
            hook.root = Some(project.root.clone());
        }
        self.hooks.extend(found);
    }
}

/// Makes a project's hook run from its trusted copy, or marks it as changed.
///
/// Its content must match one of the records, of which the latest comes first.
fn apply_trust(hook: &mut Hook, store: &TrustStore, records: &[(PathBuf, TrustRecord)]) {
    let source = hook.folder.clone();
    let found = digest(&source);
    let is_as_found =
        |(_, record): &&(PathBuf, TrustRecord)| found.as_ref().is_ok_and(|it| *it == record.digest);
    let Some((file, record)) = records.iter().find(is_as_found).or(records.first()) else { return };
    let copy = store.copy_of(record);
    let changed = match found {
        Ok(digest) if digest == record.digest => copy_fault(&copy, record),
        Ok(_) => {
            Some("it has changed since it was trusted; review it with `anyhook trust`".to_owned())
        }
        Err(error) => Some(format!("cannot compare it with the trusted copy: {error}")),
    };
    let from_copy = if copy.is_dir() { Hook::load(&copy, Level::Project) } else { hook.clone() };
    *hook = Hook {
        folder: source,
        nesting: hook.nesting,
        trust: changed.map_or(Trust::Trusted, Trust::Changed),
        replaces: record.replaces,
        record: Some(file.clone()),
        ..from_copy
    };
}

/// Returns what is wrong with a trusted copy: what runs must be what was shown, byte for byte.
fn copy_fault(copy: &Path, record: &TrustRecord) -> Option<String> {
    (!digest_is(copy, &record.digest)).then(|| {
        "its trusted copy is missing or was tampered with; run `anyhook trust` to recreate it"
            .to_owned()
    })
}

/// Returns what is wrong if anyone other than root may write here.
pub(crate) fn not_roots_alone(path: &Path) -> Option<String> {
    match fs::metadata(path) {
        Err(error) => Some(format!("cannot be inspected: {error}")),
        Ok(metadata) if metadata.uid() != 0 => Some("is not owned by root".to_owned()),
        Ok(metadata) if metadata.mode() & 0o022 != 0 => {
            Some("is writable by users other than root".to_owned())
        }
        Ok(_) => None,
    }
}

/// Sorts hooks, and decides which are in effect where several have the same name.
fn settle(mut hooks: Vec<Hook>) -> Vec<HookStatus> {
    hooks.sort_by_cached_key(|hook| {
        let name = hook.folder.file_name().map(std::ffi::OsStr::to_owned);
        let priority = std::cmp::Reverse(hook.definition.priority);
        (priority, hook.level, name, hook.nesting, hook.folder.clone())
    });
    let mut by_name: HashMap<&str, Vec<&Hook>> = HashMap::new();
    for hook in &hooks {
        by_name.entry(hook.name()).or_default().push(hook);
    }
    let outs: Vec<Option<SkipReason>> =
        hooks.iter().map(|hook| left_out(hook, &by_name[hook.name()])).collect();
    hooks.into_iter().zip(outs).map(|(hook, out)| HookStatus { hook, out }).collect()
}

/// Returns why a hook is left out in favour of another of the same name, or because it is not
/// trusted.
fn left_out(hook: &Hook, namesakes: &[&Hook]) -> Option<SkipReason> {
    let shown = |folder: &PathBuf| folder.to_string_lossy().into_owned();
    let rivals = || namesakes.iter().copied().filter(|rival| rival.folder != hook.folder);
    let is_firm = |rival: &Hook| match rival.level {
        Level::Managed => rival.fault().is_none(),
        Level::User => rival.definition.is_locked() && rival.fault().is_none(),
        Level::Project | Level::Program => false,
    };
    // A firm hook keeps out all hooks of lower levels; none of its own level.
    if let Some(rival) = rivals().find(|rival| rival.level < hook.level && is_firm(rival)) {
        return Some(SkipReason::Dropped(shown(&rival.folder)));
    }
    // Only hooks at the project's root replace a user's, and only where the person agreed to that:
    // nested ones add, never remove.
    let replaces = |rival: &&Hook| {
        rival.level == Level::Project
            && rival.replaces
            && rival.nesting == 0
            && rival.trust == Trust::Trusted
            && rival.fault().is_none()
    };
    if hook.level == Level::User
        && !hook.definition.is_locked()
        && let Some(rival) = rivals().find(replaces)
        // A project's hook that is itself dropped replaces nothing.
        && !rivals().any(|firm| firm.level < Level::Project && is_firm(firm))
    {
        return Some(SkipReason::Replaced(shown(&rival.folder)));
    }
    (hook.trust == Trust::Never).then_some(SkipReason::Untrusted)
}

#[cfg(test)]
mod tests {
    use anyhook_model::{EventKind, HookDefinition, HookTrigger, Spelling};
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::matcher::Matcher;

    fn hook(level: Level, folder: &str, name: &str, priority: u16) -> Hook {
        let mut definition = HookDefinition::named(name);
        definition.priority = priority;
        definition.triggers =
            vec![HookTrigger { kind: EventKind::BeforeTool, spelling: Spelling::Canonical }];
        Hook {
            definition,
            matcher: Matcher::default(),
            problems: Vec::new(),
            level,
            nesting: 0,
            folder: PathBuf::from(format!("/{}/{folder}", level.word())),
            runs_from: PathBuf::new(),
            entry: None,
            trust: if level == Level::Project { Trust::Trusted } else { Trust::NotNeeded },
            replaces: level == Level::Project,
            record: None,
            root: None,
        }
    }

    fn order(hooks: Vec<Hook>) -> Vec<String> {
        InstalledHooks::of(hooks)
            .hooks
            .iter()
            .map(|standing| standing.hook.folder.display().to_string())
            .collect()
    }

    fn out(hooks: Vec<Hook>) -> Vec<(String, Option<SkipReason>)> {
        InstalledHooks::of(hooks)
            .hooks
            .into_iter()
            .map(|standing| (standing.hook.folder.display().to_string(), standing.out))
            .collect()
    }

    #[test]
    fn priority_then_level_then_folder() {
        assert_eq!(
            order(vec![
                hook(Level::Project, "a", "a", 100),
                hook(Level::User, "c", "c", 100),
                hook(Level::User, "b", "b", 100),
                hook(Level::Managed, "z", "z", 100),
                hook(Level::Project, "first", "first", 999),
            ]),
            ["/project/first", "/managed/z", "/user/b", "/user/c", "/project/a"]
        );
    }

    #[test]
    fn a_trusted_project_hook_replaces_the_users() {
        let user = hook(Level::User, "guard", "guard", 100);
        let project = hook(Level::Project, "guard", "guard", 100);
        assert_eq!(
            out(vec![user.clone(), project.clone()]),
            [
                ("/user/guard".to_owned(), Some(SkipReason::Replaced("/project/guard".to_owned()))),
                ("/project/guard".to_owned(), None)
            ]
        );
        let mut changed = project.clone();
        changed.trust = Trust::Changed(String::new());
        assert_eq!(out(vec![user.clone(), changed])[0].1, None, "replaces nothing");
        let mut broken = project.clone();
        broken.problems.push(Problem::new("x", Severity::Unusable, "x"));
        assert_eq!(out(vec![user.clone(), broken])[0].1, None);
        let mut not_agreed = project.clone();
        not_agreed.replaces = false;
        let outs = out(vec![user.clone(), not_agreed]);
        assert!(outs.iter().all(|(_, out)| out.is_none()), "both stand");
        let mut nested = project;
        nested.nesting = 1;
        assert_eq!(out(vec![user, nested]).iter().filter(|(_, out)| out.is_none()).count(), 2);
    }

    #[test]
    fn managed_and_locked_hooks_are_never_replaced() {
        let mut locked = hook(Level::User, "guard", "guard", 100);
        locked.definition.metadata = json!({"locked": true});
        let project = hook(Level::Project, "guard", "guard", 100);
        let dropped = out(vec![locked.clone(), project.clone()]);
        assert_eq!(dropped[0].1, None);
        assert_eq!(dropped[1].1, Some(SkipReason::Dropped("/user/guard".to_owned())));
        let managed = hook(Level::Managed, "guard", "guard", 100);
        let outs = out(vec![managed, locked, project]);
        assert_eq!(outs.iter().filter(|(_, out)| out.is_none()).count(), 1);
        assert_eq!(outs[0], ("/managed/guard".to_owned(), None));
    }

    #[test]
    fn a_users_guard_is_locked_unless_it_says_otherwise() {
        let mut guard = hook(Level::User, "guard", "guard", 100);
        guard.definition.on_failure = anyhook_model::FailMode::Block;
        let project = hook(Level::Project, "guard", "guard", 100);
        let outs = out(vec![guard.clone(), project.clone()]);
        assert_eq!(outs[0].1, None);
        assert_eq!(outs[1].1, Some(SkipReason::Dropped("/user/guard".to_owned())));
        guard.definition.metadata = json!({"locked": false});
        let outs = out(vec![guard, project]);
        assert_eq!(outs[0].1, Some(SkipReason::Replaced("/project/guard".to_owned())));
        assert_eq!(outs[1].1, None);
    }

    #[test]
    fn two_of_one_name_on_one_level_both_stand() {
        let outs =
            out(vec![hook(Level::User, "a", "same", 100), hook(Level::User, "b", "same", 100)]);
        assert!(outs.iter().all(|(_, out)| out.is_none()));
    }

    proptest! {
        #[test]
        fn the_order_is_total_and_does_not_depend_on_the_input(
            specs in proptest::collection::vec((0u8..3, 0u16..4, 0u8..4), 0..12),
            seed in any::<u64>(),
        ) {
            let hooks: Vec<Hook> = specs.iter().enumerate().map(|(index, (level, priority, name))| {
                let level = [Level::Managed, Level::User, Level::Project][usize::from(*level)];
                hook(level, &format!("f{name}-{index}"), &format!("n{name}"), *priority)
            }).collect();
            let mut shuffled = hooks.clone();
            let mut state = seed;
            for index in (1..shuffled.len()).rev() {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                shuffled.swap(index, usize::try_from(state >> 33).unwrap() % (index + 1));
            }
            prop_assert_eq!(out(hooks), out(shuffled));
        }
    }
}
