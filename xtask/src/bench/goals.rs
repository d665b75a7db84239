//! The goals of the benchmark, and whether they are reached.

use serde_json::Value;

use super::contenders::{
    CAT_LARGE, GUARD, GUARDS, HUNDRED, LARGE_COMMAND, LARGE_FILE, LIMIT, ONE, REBUILT, SCRIPT,
    STATUS_LINE, TEN, THOUSAND, THOUSAND_GUARDS, TRUE,
};
use super::measure::{Measured, rounded};
use super::memory::{self, Peak};

/// Whether a goal is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GoalOutcome {
    Pass,
    Fail,
    NotMeasured,
}

/// A goal, and what was measured.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Goal {
    pub what: String,
    /// What the numbers are: `× /bin/true`, `ms`.
    pub unit: String,
    /// `None` if it could not be measured.
    pub measured: Option<f64>,
    pub wanted: f64,
    /// The goal is a minimum, not a maximum.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
    pub outcome: GoalOutcome,
}

/// All that was measured.
pub struct Measurements<'a> {
    pub times: &'a [Measured],
    pub memory: &'a [Peak],
    /// The instructions of the path on which none of 100 hooks matches, as a multiple of the
    /// committed figure.
    pub instructions: Option<f64>,
    /// The results of the examples for the journal and the store.
    pub journal: &'a Value,
    pub store: &'a Value,
}

/// Every goal in the order of the table.
pub fn judge(found: &Measurements<'_>) -> Vec<Goal> {
    let per_true =
        |what: &str, name, limit| at_most(what, "× /bin/true", found.ratio(name, TRUE), limit);
    let per_cat =
        |what: &str, name| at_most(what, "× cat of it", found.ratio(name, CAT_LARGE), 2.5);
    let per_event = |what: &str, name| at_most(what, "× the event", found.per_event(name), 4.0);
    let number = |value: &Value, path: &str| value.pointer(path).and_then(Value::as_f64);
    vec![
        per_true("10 hooks, none matches, 1 KB event", TEN, 0.5),
        at_most(
            "10 hooks, none matches, 1 KB event",
            "× a static no-op",
            found.ratio(TEN, LIMIT),
            2.5,
        ),
        per_true("100 hooks, none matches, every edit seen at once", HUNDRED, 0.8),
        per_true("1000 hooks, none matches, every edit seen at once", THOUSAND, 3.0),
        per_cat("100 hooks, 1 MB event for another tool", LARGE_FILE),
        per_cat("100 hooks, 1 MB event that they search", LARGE_COMMAND),
        at_most("one matching sh hook", "× the script", found.ratio(ONE, SCRIPT), 1.5),
        at_most(
            "one of 100 declarative guards matches",
            "× none matches",
            found.ratio(GUARD, GUARDS),
            1.15,
        ),
        at_most(
            "1000 declarative guards, none matches",
            "× 1000 hooks",
            found.ratio(THOUSAND_GUARDS, THOUSAND),
            1.2,
        ),
        at_most(
            "index of 1000 hooks from nothing",
            "ms",
            found.median(REBUILT).map(|time| time / 1e3),
            25.0,
        ),
        at_most("the status line", "ms", found.median(STATUS_LINE).map(|time| time / 1e3), 20.0),
        at_most(
            "peak memory, 1 KB event",
            "MB",
            found.peak(memory::SMALL).map(|bytes| bytes / 1e6),
            3.0,
        ),
        per_event("peak memory, 10 MB event, one long text", memory::LONG_TEXT),
        per_event("peak memory, 10 MB event, many small values", memory::SMALL_VALUES),
        at_most(
            "instructions, 100 hooks, none matches",
            "× the committed",
            found.instructions,
            1.02,
        ),
        at_most(
            "journal on the hook path",
            "µs",
            number(found.journal, "/append_decided/p50_us"),
            60.0,
        ),
        at_least(
            "daemon: durable events, 64 at a time",
            "a second",
            number(found.store, "/store_synced/batch_64/entries_per_second"),
            100_000.0,
        ),
        at_most(
            "daemon: one durable event, 99 of 100",
            "ms",
            number(found.store, "/store_synced/batch_1/p99_us").map(|time| time / 1e3),
            1.0,
        ),
    ]
}

