//! What commands print with `--json`. Programs read it: every type here has a JSON Schema.

pub mod changes;
pub mod packs;
pub mod runbook;
pub mod stats;
pub mod workflow;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::hook::HookDefinition;
use crate::id::RecordId;
use crate::kind::EventKind;
use crate::record::{Record, SkipReason};

pub use stats::StatsReport;

/// `anyhook list --json`
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListReport {
    /// The installed hooks, in the order they run.
    pub hooks: Vec<ListedHook>,
    /// Folders and settings that could not be read or do not count, and why.
    pub notes: Vec<String>,
}

/// An installed hook.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListedHook {
    /// The hook's name.
    pub name: String,
    /// `managed`, `user` or `project`.
    pub level: String,
    /// Where its folder is.
    pub folder: String,
    /// What its HOOK.md says, with defaults filled in.
    pub definition: HookDefinition,
    /// `not_needed`, `trusted`, `changed` or `never`.
    pub trust: String,
    /// Whether it can run.
    pub usable: bool,
    /// Why it is left out at every event, if it is.
    pub left_out: Option<SkipReason>,
    /// Every finding.
    pub problems: Vec<Finding>,
}

/// `anyhook check --json`
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckReport {
    /// The hooks that were looked at.
    pub hooks: Vec<CheckedHook>,
    /// Folders and settings that could not be read or do not count, and why.
    pub notes: Vec<String>,
}

/// A hook that was looked at.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckedHook {
    /// The hook's name.
    pub name: String,
    /// Where its folder is.
    pub folder: String,
    /// Whether it can run.
    pub usable: bool,
    /// Every finding, in the order of the file.
    pub problems: Vec<Finding>,
}

/// A finding in a hook or a runbook.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// A short, stable name, such as `unknown-trigger`.
    pub code: String,
    /// `note`, `warning`, `error` or `unusable`.
    pub severity: String,
    /// What is wrong.
    pub message: String,
    /// The next step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The line of the file, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The column in characters, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
}

/// `anyhook explain --json`
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanReport {
    /// The event.
    pub event: EventKind,
    /// The project root the hooks are taken from.
    pub project: Option<String>,
    /// Every installed hook: first those that would run, in order.
    pub hooks: Vec<PlannedHook>,
}

/// A hook in a plan.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlannedHook {
    /// The hook's name.
    pub hook: String,
    /// `managed`, `user` or `project`.
    pub level: String,
    /// Where its folder is.
    pub folder: String,
    /// Its priority.
    pub priority: u16,
    /// Whether its turn would come.
    pub runs: bool,
    /// The event in the hook's own spelling, if its turn would come.
    pub event: Option<String>,
    /// Why its turn would not come.
    pub why: Option<SkipReason>,
    /// Why it would fail without being run.
    pub fails: Option<String>,
}

/// `anyhook test --json`: one of these for each case
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TestedCase {
    /// The hook's name.
    pub hook: String,
    /// The case's file, without its ending.
    pub case: String,
    /// What the case shows.
    pub description: Option<String>,
    /// Whether all is as expected.
    pub passed: bool,
    /// What is not.
    pub faults: Vec<String>,
}

/// `anyhook prompt --json`: one of these for each hook in force
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PromptedHook {
    /// The hook's name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The events it runs at, in its own spelling.
    pub trigger: Vec<String>,
    /// Where its HOOK.md is.
    pub location: String,
}

/// `anyhook hosts --json`: one of these for each agent
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostReport {
    /// The name used on the command line.
    pub id: String,
    /// The name people know it by.
    pub title: String,
    /// Where its program is, if it is on the `PATH`.
    pub program: Option<String>,
    /// The version it says it is.
    pub version: Option<String>,
    /// The version everything was tried with.
    pub tried_version: String,
    /// Whether it calls us, by the user's settings or the project's.
    pub wired: bool,
    /// What keeps it from calling us in this project although it is wired in.
    pub obstacles: Vec<HostObstacle>,
    /// What it can do at each event.
    pub capabilities: Vec<HostCapability>,
    /// How it differs from what one would think.
    pub quirks: Vec<HostQuirk>,
}

/// What keeps an agent from calling us.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostObstacle {
    /// What it is, and in which file.
    pub what: String,
    /// What to do about it.
    pub way_out: String,
}

/// What an agent lets a hook do at one event.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(clippy::struct_excessive_bools, reason = "four columns of a table, each a yes or no")]
pub struct HostCapability {
    /// The event.
    pub event: EventKind,
    /// The agent's own name of it; null if it has none.
    pub native: Option<String>,
    /// A hook can block.
    pub block: bool,
    /// A hook can change the tool's input.
    pub modify: bool,
    /// A hook can tell the model something.
    pub context: bool,
    /// A hook can have a person asked.
    pub ask: bool,
}

