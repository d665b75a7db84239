//! A limit on the number of runs per period.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::MOST_REMEMBERED;
use crate::agent::hook::{HookContext, PreHook};
use crate::function::HookError;

/// The limit of runs is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many runs: try again in {} ms", retry_after.as_millis())]
#[non_exhaustive]
pub struct RateLimited {
    /// How long until the next run may start.
    pub retry_after: Duration,
}

type LimitKey = dyn Fn(&HookContext) -> String + Send + Sync;

/// Limits how often an agent runs; made by [`rate_limit`].
#[derive(Clone)]
#[must_use]
pub struct RateLimit {
    name: String,
    most: usize,
    per: Duration,
    remembered: usize,
    key: Arc<LimitKey>,
}

/// Lets at most `most` runs start in any period of length `per`, for each user; if the user is not
/// known, for each session. Others fail with [`RateLimited`].
///
/// It remembers when the last runs of each user started, for at most 10,000 users.
///
/// ```
/// use std::time::Duration;
/// use anyhook_sdk::agent::builtin::rate_limit;
///
/// let for_each_user = rate_limit("slowly", 10, Duration::from_secs(60)).pre_hook();
/// let for_all = rate_limit("all-slowly", 1000, Duration::from_secs(60)).global().pre_hook();
/// ```
pub fn rate_limit(name: impl Into<String>, most: usize, per: Duration) -> RateLimit {
    RateLimit {
        name: name.into(),
        most,
        per,
        remembered: MOST_REMEMBERED,
        key: Arc::new(|context| match &context.session.user_id {
            // A user and a session of the same name are counted separately.
            Some(user) => format!("user {user}"),
            None => format!("session {}", context.session.session_id),
        }),
    }
}

impl RateLimit {
    /// Counts all runs together.
    pub fn global(self) -> Self {
        self.by(|_| String::new())
    }

    /// Counts runs with the same key together.
    pub fn by(mut self, key: impl Fn(&HookContext) -> String + Send + Sync + 'static) -> Self {
        self.key = Arc::new(key);
        self
    }

    /// Remembers at most this many users; 10,000 by default.
    pub fn remember(mut self, most: usize) -> Self {
        self.remembered = most.max(1);
        self
    }

    /// Makes the guardrail. Each one has its own counts.
    pub fn pre_hook(self) -> PreHook {
        let begun = Mutex::new(HashMap::new());
        let hook = PreHook::boxed(self.name.clone(), move |context| {
            let key = (self.key)(context);
            let mut begun = begun.lock().unwrap_or_else(PoisonError::into_inner);
            let ended = self.admit(&mut begun, key, Instant::now());
            Box::pin(async move { ended.map_err(HookError::of) })
        });
        hook.guardrail()
    }

    fn admit(
        &self,
        begun: &mut HashMap<String, VecDeque<Instant>>,
        key: String,
        now: Instant,
    ) -> Result<(), RateLimited> {
        let is_over = |at: &Instant| now.saturating_duration_since(*at) >= self.per;
        if !begun.contains_key(&key) && begun.len() >= self.remembered {
            begun.retain(|_, runs| runs.back().is_some_and(|last| !is_over(last)));
            // If all of them are still relevant, the one that expires first is dropped.
            if begun.len() >= self.remembered {
                let first = begun.iter().min_by_key(|(_, runs)| runs.back().copied());
                if let Some(first) = first.map(|(key, _)| key.clone()) {
                    begun.remove(&first);
                }
            }
        }
        let runs = begun.entry(key).or_default();
        while runs.front().is_some_and(is_over) {
            runs.pop_front();
        }
        if runs.len() < self.most {
            runs.push_back(now);
            return Ok(());
        }
        let since = runs.front().map_or(Duration::ZERO, |first| now - *first);
        Err(RateLimited { retry_after: self.per.saturating_sub(since) })
    }
}

impl fmt::Debug for RateLimit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RateLimit")
            .field("name", &self.name)
            .field("most", &self.most)
            .field("per", &self.per)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::agent::builtin::tests::{before, context};

    const MINUTE: Duration = Duration::from_secs(60);

    #[tokio::test(start_paused = true)]
    async fn each_user_has_a_window_that_slides() {
        let hook = rate_limit("slowly", 2, MINUTE).pre_hook();
        before(&hook, &mut context("ann")).await.unwrap();
        tokio::time::advance(Duration::from_secs(20)).await;
        before(&hook, &mut context("ann")).await.unwrap();
        before(&hook, &mut context("bob")).await.unwrap();
        let error = before(&hook, &mut context("ann")).await.unwrap_err();
        let limited = error.downcast_ref::<RateLimited>().unwrap();
        assert_eq!(limited.retry_after, Duration::from_secs(40));
        tokio::time::advance(limited.retry_after).await;
        before(&hook, &mut context("ann")).await.unwrap();
        before(&hook, &mut context("ann")).await.unwrap_err();
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_user_by_session_or_all_together() {
        let hook = rate_limit("slowly", 1, MINUTE).pre_hook();
        let mut nobody = context("x");
        nobody.session.user_id = None;
        before(&hook, &mut nobody).await.unwrap();
        before(&hook, &mut nobody).await.unwrap_err();
        before(&hook, &mut context("session")).await.unwrap();

        let hook = rate_limit("slowly", 1, MINUTE).global().pre_hook();
        before(&hook, &mut context("ann")).await.unwrap();
        before(&hook, &mut context("bob")).await.unwrap_err();

        let hook = rate_limit("never", 0, MINUTE).pre_hook();
        let error = before(&hook, &mut context("ann")).await.unwrap_err();
        assert_eq!(error.downcast_ref::<RateLimited>().unwrap().retry_after, MINUTE);
    }

    #[test]
    fn memory_is_bounded_and_the_oldest_is_forgotten() {
        let limit = rate_limit("slowly", 1, MINUTE).remember(3);
        let (mut begun, start) = (HashMap::new(), Instant::now());
        for number in 0..10u64 {
            let at = start + Duration::from_secs(number);
            limit.admit(&mut begun, number.to_string(), at).unwrap();
            assert!(begun.len() <= 3);
        }
        let late = start + Duration::from_secs(10);
        limit.admit(&mut begun, "9".into(), late).unwrap_err();
        limit.admit(&mut begun, "0".into(), late).unwrap();
    }

    proptest! {
        #[test]
        fn no_window_has_more_than_the_most(
            most in 1usize..5,
            gaps in prop::collection::vec(0u64..40, 1..60),
        ) {
            let limit = rate_limit("slowly", most, MINUTE);
            let (mut begun, mut now) = (HashMap::new(), Instant::now());
            let mut admitted: Vec<Instant> = Vec::new();
            for gap in gaps {
                now += Duration::from_secs(gap);
                let recent = |all: &[Instant]| all.iter().filter(|at| now - **at < MINUTE).count();
                let ended = limit.admit(&mut begun, String::new(), now);
                prop_assert_eq!(ended.is_ok(), recent(&admitted) < most);
                match ended {
                    Ok(()) => admitted.push(now),
                    Err(limited) => prop_assert!(limited.retry_after <= MINUTE),
                }
            }
        }
    }
}
