//! Trust in a project's hooks: by content, and what runs is the trusted copy.
//!
//! Under the state folder:
//! - `trust/copies/DIGEST/NAME/…`: the hook's folder as it was trusted, read-only;
//! - `trust/projects/HASH/NAME-HASH.json`: one [`TrustRecord`] for each trusted hook, where HASH
//!   stands for the path of its `hooks` folder;
//! - `trust/repositories/HASH/PATH-HASH.json`: the same record, where HASH stands for the
//!   repository and PATH for the hook's path in it.
//!
//! A hook is looked up by all current and former paths of its folder, and by its repository (see
//! `repository`), so that neither moving a project nor working in a `git worktree` disables a
//! guard. The content still decides: it must match one of the records found. An older content does
//! not become valid again, as trusting a hook replaces both of its records. Where content was
//! trusted in an unrelated project, `anyhook trust` offers it, and nothing runs until then.
//!
//! A file that is not run, such as `.agents/mcp.json`, has a record and no copy: its user reads it
//! once, and asks about what was read.
//!
//! Every file is written under a temporary name and renamed, so that many processes may work here
//! at once.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Permissions};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use anyhook_model::StateDir;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::atomic_file::{AtomicFile, create_private_dir};
use crate::digest::{Hasher, hex, sha256, sha256_hex};
use crate::places::PROJECT_LEVEL;
use crate::regular_file::read_regular_up_to;
use crate::repository::{self, RepositoryFolder};

/// The version of [`TrustRecord`].
///
/// - 1: source, digest, time.
/// - 2: whether it replaces a user's hook, and the repository. A record of version 1 replaces none,
///   and is found by its path only.
const TRUST_VERSION: u32 = 2;

/// A hook's folder is a few small files; more than this is not copied.
const FILES_LIMIT: usize = 2_000;
const BYTES_LIMIT: u64 = 32 * 1024 * 1024;
const FOLDER_DEPTH_LIMIT: usize = 32;
/// A longer record is not one of ours.
const RECORD_LIMIT: u64 = 1024 * 1024;

/// A project's hook, or one of its files, that someone trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustRecord {
    /// The version of this file.
    pub v: u32,
    /// The hook's folder in the project, or the file.
    #[serde(with = "path_text")]
    pub source: PathBuf,
    /// The digest of its content.
    pub digest: String,
    /// When it was trusted.
    pub at: Timestamp,
    /// Whether the person agreed that it replaces their own hook of the same name.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replaces: bool,
    /// The repository it is in, if that has an identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<InRepository>,
}

/// A place in a repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InRepository {
    /// The repository's identity.
    pub id: String,
    /// The path of the hook's folder, or the file, from the top of the working tree.
    #[serde(with = "path_text")]
    pub path: PathBuf,
}

/// Where trust in the contents of one folder of a project is looked up.
#[derive(Clone, Debug)]
pub struct TrustPlaces {
    /// The current and former paths of the folder; its real path comes first.
    folders: Vec<PathBuf>,
    /// The repository it is in, and its path there.
    repository: Option<RepositoryFolder>,
}

impl TrustPlaces {
    /// Returns the places for the folder `inner` (such as `.agents/hooks`) of `owner`, a folder of
    /// the project whose real path is `real_root`. `others` are other current or former paths of
    /// `owner`.
    pub fn new(owner: &Path, inner: &Path, real_root: &Path, others: &[PathBuf]) -> Self {
        let real = fs::canonicalize(owner).unwrap_or_else(|_| owner.to_owned());
        let mut folders = vec![below(&real, inner)];
        // Also where it was before someone replaced it with a link, or removed it.
        let others = fs::canonicalize(below(owner, inner))
            .ok()
            .into_iter()
            .chain([below(owner, inner)])
            .chain(others.iter().map(|other| below(other, inner)));
        for other in others {
            if !folders.contains(&other) {
                folders.push(other);
            }
        }
        let repository = repository::around(&real, real_root)
            .map(|inside| RepositoryFolder { path: below(&inside.path, inner), ..inside });
        Self { folders, repository }
    }

