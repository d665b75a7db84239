//! Whether a file or folder is still what it was.
//!
//! Every event asks the system (`stat`). There is no inotify and no daemon behind it, so an edit
//! counts at the next event on network disks and in containers, too.
//!
//! The system changes a file's times, size or number whenever its content, its rights or its place
//! changes, and a folder's whenever something in it comes, goes or is renamed. All of it together is
//! the file's mark.
//!
//! Times are coarse: two changes within one tick of the clock look alike. So a mark counts only if
//! the last change was a while before it was taken ([`FileStamp::is_settled`]).

use std::ffi::CStr;
use std::os::fd::BorrowedFd;
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, CWD, Stat, fstat, statat};
use rustix::io::Errno;

use super::encoding::checksum;

/// The mark of what is not there.
pub const ABSENT: u64 = 0;

/// Ticks of the clock by which files get their times are shorter than this.
const TICK: Duration = Duration::from_millis(50);
/// On a disk that keeps whole seconds, or every second one.
const COARSE_TICK: Duration = Duration::from_millis(2_100);

/// What about it is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchExtent {
    /// Everything: content, rights, owner, place.
    Whole,
    /// Only that it is the same thing: a folder in which others come and go.
    Identity,
}

/// What was seen of a file or folder.
#[derive(Clone, Copy, Debug)]
pub struct FileStamp(Option<Stat>);

impl FileStamp {
    /// Looks at a path from a folder, through links. An error if it cannot be told.
    pub fn at(folder: Option<BorrowedFd<'_>>, path: &CStr) -> Result<Self, Errno> {
        match statat(folder.unwrap_or(CWD), path, AtFlags::empty()) {
            Ok(stat) => Ok(Self(Some(stat))),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(Self(None)),
            Err(error) => Err(error),
        }
    }

    /// Looks at a folder that is open.
    pub fn of(folder: BorrowedFd<'_>) -> Result<Self, Errno> {
        fstat(folder).map(|stat| Self(Some(stat)))
    }

    /// Tells whether it is there.
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

    /// Tells whether its last change was long enough before a time for the next one to be seen.
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
