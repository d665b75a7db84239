//! The tools of `anyhook mcp`: what they take and what they return. All of them only read.
//!
//! [`TOOLS`] is made from these types: the text at a type of arguments is what a model reads about
//! the tool, the text at a field what it reads about the argument. Results have the types that
//! commands print with `--json` in them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::daemon::{AgentView, DecisionView};
use crate::id::RecordId;
use crate::kind::EventKind;
use crate::pipeline::PipelineView;
use crate::record::Record;
use crate::report::ListedHook;

/// The tools as `tools/list` shows them.
pub const TOOLS: &str = include_str!("../schemas/mcp-tools.json");

/// The states of agents, as `state` takes them.
pub const STATES: [&str; 6] = ["working", "idle", "prompting", "failed", "exited", "gone"];

/// At most this many items are returned, whatever is asked for.
pub const ITEMS_MOST: usize = 200;

fn items() -> usize {
    50
}

fn few_items() -> usize {
    20
}

/// List the AI coding agents of this user on this machine: what each is doing, since when, in which
/// project, and whether it waits for a person. Those that wait come first.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ListAgents {
    /// Whether to include agents that have ended.
    #[serde(default)]
    pub all: bool,
    /// Only agents in one of these states.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(extend("items" = {"type": "string", "enum": STATES})))]
    pub state: Vec<String>,
    /// Only agents in this project: its path or folder name; `*` matches anything.
    pub project: Option<String>,
    /// Only agents of this host, such as `claude-code`; `*` matches anything.
    pub host: Option<String>,
    /// How many agents to return.
    #[serde(default = "items")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = ITEMS_MOST)))]
    pub limit: usize,
}

/// Agents.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListedAgents {
    /// The agents.
    pub agents: Vec<AgentView>,
    /// What was left out, and how to get it; absent if this is everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
}

/// Show everything known about one agent, with the last events of its session.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ShowAgent {
    /// Its id, name or session, or the start of one of them.
    pub agent: String,
    /// How many of its last events to return.
    #[serde(default = "few_items")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = ITEMS_MOST)))]
    pub limit: usize,
}

/// An agent and what it did last.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShownAgent {
    /// The agent.
    pub agent: AgentView,
    /// The last events of its session, the oldest first.
    pub last_events: Vec<FoundRecord>,
    /// What was left out, and how to get it; absent if this is everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
}

/// List decisions that wait for a person: permission requests, questions of agents, gates of
/// workflows. They cannot be answered here; only a person answers, with `anyhook decision resolve`.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ListDecisions {
    /// Whether to include decisions already made, as far as they are remembered.
    #[serde(default)]
    pub all: bool,
    /// Only from agents with this name or id; `*` matches anything.
    pub agent: Option<String>,
    /// Only from this project: its path or folder name; `*` matches anything.
    pub project: Option<String>,
    /// Only for calls to this tool, such as `Shell`; `*` matches anything.
    pub tool: Option<String>,
    /// Only for calls matching this, such as `git status*`.
    pub about: Option<String>,
    /// How many decisions to return.
    #[serde(default = "items")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = ITEMS_MOST)))]
    pub limit: usize,
}

/// Decisions.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListedDecisions {
    /// The decisions.
    pub decisions: Vec<DecisionView>,
    /// What was left out, and how to get it; absent if this is everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
}

/// Show one decision: the question, its options, and how it ended if it has.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ShowDecision {
    /// Its id or the start of it, or the name of the agent that waits.
    pub decision: String,
}

/// A decision.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShownDecision {
    /// The decision.
    pub decision: DecisionView,
    /// What was left out, and how to get it; absent if this is everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
}

/// Search the journal of everything that agents did and hooks decided, the latest records. All
/// filters must match. Use `show_record` for one record in full.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SearchJournal {
    /// Records since then: how long ago (`30m`, `2h`, `7d`) or a time (`2026-01-31`,
    /// `2026-01-31T09:00:00Z`).
    pub since: Option<String>,
    /// Records until then, in the same formats.
    pub until: Option<String>,
    /// Records of this session; the start of its id is enough.
    pub session: Option<String>,
    /// Records of this agent program, such as `claude-code`.
    pub host: Option<String>,
    /// Records of this project: its path or folder name; `*` matches anything.
    pub project: Option<String>,
    /// Records of this event, such as `before_tool`.
    pub event: Option<String>,
    /// Records of this tool, such as `Shell`.
    pub tool: Option<String>,
    /// Records involving this hook.
    pub hook: Option<String>,
    /// Records with this verdict: `failed` for a failed hook, `changed` and `context` for what hooks
    /// changed or added.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = VERDICTS)))]
    pub verdict: Option<String>,
    /// Records containing this text, ignoring case, in the payload, a reason or an output.
    pub text: Option<String>,
    /// Records before this one: `next` of the last result, to go on.
    pub before: Option<String>,
    /// How many records to return.
    #[serde(default = "few_items")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = ITEMS_MOST)))]
    pub limit: usize,
}

/// The verdicts, as `verdict` takes them.
#[cfg(feature = "schema")]
const VERDICTS: [Option<&str>; 9] = [
    Some("deny"),
    Some("ask"),
    Some("allow"),
    Some("none"),
    Some("capped"),
    Some("failed"),
    Some("changed"),
    Some("context"),
    None,
];

