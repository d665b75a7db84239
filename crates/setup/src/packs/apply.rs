//! Installs a pack or removes it: all of it or nothing.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhook_engine::trust::copy_folder;
use tempfile::NamedTempFile;

use super::PackHook;
use super::status::{CommandPlace, HookPlace, PackStatus, runs};
use crate::error::SetupError;
use crate::shadow::put_in_shadow;

/// Installs what is absent. Everything is staged before the first item appears, and removed again
/// if one of them fails. With `shadow` the hooks are in shadow mode.
pub fn put(
    hooks_folder: &Path,
    hooks: &[HookPlace<'_>],
    commands: &[CommandPlace<'_>],
    shadow: bool,
) -> Result<(), SetupError> {
    let mut made = CreatedItems::default();
    let absent = hooks.iter().filter(|place| place.standing == PackStatus::Absent);
    let absent: Vec<&HookPlace<'_>> = absent.collect();
    let aside = if absent.is_empty() {
        None
    } else {
        made.folders(hooks_folder).map_err(|error| cannot_write(hooks_folder, error))?;
        // A hidden folder is not a hook: a running agent never sees half of one.
        let aside = tempfile::Builder::new().prefix(".adding-").tempdir_in(hooks_folder);
        Some(aside.map_err(|error| cannot_write(hooks_folder, error.kind().into()))?)
    };
    for (place, aside) in absent.iter().zip(aside.iter().cycle()) {
        let folder = aside.path().join(place.hook.name());
        write_hook(place.hook, &folder).map_err(|error| cannot_write(&place.folder, error))?;
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
    for (place, aside) in absent.iter().zip(aside.iter().cycle()) {
        fs::rename(aside.path().join(place.hook.name()), &place.folder)
            .map_err(|error| cannot_write(&place.folder, error))?;
        made.things.push(Thing::Tree(place.folder.clone()));
    }
    for (path, file) in staged {
        // What someone put there in the meantime is kept.
        file.persist_noclobber(path).map_err(|error| cannot_write(path, error.error))?;
        made.things.push(Thing::File(path.clone()));
    }
    made.things.clear();
    Ok(())
}

/// Writes a hook's files into a new folder.
fn write_hook(hook: &PackHook, folder: &Path) -> io::Result<()> {
    for (inner, bytes) in &hook.files {
        let path = folder.join(inner);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(&path, bytes)?;
        let mode = if runs(inner) { 0o755 } else { 0o644 };
        fs::set_permissions(&path, fs::Permissions::from_mode(mode))?;
    }
    Ok(())
}

/// What was created so far. It is removed again unless everything succeeds.
#[derive(Default)]
struct CreatedItems {
    things: Vec<Thing>,
}

enum Thing {
    /// A folder that is removed if it is empty.
    Folder(PathBuf),
    Tree(PathBuf),
    File(PathBuf),
}

impl CreatedItems {
    /// Creates a folder and its parents.
    fn folders(&mut self, folder: &Path) -> io::Result<()> {
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
    fn stage(&mut self, path: &Path, text: &str) -> io::Result<NamedTempFile> {
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

fn copy(from: &Path, to: &Path) -> Result<(), SetupError> {
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

fn cannot_write(path: &Path, cause: io::Error) -> SetupError {
    SetupError::NotAdded { path: path.to_owned(), cause }
}
