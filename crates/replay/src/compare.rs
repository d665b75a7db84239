//! Compares the recorded verdicts with those of a replay. Pure.

use std::collections::HashSet;

use anyhook_engine::dispatch::FinishedDispatch;
use anyhook_model::report::{ReplayCost, ReplayReport, ReplayedEvent};
use anyhook_model::{Effect, Record, RunRecord, Verdict};
use anyhook_terminal::format::percentile;

use crate::source::PastEvent;

/// What changes for one event.
#[derive(Clone, Debug, PartialEq, Eq)]
enum VerdictChange {
    Nothing,
    NewBlock,
    NewAllow,
    /// Something else is different: what.
    Other(&'static str),
}

/// The result of replaying one event.
#[derive(Debug)]
pub struct JudgedEvent {
    event: ReplayedEvent,
    is_due: bool,
    is_redacted: bool,
    /// How a hook failed in the replay.
    failure: Option<String>,
    /// Whether none of the hooks had failed in the original run.
    was_sound: bool,
    change: VerdictChange,
    times: Vec<u64>,
}

/// Compares the original verdict with the replayed one.
pub fn judge(
    item: &PastEvent,
    finished: &FinishedDispatch,
    names: &HashSet<String>,
) -> JudgedEvent {
    let record = item.record.as_ref();
    let failed = finished.runs.iter().find(|run| run.failure.is_some());
    JudgedEvent {
        event: replayed(item, &finished.verdict),
        is_due: !finished.runs.is_empty() || was_run(item, names),
        is_redacted: record.is_some_and(|record| !record.redacted.is_empty()),
        failure: failed
            .map(|run| format!("{}: {}", run.hook, run.failure.clone().unwrap_or_default())),
        was_sound: record
            .is_none_or(|record| own_runs(record, names).all(|run| run.failure.is_none())),
        change: change(record, finished, names),
        times: finished.runs.iter().map(|run| run.took_us).collect(),
    }
}

/// Counts and sorts the results.
pub fn sum_up(judged: impl Iterator<Item = JudgedEvent>, report: &mut ReplayReport) {
    let mut times = Vec::new();
    for one in judged {
        report.events += 1;
        if !one.is_due {
            continue;
        }
        report.due += 1;
        times.extend(one.times);
        let event = one.event;
        let fails_anew = one.failure.is_some() && one.was_sound;
        if let Some(reason) = one.failure {
            report.failed.push(ReplayedEvent { reason: Some(reason), ..event.clone() });
        }
        if one.is_redacted {
            report.redacted.push(event);
            continue;
        }
        match one.change {
            // A hook that fails only in the replay has not returned the same verdict.
            VerdictChange::Nothing if fails_anew => {}
            VerdictChange::Nothing => report.same += 1,
            VerdictChange::NewBlock => report.new_blocks.push(event),
            VerdictChange::NewAllow => report.new_allows.push(event),
            VerdictChange::Other(what) => {
                report.differences.push(ReplayedEvent { reason: Some(what.to_owned()), ..event });
            }
        }
    }
    report.cost = cost(times);
}

fn was_run(item: &PastEvent, names: &HashSet<String>) -> bool {
    item.record.as_ref().is_some_and(|record| own_runs(record, names).next().is_some())
}

/// Returns the original runs of the hooks under test.
fn own_runs<'record>(
    record: &'record Record,
    names: &'record HashSet<String>,
) -> impl Iterator<Item = &'record RunRecord> {
    record.runs.iter().filter(|run| names.contains(&run.hook))
}

fn replayed(item: &PastEvent, now: &Verdict) -> ReplayedEvent {
    let event = &item.event;
    ReplayedEvent {
        id: item.id.clone(),
        at: item.record.as_ref().map_or(event.at, |record| record.at),
        host: event.host.clone(),
        event: event.kind.clone(),
        tool: event.tool.as_ref().map(|tool| tool.name.clone()),
        about: match &item.record {
            Some(record) => record.about.clone(),
            None => event.headline().map(|text| anyhook_model::json::shorten(&text, 400)),
        },
        then: item.record.as_ref().map(|record| record.verdict.word().to_owned()),
        now: now.word().to_owned(),
        by: now.by.clone(),
        reason: now.reason.clone(),
    }
}

fn change(
    record: Option<&Record>,
    finished: &FinishedDispatch,
    names: &HashSet<String>,
) -> VerdictChange {
    let now = &finished.verdict;
    let Some(record) = record else {
        // A transcript does not record verdicts; every call in it was executed.
        return if now.is_block() { VerdictChange::NewBlock } else { VerdictChange::Nothing };
    };
    let by_us = record.verdict.by.as_ref().is_some_and(|by| names.contains(by));
    match (record.denies(), now.is_block()) {
        (false, true) => VerdictChange::NewBlock,
        (true, false) if by_us => VerdictChange::NewAllow,
        (true, true) if by_us => match (&record.verdict, now) {
            (then, now) if then.by != now.by => {
                VerdictChange::Other("a different hook would block it")
            }
            (then, now) if then.reason != now.reason => {
                VerdictChange::Other("would be blocked for a different reason")
            }
            _ => VerdictChange::Nothing,
        },
        // Another hook blocked it; what ours returned before that may still differ.
        (true, true) => VerdictChange::Nothing,
        (true | false, false) => other_change(record, finished, names),
    }
}

/// Compares what the hooks under test returned, where neither is a block.
fn other_change(
    record: &Record,
    finished: &FinishedDispatch,
    names: &HashSet<String>,
) -> VerdictChange {
    let then: Vec<&RunRecord> = own_runs(record, names).collect();
    if record.denies() && then.is_empty() {
        // It was blocked before our hooks ran.
        return VerdictChange::Nothing;
    }
    let counts = |run: &&RunRecord| run.failure.is_none();
    let now: Vec<&RunRecord> = finished.runs.iter().collect();
    let strongest = |runs: &[&RunRecord]| -> Option<Effect> {
        runs.iter().filter(|run| counts(run)).filter_map(|run| run.decision.effect).max()
    };
    // The output of a shadow hook had no effect.
    let counted: Vec<&RunRecord> = then.iter().copied().filter(|run| !run.shadow).collect();
    if strongest(&counted) != strongest(&now) {
        return VerdictChange::Other(match strongest(&now) {
            Some(Effect::Ask) => "would ask for approval",
            Some(_) => "would allow it without asking",
            None => "would have no opinion",
        });
    }
    let input =
        |runs: &[&RunRecord]| runs.iter().rev().find_map(|run| run.decision.modified_input.clone());
    if input(&counted) != input(&now) {
        return VerdictChange::Other("would change the input differently");
    }
    let context = |runs: &[&RunRecord]| -> Vec<String> {
        let sound = runs.iter().filter(|run| counts(run));
        sound.filter_map(|run| run.decision.additional_context.clone()).collect()
    };
    if context(&counted) != context(&now) {
        return VerdictChange::Other("would tell the model something different");
    }
    VerdictChange::Nothing
}

fn cost(mut times: Vec<u64>) -> ReplayCost {
    times.sort_unstable();
    ReplayCost {
        runs: times.len(),
        p50_us: percentile(&times, 50),
        p95_us: percentile(&times, 95),
        total_us: times.iter().sum(),
    }
}
