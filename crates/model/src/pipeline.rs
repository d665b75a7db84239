//! Pipelines: the plan from a runbook with every value filled in, and its progress.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::daemon::Usage;
use crate::id::RecordId;
use crate::reaction::Reactions;

/// The version of [`PipelinePlan`] and [`PipelineView`].
///
/// - 1: the first.
pub const PIPELINE_VERSION: u32 = 1;

/// The maximum number of times a step may be entered.
pub const ENTRY_LIMIT: u32 = 5;

/// A pipeline of a runbook with all values filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PipelinePlan {
    /// [`PIPELINE_VERSION`].
    pub v: u32,
    /// The id of the run.
    pub id: RecordId,
    /// The pipeline's name in its runbook.
    pub name: String,
    /// The display name of this run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_name: Option<String>,
    /// The runbook's file.
    pub runbook: String,
    /// The SHA-256 of the runbook's text.
    pub digest: String,
    /// The project it was started for.
    pub project: String,
    /// The values of its variables, for display.
    #[serde(default)]
    pub variables: BTreeMap<String, String>,
    /// Where its steps run.
    pub workspace: Workspace,
    /// Its steps; the first one runs first.
    pub steps: Vec<PipelineStep>,
    /// The notifications about it.
    #[serde(default)]
    pub notify: PipelineNotices,
    /// The step to run when everything is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_done: Option<String>,
    /// The step to run when a step fails that has no `on_fail` of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_fail: Option<String>,
    /// The step to run when it is cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_cancel: Option<String>,
}

impl PipelinePlan {
    /// Returns a step by its name.
    pub fn step(&self, name: &str) -> Option<&PipelineStep> {
        self.steps.iter().find(|step| step.name == name)
    }
}

/// Where steps run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Workspace {
    /// What it is.
    pub kind: WorkspaceKind,
    /// Its folder; the project itself if it has none.
    pub root: String,
    /// Whether it is kept when the pipeline completes. If the pipeline does not complete, it is
    /// always kept.
    #[serde(default)]
    pub keep: bool,
    /// The branch that is created for a worktree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The commit or branch to start from.
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
    /// A separate, empty folder.
    Folder,
    /// A worktree of the project's repository, on its own branch.
    Worktree,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PipelineStep {
    /// Its name.
    pub name: String,
    /// What to do.
    pub work: StepWork,
    /// The next step; if absent, the pipeline is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_done: Option<String>,
    /// The step to run if it fails; the pipeline's, or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_fail: Option<String>,
    /// The step to run if it is cancelled; the pipeline's, or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_cancel: Option<String>,
}

/// What a step does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StepWork {
    /// Runs a command.
    Shell(ShellStep),
    /// Runs an agent.
    Agent(Box<AgentPlan>),
}

/// A command of a shell step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShellStep {
    /// The command.
    pub run: StepCommand,
    /// The timeout in milliseconds; none if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// A command for `sh -c`.
///
/// Values are not part of its text: it reads them from environment variables, so that no value is
/// ever executed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepCommand {
    /// The text, with `"${ANYHOOK_VALUE_1}"` where a value goes.
    pub text: String,
    /// The values, by variable.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, String>,
}

/// An agent and how it is supervised.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentPlan {
    /// Its name in the runbook.
    pub name: String,
    /// Its host, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// How it is started; further arguments follow (`"$@"`).
    pub run: StepCommand,
    /// Its prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Whether `run` contains the prompt itself (`${prompt}`, the variable `ANYHOOK_PROMPT`), so
    /// that it is not passed as an argument.
    #[serde(default)]
    pub places_prompt: bool,
    /// Its environment variables.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Its working folder.
    pub cwd: String,
    /// What to do when it is idle, asks, dies, fails or stops. Gates read values from the variables
    /// in `gate_values`.
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Value"))]
    pub reactions: Reactions,
    /// The values used by gates.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub gate_values: BTreeMap<String, String>,
}

/// The notifications about a pipeline: the text for each moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PipelineNotices {
    /// When it starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_start: Option<String>,
    /// When it completes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_done: Option<String>,
    /// When it fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_fail: Option<String>,
    /// When it is cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_cancel: Option<String>,
}

/// The phase of a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PipelinePhase {
    /// A step is running.
    Running,
    /// It waits for a person.
    Waiting,
    /// It is done.
    Completed,
    /// A step failed, and none was left to handle it.
    Failed,
    /// A person cancelled it.
    Cancelled,
}

impl PipelinePhase {
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

    /// Returns whether the pipeline has ended.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

/// A pipeline, as printed by `anyhook pipeline list --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PipelineView {
    /// [`PIPELINE_VERSION`].
    pub v: u32,
    /// Its id.
    pub id: RecordId,
    /// Its name in the runbook.
    pub name: String,
    /// The display name of this run; its id if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_name: Option<String>,
    /// The runbook's file.
    pub runbook: String,
    /// The project.
    pub project: String,
    /// Its phase.
    pub phase: PipelinePhase,
    /// The reason: what failed, who cancelled it, what it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The current or last step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The agent working on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The decision it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<RecordId>,
    /// When it was created.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub created: Timestamp,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub ended: Option<Timestamp>,
    /// The values of its variables.
    #[serde(default)]
    pub variables: BTreeMap<String, String>,
    /// Where its steps run.
    pub workspace: Workspace,
    /// Its steps in order.
    pub steps: Vec<String>,
    /// Every visit of a step, the current one last.
    pub visits: Vec<VisitView>,
    /// When no daemon was running, if not yet reported; only present for a single pipeline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daemon_down: Option<crate::daemon::Downtime>,
    /// Tokens and turns according to its agents' transcripts; only in `anyhook pipeline show`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

impl PipelineView {
    /// Returns its display name.
    pub fn shown_name(&self) -> &str {
        self.run_name.as_deref().unwrap_or(self.id.as_str())
    }
}

/// The state of a visit of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum VisitState {
    /// It is running.
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
    /// Its state.
    pub state: VisitState,
    /// Why it ended this way, or what it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// When it started.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub began: Timestamp,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub ended: Option<Timestamp>,
    /// The agent that works or worked on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The file with its output, or its last screen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

/// A line of a pipeline's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PipelineLine {
    /// Its number, from 1.
    pub number: u64,
    /// When it happened.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub at: Timestamp,
    /// At which step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// At which visit, by its number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visit: Option<u32>,
    /// What happened, as text.
    pub text: String,
}

/// Where an agent's session is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionView {
    /// The agent.
    pub agent: String,
    /// Its display name.
    pub name: String,
    /// The folder with the files needed to connect to it.
    pub folder: String,
}
