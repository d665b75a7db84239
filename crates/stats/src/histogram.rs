//! A histogram of durations: any number of them in bounded memory.
//!
//! Two sets of buckets. The fine ones are 64 to each doubling, so that a percentile, taken from the
//! middle of its bucket, is at most 1/128 (0.8 %) off the nearest rank of all values; below 128 µs
//! it is exact. The coarse ones are Prometheus's, with round bounds, and exact.

use std::collections::BTreeMap;

use anyhook_model::report::stats::TimeStats;

/// The upper bounds of the coarse buckets, in microseconds; the last bucket has none.
pub const BOUNDS_US: [u64; 17] = [
    1_000,
    2_500,
    5_000,
    10_000,
    25_000,
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    30_000_000,
    60_000_000,
    300_000_000,
    600_000_000,
];

/// Below twice this, each value has its own fine bucket; above, each doubling has this many.
const FINE: u64 = 64;

/// Counted durations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    fine: BTreeMap<u64, u64>,
    coarse: [u64; BOUNDS_US.len()],
    count: u64,
    sum_us: u64,
    min_us: u64,
    max_us: u64,
}

impl Histogram {
    /// Counts a duration.
    pub fn add(&mut self, microseconds: u64) {
        self.min_us = if self.count == 0 { microseconds } else { self.min_us.min(microseconds) };
        self.max_us = self.max_us.max(microseconds);
        self.count += 1;
        self.sum_us = self.sum_us.saturating_add(microseconds);
        *self.fine.entry(class(microseconds)).or_default() += 1;
        if let Some(class) = BOUNDS_US.iter().position(|bound| microseconds <= *bound) {
            self.coarse[class] += 1;
        }
    }

    /// Adds the counts of another histogram.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        self.min_us = if self.count == 0 { other.min_us } else { self.min_us.min(other.min_us) };
        self.max_us = self.max_us.max(other.max_us);
        self.count += other.count;
        self.sum_us = self.sum_us.saturating_add(other.sum_us);
        for (class, count) in &other.fine {
            *self.fine.entry(*class).or_default() += count;
        }
        for (mine, count) in self.coarse.iter_mut().zip(other.coarse) {
            *mine += count;
        }
    }

    /// Returns how many were counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the sum of all durations.
    pub fn sum_us(&self) -> u64 {
        self.sum_us
    }

    /// Returns how many are at most as long as each of [`BOUNDS_US`].
    pub fn cumulative(&self) -> impl Iterator<Item = (u64, u64)> {
        let mut sum = 0;
        BOUNDS_US.into_iter().zip(self.coarse).map(move |(bound, count)| {
            sum += count;
            (bound, sum)
        })
    }

    /// Returns the percentile by nearest rank: the smallest value that `percent` of 100 do not
    /// exceed.
    pub fn percentile(&self, percent: u64) -> Option<u64> {
        let rank = (u128::from(self.count) * u128::from(percent)).div_ceil(100).max(1);
        let mut sum = 0;
        let (class, _) = self.fine.iter().find(|(_, count)| {
            sum += u128::from(**count);
            sum >= rank
        })?;
        Some(middle(*class).clamp(self.min_us, self.max_us))
    }

    /// Returns the summary shown to people; `None` if nothing was counted.
    pub fn stats(&self) -> Option<TimeStats> {
        Some(TimeStats {
            count: self.count,
            p50_us: self.percentile(50)?,
            p95_us: self.percentile(95)?,
            p99_us: self.percentile(99)?,
            max_us: self.max_us,
            total_us: self.sum_us,
        })
    }
}

/// Returns the fine bucket of a value: how often it must be halved to be below twice [`FINE`], and
/// what is left of it then.
fn class(value: u64) -> u64 {
    let halvings = u64::from((u64::BITS - value.leading_zeros()).saturating_sub(FINE.ilog2() + 1));
    halvings * FINE + (value >> halvings)
}

/// Returns the middle of a fine bucket.
fn middle(class: u64) -> u64 {
    let halvings = (class / FINE).saturating_sub(1);
    let least = (class - halvings * FINE) << halvings;
    least + (1 << halvings) / 2
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::default();
        for value in values {
            histogram.add(*value);
        }
        histogram
    }

    #[test]
    fn nothing_has_no_percentile() {
        assert_eq!(Histogram::default().stats(), None);
    }

    #[test]
    fn one_value_is_exact() {
        let stats = of(&[1_234_567]).stats().unwrap();
        assert_eq!((stats.p50_us, stats.p99_us, stats.max_us), (1_234_567, 1_234_567, 1_234_567));
        assert_eq!(of(&[u64::MAX, u64::MAX]).percentile(50), Some(u64::MAX));
        assert_eq!(of(&[0]).percentile(50), Some(0));
    }

    #[test]
    fn coarse_classes_hold_their_bounds() {
        let histogram = of(&[1_000, 1_001, 600_000_000, 600_000_001]);
        let at = |bound: u64| histogram.cumulative().find(|(one, _)| *one == bound).unwrap().1;
        assert_eq!((at(1_000), at(2_500), at(600_000_000)), (1, 2, 3));
        assert_eq!(histogram.count(), 4);
    }

    /// Durations of all magnitudes, equally likely.
    fn duration() -> impl Strategy<Value = u64> {
        (0_u32..63, any::<u64>()).prop_map(|(bits, value)| value & ((1 << bits) - 1))
    }

    proptest! {
        #[test]
        fn a_percentile_is_the_nearest_rank_but_for_1_in_128(
            mut values in prop::collection::vec(duration(), 1..300), percent in 1_u64..=100,
        ) {
            let found = of(&values).percentile(percent).unwrap();
            values.sort_unstable();
            let rank = (values.len() * usize::try_from(percent).unwrap()).div_ceil(100).max(1);
            let exact = values[rank - 1];
            prop_assert!(found.abs_diff(exact) <= exact / 128, "{found} for {exact}");
        }

        #[test]
        fn neither_order_nor_parts_matter(
            mut values in prop::collection::vec(duration(), 0..100), cut in 0_usize..100,
        ) {
            let all = of(&values);
            let (one, other) = values.split_at(cut.min(values.len()));
            let (one, other) = (of(one), of(other));
            let (mut forth, mut back) = (one.clone(), other.clone());
            forth.merge(&other);
            back.merge(&one);
            prop_assert_eq!(&forth, &all);
            prop_assert_eq!(&back, &all);
            values.reverse();
            prop_assert_eq!(&of(&values), &all);
        }
    }
}
