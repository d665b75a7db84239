//! Workflow state: the contents of `workflow-state.json`.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::definition::{StageDefinition, WorkflowDefinition};
use super::digest::{digest, rules};
use super::findings::Findings;
use super::refusal::WorkflowRefusal;
use super::schemas::{ArtifactKind, SchemaViolation, validate};
use super::vocabulary::{
    Asks, Decision, Mode, QaVerdict, ReviewStatus, Risk, StageStatus, Verdict, WorkflowStatus,
};

/// The version of the format.
///
/// 1: the first.
pub const STATE_VERSION: u32 = 1;

/// The state of a workflow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkflowState {
    /// The version of the format.
    pub version: u32,
    /// The workflow's name.
    pub workflow: String,
    /// The id of this run.
    pub id: String,
    /// Incremented with every change.
    pub revision: u64,
    /// The digest of the rules it follows; `None` if any rules are accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<String>,
    /// Its status.
    pub status: WorkflowStatus,
    /// The execution mode; absent until the requirements define it.
    pub execution_mode: Option<Mode>,
    /// The current stage, or the first of several parallel ones.
    pub current_stage: Option<String>,
    /// All stages that are worked on, or have not passed their gate.
    pub active_stages: Vec<String>,
    /// The stage that waits for a person.
    pub paused_at: Option<String>,
    /// The basis for required reviews.
    pub safety_and_governance: SafetyAndGovernance,
    /// Every stage, by name.
    pub stages: BTreeMap<String, StageState>,
    /// The signals it has accepted.
    pub signals: Vec<String>,
    /// What happened, oldest first.
    pub history: Vec<HistoryLine>,
    /// When it started.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// The basis for required reviews.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SafetyAndGovernance {
    /// The risk level; `None` until someone sets it.
    pub risk_level: Option<Risk>,
}

/// The state of a stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageState {
    /// Its status.
    pub status: StageStatus,
    /// The agent responsible for it.
    pub agent: String,
    /// How often it was started.
    pub attempts: u32,
    /// How often it failed or was sent back since a person last decided about it.
    pub failures: u32,
    /// How often its failure rolled the workflow back.
    pub rollbacks: u32,
    /// When it was last started.
    pub started_at: Option<Timestamp>,
    /// When it was completed.
    pub completed_at: Option<Timestamp>,
    /// When it passed its gate; later stages cannot start before that.
    pub passed_at: Option<Timestamp>,
    /// Its artifacts: paths relative to the project.
    pub output_artifacts: Vec<String>,
    /// The digest of each artifact at the time of completion.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub artifact_digests: BTreeMap<String, String>,
    /// Warnings for the next agent.
    pub warnings: Vec<String>,
    /// A summary of what was done.
    pub summary: Option<String>,
    /// Why it is blocked or failed.
    pub reason: Option<String>,
    /// The next agents, if it named any.
    pub next_agents: Vec<String>,
    /// What it should do differently, if it was sent back.
    pub feedback: Vec<String>,
    /// The findings because of which it was sent back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Findings>,
    /// What a person decided about it.
    pub approval: Option<RecordedDecision>,
    /// What needs a person's answer.
    pub asks: Option<Asks>,
    /// The test verdict.
    pub qa_verdict: Option<QaVerdict>,
    /// The open bugs that the tests found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bugs: Option<Findings>,
    /// The stages to repeat if bugs are to be fixed.
    pub fix_stages: Vec<String>,
    /// Its reviews, by name.
    pub reviews: BTreeMap<String, ReviewState>,
}

/// The state of a review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewState {
    /// Its status.
    pub status: ReviewStatus,
    /// The reviewing agent.
    pub agent: String,
    /// How often the review was requested.
    pub attempts: u32,
    /// When the reviewer was last asked.
    pub started_at: Option<Timestamp>,
    /// The reviewer's verdict.
    pub verdict: Option<Verdict>,
    /// The reason.
    pub summary: Option<String>,
    /// What the reviewer found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub findings: Option<Findings>,
    /// Its artifacts: paths relative to the project.
    pub output_artifacts: Vec<String>,
    /// The digest of each artifact at the time of the verdict.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub artifact_digests: BTreeMap<String, String>,
    /// When the verdict was given.
    pub reviewed_at: Option<Timestamp>,
}

/// What a person decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedDecision {
    /// The decision.
    pub decision: Decision,
    /// Who did it.
    pub by: String,
    /// The reason.
    pub note: Option<String>,
    /// When it happened.
    pub at: Timestamp,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryLine {
    /// The revision it made.
    pub revision: u64,
    /// When it happened.
    pub at: Timestamp,
    /// What happened, as text.
    pub what: String,
    /// The stage.
    pub stage: Option<String>,
    /// Who did it.
    pub by: Option<String>,
    /// The reason.
    pub note: Option<String>,
}

