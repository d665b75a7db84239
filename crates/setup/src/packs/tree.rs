//! The files of a pack, wherever it comes from: read completely, checked, and held in memory, before
//! anything is written.
//!
//! Only what belongs to a pack is read: `pack.toml`, `hooks/`, `commands/`. Names are those of a
//! file system that knows no upper and lower case, so that a pack means the same everywhere.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhook_engine::regular_file::open_regular;
use anyhook_engine::trust;
use rustix::fs::OFlags;

use super::error::{ContentFault, PackError};
use super::source::{DIGEST, is_invisible, printable};
use crate::error::SetupError;

/// The file that describes a pack.
pub const MANIFEST: &str = "pack.toml";
/// The file that is a hook.
pub const HOOK_FILE: &str = "HOOK.md";

/// More than this is not a pack.
pub(super) const FILES_LIMIT: usize = 1_000;
pub(super) const BYTES_LIMIT: u64 = 16 * 1024 * 1024;
const DEPTH_LIMIT: usize = 16;
/// The longest path in a pack, in bytes.
const PATH_LIMIT: usize = 1_000;

/// What a pointer of Git LFS starts with.
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";

/// A file of a pack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackFile {
    /// Its content.
    pub bytes: Cow<'static, [u8]>,
    /// Whether it is executable.
    pub runnable: bool,
}

/// The files of a pack, by their path in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackTree {
    files: BTreeMap<String, PackFile>,
    bytes: u64,
    /// Paths of files and folders, by themselves in lower case.
    folded: HashMap<String, String>,
}

/// What a file is, before it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryKind {
    File { runnable: bool },
    Link,
    Submodule,
    Special,
}

impl PackTree {
    /// Returns the files.
    pub fn files(&self) -> &BTreeMap<String, PackFile> {
        &self.files
    }

    /// Returns a file's content.
    pub fn get(&self, path: &str) -> Option<&[u8]> {
        Some(&self.files.get(path)?.bytes)
    }

    /// Adds a file that comes with the program.
    pub(super) fn insert_own(&mut self, path: &str, bytes: &'static [u8], runnable: bool) {
        self.files.insert(path.to_owned(), PackFile { bytes: Cow::Borrowed(bytes), runnable });
    }

    /// Adds a file, unless something is wrong with it.
    pub(super) fn insert(
        &mut self,
        path: &str,
        kind: EntryKind,
        bytes: Vec<u8>,
    ) -> Result<(), ContentFault> {
        let runnable = match kind {
            EntryKind::File { runnable } => runnable,
            EntryKind::Link => return Err(ContentFault::Link),
            EntryKind::Submodule => return Err(ContentFault::Submodule),
            EntryKind::Special => return Err(ContentFault::Special),
        };
        check_content(path, &bytes)?;
        self.check_room(bytes.len() as u64)?;
        if let Some(other) = self.collision(path) {
            return Err(ContentFault::Case(other));
        }
        self.bytes += bytes.len() as u64;
        self.files.insert(path.to_owned(), PackFile { bytes: Cow::Owned(bytes), runnable });
        Ok(())
    }

    /// Refuses what would be too much.
    pub(super) fn check_room(&self, bytes: u64) -> Result<(), ContentFault> {
        let is_full = self.files.len() >= FILES_LIMIT || self.bytes + bytes > BYTES_LIMIT;
        if is_full { Err(ContentFault::TooLarge) } else { Ok(()) }
    }

    /// Remembers a path and the folders above it; returns one that is the same but for upper and
    /// lower case.
    fn collision(&mut self, path: &str) -> Option<String> {
        let folders = path.match_indices('/').map(|(at, _)| &path[..at]);
        for way in folders.chain([path]) {
            let known = self.folded.entry(way.to_lowercase()).or_insert_with(|| way.to_owned());
            if known != way {
                return Some(known.clone());
            }
        }
        None
    }

