//! Composes several hooks into one.

use std::sync::Arc;
use std::time::Duration;

use super::flow::{HookCallResult, call_post_hook, call_pre_hook};
use super::hook::{After, Hook, HookContext, PostHook, PreHook};
use super::run::{Run, RunStatus};
use crate::function::HookError;

/// A hook within a composition failed.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the inner hook `{hook}`: {error}")]
#[non_exhaustive]
pub struct InnerHookError {
    /// The inner hook.
    pub hook: String,
    /// Its error.
    #[source]
    pub error: HookError,
}

impl InnerHookError {
    /// Returns the original error, however deep the composition is.
    ///
    /// An error of your own type is found there with [`HookError::downcast_ref`].
    pub fn innermost(&self) -> &HookError {
        match self.error.downcast_ref::<Self>() {
            Some(inner) => inner.innermost(),
            None => &self.error,
        }
    }
}

impl PreHook {
    /// Composes several hooks into one, which an agent that wants them all names once.
    ///
    /// They run one after another by priority, each with its condition and its time limit. The
    /// first failure ends the composition, as an [`InnerHookError`]. It is a guardrail if one of
    /// them is, and it may take as long as all of them together.
    ///
    /// Background hooks run last, with a copy of the context, and their failures change nothing;
    /// what waits for the composition waits for them, too.
    ///
    /// ```
    /// use anyhook_sdk::agent::PreHook;
    /// use anyhook_sdk::agent::builtin::{max_length, prompt_injection};
    ///
    /// let checks = PreHook::all_of(
    ///     "checks",
    ///     vec![max_length("short", 10_000).pre_hook(), prompt_injection("own-words").pre_hook()],
    /// );
    /// assert!(checks.config().blocking);
    /// ```
    pub fn all_of(name: impl Into<String>, mut hooks: Vec<Self>) -> Self {
        hooks.sort_by_key(|hook| (!hook.config.blocking, std::cmp::Reverse(hook.priority)));
        let timeout = together(hooks.iter().map(|hook| hook.timeout));
        let guardrail = hooks.iter().any(|hook| hook.guardrail);
        let aside = !hooks.is_empty() && hooks.iter().all(|hook| !hook.config.blocking);
        let hooks: Arc<[Self]> = hooks.into();
        let mut all = Self::boxed(Hook::new(name), move |context| {
            let hooks = hooks.clone();
            Box::pin(async move {
                for hook in &*hooks {
                    if hook.config.blocking {
                        run_pre_hook(hook, context).await?;
                    } else {
                        let _ = run_pre_hook(hook, &mut context.clone()).await;
                    }
                }
                Ok(())
            })
        });
        all.timeout = timeout;
        all.guardrail = guardrail;
        all.config.blocking = !aside;
        all
    }
}

impl PostHook {
    /// Composes several hooks into one, as [`PreHook::all_of`] does.
    ///
    /// Each of them still runs only after the runs it is meant for: complete runs, failed runs or
    /// all.
    pub fn all_of(name: impl Into<String>, mut hooks: Vec<Self>) -> Self {
        hooks.sort_by_key(|hook| (!hook.config.blocking, std::cmp::Reverse(hook.priority)));
        let timeout = together(hooks.iter().map(|hook| hook.timeout));
        let guardrail = hooks.iter().any(|hook| hook.guardrail);
        let aside = !hooks.is_empty() && hooks.iter().all(|hook| !hook.config.blocking);
        let first = hooks.first().map(|hook| hook.after).unwrap_or_default();
        let alike = hooks.iter().all(|hook| hook.after == first);
        let hooks: Arc<[Self]> = hooks.into();
        let mut all = Self::boxed(Hook::new(name), move |context, run| {
            let hooks = hooks.clone();
            Box::pin(async move {
                for hook in &*hooks {
                    if !is_due(hook.after, &run.status) {
                        continue;
                    }
                    if hook.config.blocking {
                        run_post_hook(hook, context, run).await?;
                    } else {
                        let _ = run_post_hook(hook, context, &mut run.clone()).await;
                    }
                }
                Ok(())
            })
        });
        all.timeout = timeout;
        all.guardrail = guardrail;
        all.config.blocking = !aside;
        all.after = if alike { first } else { After::Either };
        all
    }
}

fn together(timeouts: impl Iterator<Item = Duration>) -> Duration {
    timeouts.fold(Duration::ZERO, Duration::saturating_add)
}

pub(super) fn is_due(after: After, status: &RunStatus) -> bool {
    match after {
        After::Either => true,
        After::Success => *status == RunStatus::Completed,
        After::Failure => *status != RunStatus::Completed,
    }
}

async fn run_pre_hook(hook: &PreHook, context: &mut HookContext) -> Result<(), HookError> {
    named(&hook.config.name, call_pre_hook(hook, context).await)
}

async fn run_post_hook(
    hook: &PostHook,
    context: &HookContext,
    run: &mut Run,
) -> Result<(), HookError> {
    named(&hook.config.name, call_post_hook(hook, context, run).await)
}

