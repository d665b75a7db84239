//! Files that tell other processes about the daemon without asking it: whether it is running,
//! whether it has work, and when it was down.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use anyhook_engine::atomic_file::AtomicFile;
use anyhook_model::daemon::{DownCause, Downtime, StartedBy};
use anyhook_socket::DaemonFolder;
use anyhook_socket::presence::{DaemonRecord, PRESENCE_VERSION, UnfinishedWork};
use jiff::Timestamp;
use serde::Serialize;

/// The interval of heartbeats: the time of death of a killed daemon is known to this precision.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// Maintains the daemon's presence files.
#[derive(Debug)]
pub struct Presence {
    folder: DaemonFolder,
    life: DaemonRecord,
    variables: BTreeMap<String, String>,
    /// Whether the file says that there is work; `None` if not known.
    has_work: Option<bool>,
    beat: Instant,
}

/// How the previous daemon ended, as far as its files show.
#[derive(Clone, Copy, Debug)]
pub struct PreviousRun {
    ended: Option<(Timestamp, DownCause)>,
}

impl PreviousRun {
    /// Reads the files of the previous daemon. Must be called before the store is opened, which
    /// changes them.
    pub fn look(folder: &DaemonFolder) -> Self {
        let ended = folder.read_life().map(|(life, seen)| match life.ended {
            Some(ended) if folder.is_stopped() => (ended, DownCause::Stopped),
            Some(ended) => (ended, DownCause::Ended),
            None => (seen, DownCause::Killed),
        });
        Self { ended }
    }
}

impl Presence {
    /// Records that a daemon starts, with the variables needed to restart it.
    pub fn begin(
        folder: DaemonFolder,
        before: PreviousRun,
        by: StartedBy,
        variables: BTreeMap<String, String>,
    ) -> Self {
        let now = anyhook_engine::now();
        let down =
            before.ended.map(|(from, cause)| Downtime { from: from.min(now), to: now, cause });
        let life = DaemonRecord {
            v: PRESENCE_VERSION,
            pid: std::process::id(),
            since: now,
            ended: None,
            down,
            started_by: by,
        };
        let presence = Self { folder, life, variables, has_work: None, beat: Instant::now() };
        presence.write_life();
        // Starting it means that it should be running.
        let _ = fs::remove_file(presence.folder.stopped());
        presence
    }

    /// Returns who started it.
    pub fn started_by(&self) -> StartedBy {
        self.life.started_by
    }

    /// Returns the time before this daemon during which none was running.
    pub fn down(&self) -> Option<&Downtime> {
        self.life.down.as_ref()
    }

    /// Records that it is alive, and whether it has work.
    pub fn tell(&mut self, has_work: bool) {
        if self.has_work != Some(has_work) {
            let told = if has_work { self.write_under_way() } else { self.remove_under_way() };
            match told {
                Ok(()) => self.has_work = Some(has_work),
                Err(error) => tracing::warn!("`{}`: {error}", self.folder.under_way().display()),
            }
        }
        if self.beat.elapsed() >= HEARTBEAT {
            self.beat = Instant::now();
            let file = File::options().append(true).open(self.folder.life());
            // If the file was deleted, it is written again.
            if file.and_then(|file| file.set_modified(SystemTime::now())).is_err() {
                self.write_life();
            }
        }
    }

    /// Records a clean shutdown.
    pub fn end(&mut self) {
        self.life.ended = Some(anyhook_engine::now());
        self.write_life();
    }

    fn write_life(&self) {
        if let Err(error) = write_json(&self.folder.life(), &self.life) {
            tracing::warn!("`{}`: {error}", self.folder.life().display());
        }
    }

    fn write_under_way(&self) -> io::Result<()> {
        let under_way = UnfinishedWork { v: PRESENCE_VERSION, variables: self.variables.clone() };
        write_json(&self.folder.under_way(), &under_way)
    }

    fn remove_under_way(&self) -> io::Result<()> {
        match fs::remove_file(self.folder.under_way()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// Atomically replaces a file that only the current user can read.
fn write_json(path: &Path, value: &impl Serialize) -> io::Result<()> {
    AtomicFile::new(path).replace(&serde_json::to_vec(value)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(folder: &DaemonFolder, by: StartedBy) -> Presence {
        let variables = BTreeMap::from([("HOME".to_owned(), "/h".to_owned())]);
        Presence::begin(folder.clone(), PreviousRun::look(folder), by, variables)
    }

    #[test]
    fn how_the_one_before_ended_is_known() {
        let state = tempfile::tempdir().unwrap();
        let folder = DaemonFolder::in_state_dir(state.path());
        folder.make().unwrap();
        let first = begin(&folder, StartedBy::Command);
        assert_eq!(first.down(), None, "there was none before");
        // As if killed: `end` was not called.
        let mut second = begin(&folder, StartedBy::Hook);
        let down = second.down().unwrap();
        assert_eq!(down.cause, DownCause::Killed);
        assert!(down.from <= down.to);
        assert_eq!(second.started_by(), StartedBy::Hook);
        second.end();
        let mut third = begin(&folder, StartedBy::Service);
        assert_eq!(third.down().unwrap().cause, DownCause::Ended);
        third.end();
        folder.keep_stopped().unwrap();
        let fourth = begin(&folder, StartedBy::Command);
        assert_eq!(fourth.down().unwrap().cause, DownCause::Stopped);
        assert!(!folder.is_stopped(), "to start it is to want it running");
    }

    #[test]
    fn that_there_is_work_is_told_while_there_is() {
        let state = tempfile::tempdir().unwrap();
        let folder = DaemonFolder::in_state_dir(state.path());
        folder.make().unwrap();
        let mut presence = begin(&folder, StartedBy::Command);
        presence.tell(false);
        assert!(!folder.has_work());
        presence.tell(true);
        assert!(folder.has_work());
        assert_eq!(folder.read_under_way().unwrap().variables["HOME"], "/h");
        presence.tell(false);
        assert!(!folder.has_work());
        // A killed daemon has left the file, and the next one determines its own state.
        presence.tell(true);
        begin(&folder, StartedBy::Command).tell(false);
        assert!(!folder.has_work());
    }
}
