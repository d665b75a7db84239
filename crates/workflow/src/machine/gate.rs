//! Gates: the reviews and approvals a stage needs before its successors start.

use std::collections::BTreeMap;

use super::draft::Draft;
use crate::definition::{ReviewDefinition, StageDefinition, WorkflowDefinition};
use crate::state::{ReviewState, StageState, WorkflowState};
use crate::vocabulary::{
    Asks, Decision, QaVerdict, ReviewStatus, StageStatus, Verdict, When, WorkflowStatus,
};
use anyhook_flow::runbook::SpannedName;

/// Returns the reviews that a stage needs.
pub fn reviews<'all>(
    definition: &'all WorkflowDefinition,
    state: &WorkflowState,
    stage: &StageDefinition,
) -> Vec<&'all ReviewDefinition> {
    let is_meant = |names: &[SpannedName]| {
        definition.all_named(names).iter().any(|other| other.name.text == stage.name.text)
    };
    let risk = state.risk();
    let asked: Vec<&str> = definition
        .risks
        .iter()
        .filter(|rule| rule.levels.contains(&risk))
        .filter(|rule| rule.stages.is_empty() || is_meant(&rule.stages))
        .flat_map(|rule| rule.reviews.iter().map(|name| name.text.as_str()))
        .collect();
    let wanted = state.stages.get(&stage.name.text).map_or(&[][..], |now| &now.next_agents);
    let is_asked = |review: &&ReviewDefinition| {
        asked.contains(&review.name.text.as_str())
            || is_meant(&review.stages)
            || wanted.contains(&review.agent.text)
    };
    definition.reviews.iter().filter(is_asked).collect()
}

/// Returns whether a person must be asked for approval.
pub fn needs_approval(state: &WorkflowState, stage: &StageDefinition, when: When) -> bool {
    stage.approval.as_ref().is_some_and(|rule| {
        rule.when == when
            && (rule.modes.is_empty()
                || state.execution_mode.is_none_or(|mode| rule.modes.contains(&mode)))
    })
}

fn is_decided(stage: &StageState, decision: Decision) -> bool {
    stage.approval.as_ref().is_some_and(|word| word.decision == decision)
}