    /// Makes a pack of a single hook.
    pub(super) fn around_hook(self, name: &str, manifest: String) -> Self {
        let mut files: BTreeMap<String, PackFile> = self
            .files
            .into_iter()
            .map(|(path, file)| (format!("hooks/{name}/{path}"), file))
            .collect();
        let bytes = Cow::Owned(manifest.into_bytes());
        files.insert(MANIFEST.to_owned(), PackFile { bytes, runnable: false });
        Self { files, bytes: self.bytes, folded: HashMap::new() }
    }

    /// Reads a folder: a pack, or a single hook.
    pub fn of_folder(folder: &Path) -> Result<Self, PackError> {
        let unreadable = |cause| PackError::Unreadable { path: folder.to_owned(), cause };
        let is_there = |name: &str| folder.join(name).symlink_metadata().is_ok();
        fs::read_dir(folder).map_err(unreadable)?;
        let shape = Shape::of(is_there(MANIFEST), is_there(HOOK_FILE));
        let shape = shape.ok_or_else(|| PackError::NotAPack(folder.display().to_string()))?;
        let mut tree = Self::default();
        tree.read_below(folder, "", shape, 0)?;
        Ok(tree)
    }

    /// Reads the folder of an installed hook, all of it.
    pub(super) fn of_hook(folder: &Path) -> Result<Self, PackError> {
        let mut tree = Self::default();
        tree.read_below(folder, "", Shape::Hook, 0)?;
        Ok(tree)
    }

    /// Returns the files.
    pub(super) fn into_files(self) -> BTreeMap<String, PackFile> {
        self.files
    }

    fn read_below(
        &mut self,
        root: &Path,
        inner: &str,
        shape: Shape,
        depth: usize,
    ) -> Result<(), PackError> {
        let folder = if inner.is_empty() { root.to_owned() } else { root.join(inner) };
        let refuse = |path: &str, fault| content_error(&root.display().to_string(), path, fault);
        let unreadable =
            |path: &Path, cause| PackError::Unreadable { path: path.to_owned(), cause };
        let entries = fs::read_dir(&folder).map_err(|cause| unreadable(&folder, cause))?;
        let mut entries: Vec<fs::DirEntry> =
            entries.collect::<io::Result<_>>().map_err(|cause| unreadable(&folder, cause))?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let name = entry.file_name();
            let path = if inner.is_empty() {
                name.to_string_lossy().into_owned()
            } else {
                format!("{inner}/{}", name.to_string_lossy())
            };
            if !shape.has(&path) {
                continue;
            }
            if name.to_str().is_none() {
                return Err(refuse(&path, ContentFault::Name));
            }
            check_path(&path).map_err(|fault| refuse(&path, fault))?;
            let place = entry.path();
            let metadata =
                fs::symlink_metadata(&place).map_err(|cause| unreadable(&place, cause))?;
            if metadata.is_dir() {
                if depth >= DEPTH_LIMIT {
                    return Err(refuse(&path, ContentFault::TooLarge));
                }
                self.read_below(root, &path, shape, depth + 1)?;
                continue;
            }
            let kind = if metadata.is_symlink() {
                EntryKind::Link
            } else if metadata.is_file() {
                EntryKind::File { runnable: metadata.permissions().mode() & 0o111 != 0 }
            } else {
                EntryKind::Special
            };
            let mut bytes = Vec::new();
            if matches!(kind, EntryKind::File { .. }) {
                self.check_room(metadata.len()).map_err(|fault| refuse(&path, fault))?;
                let file = open_regular(&place, OFlags::RDONLY);
                let read = file.and_then(|file| file.take(BYTES_LIMIT + 1).read_to_end(&mut bytes));
                read.map_err(|cause| unreadable(&place, cause))?;
            }
            self.insert(&path, kind, bytes).map_err(|fault| refuse(&path, fault))?;
        }
        Ok(())
    }

    /// Writes the files below a folder that exists.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        self.files.iter().try_for_each(|(path, file)| file.write(&folder.join(path)))
    }

    /// Returns the digest of the content: names, bytes, executable bits.
    pub fn digest(&self) -> Result<String, SetupError> {
        let scratch = tempfile::tempdir().map_err(SetupError::unusable(&std::env::temp_dir()))?;
        self.write(scratch.path()).map_err(SetupError::unusable(scratch.path()))?;
        Ok(format!("{DIGEST}{}", trust::digest(scratch.path())?))
    }
}