    /// Returns the places for something in a project, by its own path.
    pub fn of(source: &Path) -> Self {
        let parent = source.parent().unwrap_or(source);
        let level = parent.ancestors().find(|folder| folder.ends_with(PROJECT_LEVEL));
        let owner = level.and_then(Path::parent).unwrap_or(parent);
        let inner = parent.strip_prefix(owner).unwrap_or(Path::new(""));
        Self::new(owner, inner, Path::new("/"), &[])
    }

    pub(crate) fn without_repository(self) -> Self {
        Self { repository: None, ..self }
    }

    /// Returns the folder's place in its repository, if the repository has an identity.
    pub(crate) fn repository(&self) -> Option<&RepositoryFolder> {
        self.repository.as_ref()
    }

    fn in_repository(&self, name: &OsStr) -> Option<InRepository> {
        let inside = self.repository.as_ref()?;
        Some(InRepository { id: inside.id.clone(), path: inside.path.join(name) })
    }
}

/// Joins a path that may be empty, without leaving a trailing slash.
fn below(folder: &Path, inner: &Path) -> PathBuf {
    if inner.as_os_str().is_empty() { folder.to_owned() } else { folder.join(inner) }
}

/// Records of one folder, by the names of what was trusted.
#[derive(Debug, Default)]
pub(crate) struct KnownRecords {
    /// In the order of the places: the folder or file that holds records, and those that can be
    /// read.
    places: Vec<(RecordsIn, BTreeMap<OsString, TrustRecord>)>,
}

/// Where the records of one place are.
#[derive(Clone, Debug)]
enum RecordsIn {
    Folder(PathBuf),
    Repository(InRepository),
}

/// What is known about one name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// No one trusted it.
    Never,
    /// There is a record, but it cannot be read.
    Unreadable,
    /// It was trusted; the latest record comes first. With each, the file of the record.
    Trusted(Vec<(PathBuf, TrustRecord)>),
}

impl KnownRecords {
    /// Looks a name up.
    pub(crate) fn lookup(&self, store: &TrustStore, name: &OsStr) -> Lookup {
        let mut found = Vec::new();
        for (place, records) in &self.places {
            let file = store.record_in(place, name);
            match records.get(name) {
                Some(record) => found.push((file, record.clone())),
                // An older record elsewhere does not replace a damaged one.
                None if file.symlink_metadata().is_ok() => return Lookup::Unreadable,
                None => {}
            }
        }
        if found.is_empty() {
            return Lookup::Never;
        }
        found.sort_by_key(|(_, record)| std::cmp::Reverse(record.at));
        Lookup::Trusted(found)
    }

    /// Returns every name that was trusted, with the latest record.
    pub(crate) fn names(&self) -> BTreeMap<OsString, TrustRecord> {
        let mut latest: BTreeMap<OsString, TrustRecord> = BTreeMap::new();
        for (name, record) in self.places.iter().flat_map(|(_, records)| records) {
            let known = latest.entry(name.clone()).or_insert_with(|| record.clone());
            if record.at > known.at {
                known.clone_from(record);
            }
        }
        latest
    }
}

/// A path as text; one that is not UTF-8 as `hex:` and its bytes, which no absolute path starts
/// with.
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
    #[error("`{0}` is a link that points outside the hook's folder")]
    LinkOut(PathBuf),
    /// Something that is neither a file, a folder nor a link.
    #[error("`{0}` is not a file or a folder")]
    NotAFile(PathBuf),
    /// More than a hook needs.
    #[error("`{0}` has more than {FILES_LIMIT} files or 32 MiB, which is too large for a hook")]
    TooLarge(PathBuf),
    /// It could not be read or written.
    #[error("`{path}`: {error}")]
    Io {
        /// The path.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
}

