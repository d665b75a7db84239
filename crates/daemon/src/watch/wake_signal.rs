//! What wakes the watching thread: changes, and the end.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// If more paths than so many changed, all are looked at.
const MAX_PATHS: usize = 10_000;

/// Rung by whoever notices a change; heard by the watching thread alone.
#[derive(Debug, Default)]
pub(super) struct WakeSignal {
    rung: Mutex<WakeCause>,
    woken: Condvar,
}

/// What happened since the thread last listened.
#[derive(Debug, Default)]
pub(super) struct WakeCause {
    /// Paths where something changed.
    pub paths: BTreeSet<PathBuf>,
    /// Whether all folders are to be looked through.
    pub look_again: bool,
    is_over: bool,
}

impl WakeSignal {
    /// Tells that something changed at a path.
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

    /// Tells that changes may have been missed.
    pub fn look_again(&self) {
        self.lock().look_again = true;
        self.woken.notify_all();
    }

    /// Ends the watching.
    pub fn stop(&self) {
        self.lock().is_over = true;
        self.woken.notify_all();
    }

    /// Takes what happened; none if it is over.
    pub fn take(&self) -> Option<WakeCause> {
        let rung = std::mem::take(&mut *self.lock());
        if rung.is_over {
            self.lock().is_over = true;
            return None;
        }
        Some(rung)
    }

    /// Waits until something happens or it is time.
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

    /// Waits a while, whatever changes; tells whether it is over.
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
