//! Checkpoints: the working tree as commits of git, made without touching the index, the branch or
//! the stash of the person.
//!
//! A snapshot is taken with an index of its own, a copy of the person's, so that git reads only
//! files that changed. The tree becomes a commit, kept by `refs/anyhook/checkpoints/SESSION/N`.
//! Ignored files, files that are too large, nested repositories and submodules are not in it.
//!
//! A restore writes only files that differ between a new snapshot and the checkpoint. What neither
//! contains, such as an ignored file, is therefore never touched.

pub(crate) mod git;
mod reads_only;

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhook_engine::sha256_hex;
use jiff::Timestamp;
use serde::Deserialize;

use self::git::{Git, lines, parts};
pub use self::reads_only::reads_only;
use crate::Place;
use crate::answer::Answer;
use crate::event::Event;
use crate::options::GuardError;

/// Where checkpoints are in a repository.
const REFS: &str = "refs/anyhook/checkpoints";
/// The session of checkpoints that `anyhook undo` makes.
pub const UNDO: &str = "undo";
/// The lines of a checkpoint's message: its working tree, its time, and the size in bytes from which
/// on files are not in it.
const WORK_TREE: &str = "Work-tree: ";
const MADE_AT: &str = "Made-at: ";
const LARGEST: &str = "Largest-file: ";
/// How often another process may take the next number before us.
const TRIES: usize = 100;

/// Options of the pack `checkpoint`.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CheckpointOptions {
    keep: usize,
    max_file_mb: u64,
}

impl Default for CheckpointOptions {
    fn default() -> Self {
        Self { keep: 50, max_file_mb: 20 }
    }
}

/// Returns the answer to an event: a checkpoint is made before a call that may change files.
pub fn decide(
    event: &Event,
    options: &CheckpointOptions,
    place: &Place,
) -> Result<Answer, GuardError> {
    let command = event.text_of_input("command");
    if !event.is_write() && reads_only(command) {
        return Ok(Answer::none());
    }
    let Ok(repository) = Repository::with_limit(&place.project, options.max_file_mb) else {
        return Ok(Answer::log("no checkpoint: the project is not in a git repository"));
    };
    let what = event.file().filter(|_| event.is_write()).map_or_else(
        || format!("Shell: {}", first_line(command)),
        |file| format!("{}: {}", event.tool(), crate::event::relative(&file, &repository.top)),
    );
    let session = session_folder(event.session());
    match repository.checkpoint(&session, &what, options.keep)? {
        Some(made) => Ok(Answer::log(format!("checkpoint {}", made.id()))),
        None => Ok(Answer::log("nothing changed since the last checkpoint")),
    }
}

fn first_line(text: &str) -> String {
    let text = anyhook_engine::redact::without_secrets(text.to_owned());
    anyhook_model::truncate::ellipsized(text.lines().next().unwrap_or_default(), 72)
}

/// Returns a session's name as part of a ref.
fn session_folder(session: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if (1..=64).contains(&session.len()) && session.bytes().all(is_plain) && session != UNDO {
        return session.to_owned();
    }
    sha256_hex(session.as_bytes())[..16].to_owned()
}

/// A git repository with a working tree.
#[derive(Debug)]
pub struct Repository {
    /// The top folder of the working tree.
    pub top: PathBuf,
    git: Git,
    index: PathBuf,
    largest: u64,
}

/// A checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Its commit.
    pub commit: String,
    /// Its tree.
    pub tree: String,
    /// Its ref.
    pub name: String,
    /// When it was made.
    pub at: Timestamp,
    /// What was about to happen.
    pub before: String,
    /// Larger files are not in it.
    pub largest: u64,
}

impl Checkpoint {
    /// Returns its short id.
    pub fn id(&self) -> &str {
        &self.commit[..self.commit.len().min(10)]
    }

    /// Returns the session that it was made in.
    pub fn session(&self) -> &str {
        let inner = self.name.strip_prefix(REFS).unwrap_or_default();
        inner.trim_start_matches('/').split('/').next().unwrap_or_default()
    }

    fn number(&self) -> u64 {
        self.name.rsplit('/').next().and_then(|number| number.parse().ok()).unwrap_or(0)
    }
}

/// What an undo would do.
#[derive(Clone, Debug)]
pub struct UndoPlan {
    /// Where it leads.
    pub target: Checkpoint,
    /// The files that differ.
    pub changes: Vec<Change>,
    /// The current state, as a tree.
    current: String,
}

/// What a restore does to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// It is written again.
    Restore,
    /// It was created since, and is deleted.
    Delete,
    /// It differs, and is left alone: it is ignored now, or something else is in its place.
    Skip,
}

