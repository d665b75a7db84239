//! The folder of sessions' sockets: the runtime folder or, as a socket's path must be short, a
//! short one that the runtime folder links to.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use anyhook_engine::sha256_hex;

use super::SessionError;

/// The longest socket path that every known system accepts.
const SOCKET_PATH_LIMIT: usize = 103;
/// The longest name of a socket.
pub(super) const NAME_LIMIT: usize = 20;
/// The link from the runtime folder to the short one.
const LINK: &str = "sockets";

/// Returns the folder for sockets. It then exists and is accessible only to the current user.
pub(super) fn sockets(runtime: &Path) -> Result<PathBuf, SessionError> {
    make(runtime)?;
    if has_room(runtime) {
        return Ok(runtime.to_owned());
    }
    // Later processes may have other variables, and must find the same folder.
    let link = runtime.join(LINK);
    if let Ok(short) = fs::read_link(&link)
        && has_room(&short)
        && make(&short).is_ok()
    {
        return Ok(short);
    }
    let bases =
        [std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from), Some(std::env::temp_dir())];
    let bases = bases.into_iter().flatten().chain([PathBuf::from("/tmp")]);
    let name = format!("anyhook-{}", short_hash(runtime.as_os_str().as_encoded_bytes()));
    let shorts = bases.filter(|base| base.is_absolute()).map(|base| base.join(&name));
    let mut last = SessionError::NotOurs(runtime.to_owned());
    for short in shorts.filter(|short| has_room(short)) {
        match make(&short).and_then(|()| point(&link, &short)) {
            Ok(short) => return Ok(short),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Returns a short and safe name for a socket.
pub(super) fn short_hash(bytes: &[u8]) -> String {
    let mut hash = sha256_hex(bytes);
    hash.truncate(16);
    hash
}

fn has_room(folder: &Path) -> bool {
    folder.as_os_str().len() + 1 + NAME_LIMIT <= SOCKET_PATH_LIMIT
}

/// Creates a folder that only the current user can access; an existing one must belong to that
/// user.
fn make(folder: &Path) -> Result<(), SessionError> {
    let unusable = |error| SessionError::File { path: folder.to_owned(), error };
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(unusable)?;
    let metadata = fs::symlink_metadata(folder).map_err(unusable)?;
    if !metadata.is_dir() || metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(SessionError::NotOurs(folder.to_owned()));
    }
    if metadata.mode() & 0o777 == 0o700 {
        return Ok(());
    }
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).map_err(unusable)
}

/// Creates the link to a folder, unless it already points to a usable one. Returns its target.
fn point(link: &Path, short: &Path) -> Result<PathBuf, SessionError> {
    let unusable = |error| SessionError::File { path: link.to_owned(), error };
    match symlink(short, link) {
        Ok(()) => Ok(short.to_owned()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            // Another process was faster, or the old target is unusable.
            let there = fs::read_link(link).map_err(unusable)?;
            if there == short || make(&there).is_ok() {
                return Ok(there);
            }
            fs::remove_file(link).and_then(|()| symlink(short, link)).map_err(unusable)?;
            Ok(short.to_owned())
        }
        Err(error) => Err(unusable(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_path_is_used_as_it_is() {
        let scratch = tempfile::tempdir().unwrap();
        let runtime = scratch.path().join("run");
        assert_eq!(sockets(&runtime).unwrap(), runtime);
        assert_eq!(fs::metadata(&runtime).unwrap().mode() & 0o777, 0o700);
        fs::set_permissions(&runtime, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(sockets(&runtime).unwrap(), runtime);
        assert_eq!(fs::metadata(&runtime).unwrap().mode() & 0o777, 0o700);
    }

    #[test]
    fn for_a_long_path_there_is_a_short_one_which_stays_the_same() {
        let scratch = tempfile::tempdir().unwrap();
        let runtime = scratch.path().join("x".repeat(100));
        let short = sockets(&runtime).unwrap();
        assert!(has_room(&short), "{short:?}");
        assert_eq!(fs::metadata(&short).unwrap().mode() & 0o777, 0o700);
        assert_eq!(sockets(&runtime).unwrap(), short);
        // It may be removed together with its parent folder.
        fs::remove_dir(&short).unwrap();
        assert_eq!(sockets(&runtime).unwrap(), short);
        fs::remove_dir(&short).unwrap();
        // An unusable target is replaced.
        let link = runtime.join(LINK);
        fs::remove_file(&link).unwrap();
        symlink("/proc/nowhere", &link).unwrap();
        assert_eq!(sockets(&runtime).unwrap(), short);
        assert_eq!(fs::read_link(&link).unwrap(), short);
        fs::remove_dir(&short).unwrap();
    }

    #[test]
    fn what_is_no_folder_of_ours_is_not_used() {
        let scratch = tempfile::tempdir().unwrap();
        let elsewhere = scratch.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        let runtime = scratch.path().join("run");
        symlink(&elsewhere, &runtime).unwrap();
        assert!(matches!(sockets(&runtime), Err(SessionError::NotOurs(_))));
    }
}
