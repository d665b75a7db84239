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
    /// Incremented with every change.
    pub revision: u64,
    /// Its status: `running`, `paused`, `blocked`, `failed`, `completed` or `aborted`.
    pub status: String,
    /// The execution mode; absent until the requirements define it.
    pub execution_mode: Option<String>,
    /// The risk level.
    pub risk_level: String,
    /// Every stage, in the order of the definition.
    pub stages: Vec<StageReport>,
    /// The agents that can start now.
    pub next: Vec<NextAgent>,
    /// What needs a person's answer.
    pub waits: Vec<WaitingApproval>,
    /// What can be done next, each as `effect: command`; never empty.
    pub hints: Vec<String>,
}

/// A stage.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StageReport {
    /// Its name.
    pub name: String,
    /// The agent responsible for it.
    pub agent: String,
    /// The group of stages that run in parallel.
    pub group: Option<String>,
    /// Its status: `pending`, `in_progress`, `completed`, `completed_with_warnings`, `blocked`,
    /// `skipped`, `failed` or `rolled_back`.
    pub status: String,
    /// Whether the stages after it may start.
    pub passed: bool,
    /// How often it was started.
    pub attempts: u32,
    /// When it was last started.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub started_at: Option<Timestamp>,
    /// When it was completed.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub completed_at: Option<Timestamp>,
    /// Its artifacts, existing or expected.
    pub artifacts: Vec<ArtifactReport>,
    /// What needs a person's answer: `approval` or `choice`.
    pub asks: Option<String>,
    /// Its reviews.
    pub reviews: Vec<ReviewReport>,
    /// Warnings for the next agent.
    pub warnings: Vec<String>,
    /// Why it is blocked or failed.
    pub reason: Option<String>,
}

/// An artifact of a stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ArtifactReport {
    /// Its path, relative to the project.
    pub path: String,
    /// Whether the file exists.
    pub exists: bool,
    /// Whether it has changed since the stage was completed.
    pub changed: bool,
}

/// A review of a stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReviewReport {
    /// Its name.
    pub name: String,
    /// The reviewing agent.
    pub agent: String,
    /// Its status.
    pub status: String,
    /// The reviewer's verdict.
    pub verdict: Option<String>,
}

/// An agent that can start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NextAgent {
    /// The agent.
    pub agent: String,
    /// Its stage or review.
    pub stage: String,
    /// For a review: the stage being reviewed.
    pub reviewed_stage: Option<String>,
    /// The number of this attempt.
    pub attempt: u32,
}

/// Something that needs a person's answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitingApproval {
    /// The stage.
    pub stage: String,
    /// What is asked: `approval` or `choice`.
    pub asks: String,
    /// The possible answers, as commands.
    pub answers: Vec<String>,
    /// The second opinion of another model: `second-opinion-review`.
    pub second_opinion: Option<Value>,
}

/// `anyhook workflow next --json`
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkflowNextReport {
    /// The workflow's status.
    pub status: String,
    /// The agents that can start now.
    pub next: Vec<NextAgent>,
    /// What needs a person's answer.
    pub waits: Vec<WaitingApproval>,
    /// What can be done next, each as `effect: command`; never empty.
    pub hints: Vec<String>,
}

/// `anyhook workflow list --json`
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkflowListReport {
    /// Every workflow this user has run, the most recently changed first.
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
    /// Its status: `running`, `paused`, `blocked`, `failed`, `completed` or `aborted`; `gone` if
    /// the project no longer exists, `unreadable` if its state cannot be read.
    pub status: String,
    /// The execution mode; absent until the requirements define it.
    pub execution_mode: Option<String>,
    /// The current stage.
    pub stage: Option<String>,
    /// What it waits for: agents, or a person, and why.
    pub waiting_for: Option<String>,
    /// When it entered this state.
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
    /// Its stage or review.
    pub stage: String,
    /// For a review: the stage being reviewed.
    pub reviewed_stage: Option<String>,
    /// What it should do differently this time.
    pub feedback: Vec<String>,
    /// Why it was sent back: findings of tests, reviews and a second opinion.
    pub findings: Vec<FindingsReport>,
    /// `project-config.json`, if there is one.
    pub project_config: Option<Value>,
    /// `workflow-state.json`.
    pub workflow_state: Value,
    /// Artifacts of other stages, by path.
    pub upstream_artifacts: BTreeMap<String, Value>,
    /// Current documentation for the project's technologies: elements of
    /// `context-refresh-report.json`.
    pub documentation: Vec<Value>,
    /// What it must produce: JSON Schemas, by path.
    pub output_schemas: BTreeMap<String, Value>,
    /// The path of its completion signal.
    pub signal: String,
}

/// The findings of a report.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FindingsReport {
    /// The stage or review that made the report.
    pub source: String,
    /// The report's path, relative to the project.
    pub file: Option<String>,
    /// A one-sentence summary.
    pub summary: Option<String>,
    /// Bugs or findings, as they are in the report.
    pub items: Vec<Value>,
    /// How many more are in the report but not listed here.
    pub omitted: usize,
}

/// `anyhook workflow validate --json`
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ValidateReport {
    /// The files that were checked.
    pub files: Vec<ValidatedFile>,
}

/// A file that was checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ValidatedFile {
    /// Its path.
    pub path: String,
    /// The schema it must conform to.
    pub schema: Option<String>,
    /// Whether it does.
    pub valid: bool,
    /// Every error in it.
    pub faults: Vec<FileFault>,
}

/// An error in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileFault {
    /// The location, as a JSON pointer; empty for the whole file.
    pub pointer: String,
    /// What is wrong.
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
    /// Every finding, in file order.
    pub problems: Vec<Finding>,
}

/// `anyhook workflow history --json`
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkflowHistoryReport {
    /// This run of the workflow.
    pub id: String,
    /// What happened, oldest first.
    pub lines: Vec<HistoryReport>,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HistoryReport {
    /// The revision it made.
    pub revision: u64,
    /// When it happened.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub at: Timestamp,
    /// What happened.
    pub what: String,
    /// The stage.
    pub stage: Option<String>,
    /// Who did it.
    pub by: Option<String>,
    /// The reason.
    pub note: Option<String>,
}
