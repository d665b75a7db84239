//! Counts what one hook did at one host.

use std::collections::{BTreeMap, HashSet};

use anyhook_model::report::stats::{FailureGroup, ShadowBlock, ShadowStats, SlowRun};
use anyhook_model::{Effect, Record, RecordId, RunOutcome, RunRecord};
use anyhook_terminal::first_line;
use jiff::Timestamp;

use crate::histogram::Histogram;
use crate::tally::{about, is_begun_aside, is_denied};
use crate::top_n::TopN;

/// How many different failure messages are counted separately.
const MESSAGES: usize = 200;

/// A longer message is truncated.
const MESSAGE_WIDTH: usize = 160;

/// Stands for all messages beyond the limit.
const OTHER_MESSAGES: &str = "(other messages)";

/// One hook's run at one event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HookTurn<'record> {
    /// The record.
    pub record: &'record Record,
    /// The record of the run.
    pub run: &'record RunRecord,
    /// The number of the session.
    pub session: Option<u32>,
    /// Whether a failure of the hook blocks.
    pub fails_closed: bool,
}

/// The counts of a hook's runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunTally {
    /// How often it ran.
    pub runs: u64,
    /// How often it blocked.
    pub blocks: u64,
    /// How many of these were failures.
    pub blocks_by_failure: u64,
    /// How often its block of a stop was overruled.
    pub capped: u64,
    /// How often it asked for confirmation.
    pub asks: u64,
    /// How often it allowed.
    pub allows: u64,
    /// How often it changed the input.
    pub input_changes: u64,
    /// How often it failed.
    pub failures: u64,
    /// How often it timed out.
    pub timeouts: u64,
    /// How often it was started in the background.
    pub begun_aside: u64,
    /// How often a background run finished.
    pub ended_aside: u64,
    /// How long its runs took, as far as they were started.
    pub times: Histogram,
    /// The total time of its runs in sessions.
    pub in_sessions_us: u64,
    /// The sessions it ran in.
    pub sessions: HashSet<u32>,
    /// When it last ran.
    pub last: Option<Timestamp>,
    /// Runs and blocks in each hour since 1970.
    pub hours: BTreeMap<i64, (u64, u64)>,
    /// Its slowest runs.
    pub slowest: TopN<(u64, Timestamp, RecordId), SlowRun>,
    /// Its failures by message.
    pub messages: BTreeMap<String, FailureGroup>,
    /// What it would have done where it ran as a shadow hook, without effect; `last` is not set.
    pub shadow: ShadowStats,
    /// What it would have blocked.
    pub would_block: TopN<(Timestamp, RecordId), ShadowBlock>,
}

impl RunTally {
    /// Creates an empty tally; `keep` is how many of each list are kept.
    pub fn new(keep: usize) -> Self {
        Self {
            runs: 0,
            blocks: 0,
            blocks_by_failure: 0,
            capped: 0,
            asks: 0,
            allows: 0,
            input_changes: 0,
            failures: 0,
            timeouts: 0,
            begun_aside: 0,
            ended_aside: 0,
            times: Histogram::default(),
            in_sessions_us: 0,
            sessions: HashSet::new(),
            last: None,
            hours: BTreeMap::new(),
            slowest: TopN::new(keep),
            messages: BTreeMap::new(),
            shadow: ShadowStats::default(),
            would_block: TopN::new(keep),
        }
    }

    /// Counts a run.
    pub(crate) fn take(&mut self, turn: &HookTurn<'_>) {
        let HookTurn { record, run, session, .. } = turn;
        self.last = self.last.max(Some(record.at));
        self.sessions.extend(session);
        if is_begun_aside(run.outcome.as_ref()) {
            self.begun_aside += 1;
            return;
        }
        self.runs += 1;
        self.timeouts += u64::from(matches!(run.outcome, Some(RunOutcome::TimedOut(_))));
        self.take_time(turn);
        self.take_failure(turn);
        let blocks = if record.of.is_some() {
            // Its output comes too late to have an effect.
            self.ended_aside += 1;
            0
        } else if run.shadow {
            self.take_shadow(turn);
            0
        } else {
            self.take_decision(turn)
        };
        let hour = self.hours.entry(record.at.as_second().div_euclid(3600)).or_default();
        hour.0 += 1;
        hour.1 += blocks;
    }

    fn take_time(&mut self, HookTurn { record, run, session, .. }: &HookTurn<'_>) {
        if matches!(run.outcome, None | Some(RunOutcome::NotStarted(_))) {
            return;
        }
        self.times.add(run.took_us);
        if session.is_some() {
            self.in_sessions_us = self.in_sessions_us.saturating_add(run.took_us);
        }
        self.slowest.take((run.took_us, record.at, record.id.clone()), || SlowRun {
            id: record.id.clone(),
            at: record.at,
            host: record.host.clone(),
            about: about(record),
            took_us: run.took_us,
        });
    }

    fn take_failure(&mut self, HookTurn { record, run, .. }: &HookTurn<'_>) {
        let Some(failure) = &run.failure else { return };
        self.failures += 1;
        self.add_failures(FailureGroup {
            message: first_line(failure, MESSAGE_WIDTH),
            count: 1,
            last_id: record.id.clone(),
            last_at: record.at,
        });
    }

