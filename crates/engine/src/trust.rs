//! Trust in a project's hooks: by content, and what runs is the trusted copy.
//!
//! Under the state folder:
//! - `trust/copies/DIGEST/NAME/…`: the hook's folder as it was trusted, read-only;
//! - `trust/projects/HASH/NAME-HASH.json`: one [`TrustRecord`] for each trusted hook, where HASH
//!   stands for the path of its `hooks` folder.
//!
//! A file that is not run, such as `.agents/mcp.json`, has a record and no copy: whoever uses it
//! reads it once, and asks about what was read.
//!
//! Every file is written aside and renamed, so that many processes may work here at once.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::digest::{hex, sha256};

/// The version of [`TrustRecord`].
///
/// - 1: source, digest, time.
const TRUST_VERSION: u32 = 1;

/// A hook's folder is a few small files; more than this is not copied.
const FILES_LIMIT: usize = 2_000;
const BYTES_LIMIT: u64 = 32 * 1024 * 1024;
const DEPTH_LIMIT: usize = 32;

/// A project's hook, or a file of it, that somebody trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustRecord {
    /// The version of this file.
    pub v: u32,
    /// The hook's folder in the project, or the file.
    #[serde(with = "path_text")]
    pub source: PathBuf,
    /// What it held.
    pub digest: String,
    /// When it was trusted.
    pub at: Timestamp,
}

/// A path as text; one that is no UTF-8 as `hex:` and its bytes, which no absolute path starts with.
mod path_text {
    use std::ffi::OsString;
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    use std::path::{Path, PathBuf};

    use serde::{Deserialize, Deserializer, Serializer};

    use crate::digest::hex;

    pub fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
        match path.to_str() {
            Some(text) => serializer.serialize_str(text),
            None => serializer.serialize_str(&format!("hex:{}", hex(path.as_os_str().as_bytes()))),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
        let text = String::deserialize(deserializer)?;
        let Some(digits) = text.strip_prefix("hex:") else { return Ok(PathBuf::from(text)) };
        let byte = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
        let bytes: Option<Vec<u8>> = (0..digits.len()).step_by(2).map(byte).collect();
        bytes
            .map(|bytes| OsString::from_vec(bytes).into())
            .ok_or_else(|| serde::de::Error::custom("not a path"))
    }
}

/// Why a hook's folder cannot be trusted.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// A link leads out of the folder.
    #[error("`{0}` is a link that leads out of the hook's folder")]
    LinkOut(PathBuf),
    /// Something that is neither a file, a folder nor a link.
    #[error("`{0}` is neither a file nor a folder")]
    NotAFile(PathBuf),
    /// More than a hook needs.
    #[error("`{0}` holds more than {FILES_LIMIT} files or 32 MiB, too much for a hook")]
    TooLarge(PathBuf),
    /// It could not be read or written.
    #[error("`{path}`: {error}")]
    Io {
        /// What.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// How a file of a project stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileTrust {
    /// Nobody has trusted it.
    Never,
    /// It was trusted with another content.
    Changed,
    /// It was trusted as it is.
    Trusted,
}

/// What is remembered about trusted hooks.
#[derive(Clone, Debug)]
pub struct TrustStore {
    folder: PathBuf,
}

/// A copy that waits for a person's yes. What is shown is what will run.
#[derive(Debug)]
pub struct Staged {
    source: PathBuf,
    holder: TempDir,
    folder: PathBuf,
    digest: String,
}

impl Staged {
    /// Returns the folder of the copy.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl TrustStore {
    /// Opens the store under a state folder. Nothing is written yet.
    pub fn new(state: &Path) -> Self {
        Self { folder: state.join("trust") }
    }

    /// Returns what was trusted in a `hooks` folder, by the hook's folder.
    ///
    /// A record that cannot be read is left out; [`Self::has_record`] still knows of it.
    pub fn records(&self, hooks_folder: &Path) -> io::Result<BTreeMap<PathBuf, TrustRecord>> {
        let entries = match fs::read_dir(self.records_folder(hooks_folder)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
            Err(error) => return Err(error),
        };
        let mut records = BTreeMap::new();
        for entry in entries {
            let path = entry?.path();
            let text = fs::read(&path)
                .ok()
                .filter(|_| path.extension().is_some_and(|ending| ending == "json"));
            let record = text.and_then(|text| serde_json::from_slice::<TrustRecord>(&text).ok());
            records.extend(record.map(|record| (record.source.clone(), record)));
        }
        Ok(records)
    }

