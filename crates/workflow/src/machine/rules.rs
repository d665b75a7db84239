//! Rules that change while a workflow is running.

use super::draft::Draft;
use super::{PersonDecision, WorkflowEffects};
use crate::definition::WorkflowDefinition;
use crate::digest;
use crate::refusal::WorkflowRefusal;
use crate::state::WorkflowState;
use crate::vocabulary::WorkflowStatus;

/// Continues a workflow by the current rules: a person accepts them.
///
/// Nothing changes if they are the ones it already uses.
pub fn accept_rules(
    definition: &WorkflowDefinition,
    state: &WorkflowState,
    choice: PersonDecision<'_>,
) -> Result<(WorkflowState, WorkflowEffects), WorkflowRefusal> {
    if let Some(why) = state.names_fit(definition) {
        return Err(WorkflowRefusal::OtherDefinition(why));
    }
    if state.status == WorkflowStatus::Aborted {
        return Err(WorkflowRefusal::Over(state.status));
    }
    if choice.by.trim().is_empty() {
        return Err(WorkflowRefusal::Nobody);
    }
    let rules = Some(digest::rules(definition));
    if state.rules == rules {
        return Ok((
            state.clone(),
            WorkflowEffects { is_unchanged: true, ..WorkflowEffects::default() },
        ));
    }
    let mut draft = Draft::new(definition, state, choice.at);
    draft.state.rules = rules;
    for (name, stage) in &mut draft.state.stages {
        if let Some(now) = definition.stage(name) {
            stage.agent.clone_from(&now.agent.text);
        }
        for (name, review) in &mut stage.reviews {
            if let Some(now) = definition.review(name) {
                review.agent.clone_from(&now.agent.text);
            }
        }
    }
    draft.tell("rules accepted", None, Some(choice.by), choice.note);
    Ok(draft.finish())
}