/// The trust state of a project's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileTrust {
    /// No one has trusted it.
    Never,
    /// It was trusted with another content.
    Changed,
    /// It was trusted as it is.
    Trusted,
}

/// The store of trusted hooks.
#[derive(Clone, Debug)]
pub struct TrustStore {
    folder: PathBuf,
}

/// A copy that waits for a person's approval. What is shown is what will run.
#[derive(Debug)]
pub struct StagedCopy {
    source: PathBuf,
    holder: TempDir,
    folder: PathBuf,
    digest: String,
    replaces: bool,
    repository: Option<InRepository>,
}

impl StagedCopy {
    /// Sets whether the person agreed that the hook replaces their own of the same name.
    pub fn replacing(self, replaces: bool) -> Self {
        Self { replaces, ..self }
    }

    /// Returns the folder of the copy.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl TrustStore {
    /// Opens the store under a state folder. Nothing is written yet.
    pub fn new(state: &Path) -> Self {
        Self { folder: StateDir::new(state).trust() }
    }

    /// Reads what was trusted in a folder of a project.
    ///
    /// A record that cannot be read is left out; [`KnownRecords::lookup`] still knows about it.
    pub(crate) fn known(&self, places: &TrustPlaces) -> io::Result<KnownRecords> {
        let mut known = KnownRecords::default();
        for folder in &places.folders {
            let mut records = BTreeMap::new();
            for record in read_records(&self.records_folder(folder))? {
                // A file with a handmade name, or one from another version of ours, is not its
                // record.
                let name = record.source.file_name().unwrap_or_default().to_owned();
                records.insert(name, record);
            }
            known.places.push((RecordsIn::Folder(folder.clone()), records));
        }
        if let Some(inside) = &places.repository {
            let mut records = BTreeMap::new();
            for record in read_records(&self.repository_folder(&inside.id))? {
                let Some(place) = &record.repository else { continue };
                if place.id == inside.id && place.path.parent() == Some(&inside.path) {
                    let name = place.path.file_name().unwrap_or_default().to_owned();
                    records.insert(name, record);
                }
            }
            let place = InRepository { id: inside.id.clone(), path: inside.path.clone() };
            known.places.push((RecordsIn::Repository(place), records));
        }
        Ok(known)
    }

    /// Returns the latest record of something in a project.
    pub fn latest(&self, source: &Path) -> Option<TrustRecord> {
        let known = self.known(&TrustPlaces::of(source)).ok()?;
        match known.lookup(self, source.file_name().unwrap_or_default()) {
            Lookup::Trusted(records) => records.into_iter().next().map(|(_, record)| record),
            Lookup::Never | Lookup::Unreadable => None,
        }
    }

    /// Finds where a hook of this name was trusted with the same content, in any project.
    pub fn same_content(&self, staged: &StagedCopy) -> Option<TrustRecord> {
        let name = staged.source.file_name()?;
        let projects = fs::read_dir(self.folder.join("projects")).ok()?;
        let file = format!("{}.json", short_hash(Path::new(name)));
        let records = projects.flatten().filter_map(|entry| read_record(&entry.path().join(&file)));
        records
            .filter(|record| record.digest == staged.digest && record.source != staged.source)
            .max_by_key(|record| record.at)
    }

    /// Returns the folder of the trusted copy.
    pub fn copy_of(&self, record: &TrustRecord) -> PathBuf {
        self.folder
            .join("copies")
            .join(&record.digest)
            .join(record.source.file_name().unwrap_or_default())
    }

