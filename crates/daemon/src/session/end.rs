//! How a session ends, and what is left of it.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, thread};

use anyhook_engine::atomic_file::AtomicFile;
use rustix::process::Signal;

use super::{Place, SessionError};
use crate::task::{self, Stand, TaskError};

/// A keeper takes up to ten seconds to end what does not want to.
const LIMIT: Duration = Duration::from_secs(12);
/// One that is killed is gone after this, or waits for the disk.
const INSIST: Duration = Duration::from_secs(2);
/// How often we look.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Has a task end with all it has started, and waits until its keeper is gone.
pub(super) fn end_task(folder: &Path) -> Result<(), SessionError> {
    task::stop(folder)?;
    let until = Instant::now() + LIMIT;
    while let Stand::Running(keeper) = task::stand(folder)? {
        let late = Instant::now().saturating_duration_since(until);
        if late > INSIST {
            break;
        }
        if !late.is_zero() {
            // It is not itself any more: its terminal goes, and with it what is in front.
            task::signal(&keeper, Signal::KILL);
        }
        thread::sleep(LOOK_EVERY);
    }
    // Not all heed that their terminal is gone.
    task::end_leftovers(folder)?;
    Ok(())
}

/// Waits until a keeper has the task. `is_there` tells whether it still may come.
pub(super) fn wait_for_keeper(
    place: &Place,
    mut is_there: impl FnMut() -> Result<bool, SessionError>,
) -> Result<(), SessionError> {
    let not_started =
        |why: &str| SessionError::NotStarted { name: place.name.clone(), why: why.to_owned() };
    let until = Instant::now() + LIMIT;
    loop {
        let is_there = is_there()?;
        if task::is_begun(&place.folder) {
            return Ok(());
        }
        if !is_there {
            // What the keeper would have said is gone with its terminal.
            let why = task::read(&place.folder).err().map(|error: TaskError| error.to_string());
            return Err(not_started(why.as_deref().unwrap_or("its keeper ended")));
        }
        if Instant::now() > until {
            return Err(not_started("its keeper does not answer"));
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// Keeps what was seen last. What is kept already is not written again: somebody looks all the
/// time, also while nothing happens.
pub(super) fn keep_screen(folder: &Path, text: &str) -> Result<(), SessionError> {
    let path = folder.join("screen");
    let has_length = fs::metadata(&path).is_ok_and(|kept| kept.len() == text.len() as u64);
    if has_length && fs::read(&path).is_ok_and(|kept| kept == text.as_bytes()) {
        return Ok(());
    }
    let written = AtomicFile::new(&path).replace(text.as_bytes());
    written.map_err(|error| SessionError::File { path, error })
}

/// Returns what was seen last of a session that is over.
pub(super) fn kept_screen(place: &Place) -> Result<String, SessionError> {
    let path = place.folder.join("screen");
    match fs::read(&path) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(SessionError::NotThere(place.name.clone()))
        }
        Err(error) => Err(SessionError::File { path, error }),
    }
}

/// Returns a text without blanks at the ends of its lines, and without empty lines at its end.
pub(super) fn trimmed(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    while lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    lines.iter().flat_map(|line| [*line, "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn what_is_empty_at_the_end_is_left_out() {
        assert_eq!(trimmed("a  \n\n b\n   \n\n"), "a\n\n b\n");
        assert_eq!(trimmed("\n \n"), "");
    }

    #[test]
    fn what_was_seen_last_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place {
            folder: folder.path().to_owned(),
            name: "x".to_owned(),
            binary: "anyhook".into(),
            runtime: folder.path().to_owned(),
        };
        assert!(matches!(kept_screen(&place), Err(SessionError::NotThere(_))));
        let file = || fs::metadata(folder.path().join("screen")).unwrap().ino();
        let mut files = Vec::new();
        for text in ["one", "two", "two", "two\n", "", ""] {
            keep_screen(&place.folder, text).unwrap();
            assert_eq!(kept_screen(&place).unwrap(), text);
            files.push(file());
        }
        assert_ne!(files[0], files[1]);
        assert_eq!(files[1], files[2], "what is the same is not written again");
        assert_ne!(files[2], files[3]);
        assert_eq!(files[4], files[5]);
    }
}