impl PackFile {
    /// Writes the file, and the folders above it.
    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path.parent().unwrap_or(path))?;
        fs::write(path, &self.bytes)?;
        let mode = if self.runnable { 0o755 } else { 0o644 };
        fs::set_permissions(path, fs::Permissions::from_mode(mode))
    }
}

/// What the files are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// A pack: what is not a part of one is left out, such as a README or a licence.
    Pack,
    /// A single hook: everything.
    Hook,
}

impl Shape {
    /// Returns the shape of a folder with these files.
    pub(super) fn of(has_manifest: bool, has_hook_file: bool) -> Option<Self> {
        match (has_manifest, has_hook_file) {
            (true, _) => Some(Self::Pack),
            (false, true) => Some(Self::Hook),
            (false, false) => None,
        }
    }

    /// Returns whether a path belongs to it.
    pub(super) fn has(self, path: &str) -> bool {
        let top = path.split('/').next().unwrap_or_default();
        match self {
            Self::Pack => [MANIFEST, "hooks", "commands"].contains(&top),
            // Only the top of a repository or a working tree has this.
            Self::Hook => top != ".git",
        }
    }
}

/// Refuses a path that leads elsewhere, or looks like something that it is not.
pub(super) fn check_path(path: &str) -> Result<(), ContentFault> {
    let is_plain = |letter: char| !letter.is_control() && !is_invisible(letter) && letter != '\\';
    if path.is_empty() || path.len() > PATH_LIMIT || !path.chars().all(is_plain) {
        return Err(ContentFault::Name);
    }
    for part in path.split('/') {
        if part.is_empty() || part == "." || part == ".." || part.trim() != part {
            return Err(ContentFault::Name);
        }
        // As git compares: `.GIT` is the same folder on some systems, and so is `git~1`.
        let lower = part.trim_end_matches(['.', ' ']).to_lowercase();
        if lower == ".git" || lower == "git~1" || lower.starts_with(".git:") {
            return Err(ContentFault::DotGit);
        }
    }
    if path.split('/').count() > DEPTH_LIMIT { Err(ContentFault::TooLarge) } else { Ok(()) }
}

fn check_content(path: &str, bytes: &[u8]) -> Result<(), ContentFault> {
    if bytes.starts_with(LFS_POINTER) {
        return Err(ContentFault::Lfs);
    }
    let is_attributes = path.rsplit('/').next() == Some(".gitattributes");
    let sets_filter =
        |line: &[u8]| line.split(u8::is_ascii_whitespace).any(|word| word.starts_with(b"filter="));
    if is_attributes && bytes.split(|byte| *byte == b'\n').any(sets_filter) {
        return Err(ContentFault::Filter);
    }
    Ok(())
}