    /// Copies a hook's folder to a staging folder, to be shown and then trusted.
    pub fn stage(&self, source: &Path) -> Result<StagedCopy, TrustError> {
        let repository = TrustPlaces::of(&std::path::absolute(source).map_err(at(source))?)
            .in_repository(source.file_name().unwrap_or_default());
        let source = absolute(source)?;
        let copies = self.folder.join("copies");
        create_private_dir(&copies).map_err(at(&copies))?;
        let holder =
            tempfile::Builder::new().prefix(".staged-").tempdir_in(&copies).map_err(at(&copies))?;
        let folder = holder.path().join(source.file_name().unwrap_or_default());
        copy_folder(&source, &folder)?;
        let digest = digest(&folder)?;
        Ok(StagedCopy { source, holder, folder, digest, replaces: false, repository })
    }

    /// Trusts what was staged.
    pub fn trust(&self, staged: StagedCopy, now: Timestamp) -> Result<TrustRecord, TrustError> {
        let StagedCopy { source, holder, folder, digest, replaces, repository } = staged;
        let record =
            TrustRecord { v: TRUST_VERSION, source, digest, at: now, replaces, repository };
        self.put_copy(&folder, &self.copy_of(&record), &record.digest)?;
        drop(holder);
        self.remember(&record)?;
        Ok(record)
    }

    /// Returns the trust state of a project's file that has been read.
    pub fn file_trust(&self, source: &Path, content: &[u8]) -> FileTrust {
        let Ok(source) = std::path::absolute(source) else { return FileTrust::Never };
        // What cannot be looked up is not trusted; whether it once was is no longer known.
        let Ok(known) = self.known(&TrustPlaces::of(&source)) else { return FileTrust::Changed };
        let digest = sha256_hex(content);
        match known.lookup(self, source.file_name().unwrap_or_default()) {
            Lookup::Never => FileTrust::Never,
            Lookup::Trusted(records)
                if records.iter().any(|(_, record)| record.digest == digest) =>
            {
                FileTrust::Trusted
            }
            Lookup::Trusted(_) | Lookup::Unreadable => FileTrust::Changed,
        }
    }

    /// Trusts a file of a project with the content that was shown.
    pub fn trust_file(
        &self,
        source: &Path,
        content: &[u8],
        now: Timestamp,
    ) -> Result<TrustRecord, TrustError> {
        let given = std::path::absolute(source).map_err(at(source))?;
        let repository =
            TrustPlaces::of(&given).in_repository(given.file_name().unwrap_or_default());
        let (source, digest, replaces) = (absolute(source)?, sha256_hex(content), false);
        let record =
            TrustRecord { v: TRUST_VERSION, source, digest, at: now, replaces, repository };
        self.remember(&record)?;
        Ok(record)
    }

    fn remember(&self, record: &TrustRecord) -> Result<(), TrustError> {
        if let Some(place) = &record.repository {
            self.write_record(&self.repository_record(place), record)?;
        }
        self.write_record(&self.record_path(&record.source), record)
    }

    fn write_record(&self, path: &Path, record: &TrustRecord) -> Result<(), TrustError> {
        let folder = path.parent().unwrap_or(&self.folder);
        create_private_dir(folder).map_err(at(folder))?;
        let bytes = serde_json::to_vec(record).map_err(io::Error::from).map_err(at(path))?;
        AtomicFile::new(path).replace(&bytes).map_err(at(path))
    }

    /// Forgets that a hook, or a file, was trusted, here and in its repository. Returns whether it
    /// was.
    pub fn forget(&self, source: &Path) -> Result<bool, TrustError> {
        let source = std::path::absolute(source).map_err(at(source))?;
        let name = source.file_name().unwrap_or_default();
        let places = TrustPlaces::of(&source);
        let mut files: Vec<PathBuf> =
            places.folders.iter().map(|folder| self.record_path(&folder.join(name))).collect();
        if let Some(place) = places.in_repository(name) {
            let file = self.repository_record(&place);
            // Otherwise, where it was trusted, it would be trusted again as soon as it is moved
            // back.
            files.extend(read_record(&file).map(|record| self.record_path(&record.source)));
            files.push(file);
        }
        let mut was_trusted = false;
        for path in files {
            match fs::remove_file(&path) {
                Ok(()) => was_trusted = true,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(TrustError::Io { path, error }),
            }
        }
        Ok(was_trusted)
    }

