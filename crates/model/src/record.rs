//! The journal's records.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::decision::Decision;
use crate::host::Lost;
use crate::id::RecordId;
use crate::kind::EventKind;
use crate::outcome::Outcome;
use crate::verdict::Verdict;

/// The version of the journal's format.
///
/// - 1: one JSON object a line, a file a day: one [`Record`] per dispatch, and one with `of` for
///   the outcome of each hook that ran aside.
pub const JOURNAL_VERSION: u32 = 1;

/// One line of the journal: a dispatch, or (with `of`) the outcome of a hook that ran aside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Record {
    /// The format's version.
    pub v: u32,
    /// This record's id.
    pub id: RecordId,
    /// The dispatch that started the hook whose outcome this is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<RecordId>,
    /// When the dispatch began.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub at: Timestamp,
    /// The host.
    pub host: String,
    /// The event.
    pub event: EventKind,
    /// The host's own name of the event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native_name: Option<String>,
    /// The session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The folder the agent worked in.
    pub work_dir: String,
    /// The project root the hooks were taken from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_dir: Option<String>,
    /// The tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// What the event was about: a command, a path, a prompt; shortened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// The hooks that were due, in the order they ran.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<RunRecord>,
    /// Hooks that were left out, and why; hooks of other events are only counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<Skipped>,
    /// How many installed hooks wait for other events.
    #[serde(default)]
    pub other_events: usize,
    /// The verdict of a dispatch.
    #[serde(default)]
    pub verdict: Verdict,
    /// What the host could not be told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<Lost>,
    /// How long it all took, in microseconds.
    pub took_us: u64,
}

/// What became of one hook in a dispatch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunRecord {
    /// The hook's name.
    pub hook: String,
    /// Where its folder is.
    pub folder: String,
    /// Whether it only ran to be watched.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shadow: bool,
    /// How the run ended; absent if it never came to run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// What it said.
    #[serde(default, skip_serializing_if = "Decision::is_silent")]
    pub decision: Decision,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// What is worth knowing beside that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The beginning of its standard output.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stdout: String,
    /// The beginning of its standard error.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
    /// How long it took, in microseconds.
    pub took_us: u64,
}

/// A hook that was left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Skipped {
    /// The hook's name.
    pub hook: String,
    /// Where its folder is.
    pub folder: String,
    /// Why it was left out.
    pub why: SkipReason,
}

/// Why a hook was left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// It cannot run: what is wrong with it.
    Unusable(String),
    /// It waits for other events.
    OtherEvent,
    /// Its `matcher.tool` does not match.
    Tool,
    /// Its `matcher.pattern` is in none of the input's values.
    Pattern,
    /// A project's hook that nobody has trusted yet.
    Untrusted,
    /// It is meant for other hosts.
    Host,
    /// A project's hook of the same name, in this folder, takes its place.
    Replaced(String),
    /// A hook of the same name in this folder may not be replaced.
    Dropped(String),
}

impl fmt::Display for SkipReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unusable(why) => write!(formatter, "unusable: {why}"),
            Self::OtherEvent => formatter.write_str("waits for other events"),
            Self::Tool => formatter.write_str("matcher.tool does not match"),
            Self::Pattern => formatter.write_str("matcher.pattern does not match"),
            Self::Untrusted => formatter.write_str("not trusted (anyhook trust)"),
            Self::Host => formatter.write_str("meant for other hosts"),
            Self::Replaced(folder) => write!(formatter, "replaced by {folder}"),
            Self::Dropped(folder) => write!(formatter, "dropped: {folder} may not be replaced"),
        }
    }
}
