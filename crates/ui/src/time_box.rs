//! How long reading may take while someone waits for the page.

use std::time::{Duration, Instant};

/// A limit of time that has begun.
#[derive(Clone, Copy, Debug)]
pub struct TimeBox {
    until: Instant,
}

impl TimeBox {
    /// Begins one.
    pub fn of(limit: Duration) -> Self {
        Self { until: Instant::now() + limit }
    }

    /// Returns whether there is time left.
    pub fn is_open(self) -> bool {
        Instant::now() < self.until
    }
}
