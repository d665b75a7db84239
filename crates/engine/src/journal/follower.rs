//! Journal followers: readers that follow the journal as it grows and must not miss anything.
//!
//! A follower's position is in a small file. [Retention](super::retention) drops nothing after that
//! position until the follower has advanced; a follower that is bound to a process no longer counts
//! when the process is gone.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhook_model::Record;
use jiff::Timestamp;
use rustix::process::{Pid, test_kill_process};
use serde::{Deserialize, Serialize};

use super::{Journal, JournalPosition, JournalReader, make_folder};
use crate::atomic_file::AtomicFile;
use crate::regular_file::read_regular_up_to;

/// The folder of the positions.
const FOLDER: &str = "followers";
/// A longer bookmark is not one of ours.
const BOOKMARK_LIMIT: u64 = 64 * 1024;

/// How far a follower has read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bookmark {
    /// Where it resumes; `None` if it has not read anything yet.
    pub position: Option<JournalPosition>,
    /// The process it is bound to, if it ends with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<u32>,
    /// When it last advanced.
    pub at: Timestamp,
}

/// A reader for which the journal keeps everything until it has been read.
#[derive(Debug)]
pub struct Follower {
    reader: JournalReader,
    file: PathBuf,
    process: Option<u32>,
}

impl Follower {
    /// Resumes where the follower of that name was; a new one begins with the oldest record.
    pub fn named(journal: &Journal, name: &str) -> io::Result<Self> {
        let file = journal.folder().join(FOLDER).join(name);
        let position = match read_regular_up_to(&file, BOOKMARK_LIMIT) {
            Ok(text) => serde_json::from_slice::<Bookmark>(&text)?.position,
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let follower =
            Self { reader: JournalReader::new(journal.clone(), position), file, process: None };
        follower.remember()?;
        Ok(follower)
    }

    /// Makes a named follower that continues where `reader` is, wherever it was before.
    pub fn named_at(journal: &Journal, name: &str, reader: JournalReader) -> io::Result<Self> {
        let file = journal.folder().join(FOLDER).join(name);
        let follower = Self { reader, file, process: None };
        follower.remember()?;
        Ok(follower)
    }

    /// Makes a follower from a reader; it counts as long as this process lives.
    pub fn of_this_process(journal: &Journal, reader: JournalReader) -> io::Result<Self> {
        let process = std::process::id();
        let file = journal.folder().join(FOLDER).join(format!("process-{process}"));
        let follower = Self { reader, file, process: Some(process) };
        follower.remember()?;
        Ok(follower)
    }

    /// Calls `take` with every record since the last call.
    ///
    /// [`Self::remember`] then marks them as read.
    pub fn read_on(&mut self, take: &mut dyn FnMut(Record)) -> io::Result<()> {
        self.reader.read_on(take)
    }

    /// Calls `take` with the next records, at most `limit` lines. Returns whether there may be
    /// more.
    pub fn read_some(&mut self, limit: usize, take: &mut dyn FnMut(Record)) -> io::Result<bool> {
        self.reader.read_some(limit, take)
    }

    /// Returns where it continues.
    pub fn position(&self) -> Option<&JournalPosition> {
        self.reader.position()
    }

    /// Returns how many lines were not records.
    pub fn damaged(&self) -> usize {
        self.reader.damaged()
    }

    /// Remembers how far it has read.
    pub fn remember(&self) -> io::Result<()> {
        let bookmark = Bookmark {
            position: self.reader.position().cloned(),
            process: self.process,
            at: Timestamp::now(),
        };
        let Some(folder) = self.file.parent() else { return Ok(()) };
        AtomicFile::new(&self.file).replace_in(&serde_json::to_vec(&bookmark)?, || {
            folder.parent().map_or(Ok(()), make_folder)?;
            make_folder(folder)
        })
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        if self.process.is_some() {
            // If the file stays, the end of the process has the same effect.
            let _ = fs::remove_file(&self.file);
        }
    }
}

/// Returns the followers by name; forgets those whose process is gone.
pub fn list(folder: &Path) -> io::Result<Vec<(String, Bookmark)>> {
    let entries = match fs::read_dir(folder.join(FOLDER)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut followers = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        // Unfinished ones start with a dot.
        if name.starts_with('.') {
            continue;
        }
        let Ok(text) = read_regular_up_to(&entry.path(), BOOKMARK_LIMIT) else { continue };
        let bookmark = match serde_json::from_slice::<Bookmark>(&text) {
            Ok(bookmark) => bookmark,
            // It is safest to assume that this follower has read nothing.
            Err(_) => Bookmark { position: None, process: None, at: Timestamp::UNIX_EPOCH },
        };
        if bookmark.process.is_some_and(|process| !is_alive(process)) {
            let _ = fs::remove_file(entry.path());
            continue;
        }
        followers.push((name, bookmark));
    }
    followers.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(followers)
}

fn is_alive(process: u32) -> bool {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    // Another user's process counts as alive, too.
    pid.is_some_and(|pid| test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}
