//! A draft of the next state: changed freely, then settled and returned.

use jiff::Timestamp;

use super::{Invocation, WorkflowEffects, next};
use crate::definition::{StageDefinition, WorkflowDefinition};
use crate::findings::Findings;
use crate::state::{HistoryLine, StageState, WorkflowState};
use crate::vocabulary::{OnFailure, StageStatus};

/// Maximum number of history lines that are kept.
const LINES: usize = 1_000;

pub(super) struct Draft<'all> {
    pub definition: &'all WorkflowDefinition,
    pub state: WorkflowState,
    pub at: Timestamp,
    before: &'all WorkflowState,
    told: Vec<HistoryLine>,
}

impl<'all> Draft<'all> {
    pub fn new(
        definition: &'all WorkflowDefinition,
        before: &'all WorkflowState,
        at: Timestamp,
    ) -> Self {
        Self { definition, state: before.clone(), at, before, told: Vec::new() }
    }

    pub fn tell(&mut self, what: &str, stage: Option<&str>, by: Option<&str>, note: Option<&str>) {
        let owned = |text: Option<&str>| text.filter(|text| !text.is_empty()).map(str::to_owned);
        self.told.push(HistoryLine {
            revision: self.before.revision + 1,
            at: self.at,
            what: what.to_owned(),
            stage: owned(stage),
            by: owned(by),
            note: owned(note),
        });
    }

    /// Advances as far as possible, and returns the result.
    pub fn finish(mut self) -> (WorkflowState, WorkflowEffects) {
        self.settle();
        let Self { definition, mut state, at, before, told } = self;
        if state == *before && told.is_empty() {
            return (state, WorkflowEffects { is_unchanged: true, ..WorkflowEffects::default() });
        }
        state.revision = before.revision + 1;
        // Clocks may go back; the state does not.
        state.updated_at = at.max(before.updated_at);
        state.history.extend(told.iter().cloned());
        let surplus = state.history.len().saturating_sub(LINES);
        state.history.drain(..surplus);
        let known = next(definition, before);
        let invoke = next(definition, &state).into_iter().filter(|one| !known.contains(one));
        let ask = definition.stages.iter().filter_map(|stage| {
            let name = &stage.name.text;
            let asks = state.stages.get(name)?.asks?;
            let was = before.stages.get(name).and_then(|stage| stage.asks);
            (was != Some(asks)).then(|| (name.clone(), asks))
        });
        let effects = WorkflowEffects {
            invoke: invoke.collect(),
            ask: ask.collect(),
            told,
            is_unchanged: false,
        };
        (state, effects)
    }

    pub fn stage(&mut self, name: &str) -> Option<&mut StageState> {
        self.state.stages.get_mut(name)
    }

    /// Starts work on a stage, again if it was started before.
    pub fn begin(&mut self, name: &str) {
        let at = self.at;
        let Some(stage) = self.stage(name) else { return };
        // The approval to start also covers retries.
        let approval = stage.approval.take();
        stage.clear(StageStatus::InProgress);
        stage.approval = approval;
        stage.attempts += 1;
        stage.started_at = Some(at);
        let note = format!("attempt {}", stage.attempts);
        self.tell("in_progress", Some(name), None, Some(&note));
    }

    /// Blocks a stage until a person acts.
    pub fn block(&mut self, name: &str, reason: &str) {
        if let Some(stage) = self.stage(name) {
            stage.status = StageStatus::Blocked;
            stage.asks = None;
            stage.passed_at = None;
            stage.reason = Some(reason.to_owned());
        }
        self.tell("blocked", Some(name), None, Some(reason));
    }

    /// Retries a stage if it has attempts left, whatever the reason its work was not accepted.
    ///
    /// Earlier feedback stays: an agent that ended in the middle of a fix still has to do it. A
    /// stage that was completed since then has none of it left.
    pub fn send_back(
        &mut self,
        definition: &StageDefinition,
        feedback: Vec<String>,
        findings: Vec<Findings>,
    ) -> bool {
        let name = &definition.name.text;
        let Some(stage) = self.stage(name) else { return false };
        stage.failures += 1;
        add_new(&mut stage.feedback, feedback);
        add_new(&mut stage.findings, findings);
        if stage.failures > definition.trying.retries {
            return false;
        }
        self.begin(name);
        true
    }

