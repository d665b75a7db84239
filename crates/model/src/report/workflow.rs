//! What `anyhook workflow` prints with `--json`.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::Finding;

/// `anyhook workflow status --json`, and what `init`, `complete`, `approve`, `reject`, `reset` and
/// `run` print with `--json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkflowReport {
    /// The workflow's name.
    pub workflow: String,
    /// This run of it.
    pub id: String,
    /// Grows with every change.
    pub revision: u64,
    /// Where it is: `running`, `paused`, `blocked`, `failed`, `completed`, `aborted`.
    pub status: String,
    /// How much of the system is made; none until the requirements say so.
    pub execution_mode: Option<String>,
    /// How much harm may come of it.
    pub risk_level: String,
    /// Every stage, in the order of the definition.
    pub stages: Vec<StageReport>,
    /// Who is to work now.
    pub next: Vec<NextAgent>,
    /// What a person is asked.
    pub waits: Vec<Waiting>,
    /// What can be done next, each as `what comes of it: command`; never empty.
    pub hints: Vec<String>,
}

/// A stage.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StageReport {
    /// Its name.
    pub name: String,
    /// Who owns it.
    pub agent: String,
    /// The group of stages that are done side by side.
    pub group: Option<String>,
    /// Where it is: `pending`, `in_progress`, `completed`, `completed_with_warnings`, `blocked`,
    /// `skipped`, `failed`, `rolled_back`.
    pub status: String,
    /// Whether what comes after it may begin.
    pub passed: bool,
    /// How often it was begun.
    pub attempts: u32,
    /// When it was begun, the last time.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub started_at: Option<Timestamp>,
    /// When it was completed.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub completed_at: Option<Timestamp>,
    /// What it made, or is to make.
    pub artifacts: Vec<ArtifactReport>,
    /// What a person is asked about it: `approval` or `choice`.
    pub asks: Option<String>,
    /// Its reviews.
    pub reviews: Vec<ReviewReport>,
    /// What whoever comes next should know.
    pub warnings: Vec<String>,
    /// Why it is blocked or failed.
    pub reason: Option<String>,
}

/// An artifact of a stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ArtifactReport {
    /// Its path, below the project.
    pub path: String,
    /// Whether the file is there.
    pub exists: bool,
    /// Whether it is another than when the stage was completed.
    pub changed: bool,
}

/// A review of a stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReviewReport {
    /// Its name.
    pub name: String,
    /// Who reviews.
    pub agent: String,
    /// Where it is.
    pub status: String,
    /// What the reviewer says.
    pub verdict: Option<String>,
}

/// An agent that is to work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NextAgent {
    /// Who.
    pub agent: String,
    /// The stage or review that it does.
    pub stage: String,
    /// Of a review: the stage that is reviewed.
    pub reviewed_stage: Option<String>,
    /// Which attempt it is.
    pub attempt: u32,
}

/// Something that a person is asked.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Waiting {
    /// The stage.
    pub stage: String,
    /// What is asked: `approval` or `choice`.
    pub asks: String,
    /// What can be answered: commands.
    pub answers: Vec<String>,
    /// What another model thinks of it: `second-opinion-review`.
    pub second_opinion: Option<Value>,
}

/// `anyhook workflow next --json`
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkflowNextReport {
    /// Where the workflow is.
    pub status: String,
    /// Who is to work now.
    pub next: Vec<NextAgent>,
    /// What a person is asked.
    pub waits: Vec<Waiting>,
    /// What can be done next, each as `what comes of it: command`; never empty.
    pub hints: Vec<String>,
}

/// `anyhook workflow list --json`
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkflowListReport {
    /// Every workflow that this user has run, the one that changed last first.
    pub workflows: Vec<ListedWorkflow>,
}

/// A workflow of one of the user's projects.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListedWorkflow {
    /// The project's root.
    pub project: String,
    /// The workflow's name.
    pub workflow: String,
    /// This run of it.
    pub id: String,
    /// Where it is: `running`, `paused`, `blocked`, `failed`, `completed`, `aborted`; `gone` if the
    /// project is not there any more, `unreadable` if its state cannot be used.
    pub status: String,
    /// How much of the system is made; none until the requirements say so.
    pub execution_mode: Option<String>,
    /// The stage it is at.
    pub stage: Option<String>,
    /// Who is waited for: agents, or a person and why.
    pub waiting_for: Option<String>,
    /// Since when it is as it is.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub since: Timestamp,
    /// Why it cannot be read.
    pub problem: Option<String>,
}

/// `anyhook workflow context --json`
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkflowContextReport {
    /// The agent.
    pub agent: String,
    /// The stage or review that it does.
    pub stage: String,
    /// Of a review: the stage that is reviewed.
    pub reviewed_stage: Option<String>,
    /// What it is to do otherwise than before.
    pub feedback: Vec<String>,
    /// What it was sent back for: what tests, reviews and a second opinion found.
    pub findings: Vec<FindingsReport>,
    /// `project-config.json`, if there is one.
    pub project_config: Option<Value>,
    /// `workflow-state.json`.
    pub workflow_state: Value,
    /// What others have made, by path.
    pub upstream_artifacts: BTreeMap<String, Value>,
    /// Current documentation of what the project is made with: elements of
    /// `context-refresh-report.json`.
    pub documentation: Vec<Value>,
    /// What it is to make: JSON Schemas, by path.
    pub output_schemas: BTreeMap<String, Value>,
    /// Where its signal of completion goes.
    pub signal: String,
}

/// What a report found.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FindingsReport {
    /// The stage or review that made the report.
    pub source: String,
    /// The report's path, below the project.
    pub file: Option<String>,
    /// What it says in a sentence.
    pub summary: Option<String>,
    /// Bugs or findings, each as it is in the report.
    pub items: Vec<Value>,
    /// So many more are in the report and not here.
    pub omitted: usize,
}

/// `anyhook workflow validate --json`
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ValidateReport {
    /// The files that were looked at.
    pub files: Vec<ValidatedFile>,
}

/// A file that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ValidatedFile {
    /// Its path.
    pub path: String,
    /// The schema it must keep to.
    pub schema: Option<String>,
    /// Whether it does.
    pub valid: bool,
    /// Everything that is wrong with it.
    pub faults: Vec<FileFault>,
}

/// Something that is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileFault {
    /// Where, as a JSON pointer; empty for the whole.
    pub pointer: String,
    /// What.
    pub message: String,
}

/// `anyhook workflow check --json`
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkflowCheckReport {
    /// The file.
    pub file: String,
    /// Whether the workflow can be used.
    pub usable: bool,
    /// Every finding, in the order of the file.
    pub problems: Vec<Finding>,
}

/// `anyhook workflow history --json`
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkflowHistoryReport {
    /// This run of the workflow.
    pub id: String,
    /// What happened, the latest last.
    pub lines: Vec<HistoryReport>,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HistoryReport {
    /// The revision it made.
    pub revision: u64,
    /// When.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub at: Timestamp,
    /// What.
    pub what: String,
    /// Where.
    pub stage: Option<String>,
    /// Who.
    pub by: Option<String>,
    /// Why.
    pub note: Option<String>,
}
