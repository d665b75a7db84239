//! Updates a pack: compares its source with what was added and with what is there now, and writes
//! the difference, all of it or nothing.
//!
//! What someone changed is a conflict, and stays unless it is to be replaced; then it is kept.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhook_engine::Level;
use anyhook_engine::definition;
use anyhook_engine::trust::{TrustStore, absolute};
use anyhook_hosts::{AGENTS, HostSpec};
use anyhook_model::StateDir;
use anyhook_model::hook::Mode;
use anyhook_model::pack::{LockedHook, LockedPack};
use anyhook_model::report::changes::{ChangedFile, PermissionChange, UpdatedPack};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use similar::TextDiff;

use super::apply::{
    CreatedItems, Thing, cannot_write, check, copy, locked_commands, stage_in, write_hook,
};
use super::level::PackLevel;
use super::lock::{self, LockFile};
use super::options::OptionValues;
use super::status::{self, CommandPlace, PackStatus, digest_of, is_built_in, look_at_locked};
use super::tree::{HOOK_FILE, PackTree};
use super::{FoundPack, Pack, PackError, PackFile, PackHook, permissions, with_values};
use crate::error::SetupError;
use crate::shadow::in_shadow;

/// An update of a pack that can be shown, and then written.
#[derive(Debug)]
pub struct PackUpdate {
    /// What was added.
    pub locked: LockedPack,
    /// What the source has now.
    pub found: FoundPack,
    /// The pack as it is to be written.
    pub pack: Pack,
    /// What its hooks may do differently.
    pub permissions: Vec<PermissionChange>,
    /// The files that change.
    pub files: Vec<FileDifference>,
    /// What was changed here, and is replaced only on request.
    pub changed_here: Vec<PathBuf>,
    /// What is not the pack's, and is never replaced.
    pub foreign: Vec<PathBuf>,
    steps: Vec<HookStep>,
    commands: Vec<CommandStep>,
}

/// A file that changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileDifference {
    /// Its path.
    pub path: PathBuf,
    /// The file now; `None` if it does not exist.
    pub before: Option<PackFile>,
    /// The file then; `None` if it goes.
    pub after: Option<PackFile>,
}

/// What is done about a hook.
#[derive(Debug)]
struct HookStep {
    name: String,
    folder: PathBuf,
    standing: PackStatus,
    change: Change,
    /// Whether it stays in shadow mode.
    shadow: bool,
}

/// What is done about a command's file.
#[derive(Debug)]
struct CommandStep {
    path: PathBuf,
    text: String,
    standing: PackStatus,
    change: Change,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// It stays as it is.
    None,
    /// It is written, or replaced.
    Write,
    /// It is removed.
    Remove,
}

impl PackUpdate {
    /// Compares what was added with what was found. `values` are set in addition to those that were.
    pub fn plan(
        level: &PackLevel,
        locked: &LockedPack,
        found: FoundPack,
        values: OptionValues,
    ) -> Result<Self, SetupError> {
        if found.name != locked.name {
            return Err(PackError::OtherName {
                source_text: locked.source.clone(),
                expected: locked.name.clone(),
                found: found.name,
            }
            .into());
        }
        let mut pack = found.pack(&with_values(&locked.options, values))?;
        keep_mode(&mut pack, locked, &level.hooks_folder);
        let mut plan = Self {
            locked: locked.clone(),
            found,
            pack,
            permissions: Vec::new(),
            files: Vec::new(),
            changed_here: Vec::new(),
            foreign: Vec::new(),
            steps: Vec::new(),
            commands: Vec::new(),
        };
        plan.look_at_hooks(level);
        plan.look_at_commands(level);
        Ok(plan)
    }