/// Records of the journal.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FoundRecords {
    /// The latest that match, the oldest first.
    pub records: Vec<FoundRecord>,
    /// What `before` must be to get the records before these; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<RecordId>,
    /// How many lines of the journal could not be read.
    pub damaged_lines: usize,
    /// What was left out, and how to get it; absent if this is everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
}

/// A record of the journal, in short.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FoundRecord {
    /// The record's id.
    pub id: RecordId,
    /// When the dispatch began.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub at: Timestamp,
    /// The agent program.
    pub host: String,
    /// The session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The project, or else the working folder.
    pub project: String,
    /// The event.
    pub event: EventKind,
    /// The tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// A command, a path or a prompt; shortened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// `deny`, `ask`, `allow`, `capped`, or `none` if no hook had an opinion.
    pub verdict: String,
    /// The reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The hook that decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The hooks that ran.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<String>,
    /// The hooks that failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<String>,
    /// Alarms: a call that ran although it was denied, a guard that was changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub alarms: Vec<String>,
    /// The record whose hook ran in the background, if this is how that ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<RecordId>,
}

impl From<&Record> for FoundRecord {
    fn from(record: &Record) -> Self {
        let names = |is_meant: fn(&&crate::RunRecord) -> bool| {
            record.runs.iter().filter(is_meant).map(|run| run.hook.clone()).collect()
        };
        let denied = record
            .denied_by
            .as_ref()
            .map(|id| format!("it ran although record {id} says that it was denied"));
        let alarms = record.alarms.iter().map(|alarm| alarm.text.clone());
        Self {
            id: record.id.clone(),
            at: record.at,
            host: record.host.clone(),
            session: record.session.clone(),
            project: record.project_dir.as_ref().unwrap_or(&record.work_dir).clone(),
            event: record.event.clone(),
            tool: record.tool.clone(),
            about: record.about.clone(),
            verdict: record.verdict.word().to_owned(),
            reason: record.verdict.reason.clone(),
            by: record.verdict.by.clone(),
            hooks: names(|_| true),
            failed: names(|run| run.failure.is_some()),
            alarms: alarms.chain(denied).collect(),
            of: record.of.clone(),
        }
    }
}

/// Show everything about one dispatch: the payload, each hook's output and decision, the reply, how
/// hooks in the background ended.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ShowRecord {
    /// The record's id, or the start of it.
    pub record: String,
}

/// A record with everything that belongs to it.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShownRecord {
    /// The record.
    pub record: Record,
    /// The first record of the same payload, which has the payload and the reply, if it is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<Record>,
    /// How hooks ended that ran in the background.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub later: Vec<Record>,
    /// What the daemon made of it, or why that is unknown; absent if it is not for the daemon.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub daemon: Option<String>,
    /// Texts that are not available any more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// What was left out, and how to get it; absent if this is everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
}

/// List the hooks installed for work in a project, in the order they run: what each guards, whether
/// it is trusted, and what is wrong with it.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct HooksInForce {
    /// The absolute path of a folder of the project; default: where this server was started.
    pub project: Option<String>,
}

/// The hooks of a project.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProjectHooks {
    /// The folder.
    pub project: String,
    /// The installed hooks, in the order they run.
    pub hooks: Vec<ListedHook>,
    /// Folders and settings that could not be read or are ignored, and why.
    pub notes: Vec<String>,
    /// What was left out, and how to get it; absent if this is everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
}

/// List pipelines: which step each is at, what it waits for, how its steps ended.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ListPipelines {
    /// Whether to include pipelines that have finished.
    #[serde(default)]
    pub all: bool,
    /// How many pipelines to return.
    #[serde(default = "few_items")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = ITEMS_MOST)))]
    pub limit: usize,
}

/// Pipelines.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListedPipelines {
    /// The pipelines.
    pub pipelines: Vec<PipelineView>,
    /// What was left out, and how to get it; absent if this is everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
}

/// Summarize the journal: which hooks ran, blocked, failed or never fired, and how long they took, in
/// microseconds.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Stats {
    /// Only these hooks.
    #[serde(default)]
    pub hooks: Vec<String>,
    /// Records since then: how long ago (`30m`, `2h`, `7d`) or a time (`2026-01-31`); default: 7d.
    pub since: Option<String>,
    /// Records before then, in the same formats.
    pub until: Option<String>,
    /// Records of this agent program, such as `claude-code`.
    pub host: Option<String>,
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn every_tool_says_that_it_only_reads() {
        let tools: Value = serde_json::from_str(TOOLS).unwrap();
        let tools = tools.as_array().unwrap();
        let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        assert_eq!(
            names,
            [
                "list_agents",
                "show_agent",
                "list_decisions",
                "show_decision",
                "search_journal",
                "show_record",
                "hooks_in_force",
                "list_pipelines",
                "stats"
            ]
        );
        for tool in tools {
            assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool:#}");
            for schema in ["inputSchema", "outputSchema"] {
                assert_eq!(tool[schema]["type"], "object", "{tool:#}");
            }
            assert!(tool["description"].as_str().unwrap().len() > 40, "{tool:#}");
        }
    }
}
