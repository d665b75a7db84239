//! Completion signals: what an agent submits when it is done.

mod artifacts;
mod bugs;
mod review;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use super::draft::Draft;
use super::gate::followers;
use super::{Artifacts, OwnSchemas, WorkflowEffects, goes_on, next};
use crate::definition::{StageDefinition, WorkflowDefinition};
use crate::refusal::WorkflowRefusal;
use crate::schemas::{ArtifactKind, SchemaViolation, validate};
use crate::state::WorkflowState;
use crate::vocabulary::{Mode, Risk, SignalStatus, StageStatus};
use artifacts::{ValidArtifact, artifacts, digests};
use bugs::{check_tests, merge_tests};
use review::of_review;

/// What comes with a signal.
#[derive(Clone, Copy, Debug)]
pub struct SignalSubmission<'all> {
    /// The signal.
    pub signal: &'all Value,
    /// The artifacts that it names.
    pub artifacts: &'all Artifacts,
    /// The project's own schemas.
    pub schemas: &'all OwnSchemas,
    /// When it came.
    pub at: Timestamp,
}

/// A valid signal.
#[derive(Debug, Deserialize)]
struct ValidSignal {
    id: String,
    agent: String,
    stage: String,
    status: SignalStatus,
    #[serde(default)]
    output_artifacts: Vec<String>,
    #[serde(default)]
    summary: Option<String>,
    #[serde(default)]
    warnings: Vec<String>,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    risk_level: Option<Risk>,
    #[serde(default)]
    next_agent_required: Option<Value>,
    #[serde(default)]
    reviewed_stage: Option<String>,
}

impl ValidSignal {
    fn next_agents(&self) -> Vec<String> {
        match &self.next_agent_required {
            Some(Value::String(agent)) => vec![agent.clone()],
            Some(Value::Array(agents)) => {
                agents.iter().filter_map(Value::as_str).map(str::to_owned).collect()
            }
            _ => Vec::new(),
        }
    }

    fn is_done(&self) -> bool {
        matches!(self.status, SignalStatus::Completed | SignalStatus::CompletedWithWarnings)
    }

    fn reason(&self) -> &str {
        self.reason.as_deref().unwrap_or("no reason given")
    }
}

/// Accepts an agent's signal that it is done with a stage or a review.
///
/// The same signal twice changes nothing.
pub fn complete(
    definition: &WorkflowDefinition,
    state: &WorkflowState,
    submission: SignalSubmission<'_>,
) -> Result<(WorkflowState, WorkflowEffects), WorkflowRefusal> {
    let faults = validate(ArtifactKind::SIGNAL, submission.signal);
    if !faults.is_empty() {
        return Err(WorkflowRefusal::Signal(faults));
    }
    let signal: ValidSignal =
        serde_json::from_value(submission.signal.clone()).map_err(|error| {
            WorkflowRefusal::Signal(vec![SchemaViolation::new("", error.to_string())])
        })?;
    if state.signals.contains(&signal.id) {
        return Ok((
            state.clone(),
            WorkflowEffects { is_unchanged: true, ..WorkflowEffects::default() },
        ));
    }
    goes_on(definition, state)?;
    let mut draft = Draft::new(definition, state, submission.at);
    if let Some(stage) = definition.stage(&signal.stage) {
        of_stage(&mut draft, stage, &signal, submission)?;
    } else if let Some(review) = definition.review(&signal.stage) {
        of_review(&mut draft, review, &signal, submission)?;
    } else {
        let stages = definition.stages.iter().map(|stage| stage.name.text.clone());
        let reviews = definition.reviews.iter().map(|review| review.name.text.clone());
        return Err(WorkflowRefusal::UnknownStage {
            name: signal.stage,
            known: stages.chain(reviews).collect(),
        });
    }
    draft.state.signals.push(signal.id);
    Ok(draft.finish())
}

fn is_owner(signal: &ValidSignal, owner: &str) -> Result<(), WorkflowRefusal> {
    if signal.agent == owner {
        return Ok(());
    }
    Err(WorkflowRefusal::NotOwner {
        stage: signal.stage.clone(),
        owner: owner.to_owned(),
        agent: signal.agent.clone(),
    })
}

