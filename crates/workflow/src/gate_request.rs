//! Stage gates as decisions: a person is asked through the daemon, and the answer is applied to the
//! state.
//!
//! The state file is authoritative. Approving a stage in another terminal changes it, and the
//! question is withdrawn. A question's id is derived from its content: processes that ask the same
//! question share it, and an answer whose process ended before applying it is found again.

use anyhook_engine::{now, sha256_hex};
use anyhook_model::approval_request::{ApprovalEnding, ApprovalKind, Choice};
use anyhook_model::daemon::DecisionView;
use anyhook_model::{ApprovalRequest, RecordId, Resolution};

use crate::changed::has_changed;
use crate::definition::WorkflowDefinition;
use crate::error::WorkflowError;
use crate::machine::{self, WorkflowEffects};
use crate::opinion::{self, opinion_since};
use crate::project::Project;
use crate::state::{HistoryLine, StageState, WorkflowState};
use crate::transaction::StateChange;
use crate::vocabulary::{Asks, Decision};

/// The words of an approval.
const APPROVE: &str = "approve";
const REJECT: &str = "reject";

/// What a person chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GateAnswer {
    Approve,
    Reject,
    Choose(Decision),
}

/// What a person is asked about a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageGate {
    /// The stage.
    pub stage: String,
    /// What is asked.
    pub asks: Asks,
    /// What is asked, in words.
    pub question: String,
    /// The options.
    pub options: Vec<Choice>,
    /// What distinguishes this question from all others, including the same one at another time.
    basis: String,
}

impl StageGate {
    /// Returns what a person is asked about a stage, if anything.
    pub fn of(project: &Project, state: &WorkflowState, stage: &str) -> Option<Self> {
        let now = state.stages.get(stage)?;
        let asks = now.asks?;
        Some(Self {
            stage: stage.to_owned(),
            asks,
            question: question(project, state, stage, now),
            options: options(now, asks),
            basis: basis(&project.definition, state, stage, asks),
        })
    }

    /// Returns every open gate, in the order of the definition.
    pub fn all(project: &Project, state: &WorkflowState) -> Vec<Self> {
        let stages = project.definition.stages.iter();
        stages.filter_map(|stage| Self::of(project, state, &stage.name.text)).collect()
    }

    /// Returns the id of the question when it is asked for the nth time.
    fn id(&self, time: u32) -> RecordId {
        let digest = sha256_hex(format!("{}\n{time}", self.basis).as_bytes());
        // The digest is long enough, and its digits are hexadecimal.
        let bits = digest.get(..16).and_then(|digits| u64::from_str_radix(digits, 16).ok());
        RecordId::from_random(bits.unwrap_or_default())
    }

    /// Returns whether the other asks the same, for the same reason.
    pub fn is_same(&self, other: &Self) -> bool {
        self.basis == other.basis
    }

    /// Returns an answer that was given but never applied because its process ended, if there is
    /// one.
    pub fn answer_among(&self, decisions: &[DecisionView]) -> Option<Resolution> {
        for time in 0.. {
            let id = self.id(time);
            let known = decisions.iter().find(|known| known.inquiry.id == id)?;
            let resolution = known.resolution.as_ref()?;
            if resolution.ending == ApprovalEnding::Chosen {
                return Some(resolution.clone());
            }
        }
        None
    }

    /// Returns whether a state still asks this.
    pub fn is_still_asked(&self, definition: &WorkflowDefinition, state: &WorkflowState) -> bool {
        state.stages.get(&self.stage).and_then(|stage| stage.asks) == Some(self.asks)
            && basis(definition, state, &self.stage, self.asks) == self.basis
    }

    pub(crate) fn inquiry(&self, time: u32) -> ApprovalRequest {
        ApprovalRequest {
            id: self.id(time),
            kind: ApprovalKind::Gate,
            agent: format!("workflow/{}", self.stage),
            question: self.question.clone(),
            tool: None,
            about: None,
            digest: None,
            hook: None,
            calls: Vec::new(),
            options: self.options.clone(),
            questions: Vec::new(),
            created: now(),
            // One of the asking processes may give up; the gate stays open.
            until: None,
        }
    }

    /// Applies a person's answer to the state, if it is still open.
    pub fn apply(
        &self,
        project: &Project,
        resolution: &Resolution,
    ) -> Result<StateChange, WorkflowError> {
        let definition = &project.definition;
        let answer = self.answer(resolution)?;
        let choice = machine::PersonDecision {
            by: &resolution.by,
            note: resolution.message.as_deref(),
            at: now(),
        };
        project.change(|state| {
            if !self.is_still_asked(definition, state) {
                // Someone else was faster.
                return Ok((
                    state.clone(),
                    WorkflowEffects { is_unchanged: true, ..WorkflowEffects::default() },
                ));
            }
            match answer {
                GateAnswer::Approve => machine::approve(definition, state, &self.stage, choice),
                GateAnswer::Reject => machine::reject(definition, state, &self.stage, choice),
                GateAnswer::Choose(decision) => {
                    machine::choose(definition, state, &self.stage, decision, choice)
                }
            }
        })
    }

