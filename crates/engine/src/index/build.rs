//! Builds an index from the hooks that the slow path has read.
//!
//! Watched files are checked after they were read. A change in between would be missed, except for
//! one rule: an index is built only if the last change to anything watched was a while before the
//! reading began. Someone editing hooks waits for nothing because of that; the next event builds
//! the index.

use std::collections::{BTreeSet, HashMap};
use std::ffi::{CString, OsStr};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhook_model::{EventKind, SkipReason, StateDir};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::IndexKey;
use super::encoding::{Encoder, assemble, checksum};
use super::file_stamp::{FileStamp, WatchExtent};
use crate::discover::{HookStatus, InstalledHooks};
use crate::hook::{ENTRIES, EntryPoint, HOOK_FILE, Hook, Level, SCRIPTS, Trust};
use crate::installation::Installation;
use crate::matcher::{Expression, Prefilter, RequiredLiterals};
use crate::places::{HOOKS, PROJECT_LEVEL, Places};
use crate::roots::ProjectFolder;
use crate::session_guards::accepted_file;
use crate::settings::{self, Settings};
use crate::trust::{TrustPlaces, TrustStore, paths};

/// With more files to check than this, the slow path is as good.
const MOST_WATCHED: usize = 20_000;

/// At most this many files of a guard are watched at every event.
const MOST_OF_A_GUARD: usize = 16;

/// Flags of a hook: what it says may make others match; its matcher has conditions.
pub(super) const MAY_CHANGE_INPUT: u8 = 1;
pub(super) const HAS_CONDITIONS: u8 = 2;

/// What the rest of an index says about a hook, in addition to its head.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Details {
    pub definition: anyhook_model::HookDefinition,
    pub level: u8,
    pub nesting: usize,
    pub folder: PathBuf,
    pub runs_from: PathBuf,
    pub script: Option<PathBuf>,
    pub interpreter: Option<String>,
    pub tool: Option<String>,
    pub pattern: Option<String>,
    /// The project it runs in, where that is not the session's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<PathBuf>,
}

/// Builds an index; `None` if something is too unusual, or has changed just now.
pub fn index(
    places: &Places,
    whose: &IndexKey,
    installed: &InstalledHooks,
    settings: &Settings,
    began: SystemTime,
) -> Option<Vec<u8>> {
    if !installed.notes.is_empty() {
        return None;
    }
    let mut watched =
        WatchedPaths { began, bases: Vec::new(), always: Encoder::default(), count: 0 };
    watched.settings(places)?;
    watched.levels(places, whose, installed)?;
    watched.session(places)?;
    let mut by_name: HashMap<&str, usize> = HashMap::new();
    for standing in &installed.hooks {
        *by_name.entry(standing.hook.name()).or_default() += 1;
    }
    let (mut hooks, mut rest) = (Encoder::default(), Encoder::default());
    for standing in &installed.hooks {
        let mut at_turn = Encoder::default();
        let has_namesake = by_name[standing.hook.name()] > 1;
        let watched_at_turn = watched.hook(standing, has_namesake, &mut at_turn)?;
        let start = rest.0.len();
        rest.text(&details(standing)?);
        rest.size(watched_at_turn);
        rest.0.extend_from_slice(&at_turn.0);
        hooks.size(start);
        hooks.size(rest.0.len() - start);
        hooks.mark(checksum(&rest.0[start..]));
        head_of(standing, &watched.bases, &mut hooks)?;
    }
    let mut head = Encoder::default();
    head.text(&whose.words);
    head.text(&journal(settings));
    head.size(watched.bases.len());
    for (base, mark) in &watched.bases {
        head.mark(*mark);
        path(&mut head, base)?;
    }
    head.size(watched.count);
    head.0.extend_from_slice(&watched.always.0);
    head.size(installed.hooks.len());
    head.0.extend_from_slice(&hooks.0);
    assemble(&head.0, &rest.0)
}

/// Writes what decides whether a hook is asked.
fn head_of(standing: &HookStatus, bases: &[(PathBuf, u64)], head: &mut Encoder) -> Option<()> {
    let hook = &standing.hook;
    head.number(kinds(hook.definition.triggers.iter().map(|trigger| &trigger.kind)));
    head.byte(u8::from(hook.blocks_on_failure()));
    head.text(hook.name());
    based(&hook.folder, bases, head)?;
    let (tag, text) = match &standing.out {
        None => (0, ""),
        Some(SkipReason::Untrusted) => (1, ""),
        Some(SkipReason::Replaced(by)) => (2, by.as_str()),
        Some(SkipReason::Dropped(by)) => (3, by.as_str()),
        Some(_) => return None,
    };
    head.byte(tag);
    head.text(text);
    let fault = hook.fault_words();
    head.byte(u8::from(fault.is_some()));
    head.text(fault.as_deref().unwrap_or_default());
    head.size(hook.definition.hosts.len());
    for host in &hook.definition.hosts {
        head.text(host);
    }
    needs(hook.matcher.tool(), head);
    needs(hook.matcher.pattern(), head);
    conditions(hook, head);
    Some(())
}

