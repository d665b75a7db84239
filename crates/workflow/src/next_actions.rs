//! Next actions as commands: every state has at least one.

use super::definition::WorkflowDefinition;
use super::machine::next;
use super::state::{StageState, WorkflowState};
use super::vocabulary::{Asks, QaVerdict, StageStatus, WorkflowStatus};

/// An action that a person can take next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextAction {
    /// Its effect.
    pub what: &'static str,
    /// The command.
    pub command: String,
}

impl NextAction {
    fn new(what: &'static str, command: &str) -> Self {
        Self { what, command: format!("anyhook workflow {command}") }
    }

    /// Returns it as a hint.
    pub fn hint(&self) -> String {
        format!("{}: {}", self.what, self.command)
    }
}

/// Returns the possible answers about a stage that a person is asked about.
pub fn answers(stage: &str, asks: Asks) -> Vec<NextAction> {
    let approve = format!("approve {stage}");
    let reject = format!("reject {stage} --note WHY");
    match asks {
        Asks::Approval => {
            vec![NextAction::new("approve", &approve), NextAction::new("send back", &reject)]
        }
        Asks::Choice => {
            vec![
                NextAction::new("deploy anyway", &approve),
                NextAction::new("fix the bugs", &reject),
                end(stage),
            ]
        }
    }
}

/// Returns whether a person has to act on a stage that has no open question.
pub fn is_stuck(stage: &StageState) -> bool {
    matches!(stage.status, StageStatus::Blocked | StageStatus::Failed)
}

/// Returns the possible actions for a stage that is blocked or failed; otherwise none.
pub fn out_of(name: &str, stage: &StageState) -> Vec<NextAction> {
    if !is_stuck(stage) {
        return Vec::new();
    }
    let has_bugs = stage.status == StageStatus::Blocked
        && stage.qa_verdict.is_some_and(|verdict| verdict != QaVerdict::Approve);
    let again = if has_bugs {
        NextAction::new("fix the bugs", &format!("reject {name} --note WHY"))
    } else {
        NextAction::new("try again", &format!("reset {name} --note WHY"))
    };
    vec![again, end(name)]
}

fn end(stage: &str) -> NextAction {
    NextAction::new("end the workflow", &format!("reject {stage} --abort"))
}

/// Returns all possible next actions, the most urgent first; never empty.
pub fn ways(definition: &WorkflowDefinition, state: &WorkflowState) -> Vec<NextAction> {
    let anew = NextAction::new("start a new one", "reset --all");
    match state.status {
        WorkflowStatus::Aborted => return vec![anew],
        WorkflowStatus::Completed => {
            return vec![NextAction::new("see what happened", "history"), anew];
        }
        _ => {}
    }
    let mut all = Vec::new();
    let mut is_asked = false;
    for definition in &definition.stages {
        let name = &definition.name.text;
        let Some(stage) = state.stages.get(name) else { continue };
        if let Some(asks) = stage.asks {
            is_asked = true;
            all.extend(answers(name, asks));
        }
        all.extend(out_of(name, stage));
    }
    let working = next(definition, state);
    if let Some(first) = working.first() {
        all.push(NextAction::new("start the agents", "run"));
        let context = format!("context {}", first.agent);
        all.push(NextAction::new("see an agent's context", &context));
    } else if is_asked {
        all.push(NextAction::new("then continue", "run"));
    }
    all
}
