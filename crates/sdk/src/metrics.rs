//! Metrics of hooks: how often they ran, how they ended and how long they took.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use serde::Serialize;

/// The default number of hooks that are counted separately.
const MOST: usize = 1024;
/// The name under which all further hooks are counted together.
const OTHERS: &str = "(others)";
/// Buckets for each doubling of the latency: a quantile is at most a quarter too high.
const STEPS: usize = 4;
/// From 1 µs up to 2³² µs, which is more than an hour.
const DOUBLINGS: usize = 32;
const BUCKETS: usize = STEPS * DOUBLINGS;

/// How a hook ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HookOutcome {
    /// It succeeded.
    Ok,
    /// It returned an error.
    Error,
    /// It panicked.
    Panicked,
    /// It took too long.
    TimedOut,
}

/// Counts runs of hooks. Share it with [`Arc`]; recording takes no lock that another writer waits
/// for, unless the hook is new.
///
/// ```
/// use std::time::Duration;
/// use anyhook_sdk::{HookOutcome, Metrics};
///
/// let metrics = Metrics::default();
/// metrics.record("no-mkfs", "before_tool", HookOutcome::Ok, Duration::from_micros(80));
/// metrics.record("no-mkfs", "before_tool", HookOutcome::Error, Duration::from_micros(90));
/// let [hook] = &metrics.snapshot()[..] else { panic!() };
/// assert_eq!((hook.count, hook.errors), (2, 1));
/// ```
#[derive(Debug)]
pub struct Metrics {
    most: usize,
    hooks: RwLock<Hooks>,
    others: Counters,
}

#[derive(Debug, Default)]
struct Hooks {
    /// By name, so that a lookup does not copy it; a name rarely has more than one kind.
    by_name: HashMap<String, Vec<(&'static str, Arc<Counters>)>>,
    count: usize,
}

#[derive(Debug)]
struct Counters {
    errors: AtomicU64,
    panics: AtomicU64,
    timeouts: AtomicU64,
    total_us: AtomicU64,
    max_us: AtomicU64,
    buckets: [AtomicU64; BUCKETS],
}

/// The metrics of one hook. Times are in microseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct HookMetrics {
    /// The hook; `(others)` for all beyond the limit.
    pub hook: String,
    /// What kind of hook it is, or which event it was asked about.
    pub kind: &'static str,
    /// How often it ran.
    pub count: u64,
    /// How often it returned an error.
    pub errors: u64,
    /// How often it panicked.
    pub panics: u64,
    /// How often it took too long.
    pub timeouts: u64,
    /// How long all its runs took together.
    pub total_us: u64,
    /// The longest.
    pub max_us: u64,
    /// Half of its runs took at most this long.
    pub p50_us: u64,
    /// 95 of 100 took at most this long.
    pub p95_us: u64,
    /// 99 of 100 took at most this long.
    pub p99_us: u64,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::with_most(MOST)
    }
}

impl Metrics {
    /// Counts at most this many hooks separately; all further ones are counted together. 1,024 by
    /// default.
    pub fn with_most(most: usize) -> Self {
        Self { most, hooks: RwLock::default(), others: Counters::default() }
    }

    /// Counts a run of a hook.
    pub fn record(&self, hook: &str, kind: &'static str, outcome: HookOutcome, took: Duration) {
        {
            let hooks = self.hooks.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(counters) = hooks.find(hook, kind) {
                counters.record(outcome, took);
                return;
            }
            if hooks.count >= self.most {
                self.others.record(outcome, took);
                return;
            }
        }
        match self.add(hook, kind) {
            Some(counters) => counters.record(outcome, took),
            None => self.others.record(outcome, took),
        }
    }

    /// Returns the metrics of each hook, by name.
    pub fn snapshot(&self) -> Vec<HookMetrics> {
        let hooks = self.hooks.read().unwrap_or_else(PoisonError::into_inner);
        let known = hooks.by_name.iter().flat_map(|(name, kinds)| {
            kinds.iter().map(|(kind, counters)| counters.snapshot(name, kind))
        });
        let mut all: Vec<_> = known.collect();
        all.sort_by(|a, b| (&a.hook, a.kind).cmp(&(&b.hook, b.kind)));
        let others = self.others.snapshot(OTHERS, OTHERS);
        all.extend((others.count > 0).then_some(others));
        all
    }

    fn add(&self, hook: &str, kind: &'static str) -> Option<Arc<Counters>> {
        let mut hooks = self.hooks.write().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have been faster.
        if let Some(counters) = hooks.find(hook, kind) {
            return Some(counters.clone());
        }
        if hooks.count >= self.most {
            return None;
        }
        hooks.count += 1;
        let counters = Arc::new(Counters::default());
        hooks.by_name.entry(hook.to_owned()).or_default().push((kind, counters.clone()));
        Some(counters)
    }
}

impl Hooks {
    fn find(&self, hook: &str, kind: &str) -> Option<&Arc<Counters>> {
        let kinds = self.by_name.get(hook)?;
        kinds.iter().find(|(known, _)| *known == kind).map(|(_, counters)| counters)
    }
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            errors: AtomicU64::default(),
            panics: AtomicU64::default(),
            timeouts: AtomicU64::default(),
            total_us: AtomicU64::default(),
            max_us: AtomicU64::default(),
            buckets: [const { AtomicU64::new(0) }; BUCKETS],
        }
    }
}

