//! What `anyhook stats --json` prints. Times that something took are in microseconds.

use jiff::Timestamp;
use serde::Serialize;

use crate::id::RecordId;

/// `anyhook stats --json`
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StatsReport {
    /// The beginning of the period; null for all of the journal.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub since: Option<Timestamp>,
    /// The end of the period.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub until: Timestamp,
    /// The oldest record of the journal, if the journal does not reach back to `since`.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub reaches_back_to: Option<Timestamp>,
    /// How many records were summed up.
    pub records: u64,
    /// How many sessions they are of.
    pub sessions: u64,
    /// How many lines were no records, and were passed over.
    pub damaged_lines: u64,
    /// From how many records secrets were taken out.
    pub redacted_records: u64,
    /// How many stops passed because they had been blocked too often in their turn.
    pub capped_stops: u64,
    /// How many calls ran although they had been denied.
    pub denied_but_ran: u64,
    /// The last of these.
    pub denied_but_ran_last: Vec<DeniedButRan>,
    /// What `runs_per_step` and `blocks_per_step` count by; null if nothing was counted.
    pub steps: Option<StatsSteps>,
    /// Every hook that had a turn; the most frequent first.
    pub hooks: Vec<HookStats>,
    /// Every host that sent something; the most frequent first.
    pub hosts: Vec<HostStats>,
    /// How long decisions waited for a person; null if there were none.
    pub waiting: Option<WaitingStats>,
    /// The slowest hooks by `p95_us`, the slowest first.
    pub slowest: Vec<String>,
    /// Installed hooks that had no turn.
    pub never_fired: Vec<NeverFired>,
    /// Hooks that had at least three turns and failed at each.
    pub always_failing: Vec<String>,
}

/// The steps that runs and blocks are counted by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StatsSteps {
    /// `hour` or `day`.
    pub unit: String,
    /// When the first one begins; UTC.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub start: Timestamp,
    /// How many there are.
    pub count: usize,
}

/// What a hook did.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HookStats {
    /// The hook's name.
    pub hook: String,
    /// Whether it is installed for work in the current folder.
    pub installed: bool,
    /// What it did at all hosts together.
    #[serde(flatten)]
    pub all: RunStats,
    /// What it did at each host.
    pub hosts: Vec<HookAtHost>,
    /// Its slowest runs, the slowest first.
    pub slowest_runs: Vec<SlowRun>,
    /// Its failures by message, the most frequent first.
    pub failure_messages: Vec<FailureGroup>,
    /// What it would have done, if it ran only to be watched.
    pub shadow: Option<ShadowStats>,
}

/// What a hook did at one host.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HookAtHost {
    /// The host.
    pub host: String,
    /// What it did there.
    #[serde(flatten)]
    pub stats: RunStats,
}

/// What runs of a hook came to.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunStats {
    /// How often its turn came; a run aside counts when its outcome is known.
    pub runs: u64,
    /// How often it blocked: it said deny, or failed with `on_failure: block`.
    pub blocks: u64,
    /// How many of these because it failed.
    pub blocks_by_failure: u64,
    /// How often its block of a stop was passed over, because there had been too many.
    pub capped: u64,
    /// How often it wanted a person to be asked.
    pub asks: u64,
    /// How often it allowed.
    pub allows: u64,
    /// How often it changed the tool's input.
    pub input_changes: u64,
    /// How often it failed.
    pub failures: u64,
    /// How many of these because it took longer than it may.
    pub timeouts: u64,
    /// How often it was started aside and its outcome is not known.
    pub unfinished: u64,
    /// In how many sessions it had a turn.
    pub sessions: u64,
    /// How long it took in a session, on average.
    pub per_session_us: Option<u64>,
    /// How long a run took; null if none was started.
    pub time: Option<TimeStats>,
    /// When its turn came last.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub last_run: Option<Timestamp>,
    /// Its runs in each of `steps`.
    pub runs_per_step: Vec<u64>,
    /// Its blocks in each of `steps`.
    pub blocks_per_step: Vec<u64>,
}

