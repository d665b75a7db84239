//! Counts records, in any order: pure.
//!
//! A hook that ran in the background is counted by the record of its outcome (`of`), not by that of
//! the dispatch which started it. What grows with the journal is small: a number for each session,
//! a pair for each hour; everything else is bounded.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use anyhook_hosts::bus_event::OURS;
use anyhook_model::report::stats::DeniedButRan;
use anyhook_model::{EventKind, Record, RecordId, RunOutcome};
use jiff::Timestamp;

use crate::histogram::Histogram;
use crate::runs::{HookTurn, RunTally};
use crate::top_n::TopN;
use crate::waits::WaitTally;

/// Which records are counted, and how much of them is kept.
#[derive(Clone, Debug, Default)]
pub struct TallyScope {
    /// Records of this time or later; all if absent.
    pub since: Option<Timestamp>,
    /// Records before this time; all if absent.
    pub until: Option<Timestamp>,
    /// Records of this host; all if absent.
    pub host: Option<String>,
    /// The hooks whose failure blocks, or would if they were not shadow hooks.
    pub fails_closed: BTreeSet<String>,
    /// How many of each list are kept.
    pub keep: usize,
}

/// The counts of the records that were read.
#[derive(Clone, Debug)]
pub struct Tally {
    /// Which records are counted.
    pub scope: TallyScope,
    /// How many records were counted.
    pub records: u64,
    /// How many lines of the journal were not records.
    pub damaged: u64,
    /// Whether the journal has records older than all that were read.
    pub has_older: bool,
    /// The time of the oldest record that was read, whether it was counted or not.
    pub oldest: Option<Timestamp>,
    /// The time of the newest record that was counted.
    pub newest: Option<Timestamp>,
    /// What each hook did at each host.
    pub hooks: BTreeMap<String, BTreeMap<String, RunTally>>,
    /// What was received from each host.
    pub hosts: BTreeMap<String, HostTally>,
    /// Calls that ran despite being denied.
    pub denied_but_ran: TopN<(Timestamp, RecordId), DeniedButRan>,
    /// How long decisions waited for a person.
    pub waiting: WaitTally,
    /// How agents' events were answered, in each hour since 1970.
    pub hours: BTreeMap<i64, HourVerdicts>,
    sessions: u32,
}

/// How agents' events were answered in an hour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HourVerdicts {
    /// How many were denied.
    pub denied: u64,
    /// About how many a person was asked.
    pub asked: u64,
    /// How many were let through.
    pub passed: u64,
}

/// What was received from one host, and the replies to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostTally {
    /// The number of verdicts by label.
    pub verdicts: BTreeMap<&'static str, u64>,
    /// How many events there were.
    pub events: u64,
    /// How many were denied.
    pub denials: u64,
    /// How often the user was asked.
    pub asks: u64,
    /// How many stops were let through because they had been blocked too often.
    pub capped: u64,
    /// The number of calls that ran although they had been denied.
    pub denied_but_ran: u64,
    /// How often a hook failed.
    pub failed_runs: u64,
    /// The number of records with redacted secrets.
    pub redacted: u64,
    /// How long it waited for each answer.
    pub times: Histogram,
    /// What could not be passed to it.
    pub lost: BTreeMap<String, u64>,
    sessions: HashMap<String, SessionNumber>,
}

/// A session, identified by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SessionNumber {
    number: u32,
    /// How long the host waited in it; `None` if only outcomes of background hooks are known.
    took_us: Option<u64>,
}

impl TallyScope {
    fn takes(&self, record: &Record) -> bool {
        !record.is_canary()
            && self.since.is_none_or(|since| record.at >= since)
            && self.until.is_none_or(|until| record.at < until)
            && self.host.as_ref().is_none_or(|host| record.host == *host)
    }
}

impl Tally {
    /// Creates an empty tally.
    pub fn new(scope: TallyScope) -> Self {
        Self {
            denied_but_ran: TopN::new(scope.keep),
            scope,
            records: 0,
            damaged: 0,
            has_older: false,
            oldest: None,
            newest: None,
            hooks: BTreeMap::new(),
            hosts: BTreeMap::new(),
            waiting: WaitTally::default(),
            hours: BTreeMap::new(),
            sessions: 0,
        }
    }

