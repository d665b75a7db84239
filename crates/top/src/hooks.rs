//! Statistics of each hook: how often it ran and failed, and how long it takes.

use std::collections::{BTreeMap, VecDeque};

use anyhook_model::{Record, RunOutcome, RunRecord};
use jiff::Timestamp;

use anyhook_terminal::format::percentile;

/// At most this many hooks are kept; the least recently run is dropped first.
const KEEP: usize = 500;
/// The percentile is taken over this many last runs.
const KEEP_TIMES: usize = 200;

/// The statistics of one hook.
#[derive(Debug, Default)]
pub struct HookRow {
    /// How often it ran.
    pub runs: usize,
    /// How often it failed.
    pub failures: usize,
    /// How many of the failures were timeouts.
    pub timeouts: usize,
    /// When it last failed, and why.
    pub last_failure: Option<(Timestamp, String)>,
    times: VecDeque<u64>,
    last_at: Timestamp,
}

impl HookRow {
    fn feed(&mut self, run: &RunRecord, at: Timestamp) {
        self.runs += 1;
        self.timeouts += usize::from(matches!(run.outcome, Some(RunOutcome::TimedOut(_))));
        if let Some(failure) = &run.failure {
            self.failures += 1;
            self.last_failure = Some((at, failure.clone()));
        }
        if self.times.len() == KEEP_TIMES {
            self.times.pop_front();
        }
        self.times.push_back(run.took_us);
        self.last_at = at;
    }

    /// Returns the 95th percentile of the run times, in microseconds.
    pub fn percentile_95(&self) -> u64 {
        let mut times: Vec<u64> = self.times.iter().copied().collect();
        times.sort_unstable();
        percentile(&times, 95)
    }
}

/// All hooks by name.
#[derive(Debug, Default)]
pub struct HookTable {
    hooks: BTreeMap<String, HookRow>,
}

impl HookTable {
    /// Adds the runs of a record.
    pub fn feed(&mut self, record: &Record) {
        for run in &record.runs {
            // A background run is recorded again when it ends; what never ran took no time.
            if matches!(run.outcome, None | Some(RunOutcome::Detached)) {
                continue;
            }
            self.hooks.entry(run.hook.clone()).or_default().feed(run, record.at);
            if self.hooks.len() > KEEP {
                let oldest = self.hooks.iter().min_by_key(|(_, hook)| hook.last_at);
                if let Some(name) = oldest.map(|(name, _)| name.clone()) {
                    self.hooks.remove(&name);
                }
            }
        }
    }

    /// Returns the hooks: those that fail most first, then the slowest.
    pub fn rows(&self) -> Vec<(&str, &HookRow)> {
        let mut rows: Vec<_> =
            self.hooks.iter().map(|(name, hook)| (name.as_str(), hook)).collect();
        rows.sort_by_cached_key(|(_, hook)| {
            std::cmp::Reverse((hook.failures, hook.percentile_95()))
        });
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples::{record, run};

    #[test]
    fn the_most_failing_then_the_slowest_stand_first() {
        let mut hooks = HookTable::default();
        let mut record = record("before_tool");
        record.runs = vec![run("quick", 1_000), run("slow", 900_000), run("broken", 5_000)];
        record.runs[2].failure = Some("exit 1".to_owned());
        record.runs[2].outcome = Some(RunOutcome::TimedOut(100));
        let mut aside = run("aside", 0);
        aside.outcome = Some(RunOutcome::Detached);
        let mut never = run("never", 0);
        never.outcome = None;
        record.runs.extend([aside, never]);
        hooks.feed(&record);
        let names: Vec<_> = hooks.rows().iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["broken", "slow", "quick"]);
        let (_, broken) = hooks.rows()[0];
        assert_eq!((broken.runs, broken.failures, broken.timeouts), (1, 1, 1));
        assert_eq!(broken.last_failure.as_ref().map(|(_, why)| why.as_str()), Some("exit 1"));
    }

    #[test]
    fn the_percentile_leaves_out_one_of_twenty() {
        let mut hook = HookRow::default();
        assert_eq!(hook.percentile_95(), 0);
        for number in 1..=20 {
            hook.feed(&run("a", number), Timestamp::UNIX_EPOCH);
        }
        assert_eq!(hook.percentile_95(), 19);
        for _ in 0..KEEP_TIMES {
            hook.feed(&run("a", 7), Timestamp::UNIX_EPOCH);
        }
        assert_eq!((hook.percentile_95(), hook.times.len()), (7, KEEP_TIMES));
    }

    #[test]
    fn memory_is_bounded() {
        let mut hooks = HookTable::default();
        for number in 0..KEEP + 5 {
            let mut record = record("before_tool");
            record.runs = vec![run(&format!("hook-{number}"), 1)];
            hooks.feed(&record);
        }
        assert_eq!(hooks.rows().len(), KEEP);
    }
}