fn named(hook: &str, ended: HookCallResult) -> Result<(), HookError> {
    let said = ended.unwrap_or_else(|error| Some(Err(HookError::new(error.to_string()))));
    let named = |error| HookError::of(InnerHookError { hook: hook.to_owned(), error });
    said.unwrap_or(Ok(())).map_err(named)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::{Agent, SessionContext};

    fn context() -> HookContext {
        HookContext::new(Agent::new("a", "m"), SessionContext::new("a", "s"), "")
    }

    /// Makes a hook that appends its name to the message.
    fn says(name: &'static str) -> PreHook {
        PreHook::boxed(name, move |context| {
            Box::pin(async move {
                context.user_message.push_str(name);
                Ok(())
            })
        })
    }

    fn notes(name: &'static str) -> PostHook {
        PostHook::boxed(name, move |_, run| {
            Box::pin(async move {
                run.output.push_str(name);
                Ok(())
            })
        })
    }

    async fn run(hook: &PreHook) -> (String, Result<(), HookError>) {
        let mut context = context();
        let ended = run_pre_hook(hook, &mut context).await;
        (context.user_message, ended)
    }

    fn inner(error: &HookError) -> (&str, String) {
        // The call in this test adds the name of the composition, too.
        let outer = error.downcast_ref::<InnerHookError>().unwrap();
        let inner = outer.error.downcast_ref::<InnerHookError>().unwrap();
        (&inner.hook, inner.innermost().to_string())
    }

    #[tokio::test]
    async fn in_order_of_priority_with_conditions_and_nested() {
        let nested = PreHook::all_of("nested", vec![says("x"), says("y").priority(200)]);
        let all = PreHook::all_of(
            "all",
            vec![
                says("a").priority(1),
                says("b").priority(500),
                says("c").only_if(|_| false),
                nested.priority(300),
                says("d").in_background().priority(900),
            ],
        );
        let (said, ended) = run(&all).await;
        assert_eq!(said, "byxa");
        ended.unwrap();
    }

    #[tokio::test]
    async fn the_first_failure_is_named_and_ends_it() {
        let fails = |name| PreHook::boxed(name, |_| Box::pin(async { Err("no".into()) }));
        let all = PreHook::all_of("all", vec![says("a"), fails("bad"), fails("worse"), says("b")]);
        let (said, ended) = run(&all).await;
        let error = ended.unwrap_err();
        assert_eq!(
            (said.as_str(), error.to_string().as_str()),
            ("a", "the inner hook `all`: the inner hook `bad`: no")
        );
        let aside = PreHook::all_of("aside", vec![fails("bad").in_background(), says("a")]);
        assert_eq!(run(&aside).await.0, "a");
    }

    #[tokio::test(start_paused = true)]
    async fn a_panic_or_a_stall_is_the_inner_hooks_failure() {
        let panics = PreHook::boxed("loud", |_| panic!("boom"));
        let (_, ended) = run(&PreHook::all_of("all", vec![panics])).await;
        assert_eq!(inner(&ended.unwrap_err()), ("loud", "it panicked: boom".into()));

        let condition = says("picky").only_if(|_| panic!("boom"));
        let (_, ended) = run(&PreHook::all_of("all", vec![condition])).await;
        assert_eq!(inner(&ended.unwrap_err()).0, "picky");

        let stalls = PreHook::boxed("slow", |_| Box::pin(std::future::pending()));
        let stalls = stalls.timeout(Duration::from_millis(20));
        let (_, ended) = run(&PreHook::all_of("all", vec![says("a"), stalls])).await;
        assert_eq!(inner(&ended.unwrap_err()), ("slow", "timed out after 20 ms".into()));
    }

    #[test]
    fn it_takes_after_its_parts() {
        let all = PreHook::all_of("all", vec![says("a").in_background(), says("b").guardrail()]);
        assert!(all.guardrail && all.config.blocking);
        assert_eq!(all.timeout, Duration::from_secs(60));
        assert!(!PreHook::all_of("all", vec![says("a").in_background()]).config.blocking);
        assert!(PreHook::all_of("none", vec![]).config.blocking);
    }

    #[tokio::test]
    async fn post_hooks_run_after_what_they_are_meant_for() {
        let all = PostHook::all_of(
            "all",
            vec![notes("s"), notes("f").on_error_only(), notes("e").always().priority(1)],
        );
        assert_eq!(all.after, After::Either);
        for (status, said) in [
            (RunStatus::Completed, "se"),
            (RunStatus::Failed(String::new()), "fe"),
            (RunStatus::Cancelled, "fe"),
        ] {
            let mut run = Run { status, ..Run::default() };
            run_post_hook(&all, &context(), &mut run).await.unwrap();
            assert_eq!(run.output, said);
        }
        let failures = PostHook::all_of("all", vec![notes("f").on_error_only()]);
        assert_eq!(failures.after, After::Failure);
    }
}