pub(super) fn content_error(source: &str, path: &str, fault: ContentFault) -> PackError {
    PackError::Content { source_text: source.to_owned(), path: printable(path), fault }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    const FILE: EntryKind = EntryKind::File { runnable: false };

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let scratch = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = scratch.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        scratch
    }

    fn fault(folder: &Path) -> ContentFault {
        match PackTree::of_folder(folder) {
            Err(PackError::Content { fault, .. }) => fault,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn only_what_belongs_to_a_pack_is_read() {
        let scratch = folder(&[
            ("pack.toml", "x"),
            ("hooks/a/HOOK.md", "y"),
            ("README.md", "z"),
            (".git/config", "z"),
        ]);
        symlink("/etc/passwd", scratch.path().join("LINK")).unwrap();
        let tree = PackTree::of_folder(scratch.path()).unwrap();
        assert_eq!(tree.files().keys().collect::<Vec<_>>(), ["hooks/a/HOOK.md", "pack.toml"]);
        let digest = tree.digest().unwrap();
        let copy = tempfile::tempdir().unwrap();
        tree.write(copy.path()).unwrap();
        assert_eq!(PackTree::of_folder(copy.path()).unwrap().digest().unwrap(), digest);
        let script = copy.path().join("hooks/a/HOOK.md");
        fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
        assert_ne!(PackTree::of_folder(copy.path()).unwrap().digest().unwrap(), digest);
    }

    #[test]
    fn links_and_special_files_are_refused() {
        let scratch = folder(&[("pack.toml", "x"), ("hooks/a/HOOK.md", "y")]);
        symlink("HOOK.md", scratch.path().join("hooks/a/LINK")).unwrap();
        assert_eq!(fault(scratch.path()), ContentFault::Link);
        let scratch = folder(&[("pack.toml", "x")]);
        symlink("/etc", scratch.path().join("hooks")).unwrap();
        assert_eq!(fault(scratch.path()), ContentFault::Link);
        let scratch = folder(&[("pack.toml", "x"), ("hooks/a/HOOK.md", "y")]);
        let pipe = scratch.path().join("hooks/a/pipe");
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, kind, rustix::fs::Mode::RUSR, 0).unwrap();
        assert_eq!(fault(scratch.path()), ContentFault::Special);
    }

    #[test]
    fn names_that_lead_elsewhere_or_deceive_are_refused() {
        for path in
            ["", "..", "hooks/../x", "hooks//x", "/x", "hooks/a\nb", "a\u{202e}b", "a\\b", "a /b"]
        {
            assert_eq!(check_path(path), Err(ContentFault::Name), "{path:?}");
        }
        for path in ["hooks/.git/x", ".GIT/x", "hooks/git~1", "hooks/.git."] {
            assert_eq!(check_path(path), Err(ContentFault::DotGit), "{path:?}");
        }
        assert_eq!(check_path(&"a/".repeat(40)), Err(ContentFault::Name));
        assert_eq!(check_path(&["a"; 40].join("/")), Err(ContentFault::TooLarge));
        assert_eq!(check_path("hooks/a/scripts/run.d/x.gitignore"), Ok(()));
    }

    #[test]
    fn what_would_be_lost_or_changed_elsewhere_is_refused() {
        let mut tree = PackTree::default();
        tree.insert("hooks/a/Run", FILE, b"x".to_vec()).unwrap();
        let clash = |with: &str| Err(ContentFault::Case(with.to_owned()));
        assert_eq!(tree.insert("hooks/a/run", FILE, Vec::new()), clash("hooks/a/Run"));
        assert_eq!(tree.insert("hooks/A/x", FILE, Vec::new()), clash("hooks/a"));
        let lfs = b"version https://git-lfs.github.com/spec/v1\noid".to_vec();
        assert_eq!(tree.insert("hooks/a/x", FILE, lfs), Err(ContentFault::Lfs));
        let filter = b"* text\n*.sh filter=evil\n".to_vec();
        let attributes = "hooks/a/.gitattributes";
        assert_eq!(tree.insert(attributes, FILE, filter), Err(ContentFault::Filter));
        assert_eq!(tree.insert(attributes, FILE, b"* text\n".to_vec()), Ok(()));
    }

    #[test]
    fn there_is_an_end() {
        let mut tree = PackTree::default();
        let huge = vec![0; usize::try_from(BYTES_LIMIT).unwrap() + 1];
        assert_eq!(tree.insert("hooks/a/x", FILE, huge), Err(ContentFault::TooLarge));
        for index in 0..FILES_LIMIT {
            tree.insert(&format!("hooks/a/{index}"), FILE, Vec::new()).unwrap();
        }
        assert_eq!(tree.insert("hooks/a/x", FILE, Vec::new()), Err(ContentFault::TooLarge));
    }
}