impl Counters {
    fn record(&self, outcome: HookOutcome, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.total_us.fetch_add(micros, Relaxed);
        // Mostly there is nothing to write.
        if self.max_us.load(Relaxed) < micros {
            self.max_us.fetch_max(micros, Relaxed);
        }
        self.buckets[bucket(micros)].fetch_add(1, Relaxed);
        let counter = match outcome {
            HookOutcome::Ok => return,
            HookOutcome::Error => &self.errors,
            HookOutcome::Panicked => &self.panics,
            HookOutcome::TimedOut => &self.timeouts,
        };
        counter.fetch_add(1, Relaxed);
    }

    fn snapshot(&self, hook: &str, kind: &'static str) -> HookMetrics {
        let buckets = self.buckets.each_ref().map(|count| count.load(Relaxed));
        let count = buckets.iter().sum();
        let max_us = self.max_us.load(Relaxed);
        let quantile = |percent: u64| quantile(&buckets, count, percent).min(max_us);
        HookMetrics {
            hook: hook.to_owned(),
            kind,
            count,
            errors: self.errors.load(Relaxed),
            panics: self.panics.load(Relaxed),
            timeouts: self.timeouts.load(Relaxed),
            total_us: self.total_us.load(Relaxed),
            max_us,
            p50_us: quantile(50),
            p95_us: quantile(95),
            p99_us: quantile(99),
        }
    }
}

/// Returns the bucket of a latency: its highest bit, and the two bits after it.
fn bucket(micros: u64) -> usize {
    let micros = micros.max(1);
    let doubling = micros.ilog2() as usize;
    let bits = match doubling.checked_sub(2) {
        Some(shift) => micros >> shift,
        None => micros << (2 - doubling),
    };
    let step = usize::try_from(bits % STEPS as u64).unwrap_or_default();
    (doubling * STEPS + step).min(BUCKETS - 1)
}

/// Returns the highest latency in a bucket.
fn upper(bucket: usize) -> u64 {
    let (doubling, step) = (bucket / STEPS, bucket % STEPS);
    let next = ((STEPS + step + 1) as u64) << doubling;
    (next / STEPS as u64).saturating_sub(u64::from(doubling >= 2)).max(1)
}

fn quantile(buckets: &[u64], count: u64, percent: u64) -> u64 {
    let rank = (count * percent).div_ceil(100);
    let mut seen = 0;
    let reached = buckets.iter().position(|count| {
        seen += count;
        seen >= rank && seen > 0
    });
    reached.map_or(0, upper)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn one(metrics: &Metrics) -> HookMetrics {
        metrics.snapshot().pop().unwrap()
    }

    #[test]
    fn outcomes_are_told_apart() {
        let metrics = Metrics::default();
        for outcome in
            [HookOutcome::Ok, HookOutcome::Error, HookOutcome::Panicked, HookOutcome::TimedOut]
        {
            metrics.record("a", "pre", outcome, Duration::from_millis(1));
        }
        let a = one(&metrics);
        assert_eq!((a.count, a.errors, a.panics, a.timeouts), (4, 1, 1, 1));
        assert_eq!((a.total_us, a.max_us, a.p50_us, a.p99_us), (4000, 1000, 1000, 1000));
        let json = serde_json::to_value(&a).unwrap();
        assert_eq!((&json["hook"], &json["p95_us"]), (&"a".into(), &1000.into()));
    }

    #[test]
    fn names_are_bounded_and_kinds_are_apart() {
        let metrics = Metrics::with_most(3);
        for number in 0..10 {
            for kind in ["pre", "post"] {
                metrics.record(&number.to_string(), kind, HookOutcome::Ok, Duration::ZERO);
            }
        }
        let counted: Vec<_> =
            metrics.snapshot().into_iter().map(|one| (one.hook, one.kind, one.count)).collect();
        let named = |hook: &str, kind, count| (hook.to_owned(), kind, count);
        assert_eq!(
            counted,
            [
                named("0", "post", 1),
                named("0", "pre", 1),
                named("1", "pre", 1),
                named(OTHERS, OTHERS, 17)
            ]
        );
    }

    #[test]
    fn nothing_is_lost_between_threads() {
        let metrics = Metrics::default();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for number in 0..1000u64 {
                        let took = Duration::from_micros(number);
                        metrics.record(&(number % 10).to_string(), "pre", HookOutcome::Ok, took);
                    }
                });
            }
        });
        let all = metrics.snapshot();
        assert_eq!(all.len(), 10);
        assert!(all.iter().all(|hook| hook.count == 400));
    }

    proptest! {
        #[test]
        fn a_latency_is_at_most_a_quarter_below_the_end_of_its_bucket(micros in 1u64..1 << 31) {
            let bucket = bucket(micros);
            prop_assert!(micros <= upper(bucket));
            prop_assert!(upper(bucket) <= micros + micros / 4);
            prop_assert!(bucket == 0 || micros == 1 || upper(bucket - 1) <= micros);
        }

        #[test]
        fn quantiles_are_near_the_true_ones(mut all in prop::collection::vec(0u64..1 << 30, 1..200)) {
            let metrics = Metrics::default();
            for micros in &all {
                metrics.record("a", "pre", HookOutcome::Ok, Duration::from_micros(*micros));
            }
            all.sort_unstable();
            let found = one(&metrics);
            for (percent, found) in [(50, found.p50_us), (95, found.p95_us), (99, found.p99_us)] {
                let truth = all[(all.len() * percent).div_ceil(100) - 1];
                prop_assert!(found >= truth && found <= truth.max(1) + truth / 4, "{found} {truth}");
            }
            prop_assert_eq!(found.max_us, *all.last().unwrap());
        }
    }
}
