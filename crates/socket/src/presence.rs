//! Whether a daemon should be running: files that every process can read without asking it.
//!
//! | file in the daemon's folder | written by | says |
//! |---|---|---|
//! | `under-way.json` | the daemon, while agents or pipelines are running | it is needed, and what it was started with |
//! | `stopped` | `anyhook daemon stop` | a person wants it to stay down |
//! | `revived` | a hook process or a task's supervisor | when it last tried to restart the daemon |
//! | `life.json` | the daemon | when it was started; its modification time is the last heartbeat |

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhook_model::daemon::{Downtime, StartedBy};
use jiff::Timestamp;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use crate::folder::DaemonFolder;

/// The version of [`UnfinishedWork`] and [`DaemonRecord`].
pub const PRESENCE_VERSION: u32 = 1;

/// A longer file was not written by this program.
const SIZE_LIMIT: u64 = 64 * 1024;

/// What is needed to restart a daemon.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnfinishedWork {
    /// [`PRESENCE_VERSION`].
    pub v: u32,
    /// The variables that the daemon was started with.
    #[serde(default)]
    pub variables: BTreeMap<String, String>,
}

/// When a daemon was started, and how it ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DaemonRecord {
    /// [`PRESENCE_VERSION`].
    pub v: u32,
    /// Its process id.
    pub pid: u32,
    /// When it was started.
    pub since: Timestamp,
    /// When it shut down cleanly; `None` if it is running or was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
    /// The time before it during which no daemon was running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub down: Option<Downtime>,
    /// Who started it.
    #[serde(default)]
    pub started_by: StartedBy,
}

impl DaemonFolder {
    /// Returns the file that exists while agents or pipelines are running.
    pub fn under_way(&self) -> PathBuf {
        self.path().join("under-way.json")
    }

    /// Returns the file that says that a person stopped the daemon.
    pub fn stopped(&self) -> PathBuf {
        self.path().join("stopped")
    }

    /// Returns the file whose modification time is the last attempt to restart a dead daemon.
    pub fn revived(&self) -> PathBuf {
        self.path().join("revived")
    }

    /// Returns the daemon's record of its start and end.
    pub fn life(&self) -> PathBuf {
        self.path().join("life.json")
    }

    /// Returns whether the daemon had work when it was last seen. One system call if it had none.
    pub fn has_work(&self) -> bool {
        rustix::fs::access(self.under_way(), rustix::fs::Access::EXISTS).is_ok()
    }

    /// Returns whether a person stopped the daemon and no command has started it since.
    pub fn is_stopped(&self) -> bool {
        fs::symlink_metadata(self.stopped()).is_ok()
    }

    /// Records that a person wants the daemon to stay down, until a command starts it.
    pub fn keep_stopped(&self) -> io::Result<()> {
        open(&self.stopped(), OpenOptions::new().create(true).append(true)).map(drop)
    }

    /// Returns whether a daemon is running: it holds the store's lock while it does.
    pub fn is_held(&self) -> bool {
        let lock = self.store().join("lock");
        // Held only for a moment: a daemon that starts in the meantime tries again.
        let free = |file: File| file.try_lock_shared().is_ok();
        open(&lock, OpenOptions::new().read(true)).is_ok_and(|file| !free(file))
    }

    /// Reads what is needed to restart the daemon.
    pub fn read_under_way(&self) -> Option<UnfinishedWork> {
        read(&self.under_way()).map(|(found, _)| found)
    }

    /// Reads the last daemon's record, and when it last gave a sign of life.
    pub fn read_life(&self) -> Option<(DaemonRecord, Timestamp)> {
        let (life, metadata): (DaemonRecord, _) = read(&self.life())?;
        let mut seen = Timestamp::try_from(metadata.modified().ok()?).ok()?;
        // What it stored may be more recent than its last heartbeat.
        for file in fs::read_dir(self.store()).into_iter().flatten().flatten() {
            let is_lock = file.file_name() == "lock";
            let modified = file.metadata().and_then(|metadata| metadata.modified());
            if let Ok(modified) = modified
                && let Ok(modified) = Timestamp::try_from(modified)
                && !is_lock
            {
                seen = seen.max(modified);
            }
        }
        Some((life, seen))
    }
}

/// Opens a file without following a symlink or blocking on a named pipe.
fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    options.mode(0o600).custom_flags(flags.bits().cast_signed()).open(path)
}

fn read<T: for<'de> Deserialize<'de>>(path: &Path) -> Option<(T, Metadata)> {
    let file = open(path, OpenOptions::new().read(true)).ok()?;
    let metadata = file.metadata().ok().filter(Metadata::is_file)?;
    let mut bytes = Vec::new();
    file.take(SIZE_LIMIT).read_to_end(&mut bytes).ok()?;
    Some((serde_json::from_slice(&bytes).ok()?, metadata))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, DaemonFolder) {
        let state = tempfile::tempdir().unwrap();
        let folder = DaemonFolder::in_state_dir(state.path());
        folder.make().unwrap();
        (state, folder)
    }

    #[test]
    fn without_files_nothing_is_needed() {
        let (_state, folder) = folder();
        assert!(!folder.has_work() && !folder.is_stopped() && !folder.is_held());
        assert_eq!(folder.read_under_way(), None);
        assert!(folder.read_life().is_none());
    }

    #[test]
    fn a_lock_that_is_held_is_a_daemon_that_lives() {
        let (_state, folder) = folder();
        fs::create_dir(folder.store()).unwrap();
        let lock = File::create(folder.store().join("lock")).unwrap();
        assert!(!folder.is_held());
        lock.lock().unwrap();
        assert!(folder.is_held());
        drop(lock);
        assert!(!folder.is_held());
    }

    #[test]
    fn a_stop_is_remembered() {
        let (_state, folder) = folder();
        folder.keep_stopped().unwrap();
        folder.keep_stopped().unwrap();
        assert!(folder.is_stopped());
    }

    #[test]
    fn what_cannot_be_read_is_none() {
        let (_state, folder) = folder();
        for text in ["", "{", "[]", "\"x\""] {
            fs::write(folder.life(), text).unwrap();
            fs::write(folder.under_way(), text).unwrap();
            assert!(folder.read_life().is_none(), "{text}");
            assert_eq!(folder.read_under_way(), None, "{text}");
        }
        assert!(folder.has_work(), "it is there, whatever it holds");
    }

    #[test]
    fn the_last_sign_of_life_is_the_latest() {
        let (_state, folder) = folder();
        let life = DaemonRecord {
            v: PRESENCE_VERSION,
            pid: 7,
            since: Timestamp::UNIX_EPOCH,
            ended: None,
            down: None,
            started_by: StartedBy::Command,
        };
        fs::write(folder.life(), serde_json::to_vec(&life).unwrap()).unwrap();
        let at = |second: u64| std::time::UNIX_EPOCH + std::time::Duration::from_secs(second);
        File::options().append(true).open(folder.life()).unwrap().set_modified(at(100)).unwrap();
        assert_eq!(
            folder.read_life().unwrap(),
            (life.clone(), Timestamp::from_second(100).unwrap())
        );
        fs::create_dir(folder.store()).unwrap();
        for (name, second) in [("log", 200), ("lock", 300)] {
            File::create(folder.store().join(name)).unwrap().set_modified(at(second)).unwrap();
        }
        assert_eq!(folder.read_life().unwrap().1, Timestamp::from_second(200).unwrap());
    }
}
