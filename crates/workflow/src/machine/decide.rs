//! Decisions of people: approve, reject, choose, retry, roll back, abort.

use jiff::Timestamp;

use super::draft::{Draft, add_new};
use super::{WorkflowEffects, goes_on};
use crate::definition::WorkflowDefinition;
use crate::next_actions::out_of;
use crate::refusal::WorkflowRefusal;
use crate::state::{RecordedDecision, StageState, WorkflowState};
use crate::vocabulary::{Asks, Decision, QaVerdict, StageStatus, WorkflowStatus};

/// Who decides, why and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PersonDecision<'all> {
    /// Who did it.
    pub by: &'all str,
    /// The reason.
    pub note: Option<&'all str>,
    /// When it happened.
    pub at: Timestamp,
}

impl PersonDecision<'_> {
    fn word(&self, decision: Decision) -> RecordedDecision {
        let note = self.note.filter(|note| !note.is_empty()).map(str::to_owned);
        RecordedDecision { decision, by: self.by.to_owned(), note, at: self.at }
    }

    fn feedback(&self, what: &str) -> Vec<String> {
        vec![format!("{} {what}: {}", self.by, self.note.unwrap_or("no reason given"))]
    }

    /// Like [`Self::feedback`], if the bugs are the reason.
    fn feedback_about_bugs(&self) -> Vec<String> {
        let note = self.note.map(|note| format!(": {note}")).unwrap_or_default();
        vec![format!("{} wants these bugs fixed{note}", self.by)]
    }
}

/// Checks that a person can decide about a stage, and prepares the change.
fn draft<'all>(
    definition: &'all WorkflowDefinition,
    state: &'all WorkflowState,
    stage: &str,
    choice: PersonDecision<'_>,
) -> Result<(Draft<'all>, StageState), WorkflowRefusal> {
    goes_on(definition, state)?;
    if choice.by.trim().is_empty() {
        return Err(WorkflowRefusal::Nobody);
    }
    let known = || definition.stages.iter().map(|stage| stage.name.text.clone()).collect();
    let unknown = || WorkflowRefusal::UnknownStage { name: stage.to_owned(), known: known() };
    let now = state.stages.get(stage).ok_or_else(unknown)?;
    Ok((Draft::new(definition, state, choice.at), now.clone()))
}

fn nothing_asked(what: &'static str, stage: &str, now: &StageState) -> WorkflowRefusal {
    let ways = out_of(stage, now);
    WorkflowRefusal::NothingAsked { what, stage: stage.to_owned(), status: now.status, ways }
}

/// Approves a stage that a person was asked about.
pub fn approve(
    definition: &WorkflowDefinition,
    state: &WorkflowState,
    stage: &str,
    choice: PersonDecision<'_>,
) -> Result<(WorkflowState, WorkflowEffects), WorkflowRefusal> {
    let (mut draft, now) = draft(definition, state, stage, choice)?;
    if now.asks != Some(Asks::Approval) {
        return Err(nothing_asked("to approve", stage, &now));
    }
    if let Some(now) = draft.stage(stage) {
        now.approval = Some(choice.word(Decision::Approved));
        now.asks = None;
        now.failures = 0;
    }
    draft.tell("approved", Some(stage), Some(choice.by), choice.note);
    Ok(draft.finish())
}

/// Sends a stage back that a person was asked about. One that has not begun is blocked.
pub fn reject(
    definition: &WorkflowDefinition,
    state: &WorkflowState,
    stage: &str,
    choice: PersonDecision<'_>,
) -> Result<(WorkflowState, WorkflowEffects), WorkflowRefusal> {
    let (mut draft, now) = draft(definition, state, stage, choice)?;
    if now.asks != Some(Asks::Approval) {
        return Err(nothing_asked("to approve", stage, &now));
    }
    draft.tell("rejected", Some(stage), Some(choice.by), choice.note);
    let feedback = choice.feedback("rejected it");
    if now.is_at_gate() {
        if let Some(now) = draft.stage(stage) {
            now.failures = 0;
            now.approval = None;
            let findings = now.review_findings();
            add_new(&mut now.feedback, feedback);
            add_new(&mut now.findings, findings);
        }
        draft.begin(stage);
    } else {
        draft.block(stage, &feedback.join("; "));
        if let Some(now) = draft.stage(stage) {
            now.approval = Some(choice.word(Decision::Rejected));
        }
    }
    Ok(draft.finish())
}

