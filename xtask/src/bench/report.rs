//! The report of one benchmark run, as it is printed and stored.

use serde_json::Value;

use super::contenders::{LIMIT, TRUE};
use super::goals::{Goal, GoalOutcome};
use super::machine::Machine;
use super::measure::{Measured, RowKind, rounded};
use super::memory::Peak;
use super::path_phases::PathPhase;

/// One run.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct BenchReport {
    pub date: String,
    pub machine: Machine,
    /// How the program was built.
    pub build: String,
    pub program_bytes: u64,
    pub goals: Vec<Goal>,
    pub times: Vec<ReportRow>,
    pub memory: Vec<Peak>,
    /// Where the time goes.
    pub stations: Vec<PathPhase>,
    /// What could not be measured, and why.
    pub left_out: Vec<String>,
    /// What was measured inside a process: the journal, the store, the SDK, `serve`.
    pub inside: Value,
}

/// The times of one contender.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ReportRow {
    pub name: String,
    pub kind: RowKind,
    pub turns: usize,
    pub median_us: f64,
    pub p95_us: f64,
    pub times_true: f64,
    pub times_limit: f64,
}

/// The rows of the table, with the multiples of the two yardsticks.
pub fn rows(measured: &[Measured]) -> Vec<ReportRow> {
    let median = |name: &str| {
        measured.iter().find(|one| one.name == name).map_or(f64::NAN, |one| one.median)
    };
    let (plain, limit) = (median(TRUE), median(LIMIT));
    let row = |one: &Measured| ReportRow {
        name: one.name.clone(),
        kind: one.kind,
        turns: one.turns,
        median_us: rounded(one.median),
        p95_us: rounded(one.percentile_95),
        times_true: rounded(one.median / plain),
        times_limit: rounded(one.median / limit),
    };
    measured.iter().map(row).collect()
}

impl BenchReport {
    /// Returns whether every goal is reached.
    pub fn reaches_all(&self) -> bool {
        self.goals.iter().all(|goal| goal.outcome == GoalOutcome::Pass)
    }
}

/// A report for tests of its output.
#[cfg(test)]
pub fn example() -> BenchReport {
    let one = |name: &str, kind, median| Measured {
        name: name.to_owned(),
        kind,
        turns: 1000,
        median,
        percentile_95: median * 1.5,
    };
    let goal = |what: &str, measured, outcome| Goal {
        what: what.to_owned(),
        unit: "× /bin/true".to_owned(),
        measured,
        wanted: 0.5,
        at_least: false,
        outcome,
    };
    BenchReport {
        date: "2026-01-01".to_owned(),
        machine: Machine {
            processor: "A <fast> one".to_owned(),
            cores: 2,
            kernel: "Linux 6.1".to_owned(),
        },
        build: "profile dist".to_owned(),
        program_bytes: 5_000_000,
        goals: vec![
            goal("10 hooks", Some(0.3), GoalOutcome::Pass),
            goal("100 hooks", Some(1.25), GoalOutcome::Fail),
            goal("the index", None, GoalOutcome::NotMeasured),
        ],
        times: rows(&[
            one(LIMIT, RowKind::Yardstick, 138.0),
            one(TRUE, RowKind::Yardstick, 690.0),
            one("anyhook, 10 hooks, none matches", RowKind::Anyhook, 207.0),
            one("a Node hook", RowKind::Peer, 69_000.0),
        ]),
        memory: vec![Peak {
            name: "anyhook".to_owned(),
            event_bytes: 1024,
            bytes: 2_500_000,
            page_faults: 40,
        }],
        stations: vec![PathPhase { name: "the journal".to_owned(), percent: 21.5 }],
        left_out: vec!["prek: no network".to_owned()],
        inside: Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_compared_with_both_yardsticks() {
        let report = example();
        let node = &report.times[3];
        assert_eq!((node.times_true, node.times_limit), (100.0, 500.0));
        assert_eq!((node.median_us, node.p95_us), (69_000.0, 103_500.0));
    }

    #[test]
    fn a_goal_not_measured_is_not_reached() {
        let mut report = example();
        assert!(!report.reaches_all());
        report.goals.retain(|goal| goal.outcome != GoalOutcome::Fail);
        assert!(!report.reaches_all());
        report.goals.retain(|goal| goal.outcome == GoalOutcome::Pass);
        assert!(report.reaches_all());
    }

    #[test]
    fn a_report_is_read_as_it_was_written() {
        let text = serde_json::to_string(&example()).unwrap();
        assert_eq!(serde_json::from_str::<BenchReport>(&text).unwrap(), example());
    }
}