/// A way in which an agent differs from what one would think.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostQuirk {
    /// A short, stable name.
    pub id: String,
    /// The versions it was seen in.
    pub versions: String,
    /// What the agent does.
    pub behaviour: String,
    /// What anyhook does about it.
    pub mitigation: String,
    /// How it is known: `run`, `docs` or `source`.
    pub evidence: String,
}

/// `anyhook doctor --json`
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DoctorReport {
    /// Everything that was looked at.
    pub findings: Vec<DoctorFinding>,
}

/// One thing `doctor` looked at.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DoctorFinding {
    /// What it is about: `anyhook`, `hooks`, or an agent.
    pub about: String,
    /// `good`, `note` or `bad`.
    pub severity: String,
    /// What was found.
    pub message: String,
    /// How to put it right.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// `anyhook verify --json`
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VerifyReport {
    /// Whether every record that was written is as it was written.
    pub whole: bool,
    /// How many segments there are, the open one included.
    pub segments: usize,
    /// How many of them are sealed.
    pub sealed: usize,
    /// How many segments were dropped, by age or for room.
    pub dropped: usize,
    /// How many records were read.
    pub records: u64,
    /// How many of them are of the first form, which has no checksums.
    pub unchecked: u64,
    /// How many lines end early, because a writer was stopped: those were never records.
    pub torn: u64,
    /// How many records had secrets taken out.
    pub redacted: u64,
    /// What is broken, the oldest first.
    pub broken: Vec<BrokenPlace>,
    /// Calls that ran although they were denied.
    pub denied_but_ran: Vec<RanAnyway>,
    /// Indexes of hooks that do not agree with the hooks on disk.
    pub indexes: Vec<String>,
}

/// Something in the journal that is not as it was written.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BrokenPlace {
    /// The file, in the journal's folder.
    pub file: String,
    /// The line, from 1.
    pub line: Option<u64>,
    /// The byte the line begins at.
    pub offset: Option<u64>,
    /// What is wrong.
    pub why: String,
}

/// A denied call that ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RanAnyway {
    /// The record of the denial.
    pub denied: RecordId,
    /// The record that shows that it ran.
    pub ran: RecordId,
    /// When it was seen to have run.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub at: Timestamp,
    /// The host.
    pub host: String,
    /// The session.
    pub session: Option<String>,
    /// The tool.
    pub tool: Option<String>,
    /// What the call was about.
    pub about: Option<String>,
}

impl RanAnyway {
    /// Tells of the call that a record shows to have run.
    pub fn of(ran: &Record, denied: RecordId) -> Self {
        Self {
            denied,
            ran: ran.id.clone(),
            at: ran.at,
            host: ran.host.clone(),
            session: ran.session.clone(),
            tool: ran.tool.clone(),
            about: ran.about.clone(),
        }
    }
}

/// `anyhook replay --json`
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReplayReport {
    /// The hooks that were tried.
    pub hooks: Vec<String>,
    /// Whether they had no network.
    pub network_cut: bool,
    /// Whether they could change no file but in their scratch folders.
    pub files_protected: bool,
    /// How many events of the past there were.
    pub events: usize,
    /// At how many of them any of the hooks was due.
    pub due: usize,
    /// At how many of those nothing changes.
    pub same: usize,
    /// Events that went on, and that would be blocked.
    pub new_blocks: Vec<ReplayedEvent>,
    /// Events that these hooks blocked, and that would go on.
    pub new_allows: Vec<ReplayedEvent>,
    /// Events at which they would say something else.
    pub differences: Vec<ReplayedEvent>,
    /// Events that had secrets taken out: what is left of them may be judged differently, so that
    /// they count neither as equal nor as different.
    pub redacted: Vec<ReplayedEvent>,
    /// Events at which a hook failed, here and now.
    pub failed: Vec<ReplayedEvent>,
    /// How many events could not be had again.
    pub gone: usize,
    /// What could not be read, and why.
    pub problems: Vec<String>,
    /// What the hooks cost.
    pub cost: ReplayCost,
}

/// An event of the past, and what hooks would say to it now.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReplayedEvent {
    /// The record's id; the line of a transcript.
    pub id: String,
    /// When it was.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub at: Timestamp,
    /// The host.
    pub host: String,
    /// The event.
    pub event: EventKind,
    /// The tool.
    pub tool: Option<String>,
    /// What it was about.
    pub about: Option<String>,
    /// What was said: `deny`, `ask`, `allow`, `none`; null in a transcript, which does not tell.
    pub then: Option<String>,
    /// What would be said.
    pub now: String,
    /// Who would say it.
    pub by: Option<String>,
    /// Why; or what differs; or how it failed.
    pub reason: Option<String>,
}

/// What hooks cost in a replay, in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReplayCost {
    /// How many runs there were.
    pub runs: usize,
    /// Half of them took no longer.
    pub p50_us: u64,
    /// 95 of 100 took no longer.
    pub p95_us: u64,
    /// All of them together.
    pub total_us: u64,
}
