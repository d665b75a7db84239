//! An end before its time: a person has had enough, or whoever started us.

use std::sync::Arc;

use tokio::sync::watch;

/// Ends the sessions that it was given to, from any thread.
#[derive(Clone, Debug, Default)]
pub struct StopHandle {
    is_over: Arc<watch::Sender<bool>>,
}

impl StopHandle {
    /// Ends what goes on, and what would begin after it.
    pub fn now(&self) {
        self.is_over.send_replace(true);
    }

    /// Waits for the end.
    pub(super) async fn wait(&self) {
        // The sender lives as long as this: there is always an answer.
        let _ = self.is_over.subscribe().wait_for(|is_over| *is_over).await;
    }
}
