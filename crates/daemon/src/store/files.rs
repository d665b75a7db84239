//! The files of the store's folder: names, the lock, atomic creation, quarantine of damaged files.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhook_engine::atomic_file::Unfinished;
use anyhook_engine::file_lock::lock_within;
use jiff::Timestamp;

use super::StoreError;
use super::error::cannot;

/// The process that has locked this file owns the store.
const LOCK: &str = "lock";
/// How long to wait for the lock: a child process that is just being started briefly holds what its
/// parent held.
const LOCK_PATIENCE: Duration = Duration::from_millis(500);
const LOCK_PAUSE: Duration = Duration::from_millis(10);
/// The suffix of a file that is not complete yet.
const UNFINISHED: &str = ".new";
const DAMAGED: &str = "damaged-";

/// The content of the folder, each list in order of sequence.
#[derive(Clone, Debug, Default)]
pub(super) struct Listing {
    /// The first sequence number of each segment.
    pub segments: Vec<u64>,
    /// The last sequence number that each snapshot covers.
    pub snapshots: Vec<u64>,
    /// Files that were not completed.
    pub unfinished: Vec<PathBuf>,
}

/// Returns the name of the segment that begins with a sequence number.
pub(super) fn segment_name(first: u64) -> String {
    format!("log-{first:016}.jsonl")
}

/// Returns the name of the snapshot that covers everything up to a sequence number.
pub(super) fn snapshot_name(through: u64) -> String {
    format!("snapshot-{through:016}.json")
}

/// Parses the number in a name, which must be exactly what `name_of` returns for it.
fn number(name: &str, name_of: impl Fn(u64) -> String) -> Option<u64> {
    let digits = name.split(['-', '.']).nth(1)?;
    digits.parse().ok().filter(|number| name_of(*number) == name && digits.len() == 16)
}

/// Lists the folder.
pub(super) fn list(folder: &Path) -> Result<Listing, StoreError> {
    let mut listing = Listing::default();
    for entry in fs::read_dir(folder).map_err(cannot("read", folder))? {
        let name = entry.map_err(cannot("read", folder))?.file_name();
        let Some(name) = name.to_str() else { continue };
        if let Some(first) = number(name, segment_name).filter(|first| *first > 0) {
            listing.segments.push(first);
        } else if let Some(through) = number(name, snapshot_name) {
            listing.snapshots.push(through);
        } else if name.ends_with(UNFINISHED) {
            listing.unfinished.push(folder.join(name));
        }
    }
    listing.segments.sort_unstable();
    listing.snapshots.sort_unstable();
    Ok(listing)
}

/// Creates the folder, accessible only to the current user.
pub(super) fn make_folder(folder: &Path) -> Result<(), StoreError> {
    if !folder.exists() {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(cannot("made", folder))?;
        if let Some(above) = folder.parent().filter(|above| !above.as_os_str().is_empty()) {
            sync_folder(above)?;
        }
    }
    let closed = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    closed.map_err(cannot("closed to others", folder))
}

/// Locks the store for this process, until the file is dropped.
pub(super) fn lock(folder: &Path) -> Result<File, StoreError> {
    let path = folder.join(LOCK);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let mut file = options.open(&path).map_err(cannot("opened", &path))?;
    match lock_within(LOCK_PATIENCE, LOCK_PAUSE, || file.try_lock()) {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut pid = String::new();
            // It may be about to write its process id: then it is not known.
            let _ = file.read_to_string(&mut pid);
            return Err(StoreError::Locked {
                folder: folder.to_owned(),
                pid: pid.trim().parse().ok(),
            });
        }
        Err(TryLockError::Error(error)) => return Err(cannot("locked", &path)(error)),
    }
    // The process id is only for people: a full disk must not keep the store closed.
    let _ = file.set_len(0);
    let _ = file.write_all(format!("{}\n", std::process::id()).as_bytes());
    Ok(file)
}

/// Makes the names in a folder durable.
pub(super) fn sync_folder(folder: &Path) -> Result<(), StoreError> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(cannot("synced", folder))
}

/// Creates a file that only the current user can read, under the name it has until it is complete:
/// recovery recognizes leftovers by that name and removes them.
pub(super) fn begin(path: &Path, text: &[u8]) -> Result<Unfinished, StoreError> {
    let mut name = path.as_os_str().to_owned();
    name.push(UNFINISHED);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(true).mode(0o600);
    let begun = Unfinished::open(PathBuf::from(name), &options).and_then(|mut unfinished| {
        unfinished.file.write_all(text)?;
        Ok(unfinished)
    });
    begun.map_err(cannot("written", path))
}

/// Removes a file; it is fine if it is already gone.
pub(super) fn remove(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(cannot("removed", path)(error))
        }
        _ => Ok(()),
    }
}

/// Renames a damaged file. Returns its new name.
pub(super) fn move_aside(path: &Path) -> Result<String, StoreError> {
    let (name, aside) = aside(path);
    fs::rename(path, aside).map_err(cannot("moved aside", path))?;
    Ok(name)
}

/// Saves a copy of the bytes that are about to be cut off a file. Returns its name.
pub(super) fn keep_aside(path: &Path, bytes: &[u8]) -> Result<String, StoreError> {
    let (name, aside) = aside(path);
    let unfinished = begin(&aside, bytes)?;
    unfinished.file.sync_all().map_err(cannot("synced", &aside))?;
    unfinished.put(&aside).map_err(cannot("renamed", &aside))?;
    if let Some(folder) = path.parent() {
        sync_folder(folder)?;
    }
    Ok(name)
}

/// Returns a free name for damaged data.
fn aside(path: &Path) -> (String, PathBuf) {
    let time = Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
    let of = path.file_name().unwrap_or_default().to_string_lossy();
    let mut name = format!("{DAMAGED}{time}-{of}");
    let mut count = 1;
    while path.with_file_name(&name).exists() {
        count += 1;
        name = format!("{DAMAGED}{time}-{count}-{of}");
    }
    let aside = path.with_file_name(&name);
    (name, aside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_names_are_listed() {
        let scratch = tempfile::tempdir().unwrap();
        for name in [
            &segment_name(12),
            &segment_name(3),
            &snapshot_name(2),
            "log-0000000000000012.jsonl.new",
            "log-x.jsonl",
            "log-.jsonl",
            "log-12.jsonl",
            "log-0000000000000000.jsonl",
            "log-18446744073709551615.jsonl",
            "damaged-20260101T000000Z-log-0000000000000012.jsonl",
            "lock",
        ] {
            fs::write(scratch.path().join(name), "").unwrap();
        }
        let listing = list(scratch.path()).unwrap();
        assert_eq!(listing.segments, [3, 12]);
        assert_eq!(listing.snapshots, [2]);
        assert_eq!(listing.unfinished.len(), 1);
    }

    #[test]
    fn nothing_that_was_moved_aside_is_written_over() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("log");
        let mut names = Vec::new();
        for text in ["a", "b", "c"] {
            fs::write(&path, text).unwrap();
            names.push(move_aside(&path).unwrap());
        }
        names.push(keep_aside(&path, b"d").unwrap());
        let texts: Vec<String> = names
            .iter()
            .map(|name| fs::read_to_string(scratch.path().join(name)).unwrap())
            .collect();
        assert_eq!(texts, ["a", "b", "c", "d"]);
    }
}