/// Returns whether what a hook says may make others match.
fn may_change_input(hook: &Hook) -> bool {
    hook.definition.answer.as_ref().is_none_or(|answer| answer.modified_input.is_some())
}

/// Writes whether a hook may change the input, and what a call must contain so that its conditions
/// may hold: most hooks have none, and pay for one byte.
fn conditions(hook: &Hook, head: &mut Encoder) {
    let Prefilter { is_open, programs, literals } = hook.matcher.prefilter();
    let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
    head.byte(flag(may_change_input(hook), MAY_CHANGE_INPUT) | flag(!is_open, HAS_CONDITIONS));
    if is_open {
        return;
    }
    for texts in [programs, literals] {
        head.size(texts.len());
        for text in &texts {
            head.text(text);
        }
    }
}

/// Returns the events as bits.
pub(super) fn kinds<'kind>(kinds: impl Iterator<Item = &'kind EventKind>) -> u32 {
    kinds.map(kind).fold(0, |all, one| all | one)
}

/// Returns the bit of an event; none for an event that no trigger can name.
pub(super) fn kind(kind: &EventKind) -> u32 {
    EventKind::all().position(|one| one == *kind).map_or(0, |place| 1 << place)
}

fn needs(expression: Option<&Expression>, head: &mut Encoder) {
    let (tag, literals) = match expression.map(Expression::needs) {
        None => (0, &[][..]),
        Some(RequiredLiterals::Nothing) => (1, &[][..]),
        Some(RequiredLiterals::AnyOf(literals)) => (2, literals.as_slice()),
        Some(RequiredLiterals::Exactly(literals)) => (3, literals.as_slice()),
    };
    head.byte(tag);
    head.size(literals.len());
    for literal in literals {
        head.text(literal);
    }
}

/// Writes a path relative to the folder it is in, or in full.
fn based(full: &Path, bases: &[(PathBuf, u64)], writer: &mut Encoder) -> Option<()> {
    let known = (0..u8::MAX).zip(bases).find_map(|(place, (base, _))| {
        // Compared as bytes: what is below a folder was named by it. Anything else is written in
        // full.
        let below = full.as_os_str().as_bytes().strip_prefix(base.as_os_str().as_bytes())?;
        Some((place, Path::new(OsStr::from_bytes(below.strip_prefix(b"/")?))))
    });
    let (base, below) = known.unwrap_or((u8::MAX, full));
    writer.byte(base);
    path(writer, below)
}

/// Writes a path with the terminating NUL that the system needs.
fn path(writer: &mut Encoder, path: &Path) -> Option<()> {
    let text = path.to_str()?;
    if text.contains('\0') {
        return None;
    }
    writer.size(text.len() + 1);
    writer.0.extend_from_slice(text.as_bytes());
    writer.byte(0);
    Some(())
}

/// Returns the journal settings; nothing where files could not be read.
fn journal(settings: &Settings) -> String {
    if !settings.problems.is_empty() {
        return String::new();
    }
    serde_json::to_string(&settings.journal).unwrap_or_default()
}

fn details(standing: &HookStatus) -> Option<String> {
    let hook = &standing.hook;
    let text = |expression: &Expression| expression.text().to_owned();
    let entry = hook.entry.as_ref();
    let details = Details {
        definition: hook.definition.clone(),
        level: hook.level as u8,
        nesting: hook.nesting,
        folder: hook.folder.clone(),
        runs_from: hook.runs_from.clone(),
        script: entry.map(|entry| entry.script.clone()),
        interpreter: entry.and_then(|entry| entry.interpreter).map(str::to_owned),
        tool: hook.matcher.tool().map(text),
        pattern: hook.matcher.pattern().map(text),
        root: hook.root.clone(),
    };
    serde_json::to_string(&details).ok()
}

/// Everything that is checked again at every event.
struct WatchedPaths {
    began: SystemTime,
    /// Folders of hooks, each with its mark: what is in them is checked relative to them.
    bases: Vec<(PathBuf, u64)>,
    always: Encoder,
    count: usize,
}

impl WatchedPaths {
    /// Checks a path; `None` if it changed just now, or cannot be checked.
    fn look(&self, full: &Path, extent: WatchExtent) -> Option<FileStamp> {
        let name = CString::new(full.to_str()?).ok()?;
        let look = FileStamp::at(None, &name).ok()?;
        (extent == WatchExtent::Identity || look.is_settled(self.began)).then_some(look)
    }

