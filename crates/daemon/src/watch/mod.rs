//! Watches the logs that agents write for themselves: the third source of their state, after their
//! hooks and their notifications.
//!
//! One thread handles all logs of all hosts. The system notifies it of changes, and it also polls:
//! rarely where the system notifies, often where it cannot. Files are opened for a read and closed
//! again; at most a mebibyte of one file is read before the others get their turn. Every report of
//! a log comes with the position after it: a receiver that stores the two together misses nothing
//! after a restart and gets nothing twice.

mod agent_homes;
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

use anyhook_flow::ran_calls::RanCall;
use anyhook_model::BusEvent;

use follower::Follower;
use wake_signal::WakeSignal;

pub use locations::WatchPlaces;
pub use position::{LogPosition, LogPositions};

/// What a line of a log says.
#[derive(Clone, Debug, PartialEq)]
pub struct LogUpdate {
    /// What the agent does, if the line says so.
    pub report: Option<BusEvent>,
    /// The calls that it has executed, if the line says so.
    pub calls: Vec<RanCall>,
    /// The position after it.
    pub position: LogPosition,
}

/// How logs are watched.
#[derive(Clone, Debug)]
pub struct WatchOptions {
    /// Whether to use the system's change notifications.
    pub is_told: bool,
    /// The polling interval where the system notifies of changes.
    pub seldom: Duration,
    /// The polling interval where it does not.
    pub often: Duration,
    /// How long a log must not report anything else until an uncertain observation is reported.
    pub quiet: Duration,
    /// The shortest interval between two reads of a database.
    pub pause: Duration,
    /// Whether running agents are asked where they keep their logs.
    pub finds_homes: bool,
}

impl Default for WatchOptions {
    fn default() -> Self {
        Self {
            is_told: true,
            seldom: Duration::from_secs(30),
            often: Duration::from_secs(1),
            quiet: Duration::from_secs(5),
            pause: Duration::from_millis(200),
            finds_homes: true,
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
    /// Starts to watch logs, from the stored positions.
    pub fn start(
        places: WatchPlaces,
        positions: LogPositions,
        out: SyncSender<LogUpdate>,
    ) -> io::Result<Self> {
        Self::start_with(places, positions, out, WatchOptions::default())
    }

    /// Like [`Self::start`], with other options than the default.
    ///
    /// If `out` is full, reports wait, and with them all reading.
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
