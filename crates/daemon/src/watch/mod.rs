//! Follows the logs that agents write for themselves: the third source of what they do, after
//! their hooks and their notifications.
//!
//! One thread looks after all logs of all hosts. It is told of changes by the system, and looks for
//! itself now and then: seldom while the system tells, often where it cannot. Files are opened for
//! a read and closed again; of one file at most a mebibyte is read before the others get their turn.
//! What a log tells goes out with the position behind it: whoever stores the two together misses
//! nothing after a restart and hears nothing twice.

mod database;
mod event_outlet;
mod follower;
mod fs_notifier;
mod line_reader;
mod locations;
mod position;
mod tail;
#[cfg(test)]
mod tests;
mod wake_signal;

use std::io;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhook_model::BusEvent;

use follower::Follower;
use wake_signal::WakeSignal;

pub use locations::WatchPlaces;
pub use position::{LogPosition, LogPositions};

/// What a log told.
#[derive(Clone, Debug, PartialEq)]
pub struct LogUpdate {
    /// What the agent does.
    pub report: BusEvent,
    /// The position behind it.
    pub position: LogPosition,
}

/// How logs are watched.
#[derive(Clone, Debug)]
pub struct WatchOptions {
    /// Whether the system is asked to tell of changes.
    pub is_told: bool,
    /// How often to look where the system tells of changes, too.
    pub seldom: Duration,
    /// How often to look where it does not.
    pub often: Duration,
    /// How long a log must say nothing else until what is only likely counts.
    pub quiet: Duration,
    /// How long to leave a database alone after it was read.
    pub pause: Duration,
}

impl Default for WatchOptions {
    fn default() -> Self {
        Self {
            is_told: true,
            seldom: Duration::from_secs(30),
            often: Duration::from_secs(1),
            quiet: Duration::from_secs(5),
            pause: Duration::from_millis(200),
        }
    }
}

/// Watches logs until it is dropped.
#[derive(Debug)]
pub struct Watcher {
    bell: Arc<WakeSignal>,
    thread: Option<JoinHandle<()>>,
}

impl Watcher {
    /// Starts to watch logs, from where it was left before.
    pub fn start(
        places: WatchPlaces,
        positions: LogPositions,
        out: SyncSender<LogUpdate>,
    ) -> io::Result<Self> {
        Self::start_with(places, positions, out, WatchOptions::default())
    }

    /// As [`Self::start`], in another way than the usual one.
    ///
    /// What is told waits while `out` is full, and with it all reading.
    pub fn start_with(
        places: WatchPlaces,
        positions: LogPositions,
        out: SyncSender<LogUpdate>,
        options: WatchOptions,
    ) -> io::Result<Self> {
        let bell = Arc::new(WakeSignal::default());
        let mut follower = Follower::new(places, positions, out, options, Arc::clone(&bell));
        let thread =
            thread::Builder::new().name("log-watcher".to_owned()).spawn(move || follower.run())?;
        Ok(Self { bell, thread: Some(thread) })
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.bell.stop();
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}
