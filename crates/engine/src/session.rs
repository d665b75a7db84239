//! Session state: what is remembered between the processes of one session.
//!
//! A session is a folder of small files under the state folder, safe with many processes without
//! a lock:
//! - `start`, `root`: written once, by the first process (an atomic link); `root` is the path of
//!   the project, and after a NUL its real path, if different;
//! - `calls`: a fixed-length line appended for each tool call that was answered, with two hashes of
//!   its identity, so that a count follows from the file's length, and a call that ran without one
//!   was not asked about;
//! - `stops`: one byte appended for each blocked stop;
//! - `blocks`: the ids of the records that blocked a stop, one per line;
//! - `denied`: the calls that were denied, one per line, with the record that explains it; a line
//!   without one says that the same call was let through later;
//! - `guards`: the guards that were in force ([`crate::session_guards`]), renamed into place;
//! - `turn`: the counts of the two when the turn began, renamed into place.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use anyhook_model::{ForeignEntry, StateDir};
use jiff::Timestamp;
use rustix::fs::OFlags;
use xxhash_rust::xxh3::xxh3_64;

use crate::atomic_file::{AtomicFile, create_private_dir};
use crate::places::silent_for;
use crate::regular_file::{open_own, read_own};
use crate::trust::short_hash;

/// A session that was inactive for this long is forgotten.
const FORGET_AFTER: Duration = Duration::from_secs(30 * 24 * 3600);
/// At most this many sessions are forgotten at once, since the agent is waiting.
const FORGET_AT_ONCE: usize = 20;

/// We never make a session's file longer than this: a denied call is a line of 50 bytes.
const SIZE_LIMIT: u64 = 16 * 1024 * 1024;

/// The length of a line of `calls`.
const CALL_LENGTH: u64 = 34;
/// How much of `calls` is read: its end.
const CALLS_READ: u64 = CALL_LENGTH * 4096;

/// One session's folder.
#[derive(Clone, Debug)]
pub struct Session {
    folder: PathBuf,
    /// The pinned project root, once it was read: it does not change.
    pinned: OnceLock<Pinned>,
}

/// The project root of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pinned {
    /// The path by which it was first known.
    pub root: PathBuf,
    /// Its real path, if different.
    pub real: Option<PathBuf>,
}

impl Pinned {
    fn read(bytes: &[u8]) -> Self {
        let path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
        let mut parts = bytes.splitn(2, |byte| *byte == 0);
        let root = path(parts.next().unwrap_or_default());
        Self { root, real: parts.next().map(path) }
    }

    fn of(root: &Path) -> Self {
        let real = fs::canonicalize(root).ok().filter(|real| real != root);
        Self { root: root.to_owned(), real }
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.root.as_os_str().as_bytes().to_vec();
        if let Some(real) = &self.real {
            bytes.push(0);
            bytes.extend_from_slice(real.as_os_str().as_bytes());
        }
        bytes
    }
}

impl Session {
    /// Returns the session of a host. Nothing is written yet.
    pub fn new(state: &Path, host: &str, id: &str) -> Self {
        let name = short_hash(Path::new(&format!("{host}\0{id}")));
        Self { folder: StateDir::new(state).sessions().join(name), pinned: OnceLock::new() }
    }

    /// Returns the session with that id as it is seen through another agent's entry. It has a name
    /// of its own, so that a session known by its agent's name is one in which that agent has called
    /// us through its own entry.
    pub fn of_foreign_entry(state: &Path, entry: &ForeignEntry, id: &str) -> Self {
        Self::new(state, &format!("{}\0{}", entry.run_by, entry.of), id)
    }

    /// Returns whether an event of the session has been seen.
    pub fn is_known(&self) -> bool {
        self.folder.is_dir()
    }

    /// Returns the session's folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the path of the pinned project root.
    pub fn root(&self) -> Option<PathBuf> {
        self.pinned().map(|pinned| pinned.root)
    }

    /// Returns the pinned project root.
    pub fn pinned(&self) -> Option<Pinned> {
        if let Some(pinned) = self.pinned.get() {
            return Some(pinned.clone());
        }
        self.read_root().ok()
    }

    fn read_root(&self) -> io::Result<Pinned> {
        let path = self.folder.join("root");
        let bytes = read_own(&path, SIZE_LIMIT).map_err(|error| at(&path, &error))?;
        Ok(self.pinned.get_or_init(|| Pinned::read(&bytes)).clone())
    }

    /// Pins the project root; the first process wins. Returns the pinned one.
    pub fn pin_root(&self, root: &Path) -> io::Result<Pinned> {
        self.write_once("root", &Pinned::of(root).to_bytes())?;
        // Something else in its place cannot be read, and must not be taken for "not pinned yet".
        self.read_root()
    }

    /// Remembers when the session was first seen.
    pub fn started(&self, at: Timestamp) -> io::Result<()> {
        // A session whose root is pinned has been seen before.
        if self.pinned.get().is_some() || self.pinned().is_some() {
            return Ok(());
        }
        self.write_once("start", at.to_string().as_bytes())
    }