    /// Tells whether there is a record of a hook's folder, whether or not it can be read.
    pub fn has_record(&self, source: &Path) -> bool {
        self.record_path(source).symlink_metadata().is_ok()
    }

    /// Returns the folder of the trusted copy.
    pub fn copy_of(&self, record: &TrustRecord) -> PathBuf {
        self.folder
            .join("copies")
            .join(&record.digest)
            .join(record.source.file_name().unwrap_or_default())
    }

    /// Copies a hook's folder aside, to be shown and then trusted.
    pub fn stage(&self, source: &Path) -> Result<Staged, TrustError> {
        let source = absolute(source)?;
        let copies = self.folder.join("copies");
        fs::create_dir_all(&copies).map_err(at(&copies))?;
        let holder =
            tempfile::Builder::new().prefix(".staged-").tempdir_in(&copies).map_err(at(&copies))?;
        let folder = holder.path().join(source.file_name().unwrap_or_default());
        copy_folder(&source, &folder)?;
        let digest = digest(&folder)?;
        Ok(Staged { source, holder, folder, digest })
    }

    /// Trusts what was staged.
    pub fn trust(&self, staged: Staged, now: Timestamp) -> Result<TrustRecord, TrustError> {
        let Staged { source, holder, digest, .. } = staged;
        let record = TrustRecord { v: TRUST_VERSION, source, digest, at: now };
        let copy = self.copy_of(&record);
        let home = copy.parent().unwrap_or(&self.folder).to_owned();
        if copy.exists() && !digest_is(&copy, &record.digest) {
            make_writable(&copy)?;
            fs::remove_dir_all(&copy).map_err(at(&copy))?;
        }
        if !copy.exists() {
            fs::create_dir_all(&home).map_err(at(&home))?;
            let staged_folder = holder.path().join(record.source.file_name().unwrap_or_default());
            // Another process may have trusted the same content just now: its copy is as good.
            match fs::rename(&staged_folder, &copy) {
                Ok(()) => {}
                Err(_) if copy.exists() => {}
                Err(error) => return Err(TrustError::Io { path: copy, error }),
            }
            make_read_only(&copy)?;
        }
        self.remember(&record)?;
        Ok(record)
    }

    /// Says how a file of a project stands that has been read.
    pub fn file_trust(&self, source: &Path, content: &[u8]) -> FileTrust {
        let Ok(source) = absolute(source) else { return FileTrust::Never };
        if !self.has_record(&source) {
            return FileTrust::Never;
        }
        let record = fs::read(self.record_path(&source)).ok();
        let record = record.and_then(|text| serde_json::from_slice::<TrustRecord>(&text).ok());
        match record {
            Some(record) if record.source == source && record.digest == sha256_hex(content) => {
                FileTrust::Trusted
            }
            _ => FileTrust::Changed,
        }
    }

    /// Trusts a file of a project with the content that was shown.
    pub fn trust_file(
        &self,
        source: &Path,
        content: &[u8],
        now: Timestamp,
    ) -> Result<TrustRecord, TrustError> {
        let source = absolute(source)?;
        let digest = sha256_hex(content);
        let record = TrustRecord { v: TRUST_VERSION, source, digest, at: now };
        self.remember(&record)?;
        Ok(record)
    }

    fn remember(&self, record: &TrustRecord) -> Result<(), TrustError> {
        let path = self.record_path(&record.source);
        let folder = path.parent().unwrap_or(&self.folder).to_owned();
        fs::create_dir_all(&folder).map_err(at(&folder))?;
        // Aside, where nobody takes a half-written record for a whole one.
        let mut file = tempfile::NamedTempFile::new_in(&self.folder).map_err(at(&folder))?;
        serde_json::to_writer(&mut file, record).map_err(io::Error::from).map_err(at(&path))?;
        file.persist(&path).map_err(|error| TrustError::Io { path, error: error.error })?;
        Ok(())
    }

    /// Forgets that a hook, or a file, was trusted. Returns whether it was.
    pub fn forget(&self, source: &Path) -> Result<bool, TrustError> {
        let path = self.record_path(source);
        match fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(TrustError::Io { path, error }),
        }
    }

    /// Returns the folder of the records of what was trusted in a `hooks` folder.
    pub(crate) fn records_folder(&self, hooks_folder: &Path) -> PathBuf {
        self.folder.join("projects").join(short_hash(hooks_folder))
    }

    /// Returns the file of a hook's record.
    pub(crate) fn record_path(&self, source: &Path) -> PathBuf {
        let name = Path::new(source.file_name().unwrap_or_default());
        self.records_folder(source.parent().unwrap_or(source))
            .join(format!("{}.json", short_hash(name)))
    }
}