    fn add_failures(&mut self, mut more: FailureGroup) {
        if self.messages.len() >= MESSAGES && !self.messages.contains_key(&more.message) {
            OTHER_MESSAGES.clone_into(&mut more.message);
        }
        match self.messages.get_mut(&more.message) {
            Some(group) => {
                group.count += more.count;
                if (more.last_at, &more.last_id) > (group.last_at, &group.last_id) {
                    (group.last_at, group.last_id) = (more.last_at, more.last_id);
                }
            }
            None => {
                self.messages.insert(more.message.clone(), more);
            }
        }
    }

    /// Counts the effect of a hook that is enforced. Returns how often it blocked.
    fn take_decision(&mut self, turn: &HookTurn<'_>) -> u64 {
        let HookTurn { record, run, .. } = turn;
        let effect = turn.effect();
        self.asks += u64::from(effect == Some(Effect::Ask));
        self.allows += u64::from(effect == Some(Effect::Allow));
        self.input_changes += u64::from(turn.changes_input());
        let failed_closed =
            record.verdict.failed.iter().any(|failed| failed.blocked && failed.hook == run.hook);
        let denies = effect == Some(Effect::Deny) || failed_closed;
        self.capped += u64::from(denies && record.verdict.capped);
        let blocks = u64::from(denies && is_denied(record));
        self.blocks += blocks;
        self.blocks_by_failure += if failed_closed { blocks } else { 0 };
        blocks
    }

    /// Counts what a shadow hook would have done.
    fn take_shadow(&mut self, turn: &HookTurn<'_>) {
        let HookTurn { record, run, .. } = turn;
        let effect = turn.effect();
        let failed_closed = run.failure.is_some() && turn.fails_closed;
        self.shadow.runs += 1;
        self.shadow.failures += u64::from(run.failure.is_some());
        self.shadow.would_ask += u64::from(effect == Some(Effect::Ask));
        self.shadow.would_change += u64::from(turn.changes_input());
        if effect != Some(Effect::Deny) && !failed_closed {
            return;
        }
        self.shadow.would_block += 1;
        self.shadow.would_block_by_failure += u64::from(failed_closed);
        self.shadow.blocked_anyway += u64::from(is_denied(record));
        self.would_block.take((record.at, record.id.clone()), || ShadowBlock {
            id: record.id.clone(),
            at: record.at,
            host: record.host.clone(),
            about: about(record),
            reason: run
                .failure
                .as_ref()
                .or(run.decision.reason.as_ref())
                .cloned()
                .unwrap_or_default(),
            failed: failed_closed,
        });
    }

    /// Adds the counts of another tally.
    pub fn merge(&mut self, other: &Self) {
        for (mine, more) in [
            (&mut self.runs, other.runs),
            (&mut self.blocks, other.blocks),
            (&mut self.blocks_by_failure, other.blocks_by_failure),
            (&mut self.capped, other.capped),
            (&mut self.asks, other.asks),
            (&mut self.allows, other.allows),
            (&mut self.input_changes, other.input_changes),
            (&mut self.failures, other.failures),
            (&mut self.timeouts, other.timeouts),
            (&mut self.begun_aside, other.begun_aside),
            (&mut self.ended_aside, other.ended_aside),
            (&mut self.in_sessions_us, other.in_sessions_us),
            (&mut self.shadow.runs, other.shadow.runs),
            (&mut self.shadow.would_block, other.shadow.would_block),
            (&mut self.shadow.would_block_by_failure, other.shadow.would_block_by_failure),
            (&mut self.shadow.blocked_anyway, other.shadow.blocked_anyway),
            (&mut self.shadow.would_ask, other.shadow.would_ask),
            (&mut self.shadow.would_change, other.shadow.would_change),
            (&mut self.shadow.failures, other.shadow.failures),
        ] {
            *mine = mine.saturating_add(more);
        }
        self.times.merge(&other.times);
        self.sessions.extend(&other.sessions);
        self.last = self.last.max(other.last);
        for (hour, (runs, blocks)) in &other.hours {
            let mine = self.hours.entry(*hour).or_default();
            mine.0 += runs;
            mine.1 += blocks;
        }
        self.slowest.merge(&other.slowest);
        self.would_block.merge(&other.would_block);
        other.messages.values().cloned().for_each(|group| self.add_failures(group));
    }

    /// Returns how often it was started in the background without a known outcome.
    pub fn unfinished(&self) -> u64 {
        self.begun_aside.saturating_sub(self.ended_aside)
    }
}

impl HookTurn<'_> {
    /// Returns the effect that the hook requested; `None` if it failed.
    fn effect(&self) -> Option<Effect> {
        self.run.decision.effect.filter(|_| self.run.failure.is_none())
    }

    fn changes_input(&self) -> bool {
        self.run.decision.modified_input.is_some()
            && self.run.failure.is_none()
            && self.record.event.takes_input_change()
            && self.record.tool.is_some()
    }
}
