//! A pipeline: a runbook's plan with every value filled in, and how far it is.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::daemon::Usage;
use crate::id::RecordId;
use crate::reaction::Reactions;

/// The version of [`Plan`] and [`PipelineView`].
///
/// - 1: the first.
pub const PIPELINE_VERSION: u32 = 1;

/// A step may be entered so often.
pub const ENTRY_LIMIT: u32 = 5;

/// What is to be done: a pipeline of a runbook, in which nothing is left to be filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Plan {
    /// [`PIPELINE_VERSION`].
    pub v: u32,
    /// The id of the run.
    pub id: RecordId,
    /// The pipeline's name in its runbook.
    pub name: String,
    /// The name people know this run by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_name: Option<String>,
    /// The runbook's file.
    pub runbook: String,
    /// The SHA-256 of the runbook's text.
    pub digest: String,
    /// The project it was started for.
    pub project: String,
    /// The values its variables have, for people.
    #[serde(default)]
    pub variables: BTreeMap<String, String>,
    /// Where its steps work.
    pub workspace: Workspace,
    /// Its steps; it begins with the first.
    pub steps: Vec<Step>,
    /// What a person is told of it.
    #[serde(default)]
    pub notify: Notify,
    /// The step that is taken when all is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_done: Option<String>,
    /// The step that is taken when a step failed that names no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_fail: Option<String>,
    /// The step that is taken when a person cancels it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_cancel: Option<String>,
}

impl Plan {
    /// Returns a step by its name.
    pub fn step(&self, name: &str) -> Option<&Step> {
        self.steps.iter().find(|step| step.name == name)
    }
}

/// Where steps work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Workspace {
    /// What it is.
    pub kind: WorkspaceKind,
    /// Its folder; the project itself where there is no other.
    pub root: String,
    /// Whether it stays when the pipeline is completed. It stays in any case when it is not.
    #[serde(default)]
    pub keep: bool,
    /// The branch of a worktree, which is made for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// What the branch begins at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
}

/// Kinds of workspaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceKind {
    /// The project's own folder.
    #[default]
    None,
    /// A folder of its own, empty.
    Folder,
    /// A worktree of the project's repository, on a branch of its own.
    Worktree,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Step {
    /// Its name.
    pub name: String,
    /// What is done.
    pub work: Work,
    /// The next step; the pipeline is done if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_done: Option<String>,
    /// The step that is taken if it fails; the pipeline's, or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_fail: Option<String>,
    /// The step that is taken if it is cancelled; the pipeline's, or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_cancel: Option<String>,
}

/// What a step does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// Runs a command.
    Shell(Shell),
    /// Has an agent work.
    Agent(Box<AgentPlan>),
}

/// A command of a shell step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Shell {
    /// The command.
    pub run: Command,
    /// How long it may take, in milliseconds; as long as it wants if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// A command for `sh -c`.
///
/// Values are not part of its text: it reads them from variables of its environment, so that no
/// value is ever taken for a command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Command {
    /// The text, with `"${ANYHOOK_VALUE_1}"` where a value goes.
    pub text: String,
    /// The values, by variable.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, String>,
}

/// An agent and how it is looked after.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentPlan {
    /// Its name in the runbook.
    pub name: String,
    /// Its host, if it is one that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// How it is started; further arguments come after it (`"$@"`).
    pub run: Command,
    /// What it is told to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Whether `run` has a place for the prompt itself (`${prompt}`, the variable
    /// `ANYHOOK_PROMPT`), so that it is not given as an argument.
    #[serde(default)]
    pub places_prompt: bool,
    /// Variables of its environment.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The folder it works in.
    pub cwd: String,
    /// What is done when it is idle, asks, dies, fails or stops. Gates read values from the
    /// variables in `gate_values`.
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Value"))]
    pub reactions: Reactions,
    /// The values that gates read.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub gate_values: BTreeMap<String, String>,
}

/// What a person is told of a pipeline: the text, by moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Notify {
    /// When it begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_start: Option<String>,
    /// When it is completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_done: Option<String>,
    /// When it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_fail: Option<String>,
    /// When it was cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_cancel: Option<String>,
}

/// How far a pipeline is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// A step is worked on.
    Running,
    /// It waits for a person.
    Waiting,
    /// It is done.
    Completed,
    /// A step failed, and no other took its place.
    Failed,
    /// A person cancelled it.
    Cancelled,
}

impl Phase {
    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Tells whether nothing more comes.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

/// A pipeline, as `anyhook pipeline list --json` tells it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PipelineView {
    /// [`PIPELINE_VERSION`].
    pub v: u32,
    /// Its id.
    pub id: RecordId,
    /// Its name in the runbook.
    pub name: String,
    /// The name people know this run by; its id, if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_name: Option<String>,
    /// The runbook's file.
    pub runbook: String,
    /// The project.
    pub project: String,
    /// How far it is.
    pub phase: Phase,
    /// Why: what failed, who cancelled it, what it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The step it is at, or was last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The agent that works on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The decision it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<RecordId>,
    /// When it was made.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub created: Timestamp,
    /// When it was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub ended: Option<Timestamp>,
    /// The values its variables have.
    #[serde(default)]
    pub variables: BTreeMap<String, String>,
    /// Where its steps work.
    pub workspace: Workspace,
    /// Its steps in order.
    pub steps: Vec<String>,
    /// Every visit of a step, the present one last.
    pub visits: Vec<VisitView>,
    /// When no daemon ran, if that is news; only where one is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daemon_down: Option<crate::daemon::Downtime>,
    /// What the transcripts of its agents tell of tokens and turns; told by `anyhook pipeline show`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

impl PipelineView {
    /// Returns the name people know it by.
    pub fn shown_name(&self) -> &str {
        self.run_name.as_deref().unwrap_or(self.id.as_str())
    }
}

/// How a visit of a step stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum VisitState {
    /// It is worked on.
    Running,
    /// It waits for a person.
    Waiting,
    /// It is done.
    Completed,
    /// It failed.
    Failed,
    /// It was cancelled.
    Cancelled,
}

impl VisitState {
    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// A visit of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VisitView {
    /// Its number in the pipeline, from 1.
    pub number: u32,
    /// The step.
    pub step: String,
    /// How it stands.
    pub state: VisitState,
    /// Why it ended so, or what it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// When it began.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub began: Timestamp,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub ended: Option<Timestamp>,
    /// The agent that works or worked on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The file with what it printed, or last showed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

/// A line of what happened to a pipeline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PipelineLine {
    /// Its number, from 1.
    pub number: u64,
    /// When.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub at: Timestamp,
    /// At which step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// At which visit, by its number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visit: Option<u32>,
    /// What, in words.
    pub text: String,
}

/// Where an agent's session is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionView {
    /// The agent.
    pub agent: String,
    /// Its name.
    pub name: String,
    /// The folder that holds what is needed to reach it.
    pub folder: String,
}