impl Measurements<'_> {
    fn median(&self, name: &str) -> Option<f64> {
        self.times.iter().find(|one| one.name == name).map(|one| one.median)
    }

    fn ratio(&self, name: &str, to: &str) -> Option<f64> {
        Some(self.median(name)? / self.median(to)?)
    }

    #[expect(clippy::cast_precision_loss, reason = "no memory is that large")]
    fn peak(&self, name: &str) -> Option<f64> {
        self.memory.iter().find(|one| one.name == name).map(|one| one.bytes as f64)
    }

    #[expect(clippy::cast_precision_loss, reason = "no event is that large")]
    fn per_event(&self, name: &str) -> Option<f64> {
        let peak = self.memory.iter().find(|one| one.name == name)?;
        Some(peak.bytes as f64 / peak.event_bytes as f64)
    }
}

fn at_most(what: &str, unit: &str, measured: Option<f64>, wanted: f64) -> Goal {
    new(what, unit, measured, wanted, false)
}

fn at_least(what: &str, unit: &str, measured: Option<f64>, wanted: f64) -> Goal {
    new(what, unit, measured, wanted, true)
}

fn new(what: &str, unit: &str, measured: Option<f64>, wanted: f64, at_least: bool) -> Goal {
    let outcome = match measured {
        None => GoalOutcome::NotMeasured,
        // The measured value is judged, not the rounded one.
        Some(number) if number >= wanted && at_least || number <= wanted && !at_least => {
            GoalOutcome::Pass
        }
        Some(_) => GoalOutcome::Fail,
    };
    Goal {
        what: what.to_owned(),
        unit: unit.to_owned(),
        measured: measured.map(rounded),
        wanted,
        at_least,
        outcome,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::measure::RowKind;
    use super::GoalOutcome::{Fail, Pass};
    use super::*;

    fn time(name: &str, median: f64) -> Measured {
        let name = name.to_owned();
        Measured { name, kind: RowKind::Anyhook, turns: 1000, median, percentile_95: median * 2.0 }
    }

    fn outcomes(goals: &[Goal]) -> Vec<(Option<f64>, GoalOutcome)> {
        goals.iter().map(|goal| (goal.measured, goal.outcome)).collect()
    }

    #[test]
    fn what_was_not_measured_has_not_passed() {
        let nothing = Measurements {
            times: &[],
            memory: &[],
            instructions: None,
            journal: &Value::Null,
            store: &Value::Null,
        };
        assert!(judge(&nothing).iter().all(|goal| goal.outcome == GoalOutcome::NotMeasured));
    }

    #[test]
    fn every_goal_looks_at_its_own_figures() {
        let times = [
            time(LIMIT, 100.0),
            time(TRUE, 400.0),
            time(CAT_LARGE, 1000.0),
            time(SCRIPT, 800.0),
            time(TEN, 200.0),
            time(HUNDRED, 321.0),
            time(THOUSAND, 1200.0),
            time(LARGE_FILE, 2500.0),
            time(LARGE_COMMAND, 2600.0),
            time(ONE, 1200.0),
            time(GUARDS, 400.0),
            time(GUARD, 460.0),
            time(THOUSAND_GUARDS, 1441.0),
            time(REBUILT, 25_001.0),
            time(STATUS_LINE, 20_000.0),
        ];
        let peak = |name: &str, event_bytes, bytes| Peak {
            name: name.to_owned(),
            event_bytes,
            bytes,
            page_faults: 40,
        };
        let memory = [
            peak(memory::SMALL, 1024, 3_000_000),
            peak(memory::LONG_TEXT, 1000, 4000),
            peak(memory::SMALL_VALUES, 1000, 4010),
        ];
        let journal = json!({"append_decided": {"p50_us": 60.5}});
        let store = json!({"store_synced": {
            "batch_64": {"entries_per_second": 99_999.0}, "batch_1": {"p99_us": 900.0},
        }});
        let instructions = Some(1.021);
        let found = Measurements {
            times: &times,
            memory: &memory,
            instructions,
            journal: &journal,
            store: &store,
        };
        assert_eq!(
            outcomes(&judge(&found)),
            [
                (Some(0.5), Pass),
                (Some(2.0), Pass),
                (Some(0.8), Fail),
                (Some(3.0), Pass),
                (Some(2.5), Pass),
                (Some(2.6), Fail),
                (Some(1.5), Pass),
                (Some(1.15), Pass),
                (Some(1.2), Fail),
                (Some(25.0), Fail),
                (Some(20.0), Pass),
                (Some(3.0), Pass),
                (Some(4.0), Pass),
                (Some(4.01), Fail),
                (Some(1.02), Fail),
                (Some(60.5), Fail),
                (Some(99_999.0), Fail),
                (Some(0.9), Pass),
            ]
        );
    }
}