/// Returns the path of a hook's folder as it is remembered: its parents resolved, itself not.
pub fn absolute(source: &Path) -> Result<PathBuf, TrustError> {
    let source = std::path::absolute(source).map_err(at(source))?;
    match (source.parent(), source.file_name()) {
        (Some(parent), Some(name)) => Ok(fs::canonicalize(parent).map_err(at(parent))?.join(name)),
        _ => Ok(source),
    }
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> TrustError {
    let path = path.to_owned();
    move |error| TrustError::Io { path, error }
}

/// Returns 32 hexadecimal digits that stand for a path.
pub(crate) fn short_hash(path: &Path) -> String {
    hex(&sha256(path.as_os_str().as_bytes())[..16])
}

/// Returns the SHA-256 of bytes, in hexadecimal digits.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&sha256(bytes))
}

/// One thing in a hook's folder.
enum Item {
    Folder,
    File { runnable: bool },
    Link(PathBuf),
}

/// Calls `visit` with everything in a folder, in one order on every machine.
fn walk(
    root: &Path,
    visit: &mut dyn FnMut(&Path, &Path, &Item) -> Result<(), TrustError>,
) -> Result<(), TrustError> {
    let mut pending = vec![PathBuf::new()];
    let mut files = 0;
    while let Some(folder) = pending.pop() {
        let full = root.join(&folder);
        let mut entries: Vec<_> = fs::read_dir(&full)
            .map_err(at(&full))?
            .collect::<io::Result<_>>()
            .map_err(at(&full))?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            files += 1;
            if files > FILES_LIMIT {
                return Err(TrustError::TooLarge(root.to_owned()));
            }
            let inner = folder.join(entry.file_name());
            let path = root.join(&inner);
            let metadata = fs::symlink_metadata(&path).map_err(at(&path))?;
            let item = if metadata.is_dir() {
                if inner.components().count() > DEPTH_LIMIT {
                    return Err(TrustError::TooLarge(root.to_owned()));
                }
                pending.push(inner.clone());
                Item::Folder
            } else if metadata.is_file() {
                Item::File { runnable: metadata.permissions().mode() & 0o111 != 0 }
            } else if metadata.is_symlink() {
                let target = fs::read_link(&path).map_err(at(&path))?;
                if leads_out(root, &inner, &target) {
                    return Err(TrustError::LinkOut(path));
                }
                Item::Link(target)
            } else {
                return Err(TrustError::NotAFile(path));
            };
            visit(&inner, &path, &item)?;
        }
    }
    Ok(())
}

/// Returns the paths of a folder and of everything in it.
pub(crate) fn paths(root: &Path) -> Result<Vec<PathBuf>, TrustError> {
    let mut paths = vec![root.to_owned()];
    walk(root, &mut |_, path, _| {
        paths.push(path.to_owned());
        Ok(())
    })?;
    Ok(paths)
}

/// Returns the first thing in a folder, or the folder itself, that `wrong` finds a fault with.
pub(crate) fn find_fault(
    root: &Path,
    wrong: impl Fn(&Path) -> Option<String>,
) -> Option<(PathBuf, String)> {
    let mut found = wrong(root).map(|fault| (root.to_owned(), fault));
    let walked = walk(root, &mut |_, path, item| {
        if found.is_none() && !matches!(item, Item::Link(_)) {
            found = wrong(path).map(|fault| (path.to_owned(), fault));
        }
        Ok(())
    });
    found.or_else(|| {
        walked.err().map(|error| (root.to_owned(), format!("cannot be looked through: {error}")))
    })
}

/// Tells whether a link at `inner` points out of the folder, or takes a way that could.
///
/// `..` behind another link goes wherever that link leads, so a way through one is refused.
fn leads_out(root: &Path, inner: &Path, target: &Path) -> bool {
    let mut way = inner.parent().map(Path::to_owned).unwrap_or_default();
    let mut components = target.components().peekable();
    while let Some(component) = components.next() {
        match component {
            Component::Normal(name) => way.push(name),
            Component::CurDir => {}
            Component::ParentDir => {
                if !way.pop() {
                    return true;
                }
            }
            Component::RootDir | Component::Prefix(_) => return true,
        }
        if components.peek().is_some() && root.join(&way).is_symlink() {
            return true;
        }
    }
    false
}

