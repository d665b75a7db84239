//! When something was last used; what nobody uses is closed.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// When something was last used.
#[derive(Debug)]
pub struct Usage {
    last: Mutex<Instant>,
    held: Arc<()>,
}

impl Default for Usage {
    fn default() -> Self {
        Self { last: Mutex::new(Instant::now()), held: Arc::new(()) }
    }
}

impl Usage {
    /// Notes that it is used.
    pub fn now(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Returns what counts as use for as long as it is kept.
    pub fn hold(&self) -> Arc<()> {
        Arc::clone(&self.held)
    }

    /// Returns for how long nobody has used it.
    fn idle(&self) -> Duration {
        if Arc::strong_count(&self.held) > 1 {
            return Duration::ZERO;
        }
        self.last.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }

    /// Completes when nobody has used it for so long.
    pub async fn unused_for(&self, limit: Duration) {
        while self.idle() < limit {
            let left = limit.saturating_sub(self.idle()).max(Duration::from_secs(1));
            tokio::time::sleep(left).await;
        }
    }
}
