//! The status of a workflow, as it is printed.

use crate::changed::has_changed;
use crate::definition::{ArtifactDefinition, StageDefinition};
use crate::machine;
use crate::next_actions::{self, NextAction};
use crate::opinion::opinion_since;
use crate::project::Project;
use crate::state::WorkflowState;
use crate::vocabulary::Asks;
use anyhook_model::report::workflow::{
    ArtifactReport, NextAgent, ReviewReport, StageReport, WaitingApproval, WorkflowReport,
};

/// Returns the status of a workflow.
pub fn report(project: &Project, state: &WorkflowState) -> WorkflowReport {
    let stages = project.definition.stages.iter();
    WorkflowReport {
        workflow: state.workflow.clone(),
        id: state.id.clone(),
        revision: state.revision,
        status: state.status.name().to_owned(),
        execution_mode: state.execution_mode.map(|mode| mode.name().to_owned()),
        risk_level: state.risk().name().to_owned(),
        stages: stages.filter_map(|stage| of_stage(project, state, stage)).collect(),
        next: next(project, state),
        waits: waits(project, state),
        hints: hints(project, state),
    }
}

/// Returns what can be done next, in words and as commands.
pub fn hints(project: &Project, state: &WorkflowState) -> Vec<String> {
    next_actions::ways(&project.definition, state).iter().map(NextAction::hint).collect()
}

fn of_stage(
    project: &Project,
    state: &WorkflowState,
    stage: &StageDefinition,
) -> Option<StageReport> {
    let now = state.stages.get(&stage.name.text)?;
    let is_made = |artifact: &&ArtifactDefinition| {
        artifact.is_made_in(state.execution_mode) || artifact.modes.is_empty()
    };
    let expected = stage.artifacts.iter().filter(is_made);
    let expected =
        expected.map(|artifact| project.definition.path(&stage.agent.text, &artifact.file.text));
    let paths: Vec<String> = match now.output_artifacts.as_slice() {
        [] => expected.collect(),
        made => made.to_vec(),
    };
    let artifact = |path: String| ArtifactReport {
        exists: project.root.join(&path).symlink_metadata().is_ok(),
        changed: has_changed(project, now, &path),
        path,
    };
    let reviews = now.reviews.iter().map(|(name, review)| ReviewReport {
        name: name.clone(),
        agent: review.agent.clone(),
        status: review.status.name().to_owned(),
        verdict: review.verdict.map(|verdict| verdict.name().to_owned()),
    });
    Some(StageReport {
        name: stage.name.text.clone(),
        agent: now.agent.clone(),
        group: stage.group.as_ref().map(|group| group.text.clone()),
        status: now.status.name().to_owned(),
        passed: now.is_passed(),
        attempts: now.attempts,
        started_at: now.started_at,
        completed_at: now.completed_at,
        artifacts: paths.into_iter().map(artifact).collect(),
        asks: now.asks.map(|asks| asks.name().to_owned()),
        reviews: reviews.collect(),
        warnings: now.warnings.clone(),
        reason: now.reason.clone(),
    })
}

/// Returns which agents work now.
pub fn next(project: &Project, state: &WorkflowState) -> Vec<NextAgent> {
    let agents = machine::next(&project.definition, state).into_iter();
    agents
        .map(|one| NextAgent {
            agent: one.agent,
            stage: one.stage,
            reviewed_stage: one.reviewed,
            attempt: one.attempt,
        })
        .collect()
}

/// Returns what a person is asked, in the order of the definition.
pub fn waits(project: &Project, state: &WorkflowState) -> Vec<WaitingApproval> {
    let stages = project.definition.stages.iter();
    let waiting = stages.filter_map(|stage| {
        let name = &stage.name.text;
        let now = state.stages.get(name)?;
        let asks = now.asks?;
        let opinion = opinion_since(project, now);
        Some(WaitingApproval {
            stage: name.clone(),
            asks: asks.name().to_owned(),
            answers: answers(name, asks),
            second_opinion: opinion.and_then(|review| serde_json::to_value(review).ok()),
        })
    });
    waiting.collect()
}

fn answers(stage: &str, asks: Asks) -> Vec<String> {
    let ways = next_actions::answers(stage, asks).into_iter();
    match asks {
        Asks::Approval => ways.map(|way| way.command).collect(),
        // The command alone does not show what follows from it.
        Asks::Choice => ways.map(|way| format!("{}  ({})", way.command, way.what)).collect(),
    }
}
