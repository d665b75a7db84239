//! Opens files that others may have replaced: only regular files, and never blocking.
//!
//! Whatever is at a path of the state folder, opening it neither hangs (a named pipe without a
//! peer) nor follows a symbolic link elsewhere.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::OnceLock;

use rustix::fs::{FileType, Mode, OFlags, Stat};

/// Files we create are accessible only to their owner.
const PRIVATE: Mode = Mode::RUSR.union(Mode::WUSR);

/// The error message for anything else.
const NOT_REGULAR: &str = "it is not a regular file";

/// Opens a regular file. A symbolic link, a named pipe, a device or a folder is an error.
///
/// With [`OFlags::CREATE`] a missing file is created, accessible only to its owner.
pub fn open_regular(path: &Path, flags: OFlags) -> io::Result<File> {
    open(path, flags).map(|(file, _)| file)
}

/// Like [`open_regular`], for a file that belongs to the current user.
pub fn open_own(path: &Path, flags: OFlags) -> io::Result<File> {
    open_own_with_stat(path, flags).map(|(file, _)| file)
}

/// Like [`open_own`], also returning the file's `stat`.
pub(crate) fn open_own_with_stat(path: &Path, flags: OFlags) -> io::Result<(File, Stat)> {
    let (file, stat) = open(path, flags)?;
    if stat.st_uid != user() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it belongs to another user"));
    }
    Ok((file, stat))
}

/// Reads a regular file of ours, at most `limit` bytes of it.
pub(crate) fn read_own(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let (file, stat) = open_own_with_stat(path, OFlags::RDONLY)?;
    read_up_to(file, &stat, limit)
}

/// Reads a regular file of any owner, at most `limit` bytes of it.
pub(crate) fn read_regular_up_to(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let (file, stat) = open(path, OFlags::RDONLY)?;
    read_up_to(file, &stat, limit)
}

fn read_up_to(file: File, stat: &Stat, limit: u64) -> io::Result<Vec<u8>> {
    // As long as it was when opened, so no further read is needed to find the end.
    let length = u64::try_from(stat.st_size).unwrap_or_default().min(limit);
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
    file.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn open(path: &Path, flags: OFlags) -> io::Result<(File, Stat)> {
    // Without NONBLOCK, opening a named pipe waits for its other end.
    let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let not_regular = || io::Error::new(io::ErrorKind::InvalidInput, NOT_REGULAR);
    let file = rustix::fs::open(path, flags, PRIVATE).map_err(|error| match error {
        // A link; a pipe without a reader, or a socket; a folder.
        rustix::io::Errno::LOOP | rustix::io::Errno::NXIO | rustix::io::Errno::ISDIR => {
            not_regular()
        }
        error => error.into(),
    })?;
    let stat = rustix::fs::fstat(&file)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(not_regular());
    }
    Ok((File::from(file), stat))
}

/// Returns the current user, which is queried only once.
fn user() -> u32 {
    static USER: OnceLock<u32> = OnceLock::new();
    *USER.get_or_init(|| rustix::process::geteuid().as_raw())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};
    use std::os::unix::net::UnixListener;

    use proptest::prelude::*;
    use rustix::fs::{CWD, mknodat};

    use super::*;

    const APPEND: OFlags = OFlags::WRONLY.union(OFlags::APPEND).union(OFlags::CREATE);

    #[test]
    fn what_is_created_is_for_its_owner_alone() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("new");
        open_own(&path, APPEND).unwrap().write_all(b"one").unwrap();
        open_own(&path, APPEND).unwrap().write_all(b"two").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(read_own(&path, 5).unwrap(), b"onetw");
        assert_eq!(
            open_own(&scratch.path().join("none"), OFlags::RDONLY).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
    }

    #[test]
    fn nothing_else_is_opened_and_nothing_waits() {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| scratch.path().join(name);
        fs::write(at("file"), "").unwrap();
        symlink(at("file"), at("link")).unwrap();
        symlink(at("elsewhere"), at("dangling")).unwrap();
        fs::create_dir(at("folder")).unwrap();
        mknodat(CWD, at("pipe"), FileType::Fifo, PRIVATE, 0).unwrap();
        let _listener = UnixListener::bind(at("socket")).unwrap();
        for name in ["link", "dangling", "folder", "pipe", "socket"] {
            for flags in [OFlags::RDONLY, APPEND, OFlags::RDWR | OFlags::CREATE] {
                let error = open_regular(&at(name), flags).unwrap_err();
                assert_eq!(error.to_string(), NOT_REGULAR, "{name} {flags:?}");
            }
        }
        assert!(!at("elsewhere").exists());
    }

    #[test]
    fn a_file_of_another_user_is_not_ours() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("theirs");
        fs::write(&path, "x").unwrap();
        if chown(&path, Some(user() + 1), None).is_err() {
            // Only root can give a file away.
            return;
        }
        let error = open_own(&path, OFlags::RDONLY).unwrap_err();
        assert_eq!(error.to_string(), "it belongs to another user");
        assert_eq!(read_regular_up_to(&path, 9).unwrap(), b"x");
    }

    proptest! {
        #[test]
        fn reading_ends_at_the_limit(length in 0usize..5000, limit in 0usize..5000) {
            let scratch = tempfile::tempdir().unwrap();
            let path = scratch.path().join("file");
            let bytes: Vec<u8> = (0u8..=250).cycle().take(length).collect();
            fs::write(&path, &bytes).unwrap();
            let read = read_own(&path, limit as u64).unwrap();
            prop_assert_eq!(read, &bytes[..length.min(limit)]);
        }
    }
}