impl HistoryLine {
    /// Returns it as a sentence: where, what, by whom, why.
    pub fn sentence(&self) -> String {
        let stage = self.stage.as_ref().map(|stage| format!("{stage} ")).unwrap_or_default();
        format!("{stage}{}", self.sentence_without_stage())
    }

    /// Like [`sentence`](Self::sentence), without the stage.
    pub fn sentence_without_stage(&self) -> String {
        let by = self.by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
        let note = self.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
        format!("{}{by}{note}", self.what)
    }
}

impl StageState {
    /// Makes the state of a stage whose turn has not come.
    pub(super) fn new(stage: &StageDefinition) -> Self {
        Self {
            status: StageStatus::Pending,
            agent: stage.agent.text.clone(),
            attempts: 0,
            failures: 0,
            rollbacks: 0,
            started_at: None,
            completed_at: None,
            passed_at: None,
            output_artifacts: Vec::new(),
            artifact_digests: BTreeMap::new(),
            warnings: Vec::new(),
            summary: None,
            reason: None,
            next_agents: Vec::new(),
            feedback: Vec::new(),
            findings: Vec::new(),
            approval: None,
            asks: None,
            qa_verdict: None,
            bugs: None,
            fix_stages: Vec::new(),
            reviews: BTreeMap::new(),
        }
    }

    /// Clears all results, but not the number of attempts, nor why it was sent back.
    pub(super) fn clear(&mut self, status: StageStatus) {
        let Self { agent, attempts, failures, rollbacks, .. } = &*self;
        let (agent, attempts, failures, rollbacks) =
            (agent.clone(), *attempts, *failures, *rollbacks);
        let feedback = std::mem::take(&mut self.feedback);
        let findings = std::mem::take(&mut self.findings);
        let fresh = Self::new(&StageDefinition::default());
        *self = Self { status, agent, attempts, failures, rollbacks, feedback, findings, ..fresh };
    }

    /// Returns the findings of its reviewers, except those of plain approvals.
    pub(super) fn review_findings(&self) -> Vec<Findings> {
        let reviews = self.reviews.values();
        let reviews = reviews.filter(|one| one.verdict != Some(Verdict::Approve));
        reviews.filter_map(|one| one.findings.clone()).collect()
    }

    /// Returns whether its artifacts exist.
    pub fn is_completed(&self) -> bool {
        matches!(self.status, StageStatus::Completed | StageStatus::CompletedWithWarnings)
    }

    /// Returns whether its successors may start.
    pub fn is_passed(&self) -> bool {
        self.status == StageStatus::Skipped || (self.is_completed() && self.passed_at.is_some())
    }

    /// Returns whether an artifact has changed since the stage was completed. Without a digest that
    /// is unknown.
    pub fn has_changed(&self, path: &str, value: &Value) -> bool {
        self.artifact_digests.get(path).is_some_and(|known| *known != digest(value))
    }

    /// Returns whether its artifacts exist, but its gate has not been passed.
    pub fn is_at_gate(&self) -> bool {
        self.is_completed() && self.passed_at.is_none()
    }
}

impl WorkflowState {
    /// Reads a state; returns everything that is wrong with it.
    pub fn read(value: &Value) -> Result<Self, Vec<SchemaViolation>> {
        let faults = validate(ArtifactKind::STATE, value);
        if !faults.is_empty() {
            return Err(faults);
        }
        serde_json::from_value(value.clone())
            .map_err(|error| vec![SchemaViolation::new("", error.to_string())])
    }

    /// Returns it as it is stored.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Returns the effective risk: unknown if no one has set it.
    pub fn risk(&self) -> Risk {
        self.safety_and_governance.risk_level.unwrap_or(Risk::Unknown)
    }

    /// Returns why it is not a state of a definition, which may have changed since.
    pub fn fits(&self, definition: &WorkflowDefinition) -> Option<WorkflowRefusal> {
        let is_other = || self.rules.as_ref().is_some_and(|known| *known != rules(definition));
        match self.names_fit(definition) {
            Some(why) => Some(WorkflowRefusal::OtherDefinition(why)),
            None => is_other().then_some(WorkflowRefusal::OtherRules),
        }
    }

    /// Returns which stage or review keeps it from being a state of a definition, regardless of its
    /// rules.
    pub(super) fn names_fit(&self, definition: &WorkflowDefinition) -> Option<String> {
        let is_there = |name: &String| definition.stage(name).is_some();
        if let Some(name) = self.stages.keys().find(|name| !is_there(name)) {
            return Some(format!("the workflow has no stages `{name}`"));
        }
        let mut reviews = self.stages.values().flat_map(|stage| stage.reviews.keys());
        if let Some(name) = reviews.find(|name| definition.review(name).is_none()) {
            return Some(format!("the workflow has no review `{name}`"));
        }
        let mut names = definition.stages.iter().map(|stage| &stage.name.text);
        let missing = names.find(|name| !self.stages.contains_key(*name))?;
        Some(format!("the state has no stage `{missing}`"))
    }
}
