//! Turns counts into the report: order, percentiles, time steps, and hooks that never ran.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use anyhook_engine::discover::InstalledHooks;
use anyhook_model::SkipReason;
use anyhook_model::report::StatsReport;
use anyhook_model::report::stats::{
    FailureGroup, HookAtHost, HookStats, HostStats, LostPart, NeverFired, RunStats, StatsSteps,
    VerdictSteps,
};
use jiff::Timestamp;

use crate::runs::RunTally;
use crate::shadow::shadow_of;
use crate::tally::{HostTally, HourVerdicts, Tally};

/// How many runs are listed as the slowest.
const SLOWEST: usize = 5;

/// Fewer failures may be chance.
const ALWAYS: u64 = 3;

/// A period of more hours is counted by days.
const HOURS_LIMIT: i64 = 48;

/// If there are more steps, only the last ones are reported.
const STEPS_LIMIT: i64 = 1000;

/// Which hooks are reported.
#[derive(Clone, Copy, Debug)]
pub struct HookSelection<'given> {
    /// What is installed.
    pub installed: &'given InstalledHooks,
    /// The requested hooks; empty means all.
    pub hooks: &'given [String],
}

impl HookSelection<'_> {
    fn takes(&self, hook: &str) -> bool {
        self.hooks.is_empty() || self.hooks.iter().any(|wanted| wanted == hook)
    }

    fn has_installed(&self, hook: &str) -> bool {
        self.installed.hooks.iter().any(|standing| standing.hook.name() == hook)
    }
}

/// Builds the report.
pub fn make(tally: &Tally, wanted: &HookSelection<'_>, now: Timestamp) -> StatsReport {
    let until = tally.scope.until.unwrap_or_else(|| now.max(tally.newest.unwrap_or(now)));
    let steps = Steps::of(tally, until);
    let mut hooks: Vec<HookStats> = tally
        .hooks
        .keys()
        .filter(|name| wanted.takes(name))
        .map(|name| hook(tally, name, wanted.has_installed(name), steps.as_ref()))
        .collect();
    hooks.sort_by_key(|hook| Reverse(hook.all.runs));
    let mut hosts: Vec<HostStats> =
        tally.hosts.iter().map(|(name, tally)| host(name, tally)).collect();
    hosts.sort_by_key(|host| Reverse(host.events));
    let sum = |number: fn(&HostStats) -> u64| hosts.iter().map(number).sum();
    StatsReport {
        since: tally.scope.since,
        until,
        reaches_back_to: reaches_back_to(tally),
        records: tally.records,
        sessions: tally.sessions(),
        damaged_lines: tally.damaged,
        redacted_records: sum(|host| host.redacted_records),
        capped_stops: sum(|host| host.capped_stops),
        denied_but_ran: sum(|host| host.denied_but_ran),
        denied_but_ran_last: tally.denied_but_ran.all().cloned().collect(),
        verdicts: steps.as_ref().map(|steps| steps.verdicts(tally)).unwrap_or_default(),
        steps: steps.as_ref().and_then(Steps::told),
        slowest: slowest(&hooks),
        never_fired: never_fired(tally, wanted),
        always_failing: hooks
            .iter()
            .filter(|hook| hook.all.runs >= ALWAYS && hook.all.failures == hook.all.runs)
            .map(|hook| hook.hook.clone())
            .collect(),
        waiting: tally.waiting.stats(),
        hooks,
        hosts,
    }
}

/// Returns the time of the journal's oldest record, if it is later than the start of the period.
fn reaches_back_to(tally: &Tally) -> Option<Timestamp> {
    let since = tally.scope.since?;
    tally.oldest.filter(|oldest| !tally.has_older && *oldest > since)
}

fn hook(tally: &Tally, name: &str, installed: bool, steps: Option<&Steps>) -> HookStats {
    let all = tally.hook(name);
    let at_hosts = tally.hooks.get(name).into_iter().flatten();
    let mut messages: Vec<FailureGroup> = all.messages.values().cloned().collect();
    messages.sort_by_key(|group| Reverse((group.count, group.last_at)));
    messages.truncate(tally.scope.keep);
    HookStats {
        hook: name.to_owned(),
        installed,
        hosts: at_hosts
            .map(|(host, tally)| HookAtHost { host: host.clone(), stats: runs(tally, steps) })
            .collect(),
        slowest_runs: all.slowest.all().cloned().collect(),
        failure_messages: messages,
        shadow: shadow_of(tally, name),
        all: runs(&all, steps),
    }
}

fn runs(tally: &RunTally, steps: Option<&Steps>) -> RunStats {
    let sessions = u64::try_from(tally.sessions.len()).unwrap_or(u64::MAX);
    let per_step = |number: fn((u64, u64)) -> u64| {
        steps.map_or_else(Vec::new, |steps| steps.count(tally, number))
    };
    RunStats {
        runs: tally.runs,
        blocks: tally.blocks,
        blocks_by_failure: tally.blocks_by_failure,
        capped: tally.capped,
        asks: tally.asks,
        allows: tally.allows,
        input_changes: tally.input_changes,
        failures: tally.failures,
        timeouts: tally.timeouts,
        unfinished: tally.unfinished(),
        sessions,
        per_session_us: tally.in_sessions_us.checked_div(sessions),
        time: tally.times.stats(),
        last_run: tally.last,
        runs_per_step: per_step(|(runs, _)| runs),
        blocks_per_step: per_step(|(_, blocks)| blocks),
    }
}