    /// Returns when the session was first seen.
    pub fn start(&self) -> Option<Timestamp> {
        self.text("start").parse().ok()
    }

    /// Begins a turn: the turn's counts start from zero.
    pub fn begin_turn(&self) -> io::Result<()> {
        let marks = format!("{} {}", self.total_steps(), self.length("stops"));
        let turn = self.folder.join("turn");
        AtomicFile::new(&turn).replace_in(marks.as_bytes(), || create_private_dir(&self.folder))
    }

    /// Counts a tool call that was answered. It is identified by its id or digest, and where hooks
    /// changed its input by that digest, too.
    ///
    /// Not before the answer: if we are killed in between, the call was not asked about, and that
    /// is noticed when it has run.
    pub fn count_call(&self, call: &str, changed: Option<&str>) -> io::Result<()> {
        let changed = call_hash(changed.unwrap_or(call));
        self.append("calls", format!("{:016x} {changed:016x}\n", call_hash(call)).as_bytes())
    }

    /// Returns whether a call was asked about; `None` if that is not known: our hooks saw neither
    /// the start of the turn nor any call of it, or too many were asked about since.
    pub fn was_asked(&self, call: &str) -> Option<bool> {
        let mut file = match open_own(&self.folder.join("calls"), OFlags::RDONLY) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return self.folder.join("turn").exists().then_some(false);
            }
            opened => opened.ok()?,
        };
        let length = file.metadata().ok()?.len();
        let start = length.saturating_sub(CALLS_READ);
        if start > 0 {
            file.seek(SeekFrom::Start(start)).ok()?;
        }
        let mut lines = Vec::new();
        file.take(CALLS_READ).read_to_end(&mut lines).ok()?;
        let wanted = format!("{:016x}", call_hash(call));
        let is_it =
            |line: &[u8]| line.split(|byte| *byte == b' ').any(|word| word == wanted.as_bytes());
        let found = lines.split(|byte| *byte == b'\n').any(is_it);
        if found {
            return Some(true);
        }
        (start == 0 && !lines.is_empty()).then_some(false)
    }

    /// Counts a stop that was blocked, by the record that explains it.
    pub fn count_stop_block(&self, id: &str) -> io::Result<()> {
        self.append("stops", b".")?;
        self.append("blocks", format!("{id}\n").as_bytes())
    }

    /// Returns whether a stop of this session was blocked by that record.
    pub fn has_blocked_stop(&self, id: &str) -> bool {
        let blocks = self.text("blocks");
        !id.is_empty() && blocks.lines().any(|line| line == id)
    }

    /// Remembers that a call was denied, by the record that explains it.
    pub fn deny(&self, call: &str, id: &str) -> io::Result<()> {
        self.append("denied", format!("{} {id}\n", short_hash(Path::new(call))).as_bytes())
    }

    /// Remembers that a call with the same input was let through, if one was denied.
    pub fn let_through(&self, call: &str) -> io::Result<()> {
        if self.denied_by(call).is_none() {
            return Ok(());
        }
        self.append("denied", format!("{}\n", short_hash(Path::new(call))).as_bytes())
    }

    /// Returns the record that explains why a call was denied, if it was.
    pub fn denied_by(&self, call: &str) -> Option<String> {
        let lines = self.text("denied");
        let key = short_hash(Path::new(call));
        let rest = lines.lines().filter_map(|line| line.strip_prefix(&key)).next_back()?;
        Some(rest.trim().to_owned()).filter(|id| !id.is_empty())
    }

    /// Returns how many tool calls there were in all.
    pub fn total_steps(&self) -> u64 {
        self.length("calls") / CALL_LENGTH
    }

    /// Returns how many tool calls there were in this turn.
    pub fn steps_in_turn(&self) -> u64 {
        self.total_steps().saturating_sub(self.turn_marks().0)
    }

    /// Returns how many stops were blocked in this turn.
    pub fn stop_blocks_in_turn(&self) -> u64 {
        self.length("stops").saturating_sub(self.turn_marks().1)
    }

    fn turn_marks(&self) -> (u64, u64) {
        let text = self.text("turn");
        let mut marks = text.split(' ').map(|mark| mark.parse().unwrap_or(0));
        (marks.next().unwrap_or(0), marks.next().unwrap_or(0))
    }

    fn length(&self, name: &str) -> u64 {
        fs::symlink_metadata(self.folder.join(name)).map_or(0, |metadata| metadata.len())
    }

    /// Reads a file as text; one that is missing or cannot be read is empty.
    fn text(&self, name: &str) -> String {
        let bytes = read_own(&self.folder.join(name), SIZE_LIMIT).unwrap_or_default();
        String::from_utf8(bytes).unwrap_or_default()
    }

    fn append(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE;
        let path = self.folder.join(name);
        let open = || open_own(&path, flags).map_err(|error| at(&path, &error));
        let mut file = open().or_else(|_| {
            create_private_dir(&self.folder)?;
            open()
        })?;
        file.write_all(bytes)
    }

    /// Writes a file unless it exists; it is complete from the moment it is visible.
    fn write_once(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.folder.join(name);
        if path.symlink_metadata().is_ok() {
            return Ok(());
        }
        create_private_dir(&self.folder)?;
        AtomicFile::new(&path).create(bytes)
    }
}