    /// Returns the choice. Anything that was not offered is refused, not guessed.
    fn answer(&self, resolution: &Resolution) -> Result<GateAnswer, WorkflowError> {
        let told = resolution.choice.as_deref().unwrap_or_default();
        let answer = match told {
            APPROVE => Some(GateAnswer::Approve),
            REJECT => Some(GateAnswer::Reject),
            other => Decision::find(other).map(GateAnswer::Choose),
        };
        let is_offered = self.options.iter().any(|option| option.name == told);
        answer.filter(|_| is_offered).ok_or_else(|| WorkflowError::NotOffered {
            told: told.to_owned(),
            by: resolution.by.clone(),
            stage: self.stage.clone(),
            offered: self.options.iter().map(|one| one.name.clone()).collect(),
        })
    }
}

/// Returns what distinguishes a question from all others: the last event of the stage or of the
/// whole workflow, and when the stages before it were completed.
fn basis(
    definition: &WorkflowDefinition,
    state: &WorkflowState,
    stage: &str,
    asks: Asks,
) -> String {
    let is_about = |line: &&HistoryLine| line.stage.as_deref().is_none_or(|one| one == stage);
    let of_stage = state.history.iter().filter(is_about);
    let revision = of_stage.map(|line| line.revision).max().unwrap_or_default();
    let before = definition.stage(stage).map(|one| definition.before(one)).unwrap_or_default();
    let passed = before.iter().filter_map(|one| state.stages.get(&one.name.text)?.passed_at);
    let passed = passed.max().map(|at| at.to_string()).unwrap_or_default();
    format!("{}\n{stage}\n{}\n{revision}\n{passed}", state.id, asks.name())
}

fn options(stage: &StageState, asks: Asks) -> Vec<Choice> {
    match asks {
        Asks::Approval if stage.is_at_gate() => vec![
            Choice::new(APPROVE, "the workflow continues"),
            Choice::new(REJECT, "it is redone; your message says what to change"),
        ],
        Asks::Approval => vec![
            Choice::new(APPROVE, "it starts"),
            Choice::new(REJECT, "it does not start and is blocked"),
        ],
        Asks::Choice => vec![
            Choice::new(Decision::Fix.name(), "the bugs are fixed, and it is tested again"),
            Choice::new(Decision::DeployAnyway.name(), "the workflow continues as is"),
            Choice::new(Decision::Abort.name(), "the workflow ends"),
        ],
    }
}

fn question(project: &Project, state: &WorkflowState, name: &str, stage: &StageState) -> String {
    let place = project.root.file_name().unwrap_or_default().to_string_lossy();
    let asked = match stage.asks {
        Some(Asks::Choice) => format!("What should be done about the bugs found in `{name}`?"),
        _ if stage.is_at_gate() => format!("Approve `{name}`?"),
        _ => format!("Start `{name}`?"),
    };
    let mut lines = vec![format!("{asked} ({} in {place})", state.workflow)];
    lines.extend(about(project, stage));
    lines.join("\n")
}

/// Returns what a person should know about a stage before deciding, as lines.
pub fn about(project: &Project, stage: &StageState) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(stage.summary.iter().map(|summary| format!("{}: {summary}", stage.agent)));
    lines.extend(stage.output_artifacts.iter().map(|path| format!("see {path}")));
    let changed = stage.output_artifacts.iter().filter(|path| has_changed(project, stage, path));
    lines.extend(changed.map(|path| format!("warning: {path} has changed since it was completed")));
    lines.extend(stage.warnings.iter().map(|warning| format!("warning: {warning}")));
    for (name, review) in &stage.reviews {
        let verdict = review.verdict.map_or("no verdict yet", |verdict| verdict.name());
        let why = review.summary.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        lines.push(format!("{name} {verdict}{why}"));
    }
    lines.extend(opinion_since(project, stage).iter().flat_map(opinion::lines));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::default;

    fn answer(asks: Asks, choice: Option<&str>) -> Result<GateAnswer, String> {
        let (state, _) = machine::start(&default(), machine::NewWorkflow::default(), now());
        let stage = &state.stages["qa_testing"];
        let gate = StageGate {
            stage: "qa_testing".to_owned(),
            asks,
            question: String::new(),
            options: options(stage, asks),
            basis: String::new(),
        };
        let resolution = Resolution {
            id: RecordId::from_random(1),
            agent: "workflow/qa_testing".to_owned(),
            ending: ApprovalEnding::Chosen,
            choice: choice.map(str::to_owned),
            message: None,
            answers: Vec::new(),
            by: "ann".to_owned(),
            process: None,
            at: now(),
            digest: None,
            asked: None,
            agent_name: None,
            pipeline: None,
            claimed_by: None,
            again: false,
            follows: None,
            signature: None,
        };
        gate.answer(&resolution).map_err(|error| error.to_string())
    }

    #[test]
    fn what_was_not_offered_is_refused() {
        assert_eq!(answer(Asks::Approval, Some("approve")), Ok(GateAnswer::Approve));
        assert_eq!(answer(Asks::Approval, Some("reject")), Ok(GateAnswer::Reject));
        assert_eq!(answer(Asks::Choice, Some("fix")), Ok(GateAnswer::Choose(Decision::Fix)));
        let of_choice = "is not one of fix, deploy_anyway, abort";
        for told in ["approve", "approved", "maybe", ""] {
            let why = format!("`{told}`, which ann chose for `qa_testing`, {of_choice}");
            assert_eq!(answer(Asks::Choice, Some(told)), Err(why));
        }
        assert!(answer(Asks::Approval, None).is_err());
        assert!(answer(Asks::Approval, Some("abort")).is_err());
    }
}