    /// Watches a path at every event.
    fn add(&mut self, full: &Path, extent: WatchExtent) -> Option<FileStamp> {
        let look = self.look(full, extent)?;
        write(&mut self.always, full, extent, look, &self.bases)?;
        self.count += 1;
        (self.count < MOST_WATCHED).then_some(look)
    }

    fn whole(&mut self, full: &Path) -> Option<FileStamp> {
        self.add(full, WatchExtent::Whole)
    }

    fn settings(&mut self, places: &Places) -> Option<()> {
        if self.whole(&places.managed.join(settings::FILE))?.is_there() {
            self.whole(&places.managed)?;
        }
        if let Some(user) = &places.user {
            self.whole(&user.join(settings::FILE))?;
        }
        Some(())
    }

    /// Watches what else a session compares with its beginning: changing it invalidates the index.
    fn session(&mut self, places: &Places) -> Option<()> {
        let Some(state) = &places.state else { return Some(()) };
        self.whole(&accepted_file(state))?;
        if !self.whole(&StateDir::new(state).installed())?.is_there() {
            return Some(());
        }
        let mut files = BTreeSet::new();
        for installation in Installation::all(state) {
            files.extend(installation.files);
            files.extend(installation.program);
        }
        for file in files.iter().filter(|file| file.to_str().is_some()) {
            // Settings that cannot be checked are reported by `doctor`.
            if let Some(Errno::ACCESS) = CString::new(file.as_os_str().as_bytes())
                .ok()
                .and_then(|path| FileStamp::at(None, &path).err())
            {
                continue;
            }
            self.whole(file)?;
        }
        Some(())
    }

    fn levels(
        &mut self,
        places: &Places,
        whose: &IndexKey,
        installed: &InstalledHooks,
    ) -> Option<()> {
        let managed = places.managed.join(HOOKS);
        self.hooks_folder(&managed, installed)?;
        if self.bases.iter().any(|(base, _)| *base == managed) {
            // Who may write there decides whether they count.
            self.whole(&places.managed)?;
        }
        if let Some(user) = &places.user {
            self.hooks_folder(&user.join(HOOKS), installed)?;
        }
        let (roots, work_dir) = (&whose.roots, &whose.work_dir);
        let Some(root) = &roots.pinned else { return Some(()) };
        let store = places.state.as_deref().map(TrustStore::new);
        if work_dir != root {
            self.add(work_dir, WatchExtent::Identity)?;
        }
        let own = roots.own(work_dir, places.home.as_deref());
        if roots.is_searched(work_dir) {
            self.search(work_dir, own.as_deref(), places)?;
        }
        let mut seen = Vec::new();
        for project in roots.folders(work_dir, own.as_deref()) {
            self.hooks_folder(&project.hooks(), installed)?;
            let places = project.trust_places();
            self.tree(&project, &places, &mut seen)?;
            // Trust is stored by where a folder is and was, and by its repository.
            for folder in store.iter().flat_map(|store| store.watched(&places)) {
                if !seen.contains(&folder) {
                    self.whole(&folder)?;
                    seen.push(folder);
                }
            }
        }
        Some(())
    }

    /// Watches what decides which root is found above the work.
    fn search(&mut self, work_dir: &Path, own: Option<&Path>, places: &Places) -> Option<()> {
        for folder in work_dir.ancestors() {
            for name in [".git", PROJECT_LEVEL] {
                self.add(&folder.join(name), WatchExtent::Identity)?;
            }
            let is_end = own == Some(folder) && folder.join(".git").symlink_metadata().is_ok();
            if is_end || places.home.as_deref() == Some(folder) {
                break;
            }
        }
        Some(())
    }

    /// Watches that a folder of the project is the same, and in the same repository.
    fn tree(
        &mut self,
        project: &ProjectFolder,
        places: &TrustPlaces,
        seen: &mut Vec<PathBuf>,
    ) -> Option<()> {
        let dot_git = project.folder.join(".git");
        let evidence = places.repository().map_or(&[][..], |inside| &inside.evidence);
        if let [single] = evidence
            && fs::canonicalize(&dot_git).is_ok_and(|real| real == *single)
        {
            // Another folder has another `.git`: one check covers both.
            seen.push(single.clone());
            return self.add(&dot_git, WatchExtent::Identity).map(drop);
        }
        self.add(&project.folder, WatchExtent::Identity)?;
        if project.may_have_repository() {
            self.add(&dot_git, WatchExtent::Identity)?;
        }
        for path in evidence {
            if !seen.contains(path) {
                let extent = if path.is_dir() { WatchExtent::Identity } else { WatchExtent::Whole };
                self.add(path, extent)?;
                seen.push(path.clone());
            }
        }
        Some(())
    }

