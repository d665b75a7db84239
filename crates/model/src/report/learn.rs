//! What `anyhook learn` prints with `--json`: hooks that past calls suggest.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::changes::PlacedHook;
use crate::decision::Effect;

/// `anyhook learn --json`
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LearnReport {
    /// The beginning of the period that was looked at.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub since: Timestamp,
    /// All tool calls of the period.
    pub calls: CallCounts,
    /// The proposed hooks, the best founded first.
    pub proposals: Vec<HookProposal>,
    /// Kinds of calls for which no hook is proposed although a person or a hook decided about them,
    /// and why.
    pub left_out: Vec<LeftOutGroup>,
    /// What could not be read, and why.
    pub problems: Vec<String>,
    /// The hooks that were added (`--write`).
    pub added: Vec<PlacedHook>,
    /// Whether they run only after they are trusted.
    pub needs_trust: bool,
}

/// Tool calls, counted by how they ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallCounts {
    /// All of them.
    pub calls: usize,
    /// A person was asked and allowed it.
    pub allowed: usize,
    /// A person was asked and denied it.
    pub denied: usize,
    /// A hook denied it.
    pub blocked: usize,
    /// It ran, and no person was asked.
    pub ran: usize,
    /// What became of it is not known.
    pub unanswered: usize,
    /// In how many sessions.
    pub sessions: usize,
    /// In how many projects.
    pub projects: usize,
}

/// A proposed hook.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HookProposal {
    /// Its name.
    pub name: String,
    /// What it does, in one sentence.
    pub description: String,
    /// What it decides.
    pub decision: Effect,
    /// The kind of calls that it is about.
    pub about: String,
    /// The text of its HOOK.md.
    pub hook_file: String,
    /// Its test cases.
    pub tests: Vec<ProposedTest>,
    /// The journal records of the calls that it was made from.
    pub evidence: Vec<String>,
    /// The projects of these calls.
    pub projects: Vec<String>,
    /// All calls of this kind, also those that it would not match.
    pub group: CallCounts,
    /// The calls of the period that it would have decided about, according to a replay.
    pub would_have_decided: CallCounts,
}

/// A test case of a proposed hook.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProposedTest {
    /// The name of its file in `tests/`, without `.json`.
    pub name: String,
    /// The case, as the schema `case` describes it.
    pub case: Value,
}

/// Calls for which no hook is proposed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftOutGroup {
    /// The kind of calls.
    pub subject: String,
    /// Why.
    pub why: String,
    /// The calls of this kind.
    pub calls: CallCounts,
}
