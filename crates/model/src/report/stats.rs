//! What `anyhook stats --json` prints. Times that something took are in microseconds.

use jiff::Timestamp;
use serde::Serialize;

use crate::id::RecordId;

/// `anyhook stats --json`
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StatsReport {
    /// The start of the period; null for the whole journal.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub since: Option<Timestamp>,
    /// The end of the period.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub until: Timestamp,
    /// The oldest record of the journal, if it is newer than `since`.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub reaches_back_to: Option<Timestamp>,
    /// The number of records.
    pub records: u64,
    /// The number of sessions.
    pub sessions: u64,
    /// The number of lines that were not records and were skipped.
    pub damaged_lines: u64,
    /// The number of records with redacted secrets.
    pub redacted_records: u64,
    /// The number of stops that were allowed because they had been blocked too often in their turn.
    pub capped_stops: u64,
    /// The number of calls that ran although they had been denied.
    pub denied_but_ran: u64,
    /// The last of these.
    pub denied_but_ran_last: Vec<DeniedButRan>,
    /// The buckets of `verdicts`, `runs_per_step` and `blocks_per_step`; null if there is nothing to
    /// count.
    pub steps: Option<StatsSteps>,
    /// How agents' events were answered, in each step.
    pub verdicts: VerdictSteps,
    /// Every hook that ran, the most frequent first.
    pub hooks: Vec<HookStats>,
    /// Every host that sent events, the most frequent first.
    pub hosts: Vec<HostStats>,
    /// How long decisions waited for a person; null if there were none.
    pub waiting: Option<WaitingStats>,
    /// The slowest hooks by `p95_us`, the slowest first.
    pub slowest: Vec<String>,
    /// Installed hooks that never ran.
    pub never_fired: Vec<NeverFired>,
    /// Hooks that ran at least three times and always failed.
    pub always_failing: Vec<String>,
}

/// How agents' events were answered, in each step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VerdictSteps {
    /// How many were denied.
    pub denied: Vec<u64>,
    /// About how many a person was asked.
    pub asked: Vec<u64>,
    /// How many were let through, with or without an opinion.
    pub passed: Vec<u64>,
}

/// The time buckets for counting events, runs and blocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StatsSteps {
    /// `hour` or `day`.
    pub unit: String,
    /// When the first one starts; UTC.
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
    /// Whether it is installed for the current folder.
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
    /// What it would have done, if it ran in shadow mode.
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
    /// How often it ran; a background run counts once its outcome is known.
    pub runs: u64,
    /// How often it blocked: by a deny, or by failing with `on_failure: block`.
    pub blocks: u64,
    /// How many of these were failures.
    pub blocks_by_failure: u64,
    /// How often its block of a stop was overruled because there had been too many.
    pub capped: u64,
    /// How often it asked for confirmation.
    pub asks: u64,
    /// How often it allowed.
    pub allows: u64,
    /// How often it changed the tool's input.
    pub input_changes: u64,
    /// How often it failed.
    pub failures: u64,
    /// How many of these were timeouts.
    pub timeouts: u64,
    /// How often it was started in the background with an unknown outcome.
    pub unfinished: u64,
    /// The number of sessions it ran in.
    pub sessions: u64,
    /// The average time per session.
    pub per_session_us: Option<u64>,
    /// How long a run took; null if none was started.
    pub time: Option<TimeStats>,
    /// When it last ran.
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
    /// Per agent, by name, the longest wait first.
    pub agents: Vec<NamedWaiting>,
    /// Per pipeline, by name, the longest wait first.
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

/// How long something took. The percentiles are nearest-rank, with an error below 1 %.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimeStats {
    /// The number of measurements.
    pub count: u64,
    /// The median.
    pub p50_us: u64,
    /// The 95th percentile.
    pub p95_us: u64,
    /// The 99th percentile.
    pub p99_us: u64,
    /// The longest.
    pub max_us: u64,
    /// The total.
    pub total_us: u64,
}

/// A run that took long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SlowRun {
    /// The record.
    pub id: RecordId,
    /// When it happened.
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

/// What a hook in shadow mode would have done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShadowStats {
    /// How often it ran in shadow mode.
    pub runs: u64,
    /// How often it would have blocked.
    pub would_block: u64,
    /// How many of these were failures with `on_failure: block`.
    pub would_block_by_failure: u64,
    /// How many of these were blocked by another hook anyway.
    pub blocked_anyway: u64,
    /// How often it would have asked for confirmation.
    pub would_ask: u64,
    /// How often it would have changed the tool's input.
    pub would_change: u64,
    /// How often it failed.
    pub failures: u64,
    /// The latest calls it would have blocked, newest first.
    pub last: Vec<ShadowBlock>,
}

/// What a hook would have blocked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShadowBlock {
    /// The record.
    pub id: RecordId,
    /// When it happened.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub at: Timestamp,
    /// The host.
    pub host: String,
    /// What the event was about, with the tool.
    pub about: String,
    /// Why it would have been blocked.
    pub reason: String,
    /// Whether this was due to a failure of the hook.
    pub failed: bool,
}

/// What a host sent, and the replies to it.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostStats {
    /// The host.
    pub host: String,
    /// How many events it sent.
    pub events: u64,
    /// How many were denied.
    pub denials: u64,
    /// How often the user was asked.
    pub asks: u64,
    /// How often a call was allowed without asking.
    pub allows: u64,
    /// The number of stops that were allowed because they had been blocked too often in their turn.
    pub capped_stops: u64,
    /// The number of calls that ran although they had been denied.
    pub denied_but_ran: u64,
    /// How often a hook failed.
    pub failed_runs: u64,
    /// The number of records with redacted secrets.
    pub redacted_records: u64,
    /// How long it waited for answers; null if it sent nothing.
    pub time: Option<TimeStats>,
    /// How many sessions there were.
    pub sessions: u64,
    /// The median waiting time per session.
    pub session_median_us: Option<u64>,
    /// The longest waiting time per session.
    pub session_max_us: Option<u64>,
    /// What could not be passed to it.
    pub lost: Vec<LostPart>,
}

/// A part of verdicts that could not be passed to a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LostPart {
    /// The part, such as `ask` or `additional_context`.
    pub what: String,
    /// How often.
    pub count: u64,
}

/// An installed hook that never ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NeverFired {
    /// The hook's name.
    pub hook: String,
    /// The events it listens for, in its own spelling.
    pub trigger: Vec<String>,
    /// Why it is always skipped, if it is.
    pub why: Option<String>,
}

/// A call that ran although it had been denied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeniedButRan {
    /// The record showing that it ran.
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