fn host(name: &str, tally: &HostTally) -> HostStats {
    let waited = tally.waited_us();
    // The nearest rank.
    let median = waited.len().div_ceil(2).checked_sub(1).and_then(|rank| waited.get(rank));
    HostStats {
        host: name.to_owned(),
        events: tally.events,
        denials: tally.denials,
        asks: tally.asks,
        allows: tally.verdicts.get("allow").copied().unwrap_or(0),
        capped_stops: tally.capped,
        denied_but_ran: tally.denied_but_ran,
        failed_runs: tally.failed_runs,
        redacted_records: tally.redacted,
        time: tally.times.stats(),
        sessions: tally.sessions(),
        session_median_us: median.copied(),
        session_max_us: waited.last().copied(),
        lost: tally
            .lost
            .iter()
            .map(|(what, count)| LostPart { what: what.clone(), count: *count })
            .collect(),
    }
}

fn slowest(hooks: &[HookStats]) -> Vec<String> {
    let mut timed: Vec<(u64, &str)> = hooks
        .iter()
        .filter_map(|hook| hook.all.time.as_ref().map(|time| (time.p95_us, hook.hook.as_str())))
        .collect();
    timed.sort_by_key(|(p95, _)| Reverse(*p95));
    timed.into_iter().take(SLOWEST).map(|(_, name)| name.to_owned()).collect()
}

fn never_fired(tally: &Tally, wanted: &HookSelection<'_>) -> Vec<NeverFired> {
    let mut seen: BTreeSet<&str> = tally.hooks.keys().map(String::as_str).collect();
    let mut never = Vec::new();
    for standing in &wanted.installed.hooks {
        let hook = &standing.hook;
        let hosts = &hook.definition.hosts;
        let is_meant =
            tally.scope.host.as_ref().is_none_or(|host| hosts.is_empty() || hosts.contains(host));
        // Another hook with the same name overrides it.
        let is_shadowed =
            matches!(standing.out, Some(SkipReason::Replaced(_) | SkipReason::Dropped(_)));
        if wanted.takes(hook.name()) && is_meant && !is_shadowed && seen.insert(hook.name()) {
            never.push(NeverFired {
                hook: hook.name().to_owned(),
                trigger: hook.trigger_names().iter().map(ToString::to_string).collect(),
                why: standing.out.as_ref().map(ToString::to_string),
            });
        }
    }
    never
}

/// The period, divided into hours or days.
struct Steps {
    /// The length of a step in hours.
    hours: i64,
    /// The index of the first one, counted since 1970.
    first: i64,
    count: i64,
}

impl Steps {
    fn of(tally: &Tally, until: Timestamp) -> Option<Self> {
        let oldest = tally.oldest.filter(|_| tally.records > 0)?;
        let from = match tally.scope.since {
            Some(since) if tally.has_older || oldest < since => since,
            _ => oldest,
        };
        // The end is not part of the period; the newest counted record is.
        let newest = tally.newest.map_or(i64::MIN, Timestamp::as_second);
        let (from, until) = (from.as_second(), newest.max(until.as_second() - 1));
        let hours = if until - from < HOURS_LIMIT * 3600 { 1 } else { 24 };
        let step = |second: i64| second.div_euclid(3600 * hours);
        let last = step(until.max(from));
        let first = step(from).max(last - STEPS_LIMIT + 1);
        Some(Self { hours, first, count: last - first + 1 })
    }

    fn told(&self) -> Option<StatsSteps> {
        Some(StatsSteps {
            unit: if self.hours == 1 { "hour" } else { "day" }.to_owned(),
            start: Timestamp::from_second(self.first * self.hours * 3600).ok()?,
            count: usize::try_from(self.count).ok()?,
        })
    }

    fn verdicts(&self, tally: &Tally) -> VerdictSteps {
        let count = |number: fn(&HourVerdicts) -> u64| {
            self.sum(tally.hours.iter().map(|(hour, verdicts)| (*hour, number(verdicts))))
        };
        VerdictSteps {
            denied: count(|hour| hour.denied),
            asked: count(|hour| hour.asked),
            passed: count(|hour| hour.passed),
        }
    }

    fn count(&self, tally: &RunTally, number: fn((u64, u64)) -> u64) -> Vec<u64> {
        self.sum(tally.hours.iter().map(|(hour, counts)| (*hour, number(*counts))))
    }

    /// Sums up hours into steps.
    fn sum(&self, hours: impl Iterator<Item = (i64, u64)>) -> Vec<u64> {
        let mut steps = vec![0; usize::try_from(self.count).unwrap_or(0)];
        for (hour, number) in hours {
            let step = usize::try_from(hour.div_euclid(self.hours) - self.first).ok();
            if let Some(step) = step.and_then(|step| steps.get_mut(step)) {
                *step += number;
            }
        }
        steps
    }
}
