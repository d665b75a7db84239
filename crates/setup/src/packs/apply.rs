//! Installs a pack or removes it: all of it or nothing.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhook_engine::trust::copy_folder;
use anyhook_engine::{Hook, Level, Problem};
use anyhook_model::pack::{LockedCommand, LockedHook, LockedPack};
use tempfile::{NamedTempFile, TempDir};

use super::level::PackLevel;
use super::lock::{self, LockFile};
use super::status::{CommandPlace, HookPlace, PackStatus, digest_of, digest_of_command};
use super::{PackError, PackHook};
use crate::error::SetupError;
use crate::shadow::put_in_shadow;

/// What is added.
#[derive(Debug)]
pub struct Addition<'pack> {
    /// The level.
    pub level: &'pack PackLevel,
    /// The pack's hooks.
    pub hooks: &'pack [HookPlace<'pack>],
    /// The pack's commands.
    pub commands: &'pack [CommandPlace<'pack>],
    /// Whether the hooks are put in shadow mode.
    pub shadow: bool,
    /// What `packs.lock` is to say about the pack, without its hooks and commands.
    pub record: LockedPack,
}

/// Installs what is absent, and records it. Everything is staged before the first item appears, and
/// removed again if one of them fails.
pub fn put(addition: &Addition<'_>) -> Result<(), SetupError> {
    let Addition { level, hooks, commands, shadow, record } = addition;
    let (hooks_folder, shadow, mut record) = (&level.hooks_folder, *shadow, record.clone());
    let mut made = CreatedItems::default();
    let absent = hooks.iter().filter(|place| place.standing == PackStatus::Absent);
    let absent: Vec<&HookPlace<'_>> = absent.collect();
    made.folders(hooks_folder).map_err(|error| cannot_write(hooks_folder, error))?;
    // Another process may have added a pack in the meantime.
    let _held = lock::hold(hooks_folder)?;
    let lock = &LockFile::read(hooks_folder)?;
    let staging = stage_in(hooks_folder)?;
    for place in &absent {
        let folder = staging.path().join(place.hook.name());
        write_hook(place.hook, &folder).map_err(|error| cannot_write(&place.folder, error))?;
        check(&folder)?;
        if shadow {
            put_in_shadow(&folder, place.hook.name())?;
        }
    }
    let mut staged = Vec::new();
    for place in commands.iter().filter(|place| place.standing == PackStatus::Absent) {
        let path = &place.file.path;
        let file = made.stage(path, &place.file.text);
        staged.push((path, file.map_err(|error| cannot_write(path, error))?));
    }
    record.hooks =
        hooks.iter().map(|place| lock_hook(place, staging.path(), shadow, lock)).collect();
    record.commands = locked_commands(commands);
    let earlier = lock.find(&record.name).map(|pack| pack.commands.as_slice()).unwrap_or_default();
    let kept = earlier.iter().filter(|old| {
        !record.commands.iter().any(|new| new.agent == old.agent && new.name == old.name)
    });
    let kept: Vec<LockedCommand> = kept.cloned().collect();
    record.commands.extend(kept);
    let lock_failed = |error| cannot_write(&lock.path, error);
    let text = lock.text_with(record)?;
    let mut unfinished = lock.file().begin().map_err(lock_failed)?;
    lock.file().fill(&mut unfinished, text.as_bytes()).map_err(lock_failed)?;
    for place in &absent {
        fs::rename(staging.path().join(place.hook.name()), &place.folder)
            .map_err(|error| cannot_write(&place.folder, error))?;
        made.things.push(Thing::Tree(place.folder.clone()));
    }
    for (path, file) in staged {
        // What someone put there in the meantime is kept.
        file.persist_noclobber(path).map_err(|error| cannot_write(path, error.error))?;
        made.things.push(Thing::File(path.clone()));
    }
    lock.file().put(unfinished).map_err(lock_failed)?;
    made.things.clear();
    Ok(())
}

/// Makes a folder for what is not finished.
///
/// A hidden folder is not a hook: a running agent never sees half of one.
pub(super) fn stage_in(hooks_folder: &Path) -> Result<TempDir, SetupError> {
    let staging = tempfile::Builder::new().prefix(".adding-").tempdir_in(hooks_folder);
    staging.map_err(|error| cannot_write(hooks_folder, error.kind().into()))
}

/// Refuses a hook that cannot run.
pub(super) fn check(folder: &Path) -> Result<(), PackError> {
    let hook = Hook::load(folder, Level::User);
    let refuse = |fault: &Problem| PackError::Hook {
        hook: hook.name().to_owned(),
        why: fault.message.clone(),
    };
    hook.fault().map_or(Ok(()), |fault| Err(refuse(fault)))
}

