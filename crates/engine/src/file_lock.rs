//! File locks, acquired with a timeout.

use std::fs::TryLockError;
use std::thread;
use std::time::{Duration, Instant};

use crate::wait::poll_until;

/// Acquires a lock with `try_lock`, which is exclusive or shared. While another process holds it,
/// retries at the interval `every`, for at most `patience`.
pub fn lock_within(
    patience: Duration,
    every: Duration,
    mut try_lock: impl FnMut() -> Result<(), TryLockError>,
) -> Result<(), TryLockError> {
    let mut settled = || match try_lock() {
        Err(TryLockError::WouldBlock) => None,
        tried => Some(tried),
    };
    // Most locks are free: these cost no clock read.
    if let Some(tried) = settled() {
        return tried;
    }
    let limit = Instant::now() + patience;
    thread::sleep(every);
    poll_until(limit, every, settled).unwrap_or(Err(TryLockError::WouldBlock))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_millis(1);

    #[test]
    fn a_lock_is_waited_for_as_long_as_patience_lasts() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let (one, other) = (file.reopen().unwrap(), file.reopen().unwrap());
        one.lock().unwrap();
        let refused = lock_within(5 * PAUSE, PAUSE, || other.try_lock());
        assert!(matches!(refused, Err(TryLockError::WouldBlock)), "{refused:?}");
        let (mut held, mut tries) = (Some(one), 0);
        let locked = lock_within(Duration::from_secs(60), PAUSE, || {
            tries += 1;
            if tries == 3 {
                held.take();
            }
            other.try_lock()
        });
        assert!(locked.is_ok(), "{locked:?}");
        assert_eq!(tries, 3);
    }
}