    /// Returns whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.found.digest == self.locked.digest
            && self.pack.options == self.locked.options
            && self.steps.iter().all(|step| step.change == Change::None)
            && self.commands.iter().all(|step| step.change == Change::None)
    }

    /// Returns it as it is reported; as done, unless `dry_run`.
    pub fn report(&self, level: &PackLevel, dry_run: bool) -> UpdatedPack {
        let conflicts = self.changed_here.iter().chain(&self.foreign);
        UpdatedPack {
            name: self.pack.name.clone(),
            level: level.level.word().to_owned(),
            source: self.found.place.written(),
            result: if dry_run { "would_update" } else { "updated" }.to_owned(),
            before: self.locked.digest.clone(),
            after: self.found.digest.clone(),
            commit: self.found.commit.clone(),
            permissions: self.permissions.clone(),
            files: self.files.iter().map(changed).collect(),
            conflicts: conflicts.map(|path| text(path)).collect(),
            kept: None,
            needs_trust: level.level == Level::Project && !self.is_empty(),
        }
    }

    fn look_at_hooks(&mut self, level: &PackLevel) {
        let mut names: BTreeSet<&str> = self.pack.hooks.iter().map(PackHook::name).collect();
        names.extend(self.locked.hooks.iter().map(|hook| hook.name.as_str()));
        let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
        let mut before = Vec::new();
        for name in names {
            let folder = level.hooks_folder.join(&name);
            let known = self.locked.hooks.iter().find(|hook| hook.name == name);
            let built_in = is_built_in(Some(&self.locked));
            let standing = match known {
                // Someone's own link is not replaced without being asked.
                Some(_) if folder.is_symlink() => PackStatus::Changed,
                Some(known) => look_at_locked(&self.locked.name, known, &folder, built_in),
                None if folder.symlink_metadata().is_err() => PackStatus::Absent,
                None => PackStatus::Foreign,
            };
            let there = PackTree::of_hook(&folder).ok().map(PackTree::into_files);
            let new = self.pack.hooks.iter().find(|hook| hook.name() == name);
            let is_equal = new.is_some_and(|new| there.as_ref() == Some(&new.files));
            let is_there = standing != PackStatus::Absent;
            let change = match new {
                Some(_) if is_equal => Change::None,
                Some(_) => Change::Write,
                None if is_there && standing != PackStatus::Foreign => Change::Remove,
                None => Change::None,
            };
            if change != Change::None {
                match standing {
                    PackStatus::Changed => self.changed_here.push(folder.clone()),
                    PackStatus::Foreign => self.foreign.push(folder.clone()),
                    PackStatus::Absent | PackStatus::Same => {}
                }
            }
            let old = there.unwrap_or_default();
            let nothing = BTreeMap::new();
            let files = new.map_or(&nothing, |new| &new.files);
            for path in old.keys().chain(files.keys().filter(|path| !old.contains_key(*path))) {
                let (old, new) = (old.get(path), files.get(path));
                if old != new && change != Change::None {
                    self.files.push(FileDifference {
                        path: folder.join(path),
                        before: old.cloned(),
                        after: new.cloned(),
                    });
                }
            }
            if is_there && known.is_some() {
                before.extend(PackHook::installed(&name, old));
            }
            let shadow = known.is_some_and(|known| known.shadow)
                && new.is_some_and(|new| new.definition.mode == Mode::Shadow);
            self.steps.push(HookStep { name, folder, standing, change, shadow });
        }
        self.permissions = permissions::changes(&before, &self.pack.hooks);
    }

    fn look_at_commands(&mut self, level: &PackLevel) {
        let agents = self.agents();
        let places = status::commands(&self.pack, &agents, &level.scope, Some(&self.locked));
        let mut steps: Vec<CommandStep> = places.into_iter().map(CommandStep::of_new).collect();
        let old = Pack::of_lock(&self.locked, &level.hooks_folder);
        let gone = status::commands(&old, &agents, &level.scope, Some(&self.locked));
        let is_gone = |place: &CommandPlace<'_>| {
            place.standing != PackStatus::Foreign
                && place.standing != PackStatus::Absent
                && steps.iter().all(|step| step.path != place.file.path)
        };
        let gone: Vec<CommandStep> =
            gone.into_iter().filter(is_gone).map(CommandStep::of_gone).collect();
        steps.extend(gone);
        for step in steps.iter().filter(|step| step.change != Change::None) {
            match step.standing {
                PackStatus::Changed => self.changed_here.push(step.path.clone()),
                PackStatus::Foreign => self.foreign.push(step.path.clone()),
                PackStatus::Absent | PackStatus::Same => {}
            }
            let plain = |bytes: Vec<u8>| PackFile { bytes: bytes.into(), runnable: false };
            let after =
                (step.change == Change::Write).then(|| plain(step.text.clone().into_bytes()));
            let before = fs::read(&step.path).ok().map(plain);
            self.files.push(FileDifference { path: step.path.clone(), before, after });
        }
        self.commands = steps;
    }

    /// Returns the agents that have the pack's commands.
    fn agents(&self) -> Vec<&'static HostSpec> {
        let has = |agent: &&'static HostSpec| {
            self.locked.commands.iter().any(|command| command.agent == agent.id())
        };
        AGENTS.into_iter().filter(has).collect()
    }

    /// Writes the update. What was changed here is replaced, and kept below the state folder:
    /// returns where.
    pub fn write(
        &self,
        level: &PackLevel,
        state: &Path,
        stamp: &str,
    ) -> Result<Option<PathBuf>, SetupError> {
        let kept = StateDir::new(state).removed().join(format!("{}-{stamp}", self.pack.name));
        let folder = &level.hooks_folder;
        fs::create_dir_all(folder).map_err(|error| cannot_write(folder, error))?;
        let _held = lock::hold(folder)?;
        let lock = LockFile::read(folder)?;
        if lock.find(&self.locked.name) != Some(&self.locked) {
            return Err(PackError::ChangedMeanwhile(self.locked.name.clone()).into());
        }
        let staging = stage_in(folder)?;
        // Dropped first: what it undoes is in `staging`.
        let mut writer = Writer { done: Vec::new(), made: CreatedItems::default() };
        let mut record = self.found.locked(&self.pack);
        for step in &self.steps {
            if let Some(hook) = self.pack.hooks.iter().find(|hook| hook.name() == step.name) {
                let staged = staging.path().join(&step.name);
                write_hook(hook, &staged).map_err(|error| cannot_write(&step.folder, error))?;
                check(&staged)?;
                let digest = digest_of(&staged);
                record.hooks.push(LockedHook {
                    name: step.name.clone(),
                    digest,
                    shadow: step.shadow,
                });
            }
        }
        let agents = self.agents();
        let places = status::commands(&self.pack, &agents, &level.scope, Some(&self.locked));
        record.commands = locked_commands(&places);
        let text = lock.text_with(record)?;
        let is_kept = self.keep(&kept, &mut writer)?;
        let lock_failed = |error| cannot_write(&lock.path, error);
        let mut unfinished = lock.file().begin().map_err(lock_failed)?;
        lock.file().fill(&mut unfinished, text.as_bytes()).map_err(lock_failed)?;
        for step in &self.steps {
            let moved = writer.hook(step, staging.path());
            moved.map_err(|error| cannot_write(&step.folder, error))?;
        }
        for step in &self.commands {
            writer.command(step).map_err(|error| cannot_write(&step.path, error))?;
        }
        lock.file().put(unfinished).map_err(lock_failed)?;
        writer.finish();
        let removed = self.steps.iter().filter(|step| step.change == Change::Remove);
        for step in removed {
            // A removed hook must not be reported as missing.
            TrustStore::new(state).forget(&absolute(&step.folder)?)?;
        }
        Ok(is_kept.then_some(kept))
    }

    /// Copies what was changed here, and what goes, to where it is kept.
    fn keep(&self, kept: &Path, writer: &mut Writer) -> Result<bool, SetupError> {
        let hooks = self.steps.iter().filter(|step| {
            step.change == Change::Remove
                || step.change == Change::Write && step.standing == PackStatus::Changed
        });
        let hooks = hooks.map(|step| (&step.folder, kept.join("hooks").join(&step.name)));
        let commands = self
            .commands
            .iter()
            .filter(|step| step.change != Change::None && step.standing == PackStatus::Changed);
        let commands = commands.enumerate().map(|(index, step)| {
            let name = step.path.file_name().unwrap_or_default().to_string_lossy();
            (&step.path, kept.join("commands").join(format!("{index}-{name}")))
        });
        let mut is_kept = false;
        for (from, to) in hooks.chain(commands) {
            let parent = to.parent().unwrap_or(&to);
            writer.made.folders(parent).map_err(SetupError::unusable(parent))?;
            writer.made.things.push(Thing::Tree(to.clone()));
            copy(from, &to)?;
            is_kept = true;
        }
        Ok(is_kept)
    }
}

