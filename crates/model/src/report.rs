//! What commands print with `--json`. Programs read it: every type here has a JSON Schema.

pub mod changes;
pub mod import;
pub mod init;
pub mod learn;
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
    /// Folders and settings that could not be read or are ignored, and why.
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
    /// The contents of its HOOK.md, with defaults filled in.
    pub definition: HookDefinition,
    /// `not_needed`, `trusted`, `changed` or `never`.
    pub trust: String,
    /// Whether it can run.
    pub usable: bool,
    /// Why it is always skipped, if it is.
    pub left_out: Option<SkipReason>,
    /// Every finding.
    pub problems: Vec<Finding>,
}

/// `anyhook check --json`
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckReport {
    /// The hooks that were checked.
    pub hooks: Vec<CheckedHook>,
    /// Folders and settings that could not be read or are ignored, and why.
    pub notes: Vec<String>,
}

/// A hook that was checked.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckedHook {
    /// The hook's name.
    pub name: String,
    /// Where its folder is.
    pub folder: String,
    /// Whether it can run.
    pub usable: bool,
    /// Every finding, in file order.
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
    /// The project root the hooks come from.
    pub project: Option<String>,
    /// What the call would do, for a call that runs a command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reading: Option<CallReading>,
    /// Every installed hook; those that would run come first, in order.
    pub hooks: Vec<PlannedHook>,
}

/// What a call would do, as far as it can be told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallReading {
    /// The simple commands it runs.
    pub commands: Vec<CommandReading>,
    /// The files it touches.
    pub files: Vec<FileReading>,
    /// The URLs it fetches.
    pub urls: Vec<String>,
    /// What cannot be told, and why.
    pub unknown: Vec<UnknownReading>,
}

/// A simple command that a call would run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CommandReading {
    /// The command, without quotes.
    pub command: String,
    /// The programs it runs through, outermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub via: Vec<String>,
    /// Whether it runs on another machine or in a container.
    pub remote: bool,
    /// Whether what it runs cannot be told.
    pub unknown: bool,
}

/// A file that a call would touch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileReading {
    /// Its path.
    pub path: String,
    /// What is done to it: `read`, `write`, `delete`, `move` or `any`.
    pub access: String,
}

/// A part of a command line that cannot be told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnknownReading {
    /// The text.
    pub text: String,
    /// Why.
    pub reason: String,
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
    /// Whether it would run.
    pub runs: bool,
    /// The event in the hook's own spelling, if it would run.
    pub event: Option<String>,
    /// Why it would not run.
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
    /// The case's file name, without extension.
    pub case: String,
    /// What the case shows.
    pub description: Option<String>,
    /// Whether everything is as expected.
    pub passed: bool,
    /// What is not as expected.
    pub faults: Vec<String>,
}

/// `anyhook prompt --json`: one of these for each active hook
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PromptedHook {
    /// The hook's name.
    pub name: String,
    /// A short description.
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
    /// Its display name.
    pub title: String,
    /// Where its program is, if it is on the `PATH`.
    pub program: Option<String>,
    /// The version it reports.
    pub version: Option<String>,
    /// The version anyhook was tested with; null if the agent was never run.
    pub tried_version: Option<String>,
    /// Why anyhook cannot be installed into it; absent if it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsupported: Option<String>,
    /// What the version is compared with those that were tested: `proven`, `expected` (in the range
    /// of one that was), `unknown` (outside of it) or `unsupported` (hooks do not work in it); null if
    /// no version is known.
    pub standing: Option<String>,
    /// Which versions are known, the earliest first.
    pub contracts: Vec<HostContract>,
    /// Whether anyhook is installed in the user's or the project's settings.
    pub wired: bool,
    /// What keeps it from calling anyhook in this project although anyhook is installed.
    pub obstacles: Vec<HostObstacle>,
    /// What it can do at each event.
    pub capabilities: Vec<HostCapability>,
    /// How it differs from what you would expect.
    pub quirks: Vec<HostQuirk>,
}

/// A range of versions of an agent that behave alike.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostContract {
    /// The first version.
    pub from: String,
    /// The first later version that differs, if one is known.
    pub below: Option<String>,
    /// The version that was run with hooks; null if none was.
    pub run: Option<String>,
    /// The date of the documentation that it is known from, if no version was run.
    pub documented: Option<String>,
    /// Whether hooks work in these versions.
    pub supported: bool,
    /// What is special about them, if anything is.
    pub note: Option<String>,
}

