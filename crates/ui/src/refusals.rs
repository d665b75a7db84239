//! How many refusals are journaled: whoever is in the network can cause them.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How many are journaled in [`SPAN`].
const LIMIT: u32 = 60;
/// See [`LIMIT`].
const SPAN: Duration = Duration::from_secs(600);

/// Counts refusals.
#[derive(Debug)]
pub struct RefusalLimit(Mutex<(Instant, u32)>);

impl Default for RefusalLimit {
    fn default() -> Self {
        Self(Mutex::new((Instant::now(), 0)))
    }
}

impl RefusalLimit {
    /// Returns whether one more is journaled; the last one says that the others are not.
    pub fn next(&self, now: Instant) -> NextRefusal {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if now.saturating_duration_since(state.0) > SPAN {
            *state = (now, 0);
        }
        state.1 = state.1.saturating_add(1);
        match state.1 {
            count if count < LIMIT => NextRefusal::Journaled,
            LIMIT => NextRefusal::Last,
            _ => NextRefusal::Dropped,
        }
    }
}

/// What becomes of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextRefusal {
    /// It is journaled.
    Journaled,
    /// It is journaled, as the last one for a while.
    Last,
    /// It is not.
    Dropped,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_not_journaled() {
        let (limit, now) = (RefusalLimit::default(), Instant::now());
        let all: Vec<NextRefusal> = (0..2 * LIMIT).map(|_| limit.next(now)).collect();
        let count = |of| all.iter().filter(|one| **one == of).count();
        assert_eq!(count(NextRefusal::Journaled), LIMIT as usize - 1);
        assert_eq!(count(NextRefusal::Last), 1);
        let later = now + SPAN + Duration::from_secs(1);
        assert_eq!(limit.next(later), NextRefusal::Journaled);
    }
}
