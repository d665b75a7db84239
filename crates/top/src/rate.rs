//! The rate of events: how many came in the last minute.

use std::collections::BTreeMap;

use jiff::Timestamp;

/// The number of seconds that are counted.
const MINUTE: i64 = 60;
/// This many seconds are kept: clocks differ a little.
const KEEP: usize = 90;

/// Events by second.
#[derive(Debug, Default)]
pub struct Rate {
    seconds: BTreeMap<i64, usize>,
}

impl Rate {
    /// Counts an event.
    pub fn feed(&mut self, at: Timestamp) {
        *self.seconds.entry(at.as_second()).or_default() += 1;
        while self.seconds.len() > KEEP {
            self.seconds.pop_first();
        }
    }

    /// Returns how many came in the minute before `now`.
    pub fn last_minute(&self, now: Timestamp) -> usize {
        self.seconds.range(now.as_second() - MINUTE + 1..).map(|(_, count)| count).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples::{later, noon};

    #[test]
    fn a_minute_goes_by() {
        let mut rate = Rate::default();
        for second in 0..100 {
            rate.feed(later(second));
            rate.feed(later(second));
        }
        assert_eq!(rate.last_minute(later(99)), 120);
        assert_eq!(rate.last_minute(later(109)), 100);
        assert_eq!(rate.last_minute(later(500)), 0);
        assert_eq!(rate.seconds.len(), KEEP);
    }

    #[test]
    fn a_clock_that_is_behind() {
        let mut rate = Rate::default();
        rate.feed(later(5));
        assert_eq!(rate.last_minute(noon()), 1);
    }
}