    /// Handles an agent that failed to complete its work.
    pub fn in_vain(&mut self, invocation: &Invocation, reason: &str) {
        let definition = self.definition;
        match &invocation.reviewed {
            Some(reviewed) => {
                if let Some(review) = definition.review(&invocation.stage) {
                    self.review_failed(review, reviewed, reason);
                }
            }
            None => {
                if let Some(stage) = definition.stage(&invocation.stage) {
                    self.fail(stage, reason);
                }
            }
        }
    }

    /// Handles a failed attempt at a stage.
    pub fn fail(&mut self, definition: &StageDefinition, reason: &str) {
        let name = &definition.name.text;
        self.tell("failed", Some(name), None, Some(reason));
        if self.send_back(definition, vec![reason.to_owned()], Vec::new()) {
            return;
        }
        let back = match (definition.trying.on_failure, &definition.rollback_to) {
            (OnFailure::Block, _) => return self.block(name, reason),
            (OnFailure::Rollback, Some(to)) => Some(to),
            _ => None,
        };
        let limit = definition.trying.retries.max(1);
        let Some(stage) = self.stage(name) else { return };
        if let Some(to) = back
            && stage.rollbacks < limit
        {
            stage.rollbacks += 1;
            stage.failures = 0;
            let feedback = vec![format!("{name}: {reason}")];
            return self.roll_back(std::slice::from_ref(&to.text), &feedback);
        }
        stage.status = StageStatus::Failed;
        stage.reason = Some(reason.to_owned());
    }

    /// Repeats stages; everything that came after them must be repeated, too.
    pub fn roll_back(&mut self, to: &[String], feedback: &[String]) {
        let definition = self.definition;
        let findings: Vec<Vec<Findings>> =
            to.iter().map(|name| self.findings_about(name, to)).collect();
        for name in to {
            for later in definition.following(name) {
                let Some(stage) = self.stage(later) else { continue };
                match stage.status {
                    // Whether it is needed is decided again.
                    StageStatus::Pending | StageStatus::Skipped => {
                        stage.clear(StageStatus::Pending);
                    }
                    StageStatus::RolledBack => {}
                    _ => {
                        stage.failures = 0;
                        stage.feedback.clear();
                        stage.findings.clear();
                        stage.clear(StageStatus::RolledBack);
                        self.tell("rolled_back", Some(later), None, None);
                    }
                }
            }
        }
        for (name, findings) in to.iter().zip(findings) {
            // One of them may come after another: it waits for its turn.
            let is_later =
                to.iter().any(|other| definition.following(other).contains(&name.as_str()));
            let Some(stage) = self.stage(name) else { continue };
            stage.failures = 0;
            add_new(&mut stage.feedback, feedback.to_vec());
            stage.findings = findings;
            stage.approval = None;
            let waits =
                if stage.attempts == 0 { StageStatus::Pending } else { StageStatus::RolledBack };
            stage.clear(waits);
            if !is_later && !self.is_to_be_approved_before(name) {
                self.begin(name);
            }
        }
    }

    /// Returns the findings about a stage that is repeated together with others: its earlier ones,
    /// those of its own reviewers, and the bugs that later tests found.
    fn findings_about(&self, name: &str, to: &[String]) -> Vec<Findings> {
        let Some(stage) = self.state.stages.get(name) else { return Vec::new() };
        let mut all = stage.findings.clone();
        add_new(&mut all, stage.review_findings());
        let later = self.definition.following(name).into_iter();
        let later = later.filter_map(|later| self.state.stages.get(later)?.bugs.as_ref());
        add_new(&mut all, later.filter_map(|bugs| bugs.for_stage(name, to)).collect());
        all
    }
}

/// Adds what is not there yet. The last ones are kept: a stage may be sent back any number of
/// times.
pub(super) fn add_new<T: PartialEq>(all: &mut Vec<T>, new: Vec<T>) {
    for one in new {
        if !all.contains(&one) {
            all.push(one);
        }
    }
    let surplus = all.len().saturating_sub(20);
    all.drain(..surplus);
}