    /// Counts a record, if it is in the scope.
    pub fn take(&mut self, record: &Record) {
        self.oldest = Some(self.oldest.map_or(record.at, |oldest| oldest.min(record.at)));
        if !self.scope.takes(record) {
            return;
        }
        self.records += 1;
        self.newest = self.newest.max(Some(record.at));
        self.waiting.take(record);
        self.take_verdict(record);
        let host = self.hosts.entry(record.host.clone()).or_default();
        let session = host.take(record, &mut self.sessions);
        if let Some(denied_by) = &record.denied_by {
            self.denied_but_ran.take((record.at, record.id.clone()), || DeniedButRan {
                id: record.id.clone(),
                denied_by: denied_by.clone(),
                at: record.at,
                host: record.host.clone(),
                about: about(record),
            });
        }
        for run in &record.runs {
            let turn = HookTurn {
                record,
                run,
                session,
                fails_closed: self.scope.fails_closed.contains(&run.hook),
            };
            self.hooks
                .entry(run.hook.clone())
                .or_default()
                .entry(record.host.clone())
                .or_insert_with(|| RunTally::new(self.scope.keep))
                .take(&turn);
        }
    }

    fn take_verdict(&mut self, record: &Record) {
        // Outcomes of background hooks, and what anyhook itself reports, answer nobody.
        if record.of.is_some() || record.host == OURS {
            return;
        }
        let hour = self.hours.entry(record.at.as_second().div_euclid(3600)).or_default();
        let counted = if is_denied(record) {
            &mut hour.denied
        } else if record.verdict.word() == "ask" {
            &mut hour.asked
        } else {
            &mut hour.passed
        };
        *counted += 1;
    }

    /// Returns the number of sessions.
    pub fn sessions(&self) -> u64 {
        self.sessions.into()
    }

    /// Returns what a hook did at all hosts together.
    pub fn hook(&self, name: &str) -> RunTally {
        let mut all = RunTally::new(self.scope.keep);
        for at_host in self.hooks.get(name).into_iter().flat_map(BTreeMap::values) {
            all.merge(at_host);
        }
        all
    }
}

impl HostTally {
    /// Counts a record. Returns the number of its session.
    fn take(&mut self, record: &Record, sessions: &mut u32) -> Option<u32> {
        self.failed_runs += count(record.runs.iter().filter(|run| run.failure.is_some()));
        self.redacted += u64::from(!record.redacted.is_empty());
        let session = record.session.clone().map(|session| {
            self.sessions.entry(session).or_insert_with(|| {
                *sessions += 1;
                SessionNumber { number: *sessions, took_us: None }
            })
        });
        let number = session.as_ref().map(|session| session.number);
        if record.of.is_some() {
            return number;
        }
        if let Some(session) = session {
            let took_us = session.took_us.unwrap_or(0).saturating_add(record.took_us);
            session.took_us = Some(took_us);
        }
        self.events += 1;
        *self.verdicts.entry(record.verdict.word()).or_default() += 1;
        let is_denied = is_denied(record);
        self.denials += u64::from(is_denied);
        self.asks += u64::from(record.verdict.word() == "ask" && !is_denied);
        self.capped += u64::from(record.verdict.capped);
        self.denied_but_ran += u64::from(record.denied_by.is_some());
        self.times.add(record.took_us);
        for lost in &record.lost {
            *self.lost.entry(lost.what.clone()).or_default() += 1;
        }
        number
    }

    /// Returns the number of sessions.
    pub fn sessions(&self) -> u64 {
        count(self.sessions.values())
    }

    /// Returns how long the host waited in each session, the shortest first.
    pub fn waited_us(&self) -> Vec<u64> {
        let mut waited: Vec<u64> =
            self.sessions.values().filter_map(|session| session.took_us).collect();
        waited.sort_unstable();
        waited
    }
}

/// Returns whether the host was told not to proceed. What follows a stop cannot undo it.
pub(crate) fn is_denied(record: &Record) -> bool {
    let follows_stop = record.with.is_some()
        && matches!(record.event, EventKind::AfterAgent | EventKind::AfterStop);
    record.denies() && !follows_stop
}

/// Returns what a record is about, with the tool.
pub(crate) fn about(record: &Record) -> String {
    let words: Vec<&str> =
        [record.tool.as_deref(), record.about.as_deref()].into_iter().flatten().collect();
    if words.is_empty() { record.event.to_string() } else { words.join(" ") }
}

/// Returns whether a run is only the start of a background run whose outcome has its own record.
pub(crate) fn is_begun_aside(outcome: Option<&RunOutcome>) -> bool {
    outcome == Some(&RunOutcome::Detached)
}

fn count<Thing>(things: impl Iterator<Item = Thing>) -> u64 {
    things.fold(0, |sum, _| sum + 1)
}
