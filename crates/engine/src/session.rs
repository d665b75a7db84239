//! What is remembered between the processes of one session.
//!
//! A session is a folder of small files under the state folder, safe with many processes without
//! a lock:
//! - `start`, `root`: written once, by whoever comes first (an atomic link);
//! - `steps`, `stops`: one byte appended for each tool call and each blocked stop, so that a count
//!   is a file's length;
//! - `blocks`: the ids of the records that blocked a stop, a line each;
//! - `denied`: the calls that were denied, a line each, with the record that explains it; a line
//!   without one says that the same call was let through later;
//! - `turn`: the lengths of the two when the turn began, renamed into place.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use rustix::fs::{Mode, OFlags};

use crate::aside;
use crate::places::silent_for;
use crate::trust::short_hash;

/// A session that was silent for so long is forgotten.
const FORGET_AFTER: Duration = Duration::from_secs(30 * 24 * 3600);
/// At most so many sessions are forgotten at once: the agent waits.
const FORGET_AT_ONCE: usize = 20;

/// Nearly every path is shorter.
const SHORT: usize = 1024;

/// One session's folder.
#[derive(Clone, Debug)]
pub struct Session {
    folder: PathBuf,
    /// The pinned project root, once it was seen: it stays.
    pinned: OnceLock<PathBuf>,
}

impl Session {
    /// Names the session of a host. Nothing is written yet.
    pub fn new(state: &Path, host: &str, id: &str) -> Self {
        let name = short_hash(Path::new(&format!("{host}\0{id}")));
        Self { folder: state.join("sessions").join(name), pinned: OnceLock::new() }
    }

    /// Returns the pinned project root.
    pub fn root(&self) -> Option<PathBuf> {
        if let Some(pinned) = self.pinned.get() {
            return Some(pinned.clone());
        }
        let bytes = read_short(&self.folder.join("root")).ok()?;
        Some(self.pinned.get_or_init(|| std::ffi::OsString::from_vec(bytes).into()).clone())
    }

    /// Pins the project root; the first to come wins. Returns the one that is pinned.
    pub fn pin_root(&self, root: &Path) -> io::Result<PathBuf> {
        self.write_once("root", root.as_os_str().as_bytes())?;
        Ok(self.root().unwrap_or_else(|| root.to_owned()))
    }

    /// Remembers when the session was first heard of.
    pub fn started(&self, at: Timestamp) -> io::Result<()> {
        // A session whose root is pinned has been heard of before.
        if self.root().is_some() {
            return Ok(());
        }
        self.write_once("start", at.to_string().as_bytes())
    }

    /// Returns when the session was first heard of.
    pub fn start(&self) -> Option<Timestamp> {
        fs::read_to_string(self.folder.join("start")).ok()?.parse().ok()
    }

    /// Begins a turn: counts of the turn start from zero.
    pub fn begin_turn(&self) -> io::Result<()> {
        let marks = format!("{} {}", self.length("steps"), self.length("stops"));
        let turn = self.folder.join("turn");
        aside::write(&turn, marks.as_bytes(), false, || fs::create_dir_all(&self.folder))
    }

    /// Counts a tool call.
    pub fn count_step(&self) -> io::Result<()> {
        self.append("steps", b".")
    }

    /// Counts a stop that was blocked, by the record that explains it.
    pub fn count_stop_block(&self, id: &str) -> io::Result<()> {
        self.append("stops", b".")?;
        self.append("blocks", format!("{id}\n").as_bytes())
    }

    /// Tells whether a stop of this session was blocked by that record.
    pub fn has_blocked_stop(&self, id: &str) -> bool {
        let blocks = fs::read_to_string(self.folder.join("blocks")).unwrap_or_default();
        !id.is_empty() && blocks.lines().any(|line| line == id)
    }

    /// Remembers that a call was denied, by the record that explains it.
    pub fn deny(&self, call: &str, id: &str) -> io::Result<()> {
        self.append("denied", format!("{} {id}\n", short_hash(Path::new(call))).as_bytes())
    }

    /// Remembers that a call of the same input was let through, if one was denied.
    pub fn let_through(&self, call: &str) -> io::Result<()> {
        if self.denied_by(call).is_none() {
            return Ok(());
        }
        self.append("denied", format!("{}\n", short_hash(Path::new(call))).as_bytes())
    }

