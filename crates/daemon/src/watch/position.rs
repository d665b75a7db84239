//! The position up to which a log was read.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

use anyhook_hosts::log::{Activity, LogState};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// How many positions are remembered; those of the logs that were inactive longest are dropped
/// first.
const REMEMBERED: usize = 10_000;

/// The identity of a file, regardless of its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    pub fn of(status: &Metadata) -> Self {
        Self { device: status.dev(), inode: status.ino() }
    }
}

/// The beginning of a file: an inode number may be reused for another file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileHead {
    /// The number of bytes.
    pub length: u64,
    /// Their checksum.
    pub sum: u64,
}

impl FileHead {
    /// The maximum number of bytes.
    pub const LENGTH: usize = 256;

    pub fn of(bytes: &[u8]) -> Self {
        // FNV-1a: the same in every version, and enough to tell one log from another.
        let sum = bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum: u64, byte| {
            (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self { length: bytes.len() as u64, sum }
    }
}

/// A row of a database.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DatabaseRow {
    /// When it was created, in milliseconds.
    pub time: i64,
    /// Its id.
    pub id: String,
}

/// The position up to which a log was read, and what it had reported by then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogPosition {
    pub(super) path: String,
    /// The session, if a log has many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) session: Option<String>,
    pub(super) file: FileId,
    #[serde(default)]
    pub(super) head: FileHead,
    #[serde(default)]
    pub(super) offset: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) row: Option<DatabaseRow>,
    pub(super) state: LogState,
    pub(super) doing: Option<Activity>,
    /// When it was read.
    pub(super) read: Timestamp,
    /// When logs were first watched.
    pub(super) since: Timestamp,
}

impl LogPosition {
    /// Returns the key under which it is stored.
    pub fn key(&self) -> String {
        key(&self.path, self.session.as_deref())
    }
}

fn key(path: &str, session: Option<&str>) -> String {
    session.map_or_else(|| path.to_owned(), |session| format!("{path}#{session}"))
}

/// The positions of all logs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LogPositions {
    by_log: BTreeMap<String, LogPosition>,
    /// When logs were first watched: a log that was created later and is not here has not reported
    /// anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    since: Option<Timestamp>,
}

impl LogPositions {
    /// Records the position of a log.
    pub fn note(&mut self, position: LogPosition) {
        self.since.get_or_insert(position.since);
        let key = position.key();
        if self.by_log.len() >= REMEMBERED && !self.by_log.contains_key(&key) {
            // A tenth at once, as finding them requires a pass over all of them.
            let mut times: Vec<Timestamp> = self.by_log.values().map(|log| log.read).collect();
            times.sort_unstable();
            let oldest = times[times.len() / 10];
            self.by_log.retain(|_, log| log.read > oldest);
        }
        self.by_log.insert(key, position);
    }

    /// Returns the number of positions.
    pub fn len(&self) -> usize {
        self.by_log.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_log.is_empty()
    }

    pub(super) fn since(&self) -> Option<Timestamp> {
        self.since
    }

    pub(super) fn take(&mut self, path: &str, session: Option<&str>) -> Option<LogPosition> {
        self.by_log.remove(&key(path, session))
    }

    /// Removes and returns the positions of a log that has many sessions.
    pub(super) fn take_sessions(&mut self, path: &str) -> Vec<LogPosition> {
        let of_log = |position: &LogPosition| position.path == path && position.session.is_some();
        let taken = self.by_log.values().filter(|position| of_log(position)).cloned().collect();
        self.by_log.retain(|_, position| !of_log(position));
        taken
    }
}