impl Draft<'_> {
    /// Advances as far as possible.
    pub fn settle(&mut self) {
        if self.state.status == WorkflowStatus::Aborted {
            return;
        }
        let definition = self.definition;
        // Each iteration advances a stage or is the last: a stage goes back a limited number of
        // times.
        loop {
            let told = self.state.clone();
            for stage in &definition.stages {
                self.gate(stage);
            }
            for stage in &definition.stages {
                self.open(stage);
            }
            if self.state == told {
                break;
            }
        }
        self.ask_reviewers();
        self.sum_up();
    }

    /// Moves a completed stage through its gate as far as possible.
    fn gate(&mut self, definition: &StageDefinition) {
        let name = &definition.name.text;
        let Some(stage) = self.state.stages.get(name).filter(|stage| stage.is_at_gate()) else {
            return;
        };
        let mut stage = stage.clone();
        for review in reviews(self.definition, &self.state, definition) {
            stage.reviews.entry(review.name.text.clone()).or_insert_with(|| ReviewState {
                status: ReviewStatus::Pending,
                agent: review.agent.text.clone(),
                attempts: 0,
                started_at: None,
                verdict: None,
                summary: None,
                findings: None,
                output_artifacts: Vec::new(),
                artifact_digests: BTreeMap::new(),
                reviewed_at: None,
            });
        }
        let is_reviewed =
            stage.reviews.values().all(|review| review.status == ReviewStatus::Completed);
        let of = |verdict: Verdict| {
            let those = stage.reviews.iter().filter(move |(_, one)| one.verdict == Some(verdict));
            those.map(move |(name, one)| {
                format!("{name}: {}", one.summary.as_deref().unwrap_or(verdict.name()))
            })
        };
        let rejected: Vec<String> = of(Verdict::Reject).collect();
        let to_change: Vec<String> = of(Verdict::NeedsChanges).collect();
        let to_choose = stage.qa_verdict == Some(QaVerdict::NeedsFixes)
            && !is_decided(&stage, Decision::DeployAnyway);
        let to_approve = needs_approval(&self.state, definition, When::After)
            && !is_decided(&stage, Decision::Approved)
            && !is_decided(&stage, Decision::DeployAnyway);
        stage.asks = None;
        if !is_reviewed {
            self.put(name, stage);
        } else if !rejected.is_empty() {
            self.put(name, stage);
            self.block(name, &rejected.join("; "));
        } else if !to_change.is_empty() {
            let findings = stage.review_findings();
            self.put(name, stage);
            if !self.send_back(definition, to_change.clone(), findings) {
                self.block(name, &to_change.join("; "));
            }
        } else if to_choose {
            stage.asks = Some(Asks::Choice);
            self.put(name, stage);
        } else if to_approve {
            stage.asks = Some(Asks::Approval);
            self.put(name, stage);
        } else {
            stage.passed_at = Some(self.at);
            self.put(name, stage);
            self.tell("passed", Some(name), None, None);
        }
    }

    fn put(&mut self, name: &str, stage: StageState) {
        self.state.stages.insert(name.to_owned(), stage);
    }

    /// Returns whether a person must still approve the start of a stage.
    pub fn is_to_be_approved_before(&self, name: &str) -> bool {
        let Some(definition) = self.definition.stage(name) else { return false };
        let Some(stage) = self.state.stages.get(name) else { return false };
        needs_approval(&self.state, definition, When::Before)
            && !is_decided(stage, Decision::Approved)
    }

    /// Starts a stage whose turn has come.
    fn open(&mut self, definition: &StageDefinition) {
        let name = &definition.name.text;
        let Some(stage) = self.state.stages.get(name) else { return };
        if !matches!(stage.status, StageStatus::Pending | StageStatus::RolledBack) {
            return;
        }
        let before = self.definition.before(definition);
        let is_ready = before.iter().all(|other| {
            self.state.stages.get(&other.name.text).is_some_and(StageState::is_passed)
        });
        if !is_ready {
            if let Some(stage) = self.stage(name) {
                stage.asks = None;
            }
        } else if definition.optional && self.is_left_out(definition, &before) {
            if let Some(stage) = self.stage(name) {
                stage.clear(StageStatus::Skipped);
            }
            self.tell("skipped", Some(name), None, None);
        } else if self.is_to_be_approved_before(name) {
            if let Some(stage) = self.stage(name) {
                stage.asks = Some(Asks::Approval);
            }
        } else {
            self.begin(name);
        }
    }

    /// Returns whether the predecessors of a stage named the next agents, and its agent is not
    /// among them.
    fn is_left_out(&self, stage: &StageDefinition, before: &[&StageDefinition]) -> bool {
        before.iter().any(|other| {
            let possible = followers(self.definition, other);
            let Some(now) = self.state.stages.get(&other.name.text) else { return false };
            now.next_agents.iter().any(|agent| possible.contains(&agent.as_str()))
                && !now.next_agents.contains(&stage.agent.text)
        })
    }

    /// Assigns every free reviewer to the first stage that waits for it.
    fn ask_reviewers(&mut self) {
        let definition = self.definition;
        let at = self.at;
        for review in &definition.reviews {
            let name = &review.name.text;
            let status = |stage: &StageState| {
                stage.reviews.get(name).filter(|_| stage.is_at_gate()).map(|one| one.status)
            };
            let is =
                |wanted| {
                    definition.stages.iter().map(|stage| &stage.name.text).find(|stage| {
                        self.state.stages.get(*stage).and_then(status) == Some(wanted)
                    })
                };
            if is(ReviewStatus::InProgress).is_some() {
                continue;
            }
            let Some(stage) = is(ReviewStatus::Pending) else { continue };
            let Some(one) = self.stage(stage).and_then(|stage| stage.reviews.get_mut(name)) else {
                continue;
            };
            one.status = ReviewStatus::InProgress;
            one.attempts += 1;
            one.started_at = Some(at);
            self.tell(&format!("{name} asked for"), Some(stage), None, None);
        }
    }

    /// Sets the status of the whole workflow.
    fn sum_up(&mut self) {
        let order: Vec<(&str, &StageState)> = self
            .definition
            .stages
            .iter()
            .filter_map(|stage| {
                Some((stage.name.text.as_str(), self.state.stages.get(&stage.name.text)?))
            })
            .collect();
        let first = |is: &dyn Fn(&StageState) -> bool| {
            order.iter().find(|(_, stage)| is(stage)).map(|(name, _)| (*name).to_owned())
        };
        let is_active =
            |stage: &StageState| stage.status == StageStatus::InProgress || stage.is_at_gate();
        let active: Vec<String> = order
            .iter()
            .filter(|(_, stage)| is_active(stage))
            .map(|(name, _)| (*name).to_owned())
            .collect();
        let asked = first(&|stage| stage.asks.is_some());
        let failed = first(&|stage| stage.status == StageStatus::Failed);
        let blocked = first(&|stage| stage.status == StageStatus::Blocked);
        let is_over = order.iter().all(|(_, stage)| stage.is_passed());
        let status = if is_over {
            WorkflowStatus::Completed
        } else if failed.is_some() {
            WorkflowStatus::Failed
        } else if asked.is_some() {
            WorkflowStatus::Paused
        } else if active.is_empty() && blocked.is_some() {
            WorkflowStatus::Blocked
        } else {
            WorkflowStatus::Running
        };
        let paused_at = asked.filter(|_| status == WorkflowStatus::Paused);
        let current = paused_at.clone().or_else(|| failed.or_else(|| active.first().cloned()));
        let current = current.or(blocked);
        let state = &mut self.state;
        (state.status, state.paused_at, state.current_stage) = (status, paused_at, current);
        state.active_stages = active;
    }
}

/// Returns the agents of the direct successors of a stage.
pub fn followers<'all>(
    definition: &'all WorkflowDefinition,
    stage: &StageDefinition,
) -> Vec<&'all str> {
    let is_after = |other: &&StageDefinition| {
        definition.before(other).iter().any(|before| before.name.text == stage.name.text)
    };
    definition.stages.iter().filter(is_after).map(|other| other.agent.text.as_str()).collect()
}
