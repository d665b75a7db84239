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
    /// The runbooks that were checked.
    pub runbooks: Vec<CheckedRunbook>,
    /// Problems across runbooks, and folders that could not be read.
    pub notes: Vec<String>,
}

/// A runbook that was checked.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckedRunbook {
    /// Its file.
    pub file: String,
    /// Whether its pipelines can run.
    pub usable: bool,
    /// Every finding, in file order.
    pub problems: Vec<Finding>,
}

/// `anyhook runbook list --json`
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunbookListReport {
    /// The pipelines, the project's first.
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
    /// Its variables.
    pub variables: Vec<ListedVariable>,
}

/// A variable of a pipeline.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListedVariable {
    /// Its name.
    pub name: String,
    /// Whether it is required.
    pub required: bool,
    /// Its default value, as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// A short description.
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
    /// Its variables.
    pub variables: Vec<ListedVariable>,
    /// Strings derived from the variables.
    pub locals: BTreeMap<String, String>,
    /// Where it runs.
    pub workspace: ShownWorkspace,
    /// The notifications, by moment.
    pub notify: BTreeMap<String, String>,
    /// Its steps in order.
    pub steps: Vec<ShownStep>,
    /// The step to run when everything is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_done: Option<String>,
    /// The step to run when a step fails that has no `on_fail` of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_fail: Option<String>,
    /// The step to run when it is cancelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_cancel: Option<String>,
    /// Its agents.
    pub agents: Vec<ShownAgent>,
}

/// Where a pipeline runs.
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
    /// The commit or branch to start from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// Whether it is kept when the pipeline completes.
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
    /// The agent it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The command's timeout in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The next step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_done: Option<String>,
    /// The step to run if it fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_fail: Option<String>,
    /// The step to run if it is cancelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_cancel: Option<String>,
}

/// An agent and how it is supervised.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShownAgent {
    /// Its name.
    pub name: String,
    /// How it is started.
    pub run: String,
    /// Its prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The file with its prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_file: Option<String>,
    /// Its environment variables.
    pub env: BTreeMap<String, String>,
    /// Its working folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Which agent it is, if specified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// What to do when it is idle, asks, dies, fails or stops; defaults are filled in.
    pub reactions: BTreeMap<String, Value>,
}