/// Puts the new version of a hook in shadow mode where an agent added it and no one promoted it;
/// one that was promoted and is otherwise the same stays as it is.
fn keep_mode(pack: &mut Pack, locked: &LockedPack, hooks_folder: &Path) {
    for hook in &mut pack.hooks {
        if !locked.hooks.iter().any(|known| known.name == hook.name && known.shadow) {
            continue;
        }
        let folder = hooks_folder.join(&hook.name);
        let (Some(file), Ok(there)) =
            (hook.files.get_mut(HOOK_FILE), fs::read(folder.join(HOOK_FILE)))
        else {
            continue;
        };
        let Some(watched) = in_shadow(&file.bytes, &hook.name) else { continue };
        if definition::read(&there, &hook.name).definition.mode == Mode::Shadow {
            file.bytes = watched.into();
            hook.definition.mode = Mode::Shadow;
        } else if in_shadow(&there, &hook.name).as_ref() == Some(&watched) {
            file.bytes = there.into();
        }
    }
}

impl CommandStep {
    fn of_new(place: CommandPlace<'_>) -> Self {
        let is_equal =
            fs::read_to_string(&place.file.path).is_ok_and(|text| text == place.file.text);
        let change = if is_equal { Change::None } else { Change::Write };
        let CommandPlace { file, standing, .. } = place;
        Self { path: file.path, text: file.text, standing, change }
    }