fn of_stage(
    draft: &mut Draft<'_>,
    stage: &StageDefinition,
    signal: &ValidSignal,
    submission: SignalSubmission<'_>,
) -> Result<(), WorkflowRefusal> {
    let definition = draft.definition;
    let name = &stage.name.text;
    is_owner(signal, &stage.agent.text)?;
    let status = draft.state.stages.get(name).map_or(StageStatus::Pending, |now| now.status);
    if status != StageStatus::InProgress {
        // A stage at its gate is active as well, but it is not its agent's turn.
        let working = next(definition, &draft.state).into_iter();
        let current = working.map(|one| one.stage).collect();
        return Err(WorkflowRefusal::NotCurrent { stage: name.clone(), status, current });
    }
    let mode = mode(draft, stage, submission)?;
    let made = artifacts(definition, signal, &stage.artifacts, mode, submission)?;
    check_modes(&made, mode)?;
    check_next(definition, stage, signal)?;
    check_deployed(signal, &made)?;
    check_tests(definition, stage, signal, &made)?;

    draft.state.execution_mode = mode;
    merge_risk(draft, signal, &made);
    match signal.status {
        SignalStatus::Failed => {
            draft.fail(stage, signal.reason());
            return Ok(());
        }
        SignalStatus::Blocked => {
            draft.block(name, signal.reason());
            return Ok(());
        }
        SignalStatus::Completed | SignalStatus::CompletedWithWarnings => {}
    }
    let at = draft.at;
    let Some(now) = draft.stage(name) else { return Ok(()) };
    let is_warned = signal.status == SignalStatus::CompletedWithWarnings;
    now.status =
        if is_warned { StageStatus::CompletedWithWarnings } else { StageStatus::Completed };
    now.completed_at = Some(at);
    now.output_artifacts = made.iter().map(|one| one.path.clone()).collect();
    now.artifact_digests = digests(&made);
    now.warnings.clone_from(&signal.warnings);
    now.summary = signal.summary.clone().filter(|text| !text.is_empty());
    now.next_agents = signal.next_agents();
    now.feedback.clear();
    now.findings.clear();
    let status = now.status.name();
    draft.tell(status, Some(name), Some(&signal.agent), signal.summary.as_deref());
    if definition.qa.as_ref().is_some_and(|qa| qa.stage.text == *name) {
        merge_tests(draft, stage, &made);
    }
    Ok(())
}

/// Returns the effective mode: the first stages set it, the others must match it.
fn mode(
    draft: &Draft<'_>,
    stage: &StageDefinition,
    submission: SignalSubmission<'_>,
) -> Result<Option<Mode>, WorkflowRefusal> {
    let definition = draft.definition;
    let told = stage.artifacts.iter().find_map(|artifact| {
        let path = definition.path(&stage.agent.text, &artifact.file.text);
        let value = submission.artifacts.get(&path)?;
        Mode::find(value.get("execution_mode")?.as_str()?)
    });
    let known = draft.state.execution_mode;
    let mode = if stage.after.is_empty() { told.or(known) } else { known.or(told) };
    let is_needed = stage.artifacts.iter().any(|artifact| !artifact.modes.is_empty());
    if mode.is_none() && is_needed { Err(WorkflowRefusal::NoMode) } else { Ok(mode) }
}

fn check_modes(made: &[ValidArtifact<'_>], mode: Option<Mode>) -> Result<(), WorkflowRefusal> {
    for one in made {
        if let (Some(told), Some(mode)) = (one.text("execution_mode").and_then(Mode::find), mode)
            && told != mode
        {
            return Err(WorkflowRefusal::OtherMode { path: one.path.clone(), told, mode });
        }
    }
    Ok(())
}

/// Checks that the agents named as next can come next.
fn check_next(
    definition: &WorkflowDefinition,
    stage: &StageDefinition,
    signal: &ValidSignal,
) -> Result<(), WorkflowRefusal> {
    let reviewers = definition.reviews.iter().map(|review| review.agent.text.as_str());
    let mut possible = followers(definition, stage);
    possible.extend(reviewers);
    match signal.next_agents().into_iter().find(|agent| !possible.contains(&agent.as_str())) {
        Some(agent) => {
            let possible = possible.into_iter().map(str::to_owned).collect();
            Err(WorkflowRefusal::NotNext { agent, stage: stage.name.text.clone(), possible })
        }
        None => Ok(()),
    }
}

/// Checks that a deployment that is reported as done was actually deployed.
fn check_deployed(signal: &ValidSignal, made: &[ValidArtifact<'_>]) -> Result<(), WorkflowRefusal> {
    let reports =
        made.iter().filter(|one| one.kind == Some(ArtifactKind::DEVOPS) && signal.is_done());
    for report in reports {
        let told = report.text("status").unwrap_or_default();
        if told != "deployed" {
            return Err(WorkflowRefusal::NotDeployed {
                stage: signal.stage.clone(),
                path: report.path.clone(),
                told: told.to_owned(),
            });
        }
    }
    Ok(())
}

/// Returns the risk that a signal and its artifacts report.
fn told_risk(signal: &ValidSignal, made: &[ValidArtifact<'_>]) -> Option<Risk> {
    let of_artifacts = made.iter().filter_map(|one| one.text("risk_level").and_then(Risk::find));
    of_artifacts.chain(signal.risk_level).max()
}

/// Merges the risk that a stage or a review reports: it is never lowered.
fn merge_risk(draft: &mut Draft<'_>, signal: &ValidSignal, made: &[ValidArtifact<'_>]) {
    let known = &mut draft.state.safety_and_governance.risk_level;
    *known = match (*known, told_risk(signal, made)) {
        (None | Some(Risk::Unknown), told @ Some(_)) => told,
        (known, told) => known.max(told),
    };
}
