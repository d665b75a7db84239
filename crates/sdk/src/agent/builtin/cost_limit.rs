//! A limit on the tokens that each session may use.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::MOST_REMEMBERED;
use crate::agent::hook::{PostHook, PreHook};
use crate::agent::run::Run;
use crate::agent::session::SessionContext;
use crate::function::HookError;

/// A session has used up its tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the session has used {used} of its {most} tokens")]
#[non_exhaustive]
pub struct TokensUsedUp {
    /// How many tokens it has used.
    pub used: u64,
    /// How many tokens it may use.
    pub most: u64,
}

/// Limits what a session costs; made by [`cost_limit`]. Clones share their counts.
#[derive(Clone, Debug)]
#[must_use]
pub struct CostLimit {
    name: String,
    most: u64,
    remembered: usize,
    sessions: Arc<Mutex<Sessions>>,
}

#[derive(Debug, Default)]
struct Sessions {
    all: HashMap<SessionContext, Spent>,
    clock: u64,
}

#[derive(Debug, Default)]
struct Spent {
    tokens: u64,
    /// The last run, and its cost when it was last seen: a resumed run continues counting from
    /// there.
    last_run: (String, u64),
    seen: u64,
}

/// Refuses runs of a session that has used up its tokens, with [`TokensUsedUp`].
///
/// Both of its hooks are needed: one counts after each run, complete or failed, one refuses. A run
/// that has begun may use more than is left.
///
/// ```
/// use anyhook_sdk::agent::builtin::cost_limit;
///
/// let limit = cost_limit("budget", 100_000);
/// let (refuses, counts) = limit.hooks();
/// # let _ = (refuses, counts);
/// ```
pub fn cost_limit(name: impl Into<String>, tokens: u64) -> CostLimit {
    CostLimit {
        name: name.into(),
        most: tokens,
        remembered: MOST_REMEMBERED,
        sessions: Arc::default(),
    }
}

impl CostLimit {
    /// Remembers at most this many sessions; 10,000 by default. The least recently used ones are
    /// forgotten first, and start again at zero.
    pub fn remember(mut self, most: usize) -> Self {
        self.remembered = most.max(1);
        self
    }

    /// Makes the guardrail and the hook that counts.
    pub fn hooks(&self) -> (PreHook, PostHook) {
        (self.pre_hook(), self.post_hook())
    }

    /// Returns how many tokens a session has used.
    pub fn used(&self, session: &SessionContext) -> u64 {
        self.lock().all.get(session).map_or(0, |spent| spent.tokens)
    }

    /// Resets a session to zero.
    pub fn reset(&self, session: &SessionContext) {
        self.lock().all.remove(session);
    }

    fn pre_hook(&self) -> PreHook {
        let this = self.clone();
        let hook = PreHook::boxed(&self.name, move |context| {
            let (used, most) = (this.used(&context.session), this.most);
            let error = (used >= most).then(|| HookError::of(TokensUsedUp { used, most }));
            Box::pin(async move { error.map_or(Ok(()), Err) })
        });
        hook.guardrail()
    }

    fn post_hook(&self) -> PostHook {
        let this = self.clone();
        let hook = PostHook::boxed(&self.name, move |_, run| {
            this.add(run);
            Box::pin(async { Ok(()) })
        });
        hook.guardrail().always()
    }

    fn add(&self, run: &Run) {
        let cost = run.usage.input_tokens.saturating_add(run.usage.output_tokens);
        let mut sessions = self.lock();
        sessions.clock += 1;
        let seen = sessions.clock;
        if !sessions.all.contains_key(&run.session) && sessions.all.len() >= self.remembered {
            let oldest = sessions.all.iter().min_by_key(|(_, spent)| spent.seen);
            if let Some(oldest) = oldest.map(|(session, _)| session.clone()) {
                sessions.all.remove(&oldest);
            }
        }
        let spent = sessions.all.entry(run.session.clone()).or_default();
        let before = if spent.last_run.0 == run.id { spent.last_run.1 } else { 0 };
        spent.tokens = spent.tokens.saturating_add(cost.saturating_sub(before));
        spent.last_run = (run.id.clone(), cost);
        spent.seen = seen;
    }

    fn lock(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::builtin::tests::{before, context};
    use crate::agent::model::Usage;

    fn run(id: &str, session: &SessionContext, tokens: u64) -> Run {
        let usage = Usage { input_tokens: tokens - 1, output_tokens: 1 };
        Run { id: id.into(), session: session.clone(), usage, ..Run::default() }
    }

    #[tokio::test]
    async fn a_session_that_has_used_its_tokens_is_refused() {
        let limit = cost_limit("budget", 100);
        let (refuses, counts) = limit.hooks();
        let mut ann = context("ann");
        let session = ann.session.clone();
        for (id, tokens) in [("1", 60), ("2", 39)] {
            before(&refuses, &mut ann).await.unwrap();
            (counts.function)(&ann, &mut run(id, &session, tokens)).await.unwrap();
        }
        before(&refuses, &mut ann).await.unwrap();
        // Resumed: 39 of these were counted before.
        (counts.function)(&ann, &mut run("2", &session, 45)).await.unwrap();
        let error = before(&refuses, &mut ann).await.unwrap_err();
        let used_up = TokensUsedUp { used: 105, most: 100 };
        assert_eq!(*error.downcast_ref::<TokensUsedUp>().unwrap(), used_up);
        before(&refuses, &mut context("bob")).await.unwrap();
        limit.reset(&session);
        before(&refuses, &mut ann).await.unwrap();
    }

    #[test]
    fn memory_is_bounded() {
        let limit = cost_limit("budget", 100).remember(2);
        let session = |user: &str| context(user).session;
        for user in ["a", "b", "a", "c"] {
            limit.add(&run(user, &session(user), 10));
        }
        assert_eq!(limit.lock().all.len(), 2);
        assert_eq!(["a", "b", "c"].map(|user| limit.used(&session(user))), [10, 0, 10]);
    }
}
