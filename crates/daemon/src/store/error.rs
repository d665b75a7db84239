//! Errors of the store: which file, what, why, and what helps.

use std::io;
use std::path::{Path, PathBuf};

/// Where the store is damaged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is damaged at line {line}, byte {byte}: {why}", file.display())]
pub struct Damage {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: u64,
    /// The offset of the first byte of that line.
    pub byte: u64,
    /// What is wrong.
    pub why: String,
}

/// Why the store cannot do something.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process has locked it.
    #[error("`{}` is in use{}", folder.display(), by(*pid))]
    Locked {
        /// The store's folder.
        folder: PathBuf,
        /// The process that has locked it, if known.
        pid: Option<u32>,
    },
    /// Something in the middle of it is not what was written. Nothing was changed.
    #[error(transparent)]
    Damaged(#[from] Damage),
    /// It was written by a newer version of the program. Nothing was changed.
    #[error("`{}` has version {version}, but this program only supports versions up to {known}", file.display())]
    Newer {
        /// The file.
        file: PathBuf,
        /// Its version.
        version: u64,
        /// The newest version known here.
        known: u32,
    },
    /// Data of an older version cannot be migrated to this version. Nothing was changed.
    #[error("`{}` cannot be migrated from version {from}: {why}", file.display())]
    Migration {
        /// The file.
        file: PathBuf,
        /// The version it could not be migrated from.
        from: u32,
        /// What was wrong.
        why: String,
    },
    /// A system call failed.
    #[error("`{}` cannot be {doing}: {source}", file.display())]
    Io {
        /// The file or folder.
        file: PathBuf,
        /// The operation: `written`, `read`, …
        doing: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// An entry or state cannot be represented as JSON that could be read again. Nothing was
    /// written.
    #[error("this cannot be stored as JSON: {0}")]
    NotJson(String),
    /// An earlier failure left the store in an unknown state: nothing is written until it is
    /// reopened.
    #[error("the store in `{}` must be reopened: {why}", folder.display())]
    Poisoned {
        /// The store's folder.
        folder: PathBuf,
        /// What happened.
        why: String,
    },
}

fn by(pid: Option<u32>) -> String {
    pid.map(|pid| format!(" by process {pid}")).unwrap_or_default()
}

impl StoreError {
    /// Returns what helps.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Locked { .. } => {
                "only one daemon can use it; run `anyhook daemon status` to see which"
            }
            Self::Damaged(_) => {
                "run `anyhook daemon start --repair` to keep everything up to that point and move the rest to a backup file"
            }
            Self::Newer { .. } => "update anyhook",
            Self::Migration { .. } => "start the version that wrote it, or move the folder away",
            Self::Io { source, .. } if is_full(source) => "free up disk space",
            Self::Io { .. } => "check the folder's permissions and the disk",
            Self::NotJson(_) => "this is a bug in anyhook: please report it",
            Self::Poisoned { .. } => "run `anyhook daemon stop`, then `anyhook daemon start`",
        }
    }

    /// Returns whether the disk is full, so that the same operation may succeed once there is room.
    pub fn is_disk_full(&self) -> bool {
        matches!(self, Self::Io { source, .. } if is_full(source))
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::WriteZero
    )
}

/// Converts an error of the system: `.map_err(cannot("read", path))`.
pub(super) fn cannot(doing: &'static str, file: &Path) -> impl FnOnce(io::Error) -> StoreError {
    move |source| StoreError::Io { file: file.to_owned(), doing, source }
}