/// Returns the digest of a folder's content: names, bytes, run bits, links.
pub fn digest(root: &Path) -> Result<String, TrustError> {
    let mut hasher = Sha256::new();
    let mut total = 0u64;
    walk(root, &mut |inner, path, item| {
        // Lengths go first, so that no two trees give the same bytes.
        let mut field = |tag: u8, bytes: &[u8]| {
            hasher.update([tag]);
            hasher.update((bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        let name = inner.as_os_str().as_bytes();
        match item {
            Item::Folder => field(b'd', name),
            Item::Link(target) => {
                field(b'l', name);
                field(b't', target.as_os_str().as_bytes());
            }
            Item::File { runnable } => {
                field(if *runnable { b'x' } else { b'f' }, name);
                let mut content = Vec::new();
                let file = File::open(path).map_err(at(path))?;
                file.take(BYTES_LIMIT + 1 - total.min(BYTES_LIMIT))
                    .read_to_end(&mut content)
                    .map_err(at(path))?;
                total += content.len() as u64;
                if total > BYTES_LIMIT {
                    return Err(TrustError::TooLarge(root.to_owned()));
                }
                field(b'c', &content);
            }
        }
        Ok(())
    })?;
    Ok(hex(&hasher.finalize()))
}

/// Copies a folder of files, folders and inner links into a new folder.
pub fn copy_folder(source: &Path, target: &Path) -> Result<(), TrustError> {
    fs::create_dir(target).map_err(at(target))?;
    let mut left = BYTES_LIMIT;
    walk(source, &mut |inner, path, item| {
        let copy = target.join(inner);
        match item {
            Item::Folder => fs::create_dir(&copy).map_err(at(&copy)),
            Item::Link(link) => symlink(link, &copy).map_err(at(&copy)),
            Item::File { runnable } => {
                let mut from = File::open(path).map_err(at(path))?.take(left + 1);
                let mut to = File::create(&copy).map_err(at(&copy))?;
                let copied = io::copy(&mut from, &mut to).map_err(at(path))?;
                left = left
                    .checked_sub(copied)
                    .ok_or_else(|| TrustError::TooLarge(source.to_owned()))?;
                let mode = if *runnable { 0o755 } else { 0o644 };
                to.set_permissions(Permissions::from_mode(mode)).map_err(at(&copy))
            }
        }
    })
}

/// Tells whether a folder has the content of a digest.
pub(crate) fn digest_is(folder: &Path, expected: &str) -> bool {
    digest(folder).is_ok_and(|found| found == expected)
}

/// Gives the owner write bits on folders, so that they can be emptied.
fn make_writable(root: &Path) -> Result<(), TrustError> {
    let set =
        |path: &Path| fs::set_permissions(path, Permissions::from_mode(0o755)).map_err(at(path));
    set(root)?;
    walk(root, &mut |_, path, item| if matches!(item, Item::Folder) { set(path) } else { Ok(()) })
}

/// Takes the write bits away.
fn make_read_only(root: &Path) -> Result<(), TrustError> {
    let set = |path: &Path, mode: u32| {
        fs::set_permissions(path, Permissions::from_mode(mode)).map_err(at(path))
    };
    let mut folders = vec![root.to_owned()];
    walk(root, &mut |_, path, item| match item {
        Item::File { runnable } => set(path, if *runnable { 0o555 } else { 0o444 }),
        Item::Folder => {
            folders.push(path.to_owned());
            Ok(())
        }
        Item::Link(_) => Ok(()),
    })?;
    folders.iter().try_for_each(|folder| set(folder, 0o555))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Scratch {
        folder: TempDir,
        store: TrustStore,
        hook: PathBuf,
    }

    fn scratch() -> Scratch {
        let folder = tempfile::tempdir().unwrap();
        let store = TrustStore::new(&folder.path().join("state"));
        let hook = folder.path().join("project/.agents/hooks/guard");
        fs::create_dir_all(hook.join("scripts")).unwrap();
        fs::write(hook.join("HOOK.md"), "text").unwrap();
        fs::write(hook.join("scripts/run"), "#!/bin/sh\n").unwrap();
        fs::set_permissions(hook.join("scripts/run"), Permissions::from_mode(0o755)).unwrap();
        Scratch { hook: absolute(&hook).unwrap(), folder, store }
    }

    fn trust(scratch: &Scratch) -> Result<TrustRecord, TrustError> {
        scratch.store.trust(scratch.store.stage(&scratch.hook)?, Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn the_copy_has_the_trusted_content_for_good() {
        let scratch = scratch();
        let record = trust(&scratch).unwrap();
        assert_eq!(digest(&scratch.hook).unwrap(), record.digest);
        fs::write(scratch.hook.join("scripts/run"), "#!/bin/sh\nrm -rf /\n").unwrap();
        assert_ne!(digest(&scratch.hook).unwrap(), record.digest);
        let copy = scratch.store.copy_of(&record);
        assert_eq!(digest(&copy).unwrap(), record.digest);
        assert_eq!(
            fs::metadata(copy.join("scripts/run")).unwrap().permissions().mode() & 0o777,
            0o555
        );
        let records = scratch.store.records(scratch.hook.parent().unwrap()).unwrap();
        assert_eq!(records.get(&scratch.hook), Some(&record));
        assert!(trust(&scratch).is_ok(), "trusted again with its new content");
        assert!(scratch.store.forget(&scratch.hook).unwrap());
        assert!(!scratch.store.forget(&scratch.hook).unwrap());
    }

    #[test]
    fn a_file_is_trusted_with_one_content() {
        let scratch = scratch();
        let file = scratch.folder.path().join("mcp.json");
        let other = scratch.folder.path().join("other.json");
        assert_eq!(scratch.store.file_trust(&file, b"one"), FileTrust::Never);
        scratch.store.trust_file(&file, b"one", Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(scratch.store.file_trust(&file, b"one"), FileTrust::Trusted);
        assert_eq!(scratch.store.file_trust(&file, b"two"), FileTrust::Changed);
        assert_eq!(scratch.store.file_trust(&other, b"one"), FileTrust::Never);
        assert!(scratch.store.forget(&absolute(&file).unwrap()).unwrap());
        assert_eq!(scratch.store.file_trust(&file, b"one"), FileTrust::Never);
        let record = scratch.store.record_path(&absolute(&file).unwrap());
        scratch.store.trust_file(&file, b"one", Timestamp::UNIX_EPOCH).unwrap();
        fs::write(record, "{").unwrap();
        assert_eq!(scratch.store.file_trust(&file, b"one"), FileTrust::Changed);
    }

    #[test]
    fn run_bits_names_and_links_are_content() {
        let scratch = scratch();
        let mut seen = vec![digest(&scratch.hook).unwrap()];
        let mut changed = || {
            let now = digest(&scratch.hook).unwrap();
            assert!(!seen.contains(&now));
            seen.push(now);
        };
        fs::set_permissions(scratch.hook.join("scripts/run"), Permissions::from_mode(0o644))
            .unwrap();
        changed();
        fs::rename(scratch.hook.join("scripts/run"), scratch.hook.join("scripts/run.sh")).unwrap();
        changed();
        symlink("run.sh", scratch.hook.join("scripts/link")).unwrap();
        changed();
        fs::create_dir(scratch.hook.join("empty")).unwrap();
        changed();
    }

    #[test]
    fn links_out_and_special_files_are_refused() {
        for target in ["/etc/passwd", "../../outside", "x/../../../outside", "up/../outside"] {
            let scratch = scratch();
            symlink("../scripts", scratch.hook.join("scripts/up")).unwrap();
            symlink(target, scratch.hook.join("scripts/link")).unwrap();
            assert!(matches!(trust(&scratch), Err(TrustError::LinkOut(_))), "{target}");
        }
        let scratch = scratch();
        symlink("../HOOK.md", scratch.hook.join("scripts/link")).unwrap();
        assert!(trust(&scratch).is_ok());
        let fifo = scratch.hook.join("pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &fifo,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
        assert!(matches!(trust(&scratch), Err(TrustError::NotAFile(_))));
        drop(scratch.folder);
    }

    #[test]
    fn a_path_that_is_no_text_is_remembered() {
        use std::os::unix::ffi::OsStringExt;
        let source = PathBuf::from(std::ffi::OsString::from_vec(b"/p\xff/hook".to_vec()));
        let record =
            TrustRecord { v: 1, source, digest: "d".to_owned(), at: Timestamp::UNIX_EPOCH };
        let text = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<TrustRecord>(&text).unwrap(), record);
    }

    #[test]
    fn a_folder_without_end_is_refused() {
        let scratch = scratch();
        for index in 0..=FILES_LIMIT {
            fs::write(scratch.hook.join(format!("f{index}")), "").unwrap();
        }
        assert!(matches!(digest(&scratch.hook), Err(TrustError::TooLarge(_))));
    }
}