/// Adds the file's path to an error.
fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("`{}`: {error}", path.display()))
}

/// Returns a hash that stands for a call.
fn call_hash(call: &str) -> u64 {
    xxh3_64(call.as_bytes())
}

/// Forgets some of the sessions that were inactive for a month.
pub fn forget_old(state: &Path, now: SystemTime) {
    for session in
        silent_for(&StateDir::new(state).sessions(), FORGET_AFTER, now).take(FORGET_AT_ONCE)
    {
        // Another process may have been faster; then there is nothing left to do.
        let _ = fs::remove_dir_all(session);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_root_stays() {
        let state = tempfile::tempdir().unwrap();
        let session = Session::new(state.path(), "host", "one");
        assert_eq!(session.root(), None);
        assert_eq!(session.pin_root(Path::new("/first")).unwrap().root, Path::new("/first"));
        assert_eq!(session.pin_root(Path::new("/second")).unwrap().root, Path::new("/first"));
        let other = Session::new(state.path(), "other host", "one");
        assert_eq!(other.root(), None);
    }

    #[test]
    fn where_the_root_really_was_is_remembered() {
        let state = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(state.path()).unwrap().join("project");
        let link = real.with_file_name("link");
        fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let pinned = Pinned { root: link.clone(), real: Some(real.clone()) };
        let session = || Session::new(state.path(), "host", "linked");
        assert_eq!(session().pin_root(&link).unwrap(), pinned);
        assert_eq!(session().pinned(), Some(pinned));
        let other = Session::new(state.path(), "host", "plain");
        assert_eq!(other.pin_root(&real).unwrap(), Pinned { root: real, real: None });
    }

    #[test]
    fn counts_are_per_turn() {
        let state = tempfile::tempdir().unwrap();
        let session = Session::new(state.path(), "host", "../../etc");
        session.count_call("c", None).unwrap();
        session.count_stop_block("abc").unwrap();
        assert!(session.has_blocked_stop("abc") && !session.has_blocked_stop("ab"));
        assert_eq!((session.steps_in_turn(), session.stop_blocks_in_turn()), (1, 1));
        session.begin_turn().unwrap();
        assert_eq!((session.steps_in_turn(), session.stop_blocks_in_turn()), (0, 0));
        session.count_call("c", None).unwrap();
        assert_eq!((session.steps_in_turn(), session.total_steps()), (1, 2));
    }

    #[test]
    fn denials_are_remembered_until_the_call_is_let_through() {
        let state = tempfile::tempdir().unwrap();
        let session = Session::new(state.path(), "host", "one");
        session.let_through("call").unwrap();
        assert_eq!(session.denied_by("call"), None);
        session.deny("call", "7k2m9x4q").unwrap();
        assert_eq!(session.denied_by("call").as_deref(), Some("7k2m9x4q"));
        assert_eq!(session.denied_by("cal"), None);
        session.let_through("call").unwrap();
        assert_eq!(session.denied_by("call"), None);
    }

    #[test]
    fn a_call_that_was_asked_about_is_known() {
        let state = tempfile::tempdir().unwrap();
        let session = Session::new(state.path(), "host", "one");
        assert_eq!(session.was_asked("one"), None, "no call was: nobody may ask here at all");
        session.count_call("one", None).unwrap();
        session.count_call("two", Some("changed")).unwrap();
        for call in ["one", "two", "changed"] {
            assert_eq!(session.was_asked(call), Some(true), "{call}");
        }
        assert_eq!(session.was_asked("three"), Some(false));
        for number in 0..5000 {
            session.count_call(&format!("more {number}"), None).unwrap();
        }
        assert_eq!(session.was_asked("three"), None, "it may have been before those");
        assert_eq!(session.total_steps(), 5002);
    }

    #[test]
    fn counting_is_safe_with_many_at_once() {
        let state = tempfile::tempdir().unwrap();
        let session = Session::new(state.path(), "host", "busy");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..100).for_each(|_| session.count_call("c", None).unwrap()));
            }
        });
        assert_eq!(session.total_steps(), 800);
    }

    #[test]
    fn old_sessions_are_forgotten() {
        let state = tempfile::tempdir().unwrap();
        Session::new(state.path(), "host", "old").begin_turn().unwrap();
        let now = SystemTime::now();
        forget_old(state.path(), now);
        assert_eq!(fs::read_dir(StateDir::new(state.path()).sessions()).unwrap().count(), 1);
        forget_old(state.path(), now + FORGET_AFTER + Duration::from_secs(60));
        assert_eq!(fs::read_dir(StateDir::new(state.path()).sessions()).unwrap().count(), 0);
    }
}
