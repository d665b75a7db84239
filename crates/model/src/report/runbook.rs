//! What `anyhook runbook` prints with `--json`.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::Finding;
use crate::pipeline::WorkspaceKind;

/// `anyhook runbook check --json`
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunbookCheckReport {
    /// The runbooks that were looked at.
    pub runbooks: Vec<CheckedRunbook>,
    /// What is wrong with them together, and folders that could not be read.
    pub notes: Vec<String>,
}

/// A runbook that was looked at.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckedRunbook {
    /// Its file.
    pub file: String,
    /// Whether its pipelines can run.
    pub usable: bool,
    /// Every finding, in the order of the file.
    pub problems: Vec<Finding>,
}

/// `anyhook runbook list --json`
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunbookListReport {
    /// The pipelines, those of the project first.
    pub pipelines: Vec<ListedPipeline>,
    /// Files and folders that cannot be used, and why.
    pub notes: Vec<String>,
}

/// A pipeline of a runbook.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListedPipeline {
    /// Its name.
    pub name: String,
    /// The runbook's file.
    pub file: String,
    /// Its steps in order.
    pub steps: Vec<String>,
    /// The values it takes.
    pub variables: Vec<ListedVariable>,
}

/// A value that a pipeline takes.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListedVariable {
    /// Its name.
    pub name: String,
    /// Whether it must be given.
    pub required: bool,
    /// What it is if it is not given, as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// `anyhook runbook show --json`: a pipeline with its texts as written.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShownPipeline {
    /// Its name.
    pub name: String,
    /// The runbook's file.
    pub file: String,
    /// The values it takes.
    pub variables: Vec<ListedVariable>,
    /// The texts it makes of them.
    pub locals: BTreeMap<String, String>,
    /// Where it works.
    pub workspace: ShownWorkspace,
    /// What a person is told, by moment.
    pub notify: BTreeMap<String, String>,
    /// Its steps in order.
    pub steps: Vec<ShownStep>,
    /// The step that is taken when all is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_done: Option<String>,
    /// The step that is taken when a step failed that names no other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_fail: Option<String>,
    /// The step that is taken when it is cancelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_cancel: Option<String>,
    /// The agents that work in it.
    pub agents: Vec<ShownAgent>,
}

/// Where a pipeline works.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShownWorkspace {
    /// What it is.
    pub kind: WorkspaceKind,
    /// Its folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The branch of a worktree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// What the branch begins at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// Whether it stays when the pipeline is completed.
    pub keep: bool,
}

/// A step.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShownStep {
    /// Its name.
    pub name: String,
    /// The command it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The agent it has work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// How long the command may take, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The next step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_done: Option<String>,
    /// The step that is taken if it fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_fail: Option<String>,
    /// The step that is taken if it is cancelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_cancel: Option<String>,
}

/// An agent and how it is looked after.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShownAgent {
    /// Its name.
    pub name: String,
    /// How it is started.
    pub run: String,
    /// What it is told to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The file that has what it is told to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_file: Option<String>,
    /// Variables of its environment.
    pub env: BTreeMap<String, String>,
    /// The folder it works in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Which agent it is, if that is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// What is done when it is idle, asks, dies, fails or stops; defaults are filled in.
    pub reactions: BTreeMap<String, Value>,
}
