//! Backoff between two attempts at the same work: an immediate failure, such as an agent that
//! cannot be started, would otherwise use up all attempts before anyone notices.

use std::time::Duration;

use jiff::Timestamp;

use crate::machine::Invocation;
use crate::state::WorkflowState;

/// The pause after the first failure; each further one doubles it.
const FIRST: Duration = Duration::from_secs(1);
/// Maximum pause.
const LONGEST: Duration = Duration::from_secs(30);

/// Returns the pause after a number of failures.
fn pause(failures: u32) -> Duration {
    match failures.checked_sub(1) {
        None => Duration::ZERO,
        Some(doublings) => FIRST.saturating_mul(2_u32.saturating_pow(doublings)).min(LONGEST),
    }
}

/// Returns whether an agent may be started: an attempt after a failure waits a moment.
pub fn is_over(state: &WorkflowState, work: &Invocation, now: Timestamp) -> bool {
    let stage = state.stages.get(work.reviewed.as_ref().unwrap_or(&work.stage));
    let tried = stage.and_then(|stage| match &work.reviewed {
        None => Some((stage.failures, stage.started_at?)),
        Some(_) => {
            let review = stage.reviews.get(&work.stage)?;
            Some((review.attempts.saturating_sub(1), review.started_at?))
        }
    });
    // If the clock went back, there is no wait.
    let waited = tried.and_then(|(_, since)| Duration::try_from(now.duration_since(since)).ok());
    match (tried, waited) {
        (Some((failures, _)), Some(waited)) => waited >= pause(failures),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_grows_and_not_for_ever() {
        let seconds: Vec<u64> = (0..8).map(|failures| pause(failures).as_secs()).collect();
        assert_eq!(seconds, [0, 1, 2, 4, 8, 16, 30, 30]);
        assert_eq!(pause(u32::MAX), LONGEST);
    }
}