    fn of_gone(place: CommandPlace<'_>) -> Self {
        let CommandPlace { file, standing, .. } = place;
        Self { path: file.path, text: String::new(), standing, change: Change::Remove }
    }
}

/// What was done so far. It is undone unless everything succeeds.
struct Writer {
    done: Vec<Done>,
    made: CreatedItems,
}

enum Done {
    /// A new folder or file.
    New(PathBuf),
    /// Two folders that changed places.
    Swapped(PathBuf, PathBuf),
    /// A file that had another content.
    Replaced(PathBuf, Vec<u8>),
}

impl Writer {
    fn hook(&mut self, step: &HookStep, staging: &Path) -> io::Result<()> {
        let staged = staging.join(&step.name);
        match step.change {
            Change::None => Ok(()),
            Change::Write if step.standing == PackStatus::Absent => {
                fs::rename(&staged, &step.folder)?;
                self.done.push(Done::New(step.folder.clone()));
                Ok(())
            }
            Change::Write => {
                // At no moment is there no hook.
                swap(&staged, &step.folder)?;
                self.done.push(Done::Swapped(staged, step.folder.clone()));
                Ok(())
            }
            Change::Remove => {
                fs::rename(&step.folder, &staged)?;
                self.done.push(Done::Swapped(step.folder.clone(), staged));
                Ok(())
            }
        }
    }

    fn command(&mut self, step: &CommandStep) -> io::Result<()> {
        let before = match fs::read(&step.path) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        match step.change {
            Change::None => return Ok(()),
            Change::Write => drop(self.made.stage(&step.path, &step.text)?.persist(&step.path)?),
            Change::Remove => fs::remove_file(&step.path)?,
        }
        self.done.push(match before {
            Some(bytes) => Done::Replaced(step.path.clone(), bytes),
            None => Done::New(step.path.clone()),
        });
        Ok(())
    }