/// Returns what is recorded of a hook that is there or staged.
fn lock_hook(place: &HookPlace<'_>, staging: &Path, shadow: bool, lock: &LockFile) -> LockedHook {
    let name = place.hook.name();
    if place.standing == PackStatus::Absent {
        return LockedHook {
            name: name.to_owned(),
            digest: digest_of(&staging.join(name)),
            shadow,
        };
    }
    let known = lock.lock.packs.iter().flat_map(|pack| &pack.hooks).find(|hook| hook.name == name);
    let there =
        || LockedHook { name: name.to_owned(), digest: digest_of(&place.folder), shadow: false };
    known.cloned().unwrap_or_else(there)
}

/// Returns what is recorded of commands.
pub(super) fn locked_commands(commands: &[CommandPlace<'_>]) -> Vec<LockedCommand> {
    let lock = |place: &CommandPlace<'_>| LockedCommand {
        agent: place.agent.id().to_owned(),
        name: place.command.name.clone(),
        digest: digest_of_command(&place.file.text),
    };
    commands.iter().map(lock).collect()
}

/// Writes a hook's files into a new folder.
pub(super) fn write_hook(hook: &PackHook, folder: &Path) -> io::Result<()> {
    hook.files.iter().try_for_each(|(inner, file)| file.write(&folder.join(inner)))
}

/// What was created so far. It is removed again unless everything succeeds.
#[derive(Default)]
pub(super) struct CreatedItems {
    pub(super) things: Vec<Thing>,
}

pub(super) enum Thing {
    /// A folder that is removed if it is empty.
    Folder(PathBuf),
    Tree(PathBuf),
    File(PathBuf),
}

impl CreatedItems {
    /// Creates a folder and its parents.
    pub(super) fn folders(&mut self, folder: &Path) -> io::Result<()> {
        if folder.is_dir() {
            return Ok(());
        }
        if let Some(above) = folder.parent() {
            self.folders(above)?;
        }
        match fs::create_dir(folder) {
            Ok(()) => self.things.push(Thing::Folder(folder.to_owned())),
            // Someone else was quicker.
            Err(_) if folder.is_dir() => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Writes a text next to the file it is for.
    pub(super) fn stage(&mut self, path: &Path, text: &str) -> io::Result<NamedTempFile> {
        let folder = path.parent().unwrap_or(path);
        self.folders(folder)?;
        let mut file = tempfile::Builder::new()
            .prefix(".adding-")
            .permissions(fs::Permissions::from_mode(0o644))
            .tempfile_in(folder)
            .map_err(|error| io::Error::from(error.kind()))?;
        file.write_all(text.as_bytes())?;
        Ok(file)
    }
}

impl Drop for CreatedItems {
    fn drop(&mut self) {
        // The original error is reported; what cannot be removed stays.
        for thing in self.things.iter().rev() {
            let _ = match thing {
                Thing::Folder(path) => fs::remove_dir(path),
                Thing::Tree(path) => fs::remove_dir_all(path),
                Thing::File(path) => fs::remove_file(path),
            };
        }
    }
}

/// Moves folders and files to where they are kept; if one fails, the others are moved back.
pub fn take(moves: &[(PathBuf, PathBuf)]) -> Result<(), SetupError> {
    for (index, (from, to)) in moves.iter().enumerate() {
        if let Err(error) = move_away(from, to) {
            for (from, to) in moves[..index].iter().rev() {
                // Best effort: what cannot be moved back is kept where it is.
                let _ = move_away(to, from);
            }
            return Err(error);
        }
    }
    Ok(())
}

/// Moves a folder, a file or a link, also onto another disk.
pub fn move_away(from: &Path, to: &Path) -> Result<(), SetupError> {
    let parent = to.parent().unwrap_or(to);
    fs::create_dir_all(parent).map_err(SetupError::unusable(parent))?;
    if fs::rename(from, to).is_ok() {
        return Ok(());
    }
    // Hidden first: what cannot be removed is not left half removed.
    let name = from.file_name().unwrap_or_default().to_string_lossy();
    let leaving = from.with_file_name(format!(".removing-{name}"));
    fs::rename(from, &leaving).map_err(SetupError::unusable(from))?;
    if let Err(error) = copy(&leaving, to) {
        let _ = fs::rename(&leaving, from);
        return Err(error);
    }
    let is_folder = leaving.is_dir() && !leaving.is_symlink();
    let gone = if is_folder { fs::remove_dir_all(&leaving) } else { fs::remove_file(&leaving) };
    gone.map_err(SetupError::unusable(&leaving))
}

pub(super) fn copy(from: &Path, to: &Path) -> Result<(), SetupError> {
    let refused = SetupError::unusable(to);
    if from.is_symlink() {
        let target = fs::read_link(from).map_err(SetupError::unusable(from))?;
        std::os::unix::fs::symlink(target, to).map_err(refused)
    } else if from.is_file() {
        fs::copy(from, to).map(drop).map_err(refused)
    } else {
        Ok(copy_folder(from, to)?)
    }
}

pub(super) fn cannot_write(path: &Path, cause: io::Error) -> SetupError {
    SetupError::NotAdded { path: path.to_owned(), cause }
}