/// A file that differs from a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What is done.
    pub kind: ChangeKind,
    /// Its path in the working tree.
    pub path: PathBuf,
}

impl Repository {
    /// Finds the repository that a folder is in.
    pub fn find(folder: &Path) -> Result<Self, GuardError> {
        Self::with_limit(folder, CheckpointOptions::default().max_file_mb)
    }

    /// Finds the repository that a folder is in; its checkpoints have no larger files than this.
    fn with_limit(folder: &Path, max_file_mb: u64) -> Result<Self, GuardError> {
        let git = Git::new(folder);
        let top = git.path(&["rev-parse", "--show-toplevel"])?;
        let git = Git::new(&top);
        let index = git.path(&["rev-parse", "--path-format=absolute", "--git-path", "index"])?;
        Ok(Self { top, git, index, largest: max_file_mb.saturating_mul(1024 * 1024) })
    }

    /// Returns this working tree's checkpoints, newest first.
    pub fn checkpoints(&self) -> Result<Vec<Checkpoint>, GuardError> {
        let format = "--format=%(objectname)%00%(tree)%00%(refname)%00%(contents)%00%00";
        let told = self.git.output(&["for-each-ref", format, REFS])?;
        let told = String::from_utf8_lossy(&told).into_owned();
        let mine = self.top.display().to_string();
        let mut all: Vec<Checkpoint> = told
            .split("\0\0")
            .filter_map(|one| read_checkpoint(one.trim_start_matches('\n'), &mine))
            .collect();
        all.sort_by_key(|one| (std::cmp::Reverse(one.at), std::cmp::Reverse(one.number())));
        Ok(all)
    }

    /// Makes a checkpoint, and forgets all but the newest; `None` if nothing changed since the last.
    pub fn checkpoint(
        &self,
        session: &str,
        before: &str,
        keep: usize,
    ) -> Result<Option<Checkpoint>, GuardError> {
        let tree = self.snapshot()?;
        let known = self.checkpoints()?;
        if known.first().is_some_and(|last| last.tree == tree) {
            return Ok(None);
        }
        let made = self.keep_tree(&tree, session, before)?;
        for old in known.iter().skip(keep.max(1) - 1) {
            // Another process may have been faster; then there is nothing left to do.
            let _ = self.git.output(&["update-ref", "-d", &old.name, &old.commit]);
        }
        Ok(Some(made))
    }

    /// Writes the working tree's files as a tree, and returns its name. Equal trees have equal
    /// names.
    pub fn snapshot(&self) -> Result<String, GuardError> {
        let scratch =
            tempfile::tempdir().map_err(|error| GuardError::at(Path::new("/tmp"), error))?;
        let index = scratch.path().join("index");
        copy_with_time(&self.index, &index).map_err(|error| GuardError::at(&self.index, error))?;
        let git = self.git.with_index(&index);
        let changed =
            git.output(&["diff-files", "--name-only", "--ignore-submodules=all", "-z"])?;
        let new = git.output(&["ls-files", "--others", "--exclude-standard", "-z"])?;
        let gone = joined(parts(&changed).filter(|name| self.is_replaced(name)));
        if !gone.is_empty() {
            git.output_of(&["update-index", "--force-remove", "-z", "--stdin"], &gone)?;
        }
        let names = joined(parts(&changed).chain(parts(&new)).filter(|name| self.is_kept(name)));
        let update = ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"];
        if !names.is_empty() {
            git.output_of(&update, &names)?;
        }
        lines(&git.output(&["write-tree"])?)
    }

    /// Returns whether something that is no file is where a file was.
    fn is_replaced(&self, name: &[u8]) -> bool {
        fs::symlink_metadata(self.top.join(git::path_of(name)))
            .is_ok_and(|found| !found.is_file() && !found.is_symlink())
    }

    /// Returns whether a file belongs into a snapshot. One that vanished does, too: as removed.
    fn is_kept(&self, name: &[u8]) -> bool {
        if name.is_empty() || name.ends_with(b"/") {
            return false; // a repository in the repository
        }
        match fs::symlink_metadata(self.top.join(git::path_of(name))) {
            Ok(found) if found.is_file() => {
                found.size() <= self.largest
                    && fs::File::open(self.top.join(git::path_of(name))).is_ok()
            }
            Ok(found) => found.is_symlink(),
            Err(_) => true,
        }
    }

