//! Ends a session, and keeps its last screen.

use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, io};

use anyhook_engine::atomic_file::AtomicFile;
use anyhook_engine::wait::try_poll_until;
use rustix::process::Signal;

use super::{Session, SessionError};
use crate::task::{self, TaskStatus};

/// A supervisor takes up to ten seconds to end processes that do not exit on request.
const LIMIT: Duration = Duration::from_secs(12);
/// A supervisor that is killed is gone after this time, or waits for the disk.
const INSIST: Duration = Duration::from_secs(2);
/// The polling interval.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Ends a task with all processes it has started, and waits until its supervisor is gone.
pub(super) fn end_task(folder: &Path) -> Result<(), SessionError> {
    task::stop(folder)?;
    let insist_from = Instant::now() + LIMIT;
    try_poll_until(insist_from + INSIST, LOOK_EVERY, || {
        let TaskStatus::Running(supervisor) = task::status(folder)? else { return Ok(Some(())) };
        if Instant::now() >= insist_from {
            // The supervisor does not work any more: when it is killed, its terminal is closed,
            // which ends the foreground processes.
            task::signal(&supervisor, Signal::KILL);
        }
        Ok::<_, SessionError>(None)
    })?;
    // Not all processes exit when their terminal is closed.
    task::end_leftovers(folder)?;
    Ok(())
}

/// Saves the last screen.
pub(super) fn keep_screen(folder: &Path, text: &str) -> Result<(), SessionError> {
    let path = folder.join("screen");
    let written = AtomicFile::new(&path).replace(text.as_bytes());
    written.map_err(|error| SessionError::File { path, error })
}

/// Returns the last screen of a session that is over.
pub(super) fn kept_screen(session: &Session) -> Result<String, SessionError> {
    let path = session.folder.join("screen");
    match fs::read(&path) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(SessionError::NotThere(session.name.clone()))
        }
        Err(error) => Err(SessionError::File { path, error }),
    }
}

/// Returns a text without trailing whitespace on its lines, and without empty lines at its end.
pub(super) fn trimmed(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    while lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    lines.iter().flat_map(|line| [*line, "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_empty_at_the_end_is_left_out() {
        assert_eq!(trimmed("a  \n\n b\n   \n\n"), "a\n\n b\n");
        assert_eq!(trimmed("\n \n"), "");
    }

    #[test]
    fn what_was_seen_last_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let session = Session {
            folder: folder.path().to_owned(),
            name: "x".to_owned(),
            binary: "anyhook".into(),
            runtime: folder.path().to_owned(),
        };
        assert!(matches!(kept_screen(&session), Err(SessionError::NotThere(_))));
        for text in ["one", "two", "two\n", ""] {
            keep_screen(&session.folder, text).unwrap();
            assert_eq!(kept_screen(&session).unwrap(), text);
        }
    }
}