    /// Returns the record that explains why a call was denied, if it was.
    pub fn denied_by(&self, call: &str) -> Option<String> {
        let lines = fs::read_to_string(self.folder.join("denied")).ok()?;
        let key = short_hash(Path::new(call));
        let rest = lines.lines().filter_map(|line| line.strip_prefix(&key)).next_back()?;
        Some(rest.trim().to_owned()).filter(|id| !id.is_empty())
    }

    /// Returns how many tool calls there were in all.
    pub fn total_steps(&self) -> u64 {
        self.length("steps")
    }

    /// Returns how many tool calls there were in this turn.
    pub fn steps_in_turn(&self) -> u64 {
        self.length("steps").saturating_sub(self.turn_marks().0)
    }

    /// Returns how many stops were blocked in this turn.
    pub fn stop_blocks_in_turn(&self) -> u64 {
        self.length("stops").saturating_sub(self.turn_marks().1)
    }

    fn turn_marks(&self) -> (u64, u64) {
        let text = fs::read_to_string(self.folder.join("turn")).unwrap_or_default();
        let mut marks = text.split(' ').map(|mark| mark.parse().unwrap_or(0));
        (marks.next().unwrap_or(0), marks.next().unwrap_or(0))
    }

    fn length(&self, name: &str) -> u64 {
        fs::metadata(self.folder.join(name)).map_or(0, |metadata| metadata.len())
    }

    fn append(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let open = || {
            let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::CLOEXEC;
            let file = rustix::fs::open(self.folder.join(name), flags, Mode::from(0o666))?;
            io::Result::Ok(File::from(file))
        };
        let mut file = open().or_else(|_| {
            fs::create_dir_all(&self.folder)?;
            open()
        })?;
        file.write_all(bytes)
    }

    /// Writes a file unless it is there; it is complete from the moment it can be seen.
    fn write_once(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.folder.join(name);
        if path.exists() {
            return Ok(());
        }
        fs::create_dir_all(&self.folder)?;
        aside::write_once(&path, bytes)
    }
}

/// Reads a file that is short, in as few calls as it takes.
fn read_short(path: &Path) -> io::Result<Vec<u8>> {
    let file = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut bytes = vec![0; SHORT];
    let length = rustix::io::retry_on_intr(|| rustix::io::read(&file, &mut bytes[..]))?;
    if length == SHORT {
        return fs::read(path);
    }
    bytes.truncate(length);
    Ok(bytes)
}

/// Forgets some of the sessions that were silent for a month.
pub fn forget_old(state: &Path, now: SystemTime) {
    for session in silent_for(&state.join("sessions"), FORGET_AFTER, now).take(FORGET_AT_ONCE) {
        // Another process may be quicker; then there is nothing left to do.
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
        assert_eq!(session.pin_root(Path::new("/first")).unwrap(), Path::new("/first"));
        assert_eq!(session.pin_root(Path::new("/second")).unwrap(), Path::new("/first"));
        let other = Session::new(state.path(), "other host", "one");
        assert_eq!(other.root(), None);
    }

    #[test]
    fn counts_are_per_turn() {
        let state = tempfile::tempdir().unwrap();
        let session = Session::new(state.path(), "host", "../../etc");
        session.count_step().unwrap();
        session.count_stop_block("abc").unwrap();
        assert!(session.has_blocked_stop("abc") && !session.has_blocked_stop("ab"));
        assert_eq!((session.steps_in_turn(), session.stop_blocks_in_turn()), (1, 1));
        session.begin_turn().unwrap();
        assert_eq!((session.steps_in_turn(), session.stop_blocks_in_turn()), (0, 0));
        session.count_step().unwrap();
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
    fn counting_is_safe_with_many_at_once() {
        let state = tempfile::tempdir().unwrap();
        let session = Session::new(state.path(), "host", "busy");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..100).for_each(|_| session.count_step().unwrap()));
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
        assert_eq!(fs::read_dir(state.path().join("sessions")).unwrap().count(), 1);
        forget_old(state.path(), now + FORGET_AFTER + Duration::from_secs(60));
        assert_eq!(fs::read_dir(state.path().join("sessions")).unwrap().count(), 0);
    }
}