/// How long decisions waited for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitingStats {
    /// All of them.
    pub all: TimeStats,
    /// Those about each agent, by name; the longest waiting first.
    pub agents: Vec<NamedWaiting>,
    /// Those about agents of each pipeline, by name; the longest waiting first.
    pub pipelines: Vec<NamedWaiting>,
}

/// How long the decisions about an agent or a pipeline waited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NamedWaiting {
    /// The agent or the pipeline.
    pub name: String,
    /// How long.
    pub time: TimeStats,
}

/// How long something took. The percentiles are nearest ranks, off by less than 1 %.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimeStats {
    /// How often it was measured.
    pub count: u64,
    /// Half of them took no longer.
    pub p50_us: u64,
    /// 95 of 100 took no longer.
    pub p95_us: u64,
    /// 99 of 100 took no longer.
    pub p99_us: u64,
    /// The longest.
    pub max_us: u64,
    /// All together.
    pub total_us: u64,
}

/// A run that took long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SlowRun {
    /// The record.
    pub id: RecordId,
    /// When it was.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub at: Timestamp,
    /// The host.
    pub host: String,
    /// What the event was about, with the tool.
    pub about: String,
    /// How long it took.
    pub took_us: u64,
}

/// Failures with the same message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FailureGroup {
    /// What went wrong: the first line.
    pub message: String,
    /// How often.
    pub count: u64,
    /// The last record of it.
    pub last_id: RecordId,
    /// When that was.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub last_at: Timestamp,
}

/// What a hook that ran only to be watched would have done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShadowStats {
    /// How often it ran to be watched.
    pub runs: u64,
    /// How often it would have blocked.
    pub would_block: u64,
    /// How many of these because it failed and has `on_failure: block`.
    pub would_block_by_failure: u64,
    /// How many of these were blocked by another hook.
    pub blocked_anyway: u64,
    /// How often it would have had a person asked.
    pub would_ask: u64,
    /// How often it would have changed the tool's input.
    pub would_change: u64,
    /// How often it failed.
    pub failures: u64,
    /// The last that it would have blocked, the last first.
    pub last: Vec<ShadowBlock>,
}

/// What a hook would have blocked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShadowBlock {
    /// The record.
    pub id: RecordId,
    /// When it was.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub at: Timestamp,
    /// The host.
    pub host: String,
    /// What the event was about, with the tool.
    pub about: String,
    /// Why it would have been blocked.
    pub reason: String,
    /// Whether because the hook failed.
    pub failed: bool,
}

/// What came from a host, and what it was told.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostStats {
    /// The host.
    pub host: String,
    /// How many events it sent.
    pub events: u64,
    /// How many it was told not to go on with.
    pub denials: u64,
    /// How often a person was asked.
    pub asks: u64,
    /// How often it was told to go on without asking.
    pub allows: u64,
    /// How many stops passed because they had been blocked too often in their turn.
    pub capped_stops: u64,
    /// How many calls ran although they had been denied.
    pub denied_but_ran: u64,
    /// How often a hook failed.
    pub failed_runs: u64,
    /// From how many records secrets were taken out.
    pub redacted_records: u64,
    /// How long it waited for an answer; null if it sent nothing.
    pub time: Option<TimeStats>,
    /// How many sessions there were.
    pub sessions: u64,
    /// How long it waited in a session: half of them took no longer.
    pub session_median_us: Option<u64>,
    /// How long it waited in a session: the longest.
    pub session_max_us: Option<u64>,
    /// What it could not be told.
    pub lost: Vec<LostPart>,
}

/// A part of verdicts that a host could not be told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LostPart {
    /// The part, such as `ask` or `additional_context`.
    pub what: String,
    /// How often.
    pub count: u64,
}

/// An installed hook that had no turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NeverFired {
    /// The hook's name.
    pub hook: String,
    /// The events it waits for, in its own spelling.
    pub trigger: Vec<String>,
    /// Why it is left out at every event, if it is.
    pub why: Option<String>,
}

/// A call that ran although it had been denied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeniedButRan {
    /// The record that shows that it ran.
    pub id: RecordId,
    /// The record of the denial.
    pub denied_by: RecordId,
    /// When it was seen to have run.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub at: Timestamp,
    /// The host.
    pub host: String,
    /// What the call was about, with the tool.
    pub about: String,
}