    /// Watches a folder of hooks, or that it does not exist.
    fn hooks_folder(&mut self, folder: &Path, installed: &InstalledHooks) -> Option<()> {
        let look = self.look(folder, WatchExtent::Whole)?;
        if !look.is_there() {
            return self.whole(folder).map(drop);
        }
        self.bases.push((folder.to_owned(), look.mark(WatchExtent::Whole)));
        // What a link leads to may turn from a file, which is not a hook, into a folder.
        for entry in fs::read_dir(folder).ok()?.flatten() {
            let is_link = entry.file_type().ok()?.is_symlink();
            let path = entry.path();
            let is_hook = || installed.hooks.iter().any(|standing| standing.hook.folder == path);
            if is_link && !is_hook() {
                self.whole(&path)?;
            }
        }
        Some(())
    }

    /// Watches what a hook is made of: what decides whether it is asked at every event, and what is
    /// run when its turn comes. Returns how many of the latter there are.
    fn hook(
        &mut self,
        standing: &HookStatus,
        has_namesake: bool,
        at_turn: &mut Encoder,
    ) -> Option<usize> {
        let hook = &standing.hook;
        if matches!(hook.trust, Trust::Never) {
            // Nothing of it was read.
            return Some(0);
        }
        let mut later: Vec<PathBuf> = Vec::new();
        if hook.level == Level::Managed {
            for path in paths(&hook.folder).ok()? {
                self.whole(&path)?;
            }
        }
        let file = self.whole(&hook.runs_from.join(HOOK_FILE))?;
        let is_unread = hook.fault().is_some_and(|fault| fault.code == "unreadable");
        if is_unread == file.is_there() {
            // It appeared or disappeared just now, or could not be read for a reason that may be
            // temporary.
            return None;
        }
        match hook.trust {
            Trust::Trusted => {
                self.whole(hook.record.as_deref()?)?;
                later.extend(paths(&hook.folder).ok()?);
                later.extend(paths(&hook.runs_from).ok()?);
            }
            Trust::Changed(_) => return None,
            // Nothing but its HOOK.md decides what a declarative hook does.
            Trust::NotNeeded if is_declarative(hook) => return Some(0),
            Trust::NotNeeded | Trust::Never => {
                later.extend(looked_at_for_entry(&hook.runs_from, hook.entry.as_ref()));
            }
        }
        if has_namesake || hook.entry.is_none() {
            // Whether it can run decides which hook is in effect, or that it is reported as one
            // that cannot run.
            for path in &later {
                self.whole(path)?;
            }
            return Some(0);
        }
        // Other scripts are checked when their hook is due: a thousand checks at every event would
        // cost more than everything else.
        if let Some(entry) = hook.entry.as_ref().filter(|_| hook.blocks_on_failure()) {
            // Without it, it would block; and a session notices if it is a different one.
            self.whole(&entry.script)?;
            // An edited file is noticed at the next event, an added one when the guard is due: also
            // checking each folder would cost half as much again at every event.
            let (folders, mut files) = parts_of_guard(&hook.runs_from, &entry.script);
            later.extend(folders);
            later.extend(files.drain(files.len().min(MOST_OF_A_GUARD)..));
            for path in files {
                self.whole(&path)?;
            }
            later.sort();
            later.dedup();
        }
        for path in &later {
            let look = self.look(path, WatchExtent::Whole)?;
            write(at_turn, path, WatchExtent::Whole, look, &[])?;
        }
        Some(later.len())
    }
}

/// Returns whether a hook gives its answer itself, and can.
fn is_declarative(hook: &Hook) -> bool {
    hook.definition.answer.is_some() && hook.fault().is_none()
}

/// Returns the folders of a guard, and its files except those that are watched anyway.
fn parts_of_guard(folder: &Path, script: &Path) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let file = folder.join(HOOK_FILE);
    let mut parts = paths(folder).unwrap_or_default();
    parts.retain(|path| path != script && *path != file && path.to_str().is_some());
    parts.into_iter().partition(|path| path.is_dir())
}

/// Returns the paths that decide which script is started, and how.
fn looked_at_for_entry(folder: &Path, entry: Option<&EntryPoint>) -> Vec<PathBuf> {
    let scripts = folder.join(SCRIPTS);
    let mut paths = vec![scripts.clone()];
    for (name, _) in ENTRIES {
        let path = scripts.join(name);
        let is_last = entry.is_some_and(|entry| entry.script == path);
        paths.push(path);
        if is_last {
            break;
        }
    }
    paths
}

fn write(
    writer: &mut Encoder,
    full: &Path,
    extent: WatchExtent,
    look: FileStamp,
    bases: &[(PathBuf, u64)],
) -> Option<()> {
    writer.mark(look.mark(extent));
    writer.byte(u8::from(extent == WatchExtent::Identity));
    based(full, bases, writer)
}