/// Decides what to do about bugs: [`Decision::Fix`], [`Decision::DeployAnyway`] or
/// [`Decision::Abort`].
///
/// Blocking bugs can be fixed, or the workflow aborted; they are not deployed.
pub fn choose(
    definition: &WorkflowDefinition,
    state: &WorkflowState,
    stage: &str,
    decision: Decision,
    choice: PersonDecision<'_>,
) -> Result<(WorkflowState, WorkflowEffects), WorkflowRefusal> {
    if decision == Decision::Abort {
        draft(definition, state, stage, choice)?;
        return abort(definition, state, choice);
    }
    let (mut draft, now) = draft(definition, state, stage, choice)?;
    let is_asked = now.asks == Some(Asks::Choice);
    let is_bad = now.status == StageStatus::Blocked
        && now.qa_verdict.is_some_and(|verdict| verdict != QaVerdict::Approve);
    let is_possible = match decision {
        Decision::Fix => is_asked || is_bad,
        Decision::DeployAnyway => is_asked,
        _ => false,
    };
    if !is_possible {
        return Err(nothing_asked("to choose about", stage, &now));
    }
    draft.tell(decision.name(), Some(stage), Some(choice.by), choice.note);
    if decision == Decision::DeployAnyway {
        if let Some(now) = draft.stage(stage) {
            now.approval = Some(choice.word(decision));
            now.asks = None;
        }
    } else {
        let feedback = choice.feedback_about_bugs();
        let again = vec![stage.to_owned()];
        let to = if now.fix_stages.is_empty() { again } else { now.fix_stages };
        draft.roll_back(&to, &feedback);
    }
    Ok(draft.finish())
}

/// Retries a stage that is blocked or failed.
pub fn retry(
    definition: &WorkflowDefinition,
    state: &WorkflowState,
    stage: &str,
    choice: PersonDecision<'_>,
) -> Result<(WorkflowState, WorkflowEffects), WorkflowRefusal> {
    let (mut draft, now) = draft(definition, state, stage, choice)?;
    if !matches!(now.status, StageStatus::Blocked | StageStatus::Failed) {
        return Err(nothing_asked("to try again", stage, &now));
    }
    draft.tell("retried", Some(stage), Some(choice.by), choice.note);
    let mut feedback: Vec<String> = now.reason.iter().cloned().collect();
    feedback.extend(choice.note.map(|note| format!("{}: {note}", choice.by)));
    draft.roll_back(&[stage.to_owned()], &feedback);
    Ok(draft.finish())
}

/// Repeats a stage that was started before, and everything that came after it.
pub fn rollback(
    definition: &WorkflowDefinition,
    state: &WorkflowState,
    stage: &str,
    choice: PersonDecision<'_>,
) -> Result<(WorkflowState, WorkflowEffects), WorkflowRefusal> {
    let (mut draft, now) = draft(definition, state, stage, choice)?;
    if now.attempts == 0 || now.status == StageStatus::RolledBack {
        return Err(nothing_asked("to roll back to", stage, &now));
    }
    draft.tell("rolled back to", Some(stage), Some(choice.by), choice.note);
    draft.roll_back(&[stage.to_owned()], &choice.feedback("rolled back to it"));
    Ok(draft.finish())
}

/// Aborts a workflow.
pub fn abort(
    definition: &WorkflowDefinition,
    state: &WorkflowState,
    choice: PersonDecision<'_>,
) -> Result<(WorkflowState, WorkflowEffects), WorkflowRefusal> {
    goes_on(definition, state)?;
    if state.status == WorkflowStatus::Completed {
        return Err(WorkflowRefusal::Over(state.status));
    }
    if choice.by.trim().is_empty() {
        return Err(WorkflowRefusal::Nobody);
    }
    let mut draft = Draft::new(definition, state, choice.at);
    draft.tell("aborted", None, Some(choice.by), choice.note);
    draft.state.status = WorkflowStatus::Aborted;
    draft.state.paused_at = None;
    for stage in draft.state.stages.values_mut() {
        stage.asks = None;
    }
    Ok(draft.finish())
}
