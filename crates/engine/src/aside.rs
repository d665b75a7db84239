//! Files that are written aside and renamed: whoever sees one sees all of it.

use std::env;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::run::process::random_bits;

/// Writes a file that is complete from the moment it can be seen, for us alone; with `sync` it is on
/// the disk by then. Where its folder is missing, `make_folder` makes it.
pub(crate) fn write(
    path: &Path,
    bytes: &[u8],
    sync: bool,
    make_folder: impl FnOnce() -> io::Result<()>,
) -> io::Result<()> {
    let unfinished = unfinished_beside(path);
    let open = || create(&unfinished);
    let mut file = open().or_else(|error| {
        if error.kind() != io::ErrorKind::NotFound {
            return Err(error);
        }
        make_folder()?;
        open()
    })?;
    let written = file
        .write_all(bytes)
        .and_then(|()| if sync { file.sync_data() } else { Ok(()) })
        .and_then(|()| fs::rename(&unfinished, path));
    if written.is_err() {
        // The disk is full: no half files on top.
        let _ = fs::remove_file(&unfinished);
    }
    written
}

/// Writes a file unless it is there; it is complete from the moment it can be seen.
pub(crate) fn write_once(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let unfinished = unfinished_beside(path);
    let written = create(&unfinished)?
        .write_all(bytes)
        .and_then(|()| fs::hard_link(&unfinished, path))
        .or_else(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Ok(()),
            _ => Err(error),
        });
    // One that stays harms nobody.
    let _ = fs::remove_file(&unfinished);
    written
}

/// Makes a file without a name.
pub(crate) fn unnamed() -> io::Result<File> {
    let path = unfinished_beside(&env::temp_dir().join("anyhook"));
    let file =
        OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}

fn unfinished_beside(path: &Path) -> PathBuf {
    path.with_file_name(format!(".{:016x}", random_bits()))
}

fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Makes a folder, and all above it that is missing, that nobody else can look into.
pub(crate) fn make_private(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}
