//! The workflow state machine: `(state, event) → (state, effects)`, or a refusal.
//!
//! ```text
//! signal ──valid?──▶ owner? ──▶ its turn? ──▶ artifacts valid? ──▶ merge ──▶ gates ──▶ next agents
//! ```

mod decide;
mod draft;
mod gate;
mod rules;
mod signal;
mod time;
mod vanished_agents;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use super::definition::WorkflowDefinition;
use super::digest;
use super::refusal::WorkflowRefusal;
use super::schemas::ArtifactSchema;
use super::state::{HistoryLine, STATE_VERSION, SafetyAndGovernance, StageState, WorkflowState};
use super::vocabulary::{Asks, Mode, ReviewStatus, Risk, StageStatus, WorkflowStatus};
use draft::Draft;

pub use decide::{PersonDecision, abort, approve, choose, reject, retry, rollback};
pub use rules::accept_rules;
pub use signal::{SignalSubmission, complete};
pub use time::{late, time_limit};
pub use vanished_agents::lost;

/// What must be done, besides storing the state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkflowEffects {
    /// The agents to invoke.
    pub invoke: Vec<Invocation>,
    /// The stages about which a person is to be asked, and what.
    pub ask: Vec<(String, Asks)>,
    /// What happened, for the journal.
    pub told: Vec<HistoryLine>,
    /// Nothing changed: it was already known, or nothing was due.
    pub is_unchanged: bool,
}

/// An agent that can start.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Invocation {
    /// The agent.
    pub agent: String,
    /// Its stage or review.
    pub stage: String,
    /// For a review: the stage being reviewed.
    pub reviewed: Option<String>,
    /// For a review: which attempt at the stage is reviewed. For a stage: 0.
    pub round: u32,
    /// The number of this attempt.
    pub attempt: u32,
}

impl Invocation {
    /// Returns what distinguishes it from all others of the same run of the workflow.
    pub fn mark(&self) -> String {
        match &self.reviewed {
            Some(reviewed) => format!("{}-{reviewed}-{}-{}", self.stage, self.round, self.attempt),
            None => format!("{}-{}", self.stage, self.attempt),
        }
    }
}

/// The parameters of a new workflow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewWorkflow {
    /// The id of this run.
    pub id: String,
    /// The mode, if the project sets it.
    pub mode: Option<Mode>,
    /// The risk level, if the project sets it.
    pub risk: Option<Risk>,
}

/// Starts a workflow.
pub fn start(
    definition: &WorkflowDefinition,
    start: NewWorkflow,
    at: Timestamp,
) -> (WorkflowState, WorkflowEffects) {
    let stages = definition.stages.iter();
    let state = WorkflowState {
        version: STATE_VERSION,
        workflow: definition.name.clone(),
        id: start.id,
        revision: 0,
        rules: Some(digest::rules(definition)),
        status: WorkflowStatus::Running,
        execution_mode: start.mode,
        current_stage: None,
        active_stages: Vec::new(),
        paused_at: None,
        safety_and_governance: SafetyAndGovernance { risk_level: start.risk },
        stages: stages.map(|one| (one.name.text.clone(), StageState::new(one))).collect(),
        signals: Vec::new(),
        history: Vec::new(),
        created_at: at,
        updated_at: at,
    };
    let mut draft = Draft::new(definition, &state, at);
    draft.tell("began", None, None, None);
    draft.finish()
}

/// Returns all agents that should work now.
pub fn next(definition: &WorkflowDefinition, state: &WorkflowState) -> Vec<Invocation> {
    let mut all = Vec::new();
    for stage in &definition.stages {
        let Some(now) = state.stages.get(&stage.name.text) else { continue };
        if now.status == StageStatus::InProgress {
            all.push(Invocation {
                agent: stage.agent.text.clone(),
                stage: stage.name.text.clone(),
                reviewed: None,
                round: 0,
                attempt: now.attempts,
            });
        }
        if now.is_at_gate() {
            let asked =
                now.reviews.iter().filter(|(_, review)| review.status == ReviewStatus::InProgress);
            all.extend(asked.map(|(name, review)| Invocation {
                agent: review.agent.clone(),
                stage: name.clone(),
                reviewed: Some(stage.name.text.clone()),
                round: now.attempts,
                attempt: review.attempts,
            }));
        }
    }
    if state.status == WorkflowStatus::Aborted { Vec::new() } else { all }
}

/// Checks that a state can continue at all.
fn goes_on(definition: &WorkflowDefinition, state: &WorkflowState) -> Result<(), WorkflowRefusal> {
    match state.fits(definition) {
        Some(refusal) => Err(refusal),
        None if state.status == WorkflowStatus::Aborted => Err(WorkflowRefusal::Over(state.status)),
        None => Ok(()),
    }
}

/// The project's own schemas, by their paths in the definition.
pub type OwnSchemas = BTreeMap<String, ArtifactSchema>;
/// Artifacts by their paths relative to the project.
pub type Artifacts = BTreeMap<String, Value>;

#[cfg(test)]
pub(crate) mod tests;
