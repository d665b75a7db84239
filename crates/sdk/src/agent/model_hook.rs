//! Model hooks: hooks around each call of a model, on its request and on its answer.
//!
//! A run asks its model once for each step. A pre-hook sees the run before all of them, a post-hook
//! after all of them; these see each one.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::flow::count;
use super::hook::{HookContext, PRIORITY_DEFAULT, TIMEOUT_DEFAULT};
use super::model::{ModelAnswer, ModelRequest};
use crate::call::guarded;
use crate::function::{BoxFuture, HookError};
use crate::metrics::Metrics;

type BeforeFunction = dyn for<'a> Fn(&'a HookContext, &'a mut ModelRequest) -> BoxFuture<'a, Result<(), HookError>>
    + Send
    + Sync;
type AfterFunction = dyn for<'a> Fn(&'a HookContext, &'a mut ModelAnswer) -> BoxFuture<'a, Result<(), HookError>>
    + Send
    + Sync;

/// An async function or an async closure that takes the request or the answer of a model's call.
///
/// Implemented for all of them; see [`PreHookFn`](super::handler::PreHookFn).
pub trait ModelHookFn<'a, Subject: 'a>:
    Fn(&'a HookContext, &'a mut Subject) -> Self::Future + Send + Sync
{
    /// What it returns.
    type Future: Future<Output = Result<(), HookError>> + Send + 'a;
}

impl<'a, Subject: 'a, F, Returned> ModelHookFn<'a, Subject> for F
where
    F: Fn(&'a HookContext, &'a mut Subject) -> Returned + Send + Sync,
    Returned: Future<Output = Result<(), HookError>> + Send + 'a,
{
    type Future = Returned;
}

/// A type of your own around each call of a model, with its state in its fields.
pub trait ModelHookHandler: Send + Sync + 'static {
    /// Sees the request to the model, and may change it. An error ends the run before the model is
    /// called.
    fn before(
        &self,
        context: &HookContext,
        request: &mut ModelRequest,
    ) -> impl Future<Output = Result<(), HookError>> + Send {
        let _ = (context, request);
        std::future::ready(Ok(()))
    }

    /// Sees the model's answer, and may change it. An error ends the run before any call that the
    /// answer requests is made.
    fn after(
        &self,
        context: &HookContext,
        answer: &mut ModelAnswer,
    ) -> impl Future<Output = Result<(), HookError>> + Send {
        let _ = (context, answer);
        std::future::ready(Ok(()))
    }
}

/// A hook around each call of an agent's model.
///
/// The run waits for it, and ends if it fails. Its changes take effect: the model gets the changed
/// request, and the run continues with the changed answer. The pieces of a streamed answer have
/// been shown already: a [`StreamHook`](super::StreamHook) changes those.
///
/// ```
/// use anyhook_sdk::agent::{Message, ModelHook};
///
/// let shorten = ModelHook::before("last-twenty", async |_context, request| {
///     let surplus = request.messages.len().saturating_sub(20);
///     request.messages.drain(..surplus);
///     Ok(())
/// });
/// assert_eq!(shorten.name(), "last-twenty");
/// ```
#[derive(Clone)]
pub struct ModelHook {
    name: String,
    pub(super) priority: i32,
    timeout: Duration,
    before: Option<Arc<BeforeFunction>>,
    after: Option<Arc<AfterFunction>>,
}

impl ModelHook {
    fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            priority: PRIORITY_DEFAULT,
            timeout: TIMEOUT_DEFAULT,
            before: None,
            after: None,
        }
    }

    /// Makes a hook that sees the request to the model: `async |context, request| { … }`.
    pub fn before<F>(name: impl Into<String>, function: F) -> Self
    where
        F: AsyncFn(&HookContext, &mut ModelRequest) -> Result<(), HookError>
            + for<'a> ModelHookFn<'a, ModelRequest>
            + 'static,
    {
        let before: Arc<BeforeFunction> =
            Arc::new(move |context, request| Box::pin(function(context, request)));
        Self { before: Some(before), ..Self::named(name) }
    }

    /// Makes a hook that sees the model's answer: `async |context, answer| { … }`.
    pub fn after<F>(name: impl Into<String>, function: F) -> Self
    where
        F: AsyncFn(&HookContext, &mut ModelAnswer) -> Result<(), HookError>
            + for<'a> ModelHookFn<'a, ModelAnswer>
            + 'static,
    {
        let after: Arc<AfterFunction> =
            Arc::new(move |context, answer| Box::pin(function(context, answer)));
        Self { after: Some(after), ..Self::named(name) }
    }

    /// Makes a hook from a type of your own.
    pub fn from_handler(name: impl Into<String>, handler: impl ModelHookHandler) -> Self {
        let handler = Arc::new(handler);
        let before: Arc<BeforeFunction> = Arc::new({
            let handler = handler.clone();
            move |context, request| {
                let handler = handler.clone();
                Box::pin(async move { handler.before(context, request).await })
            }
        });
        let after: Arc<AfterFunction> = Arc::new(move |context, answer| {
            let handler = handler.clone();
            Box::pin(async move { handler.after(context, answer).await })
        });
        Self { before: Some(before), after: Some(after), ..Self::named(name) }
    }

    /// Sets its priority; higher runs first, 100 by default.
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// Sets how long it may take; 30 seconds by default.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs the part before the model alone, within its time limit and with a panic as an error.
    pub async fn execute_before(
        &self,
        context: &HookContext,
        request: &mut ModelRequest,
    ) -> Result<(), HookError> {
        self.run_before(context, request, &Metrics::default()).await
    }

    /// Runs the part after the model alone, within its time limit and with a panic as an error.
    pub async fn execute_after(
        &self,
        context: &HookContext,
        answer: &mut ModelAnswer,
    ) -> Result<(), HookError> {
        self.run_after(context, answer, &Metrics::default()).await
    }

    pub(super) async fn run_before(
        &self,
        context: &HookContext,
        request: &mut ModelRequest,
        metrics: &Metrics,
    ) -> Result<(), HookError> {
        let Some(before) = &self.before else { return Ok(()) };
        let began = Instant::now();
        let called = guarded(self.timeout, || before(context, request)).await.map(Some);
        count(called, &self.name, "before_model", began, metrics)
    }

    pub(super) async fn run_after(
        &self,
        context: &HookContext,
        answer: &mut ModelAnswer,
        metrics: &Metrics,
    ) -> Result<(), HookError> {
        let Some(after) = &self.after else { return Ok(()) };
        let began = Instant::now();
        let called = guarded(self.timeout, || after(context, answer)).await.map(Some);
        count(called, &self.name, "after_model", began, metrics)
    }
}

impl fmt::Debug for ModelHook {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ModelHook")
            .field("name", &self.name)
            .field("priority", &self.priority)
            .finish_non_exhaustive()
    }
}
