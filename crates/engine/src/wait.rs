//! Polling, for conditions that no event reports.
//!
//! The last check begins after the limit: however busy the machine is, what was there in time is
//! found.

use std::convert::Infallible;
use std::thread;
use std::time::{Duration, Instant};

/// Polls until there is a value; `None` if there is none by the limit.
pub fn poll_until<T>(
    limit: Instant,
    every: Duration,
    mut look: impl FnMut() -> Option<T>,
) -> Option<T> {
    let Ok(found) = try_poll_until(limit, every, || Ok::<_, Infallible>(look()));
    found
}

/// Polls until there is a value or a check fails; `None` if there is none by the limit.
pub fn try_poll_until<T, E>(
    limit: Instant,
    every: Duration,
    mut look: impl FnMut() -> Result<Option<T>, E>,
) -> Result<Option<T>, E> {
    try_poll(every, || {
        let is_last = Instant::now() >= limit;
        let found = look()?;
        Ok(if is_last || found.is_some() { Some(found) } else { None })
    })
}

/// Polls until there is a value or a check fails, however long that takes.
pub fn try_poll<T, E>(
    every: Duration,
    mut look: impl FnMut() -> Result<Option<T>, E>,
) -> Result<T, E> {
    loop {
        if let Some(found) = look()? {
            return Ok(found);
        }
        thread::sleep(every);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_millis(1);

    #[test]
    fn it_is_looked_until_there_is_something() {
        let mut looks = 0;
        let found = poll_until(Instant::now() + Duration::from_secs(60), PAUSE, || {
            looks += 1;
            (looks == 3).then_some("it")
        });
        assert_eq!((found, looks), (Some("it"), 3));
    }

    #[test]
    fn after_the_limit_it_is_looked_once_more() {
        let limit = Instant::now() + 3 * PAUSE;
        let mut last = None;
        let found = poll_until(limit, PAUSE, || {
            last = Some(Instant::now());
            None::<()>
        });
        assert_eq!(found, None);
        assert!(last.is_some_and(|last| last >= limit));
        assert_eq!(poll_until(Instant::now(), PAUSE, || Some(1)), Some(1));
    }

    #[test]
    fn a_look_that_fails_is_the_last() {
        let mut looks = 0;
        let failed: Result<(), &str> = try_poll(PAUSE, || {
            looks += 1;
            if looks < 2 { Ok(None) } else { Err("gone") }
        });
        assert_eq!((failed, looks), (Err("gone"), 2));
    }
}