    fn keep_tree(&self, tree: &str, session: &str, before: &str) -> Result<Checkpoint, GuardError> {
        let (top, at, largest) = (self.top.display(), Timestamp::now(), self.largest);
        let message = format!("{before}\n\n{WORK_TREE}{top}\n{MADE_AT}{at}\n{LARGEST}{largest}\n");
        let head = self.git.output(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]);
        let head = head.ok().and_then(|told| lines(&told).ok());
        let mut arguments = vec!["commit-tree", tree];
        if let Some(head) = &head {
            arguments.extend(["-p", head]);
        }
        let commit = lines(&self.git.output_of(&arguments, message.as_bytes())?)?;
        let folder = format!("{REFS}/{session}");
        let known = self.git.output(&["for-each-ref", "--format=%(refname)", &folder])?;
        let known = String::from_utf8_lossy(&known).into_owned();
        let numbers = known.lines().filter_map(|name| name.rsplit('/').next()?.parse::<u64>().ok());
        let first = numbers.max().unwrap_or(0) + 1;
        // With all zeros as the old value the ref must not exist: then another process has it.
        let none = "0".repeat(commit.len());
        let mut number = first..;
        let name = (0..TRIES).find_map(|_| {
            let name = format!("{folder}/{}", number.next()?);
            self.git.output(&["update-ref", &name, &commit, &none]).is_ok().then_some(name)
        });
        let name = name
            .ok_or_else(|| GuardError::Failed(format!("no ref below `{folder}` can be written")))?;
        let (tree, before) = (tree.to_owned(), before.to_owned());
        Ok(Checkpoint { commit, tree, name, at, before, largest })
    }

    /// Plans an undo: to the checkpoint with this id, or else to the newest that differs from the
    /// working tree.
    pub fn plan_undo(&self, id: Option<&str>) -> Result<UndoPlan, GuardError> {
        let known = self.checkpoints()?;
        if known.is_empty() {
            return Err(GuardError::Failed(format!("`{}` has no checkpoints", self.top.display())));
        }
        let Some(id) = id else {
            let current = self.snapshot()?;
            let differs = known.into_iter().find(|one| one.tree != current);
            let differs = differs.ok_or_else(|| {
                GuardError::Failed(
                    "nothing to undo: all checkpoints equal the working tree".to_owned(),
                )
            })?;
            return self.plan(differs);
        };
        let mut found = known.into_iter().filter(|one| id.len() >= 4 && one.commit.starts_with(id));
        match (found.next(), found.find(|_| true)) {
            (Some(one), None) => self.plan(one),
            (Some(one), Some(other)) if one.commit == other.commit => self.plan(one),
            (Some(_), Some(_)) => {
                Err(GuardError::Failed(format!("`{id}` means several checkpoints")))
            }
            (None, _) => Err(GuardError::Failed(format!("there is no checkpoint `{id}`"))),
        }
    }

    fn plan(&self, target: Checkpoint) -> Result<UndoPlan, GuardError> {
        // With the same limit, so that the same files are compared.
        let alike = Self {
            largest: target.largest,
            top: self.top.clone(),
            git: self.git.clone(),
            index: self.index.clone(),
        };
        let current = alike.snapshot()?;
        let changes = alike.changes(&current, &target.tree)?;
        Ok(UndoPlan { target, changes, current })
    }

    /// Carries out a plan. Returns the checkpoint of the state before, unless there already is one.
    pub fn undo(&self, plan: &UndoPlan) -> Result<Option<Checkpoint>, GuardError> {
        let is_saved = |known: &[Checkpoint]| known.iter().any(|one| one.tree == plan.current);
        let before = format!("undo to {}", plan.target.id());
        let saved = match self.checkpoints()? {
            // The newest is what the next undo leads back to.
            known if known.first().is_some_and(|one| is_saved(std::slice::from_ref(one))) => None,
            _ => Some(self.keep_tree(&plan.current, UNDO, &before)?),
        };
        self.restore(&plan.target, &plan.changes)?;
        Ok(saved)
    }

    /// Returns a plan's differences as a patch.
    pub fn patch_of(&self, plan: &UndoPlan) -> Result<String, GuardError> {
        self.patch(&plan.current, &plan.target.tree)
    }

    /// Returns what a restore of a tree would do, given the current snapshot.
    fn changes(&self, current: &str, wanted: &str) -> Result<Vec<Change>, GuardError> {
        let differ = ["diff-tree", "-r", "-z", "--no-renames", "--raw", "--no-abbrev"];
        let told = self.git.output(&[&differ[..], &[current, wanted]].concat())?;
        let mut told = parts(&told);
        let mut entries = Vec::new();
        while let (Some(about), Some(name)) = (told.next(), told.next()) {
            let about = String::from_utf8_lossy(about).into_owned();
            let is_submodule = about.split([' ', ':']).any(|mode| mode == "160000");
            if !is_submodule {
                entries.push((about.ends_with('D'), about.ends_with('A'), git::path_of(name)));
            }
        }
        let gone: BTreeSet<&Path> = entries
            .iter()
            .filter(|(is_gone, ..)| *is_gone)
            .map(|(.., path)| path.as_path())
            .collect();
        let change = |(is_deleted, is_new, path): &(bool, bool, PathBuf)| {
            let kind = if *is_deleted {
                ChangeKind::Delete
            } else if self.is_in_the_way(path, *is_new, &gone) {
                ChangeKind::Skip
            } else {
                ChangeKind::Restore
            };
            Change { kind, path: path.clone() }
        };
        Ok(entries.iter().map(change).collect())
    }

    /// Returns whether something that no snapshot contains is where a file is to be written.
    fn is_in_the_way(&self, path: &Path, is_new: bool, gone: &BTreeSet<&Path>) -> bool {
        let inner = path.ancestors().skip(1).filter(|one| !one.as_os_str().is_empty());
        let is_no_folder = |one: &Path| {
            fs::symlink_metadata(self.top.join(one)).is_ok_and(|found| !found.is_dir())
                && !gone.contains(one)
        };
        if inner.into_iter().any(is_no_folder) {
            return true;
        }
        match fs::symlink_metadata(self.top.join(path)) {
            Ok(found) if found.is_dir() => !self.is_emptied(&self.top.join(path), gone),
            Ok(_) if is_new => !gone.contains(path),
            Ok(_) => !self.is_kept(path.as_os_str().as_encoded_bytes()),
            Err(_) => false,
        }
    }

    /// Returns whether a folder contains only files that are deleted.
    fn is_emptied(&self, folder: &Path, gone: &BTreeSet<&Path>) -> bool {
        let Ok(entries) = fs::read_dir(folder) else { return false };
        entries.flatten().all(|entry| {
            let path = entry.path();
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let is_gone = || path.strip_prefix(&self.top).is_ok_and(|inner| gone.contains(inner));
            if is_folder { self.is_emptied(&path, gone) } else { is_gone() }
        })
    }

    /// Makes the working tree as it was at a checkpoint, as far as `changes` say.
    fn restore(&self, wanted: &Checkpoint, changes: &[Change]) -> Result<(), GuardError> {
        let of = |kind| changes.iter().filter(move |one| one.kind == kind).map(|one| &one.path);
        for path in of(ChangeKind::Delete) {
            let path = self.top.join(path);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(GuardError::at(&path, error));
                }
                _ => self.remove_empty_folders(&path),
            }
        }
        let scratch =
            tempfile::tempdir().map_err(|error| GuardError::at(Path::new("/tmp"), error))?;
        let git = self.git.with_index(&scratch.path().join("index"));
        git.output(&["read-tree", &wanted.tree])?;
        let names = joined(of(ChangeKind::Restore).map(|path| path.as_os_str().as_encoded_bytes()));
        git.output_of(&["checkout-index", "--force", "-z", "--stdin"], &names).map(drop)
    }

    fn remove_empty_folders(&self, path: &Path) {
        for folder in path.ancestors().skip(1).take_while(|folder| *folder != self.top) {
            if fs::remove_dir(folder).is_err() {
                return; // it is not empty
            }
        }
    }

    fn patch(&self, current: &str, wanted: &str) -> Result<String, GuardError> {
        let told = self.git.output(&[
            "diff-tree",
            "-r",
            "-p",
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
            "--no-color",
            current,
            wanted,
        ])?;
        Ok(String::from_utf8_lossy(&told).into_owned())
    }
}

/// Joins names, each with a zero byte behind it.
fn joined<'name>(names: impl Iterator<Item = &'name [u8]>) -> Vec<u8> {
    names.flat_map(|name| name.iter().copied().chain([0])).collect()
}

/// Copies a file with its time: git trusts what an index says of files that are older than it.
fn copy_with_time(from: &Path, to: &Path) -> io::Result<()> {
    let modified = match fs::metadata(from) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found?.modified()?,
    };
    fs::copy(from, to)?;
    fs::File::options().write(true).open(to)?.set_modified(modified)
}

fn read_checkpoint(told: &str, mine: &str) -> Option<Checkpoint> {
    let mut fields = told.splitn(4, '\0');
    let mut next = || fields.next().map(str::to_owned);
    let (commit, tree, name, message) = (next()?, next()?, next()?, next()?);
    let line = |start: &str| message.lines().find_map(|line| line.strip_prefix(start));
    if line(WORK_TREE)? != mine {
        return None;
    }
    let (at, largest) = (line(MADE_AT)?.parse().ok()?, line(LARGEST)?.parse().ok()?);
    let before = message.lines().next().unwrap_or_default().to_owned();
    Some(Checkpoint { commit, tree, name, at, before, largest })
}

#[cfg(test)]
mod tests;