    /// Returns the folders of records that are checked for a folder of a project.
    pub(crate) fn watched(&self, places: &TrustPlaces) -> Vec<PathBuf> {
        let repository = places.repository.iter().map(|inside| self.repository_folder(&inside.id));
        places.folders.iter().map(|folder| self.records_folder(folder)).chain(repository).collect()
    }

    fn record_in(&self, place: &RecordsIn, name: &OsStr) -> PathBuf {
        match place {
            RecordsIn::Folder(folder) => self.record_path(&folder.join(name)),
            RecordsIn::Repository(InRepository { id, path }) => {
                self.repository_record(&InRepository { id: id.clone(), path: path.join(name) })
            }
        }
    }

    fn repository_folder(&self, id: &str) -> PathBuf {
        self.folder.join("repositories").join(short_hash(Path::new(id)))
    }

    fn repository_record(&self, place: &InRepository) -> PathBuf {
        self.repository_folder(&place.id).join(format!("{}.json", short_hash(&place.path)))
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

/// Reads the records in a folder; none if it does not exist.
fn read_records(folder: &Path) -> io::Result<Vec<TrustRecord>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut records = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "json") {
            records.extend(read_record(&path));
        }
    }
    Ok(records)
}

fn read_record(path: &Path) -> Option<TrustRecord> {
    serde_json::from_slice(&read_regular_up_to(path, RECORD_LIMIT).ok()?).ok()
}

impl TrustStore {
    /// Stores a read-only copy of a folder, by its content. Returns the digest and the copy's
    /// folder.
    ///
    /// Where the digest is known and a copy of it exists, nothing is done.
    pub(crate) fn keep_copy(
        &self,
        source: &Path,
        known: Option<&str>,
    ) -> Result<(String, PathBuf), TrustError> {
        let source = absolute(source)?;
        let name = source.file_name().unwrap_or_default();
        let place = |digest: &str| self.folder.join("copies").join(digest).join(name);
        if let Some(digest) = known.filter(|digest| digest_is(&place(digest), digest)) {
            return Ok((digest.to_owned(), place(digest)));
        }
        let StagedCopy { holder, folder, digest, .. } = self.stage(&source)?;
        let copy = place(&digest);
        self.put_copy(&folder, &copy, &digest)?;
        drop(holder);
        Ok((digest, copy))
    }

    /// Moves a staged folder to where its copy is stored, unless a copy with that digest exists.
    fn put_copy(&self, staged: &Path, copy: &Path, digest: &str) -> Result<(), TrustError> {
        if copy.exists() && !digest_is(copy, digest) {
            make_writable(copy)?;
            fs::remove_dir_all(copy).map_err(at(copy))?;
        }
        if copy.exists() {
            return Ok(());
        }
        let home = copy.parent().unwrap_or(&self.folder);
        create_private_dir(home).map_err(at(home))?;
        match fs::rename(staged, copy) {
            // Another process may have stored the same content just now: its copy is as good.
            Err(error) if !copy.exists() => return Err(at(copy)(error)),
            _ => {}
        }
        make_read_only(copy)
    }
}

/// Returns the path of a hook's folder as it is stored: its parents resolved, itself not.
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

/// One entry in a hook's folder.
enum Item {
    Folder,
    File { runnable: bool },
    Link(PathBuf),
}

/// Calls `visit` with everything in a folder, in the same order on every machine.
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
                if inner.components().count() > FOLDER_DEPTH_LIMIT {
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

/// Returns the first entry of a folder, or the folder itself, that `wrong` finds a fault with.
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
        walked.err().map(|error| (root.to_owned(), format!("cannot be searched: {error}")))
    })
}

