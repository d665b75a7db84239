//! What guards remember between events: one small JSON file for each project and guard, below
//! `guards/` in the state folder.
//!
//! A file is read, changed and written under a lock, so that counts are exact however many processes
//! count at once. Readers never see half a file. A file that cannot be read as JSON counts as new.
//! When a file is made, those of projects that were not worked in for two months are removed.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhook_engine::atomic_file::{AtomicFile, create_private_dir};
use anyhook_engine::file_lock::lock_within;
use anyhook_engine::regular_file::open_own;
use anyhook_engine::sha256_hex;
use anyhook_model::state_dir::StateDir;
use rustix::fs::OFlags;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Place;
use crate::options::GuardError;

/// How long another process is waited for, and how often it is looked whether it is done.
const PATIENCE: Duration = Duration::from_secs(3);
const EVERY: Duration = Duration::from_millis(1);
/// What was not changed for this long is forgotten.
const FORGET_AFTER: Duration = Duration::from_secs(60 * 24 * 60 * 60);

/// Reads what a guard remembers of a project, and writes what a function made of it.
pub fn change<T, R>(
    place: &Place,
    guard: &str,
    change: impl FnOnce(&mut T) -> R,
) -> Result<R, GuardError>
where
    T: Default + Serialize + DeserializeOwned,
{
    let path = path(place, guard)?;
    let folder = path.parent().unwrap_or(&path);
    create_private_dir(folder).map_err(|error| GuardError::at(folder, error))?;
    // A file of its own: the other one is replaced.
    let lock_path = path.with_extension("lock");
    let flags = OFlags::WRONLY | OFlags::CREATE;
    let at_lock = |error| GuardError::at(&lock_path, error);
    let lock = open_own(&lock_path, flags).map_err(at_lock)?;
    lock_within(PATIENCE, EVERY, || lock.try_lock()).map_err(|error| at_lock(error.into()))?;
    if !path.exists() {
        forget_old(folder, SystemTime::now());
    }
    let mut value = read(&path);
    let result = change(&mut value);
    let bytes = serde_json::to_vec(&value).map_err(|error| GuardError::at(&path, error.into()))?;
    AtomicFile::new(&path).replace(&bytes).map_err(|error| GuardError::at(&path, error))?;
    Ok(result)
}

fn read<T: Default + DeserializeOwned>(path: &Path) -> T {
    let bytes = fs::read(path).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

/// Removes old files with their locks; one that is being removed by others is gone all the same.
fn forget_old(folder: &Path, now: SystemTime) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_ours = path.extension().is_some_and(|extension| extension == "json");
        let changed = entry.metadata().and_then(|about| about.modified());
        let age = changed.ok().and_then(|changed| now.duration_since(changed).ok());
        if is_ours && age.is_some_and(|age| age > FORGET_AFTER) {
            let _ = fs::remove_file(&path);
            let _ = fs::remove_file(path.with_extension("lock"));
        }
    }
}

fn path(place: &Place, guard: &str) -> Result<PathBuf, GuardError> {
    let state = place.state.as_deref().ok_or(GuardError::NoState)?;
    let project = sha256_hex(place.project.as_os_str().as_encoded_bytes());
    Ok(StateDir::new(state).guards().join(format!("{guard}-{}.json", &project[..16])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_with_many_at_once() {
        let state = tempfile::tempdir().unwrap();
        let place = Place {
            project: "/p".into(),
            state: Some(state.path().to_owned()),
            ..Place::of_tests("/p")
        };
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..25 {
                        change(&place, "count", |count: &mut u64| *count += 1).unwrap();
                    }
                });
            }
        });
        assert_eq!(change(&place, "count", |count: &mut u64| *count).unwrap(), 200);
        let other = Place { project: "/q".into(), ..place };
        assert_eq!(change(&other, "count", |count: &mut u64| *count).unwrap(), 0);
        let folder = StateDir::new(state.path()).guards();
        forget_old(&folder, SystemTime::now());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 4);
        forget_old(&folder, SystemTime::now() + FORGET_AFTER + PATIENCE);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        let nowhere = Place { state: None, ..other };
        assert!(matches!(change(&nowhere, "count", |_: &mut u64| ()), Err(GuardError::NoState)));
    }
}