    fn finish(&mut self) {
        self.done.clear();
        self.made.things.clear();
    }
}

/// Makes two folders change places; in one step, where the file system can.
fn swap(one: &Path, other: &Path) -> io::Result<()> {
    if renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).is_ok() {
        return Ok(());
    }
    let between = one.with_extension("between");
    fs::rename(other, &between)?;
    if let Err(error) = fs::rename(one, other) {
        // The original error is reported.
        let _ = fs::rename(&between, other);
        return Err(error);
    }
    fs::rename(between, one)
}

impl Drop for Writer {
    fn drop(&mut self) {
        // The original error is reported; what cannot be undone stays.
        for done in self.done.drain(..).rev() {
            let _ = match done {
                Done::New(path) if path.is_dir() => fs::remove_dir_all(path),
                Done::New(path) => fs::remove_file(path),
                Done::Swapped(one, other) if one.symlink_metadata().is_err() => {
                    fs::rename(other, one)
                }
                Done::Swapped(one, other) => swap(&one, &other),
                Done::Replaced(path, bytes) => {
                    fs::File::create(&path).and_then(|mut file| file.write_all(&bytes))
                }
            };
        }
    }
}

fn changed(file: &FileDifference) -> ChangedFile {
    let lines = |file: &Option<PackFile>| match file {
        None => String::new(),
        Some(file) => match std::str::from_utf8(&file.bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => format!("({} bytes that are not text)\n", file.bytes.len()),
        },
    };
    let (before, after) = (lines(&file.before), lines(&file.after));
    let mut diff =
        TextDiff::from_lines(&before, &after).unified_diff().context_radius(2).to_string();
    let is_runnable = |file: &Option<PackFile>| file.as_ref().is_some_and(|file| file.runnable);
    if file.after.is_some() && is_runnable(&file.before) != is_runnable(&file.after) {
        let sign = if is_runnable(&file.after) { "+" } else { "-" };
        diff.insert_str(0, &format!("{sign} executable\n"));
    }
    let change = match (&file.before, &file.after) {
        (None, _) => "created",
        (_, None) => "removed",
        _ => "changed",
    };
    ChangedFile {
        path: text(&file.path),
        change: change.to_owned(),
        diff: Some(diff),
        restored: None,
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use anyhook_hosts::wiring::SettingsScope;

    use super::super::apply::{Addition, put};
    use super::super::tests::{GUARD, found, with_hook};
    use super::*;

    struct Scratch {
        folder: tempfile::TempDir,
        hooks: PathBuf,
    }

    impl Scratch {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let hooks = folder.path().join("agents/hooks");
            Self { folder, hooks }
        }

        fn level(&self) -> PackLevel {
            let home = self.folder.path().to_owned();
            PackLevel {
                level: Level::User,
                hooks_folder: self.hooks.clone(),
                scope: SettingsScope {
                    config_home: home.join(".config"),
                    home,
                    project: None,
                    variables: BTreeMap::default(),
                },
                lock: LockFile::read(&self.hooks).unwrap(),
            }
        }

        fn put(&self, found: &FoundPack, between: impl FnOnce()) -> Result<(), SetupError> {
            let (level, pack) = (self.level(), found.pack(&OptionValues::new()).unwrap());
            let hooks = status::hooks(&pack, &self.hooks, None);
            between();
            let record = found.locked(&pack);
            put(&Addition { level: &level, hooks: &hooks, commands: &[], shadow: false, record })
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.hooks).into_iter().flatten().flatten();
            let mut names: Vec<String> =
                entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
            names.sort();
            names
        }

        fn text(&self, hook: &str) -> String {
            fs::read_to_string(self.hooks.join(hook).join(HOOK_FILE)).unwrap()
        }
    }

    /// Puts something into the way after it was looked at.
    fn in_the_way(folder: &Path) {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join("mine"), "x").unwrap();
    }

    #[test]
    fn what_cannot_be_added_to_the_end_leaves_nothing() {
        let scratch = Scratch::new();
        let pack = found(&[with_hook("one"), with_hook("two")].concat()).unwrap();
        let two = scratch.hooks.join("two");
        assert!(scratch.put(&pack, || in_the_way(&two)).is_err());
        assert_eq!(scratch.names(), ["two"], "what is not ours stays");
        assert!(!scratch.folder.path().join("agents/packs.lock").exists());
        assert_eq!(fs::read_dir(&two).unwrap().count(), 1);
    }

    #[test]
    fn what_cannot_be_updated_to_the_end_is_as_it_was() {
        let scratch = Scratch::new();
        scratch
            .put(&found(&[with_hook("gone"), with_hook("one")].concat()).unwrap(), || ())
            .unwrap();
        let before = fs::read(scratch.folder.path().join("agents/packs.lock")).unwrap();
        let mut files = [with_hook("one"), with_hook("two")].concat();
        files[0].1 = files[0].1.replace("Text", "New text");
        let level = scratch.level();
        let plan = |scratch: &Scratch| {
            let locked = level.lock.find("guards").unwrap();
            let update =
                PackUpdate::plan(&level, locked, found(&files).unwrap(), OptionValues::new());
            (update.unwrap(), scratch.folder.path().join("state"))
        };
        let (update, state) = plan(&scratch);
        let two = scratch.hooks.join("two");
        in_the_way(&two);
        assert!(update.write(&level, &state, "now").is_err());
        assert_eq!(scratch.names(), ["gone", "one", "two"]);
        assert_eq!(scratch.text("one"), with_hook("one")[0].1);
        assert_eq!(fs::read(scratch.folder.path().join("agents/packs.lock")).unwrap(), before);
        assert!(!state.join("removed").exists(), "nothing is kept, as nothing was replaced");

        fs::remove_dir_all(&two).unwrap();
        let (update, state) = plan(&scratch);
        assert!(update.write(&level, &state, "now").unwrap().is_some(), "what goes is kept");
        assert_eq!(scratch.names(), ["one", "two"]);
        assert!(scratch.text("one").contains("New text"));
        let again = update.write(&level, &state, "now");
        assert!(again.unwrap_err().to_string().contains("in the meantime"));
    }

    #[test]
    fn what_an_agent_added_stays_in_shadow_mode() {
        let scratch = Scratch::new();
        let pack = found(&with_hook("one")).unwrap();
        let (level, read) = (scratch.level(), pack.pack(&OptionValues::new()).unwrap());
        let hooks = status::hooks(&read, &scratch.hooks, None);
        let record = pack.locked(&read);
        put(&Addition { level: &level, hooks: &hooks, commands: &[], shadow: true, record })
            .unwrap();
        let mut files = with_hook("one");
        files[0].1 = files[0].1.replace("Text", "New text");
        let level = scratch.level();
        let locked = level.lock.find("guards").unwrap().clone();
        let standing = || status::hooks(&read, &scratch.hooks, Some(&locked))[0].standing;
        assert_eq!(standing(), PackStatus::Same);
        let plan = || {
            PackUpdate::plan(&level, &locked, found(&files).unwrap(), OptionValues::new()).unwrap()
        };
        assert_eq!(plan().pack.hooks[0].definition.mode, Mode::Shadow);
        assert!(plan().permissions.is_empty());
        let promoted = scratch.text("one").replace("mode: shadow", "mode: enforce");
        fs::write(scratch.hooks.join("one/HOOK.md"), promoted).unwrap();
        assert_eq!(standing(), PackStatus::Same, "promoted, and nothing else");
        assert_eq!(plan().pack.hooks[0].definition.mode, Mode::Enforce);
        assert_eq!(definition::read(GUARD.as_bytes(), "one").definition.mode, Mode::Enforce);
    }
}