/// Returns whether a link at `inner` points out of the folder, or takes a path that could.
///
/// `..` after another link goes wherever that link leads, so a path through one is refused.
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

/// Returns the digest of a folder's content: names, bytes, executable bits, links.
pub fn digest(root: &Path) -> Result<String, TrustError> {
    let mut hasher = Hasher::default();
    let mut total = 0u64;
    walk(root, &mut |inner, path, item| {
        // Lengths come first, so that no two trees give the same bytes.
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
    Ok(hasher.finish_hex())
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

/// Returns whether a folder's content has a digest.
pub(crate) fn digest_is(folder: &Path, expected: &str) -> bool {
    digest(folder).is_ok_and(|found| found == expected)
}

/// Sets the owner's write bits on folders, so that they can be emptied.
fn make_writable(root: &Path) -> Result<(), TrustError> {
    let set =
        |path: &Path| fs::set_permissions(path, Permissions::from_mode(0o755)).map_err(at(path));
    set(root)?;
    walk(root, &mut |_, path, item| if matches!(item, Item::Folder) { set(path) } else { Ok(()) })
}

/// Clears the write bits.
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
        assert_eq!(scratch.store.latest(&scratch.hook), Some(record));
        assert!(trust(&scratch).is_ok(), "trusted again with its new content");
        assert!(scratch.store.forget(&scratch.hook).unwrap());
        assert!(!scratch.store.forget(&scratch.hook).unwrap());
    }

    #[test]
    fn the_store_is_for_its_owner_alone() {
        let scratch = scratch();
        let record = trust(&scratch).unwrap();
        let copy = scratch.store.copy_of(&record);
        let file = scratch.store.record_path(&scratch.hook);
        let folders = copy.ancestors().skip(1).chain(file.ancestors().skip(1));
        for folder in folders.filter(|folder| folder.starts_with(&scratch.store.folder)) {
            let mode = fs::metadata(folder).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode, 0o700, "{}", folder.display());
        }
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
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
        let source = PathBuf::from(OsString::from_vec(b"/p\xff/hook".to_vec()));
        let record = TrustRecord {
            v: TRUST_VERSION,
            source,
            digest: "d".to_owned(),
            at: Timestamp::UNIX_EPOCH,
            replaces: true,
            repository: None,
        };
        let text = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<TrustRecord>(&text).unwrap(), record);
    }

    #[test]
    fn a_record_of_version_1_is_read() {
        let text = r#"{"v":1,"source":"/p/h","digest":"d","at":"1970-01-01T00:00:00Z"}"#;
        let record: TrustRecord = serde_json::from_str(text).unwrap();
        assert_eq!((record.v, record.replaces, record.repository), (1, false, None));
    }

    #[test]
    fn trust_follows_the_repository_and_so_does_its_end() {
        let scratch = scratch();
        let project = scratch.folder.path().join("project");
        fs::create_dir(project.join(".git")).unwrap();
        let record = trust(&scratch).unwrap();
        let moved = scratch.folder.path().join("moved");
        fs::rename(&project, &moved).unwrap();
        let hook = moved.join(".agents/hooks/guard");
        assert_eq!(scratch.store.latest(&hook), Some(record.clone()));
        let copy = scratch.folder.path().join("copy");
        fs::create_dir_all(copy.join(".git")).unwrap();
        fs::create_dir_all(copy.join(".agents/hooks")).unwrap();
        let copied = copy.join(".agents/hooks/guard");
        copy_folder(&hook, &copied).unwrap();
        assert_eq!(scratch.store.latest(&copied), None, "another repository");
        let staged = scratch.store.stage(&copied).unwrap();
        assert_eq!(scratch.store.same_content(&staged), Some(record), "which is offered");
        assert!(scratch.store.forget(&hook).unwrap());
        fs::rename(&moved, &project).unwrap();
        assert_eq!(scratch.store.latest(&scratch.hook), None, "forgotten where it was, too");
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
