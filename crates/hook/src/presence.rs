//! Restarts a daemon that was killed while agents or pipelines were running.
//!
//! Hook processes and supervisors outlive the daemon, so they can notice that it is gone. A daemon
//! that a person stopped stays stopped.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use anyhook_engine::Places;
use anyhook_engine::regular_file::open_own;
use anyhook_engine::run::detached;
use anyhook_model::daemon::StartedBy;
use anyhook_socket::DaemonFolder;
use rustix::fs::OFlags;

use crate::daemon_start::restart_in_background;

/// A daemon that keeps crashing is not started more often than this by hook events.
const PAUSE: Duration = Duration::from_secs(1);

/// Starts the daemon in the background, if it has work and is not running. Does not wait for it.
///
/// If nothing is running this is one system call. Errors are not reported: the caller has something
/// else to do, and the next event tries again.
pub fn revive(places: &Places, anyhook: fn() -> Option<PathBuf>, by: StartedBy) {
    let Some(folder) = places.state.as_deref().map(DaemonFolder::in_state_dir) else { return };
    if folder.has_work() && !folder.is_held() && !folder.is_stopped() {
        start(&folder, places, anyhook, by);
    }
}

fn start(folder: &DaemonFolder, places: &Places, anyhook: fn() -> Option<PathBuf>, by: StartedBy) {
    // The process that has the turn starts it.
    let Some(turn) = folder.take_turn_to_start() else { return };
    let attempt = folder.revived();
    let tried = attempt.metadata().and_then(|metadata| metadata.modified()).ok();
    let was_just_tried =
        tried.is_some_and(|tried| tried.elapsed().is_ok_and(|elapsed| elapsed < PAUSE));
    if folder.is_held() || (by == StartedBy::Hook && was_just_tried) {
        return;
    }
    let flags = OFlags::WRONLY | OFlags::CREATE;
    let _ = open_own(&attempt, flags).and_then(|file| file.set_modified(SystemTime::now()));
    let started = restart_in_background(anyhook().as_deref(), folder, places, by, turn);
    let _ = started.map(detached::remember_detached);
}