/// Something that keeps an agent from calling anyhook.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostObstacle {
    /// What it is, and in which file.
    pub what: String,
    /// What to do about it.
    pub way_out: String,
}

/// What an agent lets a hook do at an event.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(clippy::struct_excessive_bools, reason = "four columns of a table, each a yes or no")]
pub struct HostCapability {
    /// The event.
    pub event: EventKind,
    /// The agent's own name for it; null if it has none.
    pub native: Option<String>,
    /// A hook can block.
    pub block: bool,
    /// A hook can change the tool's input.
    pub modify: bool,
    /// A hook can add context for the model.
    pub context: bool,
    /// A hook can ask the user.
    pub ask: bool,
}

/// A way in which an agent differs from what you would expect.
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
    /// The evidence: `run`, `docs` or `source`.
    pub evidence: String,
}

/// `anyhook doctor --json`
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DoctorReport {
    /// Everything that was checked.
    pub findings: Vec<DoctorFinding>,
}

/// One thing `doctor` checked.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DoctorFinding {
    /// What it is about: `anyhook`, `hooks`, or an agent.
    pub about: String,
    /// `good`, `note` or `bad`.
    pub severity: String,
    /// What was found.
    pub message: String,
    /// How to fix it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// `anyhook verify --json`
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VerifyReport {
    /// Whether every record is intact.
    pub whole: bool,
    /// The number of segments, including the open one.
    pub segments: usize,
    /// How many of them are sealed.
    pub sealed: usize,
    /// The number of segments dropped because of age or size limits.
    pub dropped: usize,
    /// How many records were read.
    pub records: u64,
    /// How many of them are in the first format, which has no checksums.
    pub unchecked: u64,
    /// The number of truncated lines, where a writer was interrupted; they never were records.
    pub torn: u64,
    /// The number of records with redacted secrets.
    pub redacted: u64,
    /// What is damaged, the oldest first.
    pub broken: Vec<BrokenPlace>,
    /// Calls that ran although they were denied.
    pub denied_but_ran: Vec<RanAnyway>,
    /// Hook indexes that do not match the hooks on disk.
    pub indexes: Vec<String>,
}

/// Something in the journal that is damaged.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BrokenPlace {
    /// The file, in the journal's folder.
    pub file: String,
    /// The line, from 1.
    pub line: Option<u64>,
    /// The byte offset at which the line starts.
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
    /// The record showing that it ran.
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
    /// Describes the call that a record shows to have run.
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
    /// The hooks that were replayed.
    pub hooks: Vec<String>,
    /// Whether network access was disabled.
    pub network_cut: bool,
    /// Whether they could only change files in their scratch folders.
    pub files_protected: bool,
    /// The number of past events.
    pub events: usize,
    /// How many of them matched one of the hooks.
    pub due: usize,
    /// How many of those are unchanged.
    pub same: usize,
    /// Events that were allowed and would now be blocked.
    pub new_blocks: Vec<ReplayedEvent>,
    /// Events that these hooks blocked and that would now be allowed.
    pub new_allows: Vec<ReplayedEvent>,
    /// Events with a different decision.
    pub differences: Vec<ReplayedEvent>,
    /// Events with redacted secrets: the rest may be judged differently, so they count neither as
    /// unchanged nor as different.
    pub redacted: Vec<ReplayedEvent>,
    /// Events at which a hook failed during the replay.
    pub failed: Vec<ReplayedEvent>,
    /// The number of events that could not be reconstructed.
    pub gone: usize,
    /// What could not be read, and why.
    pub problems: Vec<String>,
    /// The hooks' run time.
    pub cost: ReplayCost,
}

/// A past event, and how the hooks would decide now.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReplayedEvent {
    /// The record's id, or the line of a transcript.
    pub id: String,
    /// When it happened.
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
    /// The decision then: `deny`, `ask`, `allow` or `none`; null for a transcript, which does not
    /// record it.
    pub then: Option<String>,
    /// The decision now.
    pub now: String,
    /// The hook that would decide.
    pub by: Option<String>,
    /// The reason, the difference, or how it failed.
    pub reason: Option<String>,
}

/// The hooks' run time in a replay, in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReplayCost {
    /// How many runs there were.
    pub runs: usize,
    /// The median.
    pub p50_us: u64,
    /// The 95th percentile.
    pub p95_us: u64,
    /// The total.
    pub total_us: u64,
}
