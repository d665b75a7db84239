//! Early stop of a session: requested by a person, or by the calling process.

use std::sync::Arc;

use tokio::sync::watch;

/// Stops the sessions that it was given to, from any thread.
#[derive(Clone, Debug, Default)]
pub struct StopHandle {
    is_over: Arc<watch::Sender<bool>>,
}

impl StopHandle {
    /// Stops the current session, and any that would begin later.
    pub fn now(&self) {
        self.is_over.send_replace(true);
    }

    /// Waits until it is stopped.
    pub(super) async fn wait(&self) {
        // The sender lives as long as `self`, so this cannot fail.
        let _ = self.is_over.subscribe().wait_for(|is_over| *is_over).await;
    }
}
