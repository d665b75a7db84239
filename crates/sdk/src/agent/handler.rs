//! What pre- and post-hooks can be made of: an async function, an async closure, or a type of your
//! own.

use std::future::Future;

use super::hook::HookContext;
use super::run::Run;
use crate::function::HookError;

/// An async function or an async closure that a [`PreHook`](super::PreHook) can be made from.
///
/// Implemented for all of them; its future is `Send`, which `AsyncFn` alone cannot express yet. So
/// a closure that borrows what it has captured is not one: see
/// [`PreHook::boxed`](super::PreHook::boxed) and [`PreHookHandler`].
pub trait PreHookFn<'a>: Fn(&'a mut HookContext) -> Self::Future + Send + Sync {
    /// What it returns.
    type Future: Future<Output = Result<(), HookError>> + Send + 'a;
}

impl<'a, F, Returned> PreHookFn<'a> for F
where
    F: Fn(&'a mut HookContext) -> Returned + Send + Sync,
    Returned: Future<Output = Result<(), HookError>> + Send + 'a,
{
    type Future = Returned;
}

/// An async function or an async closure that a [`PostHook`](super::PostHook) can be made from.
///
/// Implemented for all of them; see [`PreHookFn`].
pub trait PostHookFn<'a>: Fn(&'a HookContext, &'a mut Run) -> Self::Future + Send + Sync {
    /// What it returns.
    type Future: Future<Output = Result<(), HookError>> + Send + 'a;
}

impl<'a, F, Returned> PostHookFn<'a> for F
where
    F: Fn(&'a HookContext, &'a mut Run) -> Returned + Send + Sync,
    Returned: Future<Output = Result<(), HookError>> + Send + 'a,
{
    type Future = Returned;
}

/// A type of your own that is a pre-hook, with its state in its fields.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use anyhook_sdk::HookError;
/// use anyhook_sdk::agent::{HookContext, PreHook, PreHookHandler};
///
/// struct AtMost {
///     most: usize,
///     runs: AtomicUsize,
/// }
///
/// impl PreHookHandler for AtMost {
///     async fn run(&self, _context: &mut HookContext) -> Result<(), HookError> {
///         let runs = self.runs.fetch_add(1, Ordering::Relaxed);
///         if runs < self.most { Ok(()) } else { Err("that is enough for today".into()) }
///     }
/// }
///
/// let hook = PreHook::from_handler("at-most", AtMost { most: 100, runs: AtomicUsize::new(0) });
/// assert!(hook.config().blocking);
/// ```
pub trait PreHookHandler: Send + Sync + 'static {
    /// Runs before an agent.
    fn run(&self, context: &mut HookContext) -> impl Future<Output = Result<(), HookError>> + Send;
}

/// A type of your own that is a post-hook, with its state in its fields.
pub trait PostHookHandler: Send + Sync + 'static {
    /// Runs after an agent.
    fn run(
        &self,
        context: &HookContext,
        run: &mut Run,
    ) -> impl Future<Output = Result<(), HookError>> + Send;
}
