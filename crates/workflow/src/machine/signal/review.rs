//! Completion signals of reviewers.

use serde_json::Value;

use super::artifacts::{ValidArtifact, artifacts, digests};
use super::{SignalSubmission, ValidSignal, is_owner, merge_risk};
use crate::definition::{ReviewDefinition, StageDefinition};
use crate::findings::Findings;
use crate::machine::draft::Draft;
use crate::refusal::WorkflowRefusal;
use crate::vocabulary::{ReviewStatus, Verdict};

/// Accepts a reviewer's verdict about the stage that it was asked about.
pub fn of_review(
    draft: &mut Draft<'_>,
    review: &ReviewDefinition,
    signal: &ValidSignal,
    submission: SignalSubmission<'_>,
) -> Result<(), WorkflowRefusal> {
    let definition = draft.definition;
    let name = &review.name.text;
    is_owner(signal, &review.agent.text)?;
    let is_asked = |stage: &&StageDefinition| {
        draft.state.stages.get(&stage.name.text).is_some_and(|now| {
            let asked = now.reviews.get(name);
            now.is_at_gate() && asked.is_some_and(|one| one.status == ReviewStatus::InProgress)
        })
    };
    let stage = definition.stages.iter().find(is_asked).ok_or_else(|| {
        WorkflowRefusal::NotAsked { review: name.clone(), stage: signal.reviewed_stage.clone() }
    })?;
    let asked = &stage.name.text;
    let mode = draft.state.execution_mode;
    let made = artifacts(definition, signal, &review.artifacts, mode, submission)?;
    let told = made.iter().filter_map(|one| one.text("stage_reviewed"));
    for told in told.chain(signal.reviewed_stage.as_deref()) {
        if told != asked {
            return Err(WorkflowRefusal::OtherStage {
                review: name.clone(),
                asked: asked.clone(),
                told: told.to_owned(),
            });
        }
    }
    if !signal.is_done() {
        draft.review_failed(review, asked, signal.reason());
        return Ok(());
    }
    let verdict = made.iter().find_map(|one| one.text("verdict").and_then(Verdict::find));
    let verdict = verdict.ok_or_else(|| WorkflowRefusal::NoVerdict(name.clone()))?;
    merge_risk(draft, signal, &made);
    let summary = made.iter().find_map(|one| one.text("summary")).map(str::to_owned);
    let findings = found(name, &made);
    let at = draft.at;
    let Some(now) = draft.stage(asked) else { return Ok(()) };
    if verdict == Verdict::ApproveWithNotes {
        now.warnings.extend(summary.iter().map(|text| format!("{name}: {text}")));
    }
    now.warnings.extend(signal.warnings.iter().cloned());
    if let Some(one) = now.reviews.get_mut(name) {
        one.status = ReviewStatus::Completed;
        one.verdict = Some(verdict);
        one.summary.clone_from(&summary);
        one.findings = findings;
        one.output_artifacts = made.iter().map(|one| one.path.clone()).collect();
        one.artifact_digests = digests(&made);
        one.reviewed_at = Some(at);
    }
    let what = format!("{name}: {}", verdict.name());
    draft.tell(&what, Some(asked), Some(&signal.agent), summary.as_deref());
    Ok(())
}

/// Returns the findings of a review, including the policies that are not met.
fn found(review: &str, made: &[ValidArtifact<'_>]) -> Option<Findings> {
    let report = made.iter().find(|one| one.text("verdict").is_some())?;
    let list = |key: &str| report.value.get(key).and_then(Value::as_array).into_iter().flatten();
    let is_broken = |policy: &&Value| {
        policy.get("status").and_then(Value::as_str).is_some_and(|status| status == "not_met")
    };
    let items = list("findings").chain(list("policies").filter(is_broken)).cloned().collect();
    Some(Findings::new(review, Some(&report.path), report.text("summary"), items))
}

impl Draft<'_> {
    /// Asks a reviewer again that did not review, or gives up.
    pub fn review_failed(&mut self, review: &ReviewDefinition, stage: &str, reason: &str) {
        let name = &review.name.text;
        let Some(one) = self.stage(stage).and_then(|stage| stage.reviews.get_mut(name)) else {
            return;
        };
        if one.attempts <= review.trying.retries {
            // Asked again at once, as the first in the queue.
            one.status = ReviewStatus::Pending;
            self.tell(&format!("{name} failed"), Some(stage), None, Some(reason));
        } else {
            self.block(stage, &format!("{name}: {reason}"));
        }
    }
}
