//! Calls foreign functions with a time limit, and turns a panic into a value.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// Why a call did not return.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CallError {
    /// It panicked.
    #[error("it panicked: {0}")]
    Panicked(String),
    /// It took too long.
    #[error("timed out after {0} ms")]
    TimedOut(u64),
}

/// Awaits what `function` returns. The function itself may panic, too.
pub(crate) async fn guarded<F, T>(
    limit: Duration,
    function: impl FnOnce() -> F,
) -> Result<T, CallError>
where
    F: Future<Output = T>,
{
    let called = Caught(Box::pin(async move { function().await }));
    match tokio::time::timeout(limit, called).await {
        Ok(Ok(output)) => Ok(output),
        Ok(Err(panic)) => Err(CallError::of_panic(&*panic)),
        Err(_) => Err(CallError::TimedOut(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX))),
    }
}

impl CallError {
    /// Extracts the message of a panic.
    pub(crate) fn of_panic(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        Self::Panicked(text.unwrap_or("without a message").to_owned())
    }
}

/// A future whose panic becomes a value.
struct Caught<F>(Pin<Box<F>>);

impl<F: Future> Future for Caught<F> {
    type Output = Result<F::Output, Box<dyn Any + Send>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let future = self.0.as_mut();
        // After a panic the future is dropped and never polled again.
        match catch_unwind(AssertUnwindSafe(|| future.poll(context))) {
            Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
            Ok(Poll::Pending) => Poll::Pending,
            Err(panic) => Poll::Ready(Err(panic)),
        }
    }
}
