//! Wakes the watching thread: on changes, and to stop it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// If more paths than this changed, all are checked.
const MAX_PATHS: usize = 10_000;

/// Set by anything that notices a change; only the watching thread waits for it.
#[derive(Debug, Default)]
pub(super) struct WakeSignal {
    rung: Mutex<WakeCause>,
    woken: Condvar,
}

/// What happened since the thread last checked.
#[derive(Debug, Default)]
pub(super) struct WakeCause {
    /// Paths where something changed.
    pub paths: BTreeSet<PathBuf>,
    /// Whether all folders must be searched.
    pub look_again: bool,
    is_over: bool,
}

impl WakeSignal {
    /// Records that something changed at a path.
    pub fn ring(&self, path: PathBuf) {
        let mut rung = self.lock();
        if rung.paths.len() >= MAX_PATHS {
            rung.paths.clear();
            rung.look_again = true;
        } else {
            rung.paths.insert(path);
        }
        self.woken.notify_all();
    }

    /// Records that changes may have been missed.
    pub fn look_again(&self) {
        self.lock().look_again = true;
        self.woken.notify_all();
    }

    /// Stops the watching thread.
    pub fn stop(&self) {
        self.lock().is_over = true;
        self.woken.notify_all();
    }

    /// Takes what happened; `None` if it was stopped.
    pub fn take(&self) -> Option<WakeCause> {
        let rung = std::mem::take(&mut *self.lock());
        if rung.is_over {
            self.lock().is_over = true;
            return None;
        }
        Some(rung)
    }

    /// Waits until something happens or the time is reached.
    pub fn wait_until(&self, time: Instant) {
        let mut rung = self.lock();
        while !rung.is_over && !rung.look_again && rung.paths.is_empty() {
            let left = time.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            rung = self.woken.wait_timeout(rung, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits for a duration, whatever changes; returns whether it was stopped.
    pub fn is_over_after(&self, while_: Duration) -> bool {
        let end = Instant::now() + while_;
        let mut rung = self.lock();
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if rung.is_over || left.is_zero() {
                return rung.is_over;
            }
            rung = self.woken.wait_timeout(rung, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, WakeCause> {
        self.rung.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
