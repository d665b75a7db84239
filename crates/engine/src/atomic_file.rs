//! Atomic file replacement: a reader sees either all of the old file or all of the new one.

use std::env;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::run::process::random_bits;

/// The default mode of a new file: accessible only to its owner.
const PRIVATE: u32 = 0o600;

/// A file that is written under a temporary name in the same folder and then renamed. [`replace`]
/// does this in one step; with [`begin`], [`fill`] and [`put`] several files can be prepared before
/// the first one appears.
///
/// [`replace`]: Self::replace
/// [`begin`]: Self::begin
/// [`fill`]: Self::fill
/// [`put`]: Self::put
#[derive(Clone, Debug)]
pub struct AtomicFile<'path> {
    path: &'path Path,
    mode: u32,
    permissions: Option<Permissions>,
    is_synced: bool,
}

impl<'path> AtomicFile<'path> {
    /// Targets a path; the file will be accessible only to its owner.
    pub fn new(path: &'path Path) -> Self {
        Self { path, mode: PRIVATE, permissions: None, is_synced: false }
    }

    /// Sets the mode, minus the bits the user's umask removes from every new file.
    pub fn mode(mut self, mode: u32) -> Self {
        self.mode = mode;
        self
    }

    /// Sets exactly these permissions.
    pub fn permissions(mut self, permissions: Permissions) -> Self {
        self.permissions = Some(permissions);
        self
    }

    /// Makes the write durable: once the file is in place, its content and its name are on disk.
    pub fn synced(mut self, is_synced: bool) -> Self {
        self.is_synced = is_synced;
        self
    }

    /// Writes the file, replacing an existing one.
    pub fn replace(&self, bytes: &[u8]) -> io::Result<()> {
        self.finish(self.begin()?, bytes)
    }

    /// Like [`replace`](Self::replace), but if the folder is missing, `make_folder` creates it.
    pub fn replace_in(
        &self,
        bytes: &[u8],
        make_folder: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<()> {
        let unfinished = self.begin().or_else(|error| {
            if error.kind() != io::ErrorKind::NotFound {
                return Err(error);
            }
            make_folder()?;
            self.begin()
        })?;
        self.finish(unfinished, bytes)
    }

    fn finish(&self, mut unfinished: Unfinished, bytes: &[u8]) -> io::Result<()> {
        self.fill(&mut unfinished, bytes)?;
        self.put(unfinished).map(drop)
    }

    /// Writes the file unless it already exists.
    pub fn create(&self, bytes: &[u8]) -> io::Result<()> {
        let mut unfinished = self.begin()?;
        self.fill(&mut unfinished, bytes)?;
        match fs::hard_link(&unfinished.name.path, self.path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => self.sync_folder(),
        }
    }

    /// Creates the file under its temporary name.
    pub fn begin(&self) -> io::Result<Unfinished> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(self.mode);
        Unfinished::open(unfinished_beside(self.path), &options)
    }

    /// Writes to the temporary file and sets its permissions.
    pub fn fill(&self, unfinished: &mut Unfinished, bytes: &[u8]) -> io::Result<()> {
        unfinished.file.write_all(bytes)?;
        if let Some(permissions) = &self.permissions {
            unfinished.file.set_permissions(permissions.clone())?;
        }
        if self.is_synced { unfinished.file.sync_all() } else { Ok(()) }
    }

    /// Renames the temporary file into place.
    pub fn put(&self, unfinished: Unfinished) -> io::Result<File> {
        let file = unfinished.put(self.path)?;
        self.sync_folder()?;
        Ok(file)
    }

    fn sync_folder(&self) -> io::Result<()> {
        if !self.is_synced {
            return Ok(());
        }
        match File::open(self.path.parent().unwrap_or(Path::new("/")))?.sync_all() {
            // Some file systems cannot sync a folder.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
                ) =>
            {
                Ok(())
            }
            synced => synced,
        }
    }
}

/// A file under its temporary name. Unless it is put in place it is removed on drop, since the disk
/// may be full.
#[derive(Debug)]
pub struct Unfinished {
    /// The file.
    pub file: File,
    name: Leftover,
}

impl Unfinished {
    /// Opens a file under its temporary name `path`.
    pub fn open(path: PathBuf, options: &OpenOptions) -> io::Result<Self> {
        let file = options.open(&path)?;
        Ok(Self { file, name: Leftover { path, is_there: true } })
    }

    /// Renames it into place, replacing an existing file.
    pub fn put(mut self, place: &Path) -> io::Result<File> {
        fs::rename(&self.name.path, place)?;
        self.name.is_there = false;
        Ok(self.file)
    }
}

#[derive(Debug)]
struct Leftover {
    path: PathBuf,
    is_there: bool,
}

impl Drop for Leftover {
    fn drop(&mut self) {
        if self.is_there {
            // A leftover file does no harm.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Creates a file without a name.
pub(crate) fn anonymous_temp_file() -> io::Result<File> {
    let path = unfinished_beside(&env::temp_dir().join("anyhook"));
    let file =
        OpenOptions::new().read(true).write(true).create_new(true).mode(PRIVATE).open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}

fn unfinished_beside(path: &Path) -> PathBuf {
    path.with_file_name(format!(".{:016x}", random_bits()))
}

/// Creates a folder, and any missing parents, that only the owner can access.
pub fn create_private_dir(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_file_is_replaced_with_the_permissions_it_is_given() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        AtomicFile::new(&path).synced(true).replace(b"one").unwrap();
        assert_eq!((fs::read(&path).unwrap(), mode(&path)), (b"one".to_vec(), 0o600));
        AtomicFile::new(&path).permissions(Permissions::from_mode(0o751)).replace(b"two").unwrap();
        assert_eq!((fs::read(&path).unwrap(), mode(&path)), (b"two".to_vec(), 0o751));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left over");
    }

    #[test]
    fn the_first_to_create_a_file_wins() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for text in ["one", "two"] {
            AtomicFile::new(&path).create(text.as_bytes()).unwrap();
        }
        assert_eq!(fs::read(&path).unwrap(), b"one");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left over");
    }

    #[test]
    fn a_missing_folder_is_made_or_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/file");
        let missing = AtomicFile::new(&path).replace(b"x").unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        let make = || create_private_dir(path.parent().unwrap());
        AtomicFile::new(&path).replace_in(b"x", make).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"x");
    }

    #[test]
    fn what_cannot_be_put_in_its_place_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("folder");
        fs::create_dir_all(path.join("inner")).unwrap();
        assert!(AtomicFile::new(&path).replace(b"x").is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
