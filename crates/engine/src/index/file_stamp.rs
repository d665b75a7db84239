//! File stamps: detect whether a file or folder is still what it was.
//!
//! Every event asks the system (`stat`). There is no inotify and no daemon behind it, so an edit
//! also takes effect at the next event on network disks and in containers.
//!
//! The system changes a file's times, size or number whenever its content, permissions or location
//! change, and a folder's whenever something in it is added, removed or renamed. All of these
//! together are the file's mark.
//!
//! Times are coarse: two changes within one clock tick look alike. So a mark counts only if the
//! last change was a while before it was taken ([`FileStamp::is_settled`]).

use std::ffi::CStr;
use std::os::fd::BorrowedFd;
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, CWD, Stat, fstat, statat};
use rustix::io::Errno;

use super::encoding::checksum;

/// The mark of something that does not exist.
pub const ABSENT: u64 = 0;

/// The clock that sets file times has ticks shorter than this.
const TICK: Duration = Duration::from_millis(50);
/// The same on a disk that stores whole seconds, or every second one.
const COARSE_TICK: Duration = Duration::from_millis(2_100);

/// How much of a file is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchExtent {
    /// Everything: content, permissions, owner, location.
    Whole,
    /// Only that it is the same object: a folder in which entries come and go.
    Identity,
}

/// The observed state of a file or folder.
#[derive(Clone, Copy, Debug)]
pub struct FileStamp(Option<Stat>);

impl FileStamp {
    /// Checks a path relative to a folder, following links. An error if its state cannot be
    /// determined.
    pub fn at(folder: Option<BorrowedFd<'_>>, path: &CStr) -> Result<Self, Errno> {
        match statat(folder.unwrap_or(CWD), path, AtFlags::empty()) {
            Ok(stat) => Ok(Self(Some(stat))),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(Self(None)),
            Err(error) => Err(error),
        }
    }

    /// Checks an open folder.
    pub fn of(folder: BorrowedFd<'_>) -> Result<Self, Errno> {
        fstat(folder).map(|stat| Self(Some(stat)))
    }

    /// Returns whether it exists.
    pub fn is_there(&self) -> bool {
        self.0.is_some()
    }

    /// Returns the mark.
    pub fn mark(&self, extent: WatchExtent) -> u64 {
        let Some(stat) = &self.0 else { return ABSENT };
        let mut seen = [0; 10];
        seen[..2].copy_from_slice(&[stat.st_dev.into(), stat.st_ino.into()]);
        if extent == WatchExtent::Whole {
            seen[2..].copy_from_slice(&[
                stat.st_mode.into(),
                stat.st_uid.into(),
                stat.st_gid.into(),
                stat.st_size.into(),
                stat.st_mtime.into(),
                stat.st_mtime_nsec.into(),
                stat.st_ctime.into(),
                stat.st_ctime_nsec.into(),
            ]);
        }
        // Systems disagree about which of them are signed, and how long; none is longer than this.
        let bytes: [[u8; 8]; 10] =
            seen.map(|number: i128| *number.to_le_bytes().first_chunk().unwrap_or(&[0; 8]));
        checksum(bytes.as_flattened()).max(ABSENT + 1)
    }

    /// Returns whether its last change was long enough before a time for the next change to be
    /// detected.
    pub fn is_settled(&self, before: SystemTime) -> bool {
        let Some(stat) = &self.0 else { return true };
        let nanoseconds = |seconds: i128, rest: i128| seconds * 1_000_000_000 + rest;
        let changed = nanoseconds(stat.st_ctime.into(), stat.st_ctime_nsec.into());
        let since_epoch = before.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let is_coarse = stat.st_ctime_nsec == 0;
        let tick = if is_coarse { COARSE_TICK } else { TICK };
        let limit = since_epoch.saturating_sub(tick).as_nanos();
        i128::try_from(limit).is_ok_and(|limit| changed < limit)
    }
}
