//! Rules that change while a workflow goes.

use super::draft::Draft;
use super::{Choice, Effects};
use crate::definition::Definition;
use crate::digest;
use crate::refusal::Refusal;
use crate::state::State;
use crate::words::WorkflowStatus;

/// Has a workflow go on by the rules as they are now: a person takes them.
///
/// Nothing changes if they are those by which it goes.
pub fn accept_rules(
    definition: &Definition,
    state: &State,
    choice: Choice<'_>,
) -> Result<(State, Effects), Refusal> {
    if let Some(why) = state.names_fit(definition) {
        return Err(Refusal::OtherDefinition(why));
    }
    if state.status == WorkflowStatus::Aborted {
        return Err(Refusal::Over(state.status));
    }
    if choice.by.trim().is_empty() {
        return Err(Refusal::Nobody);
    }
    let rules = Some(digest::rules(definition));
    if state.rules == rules {
        return Ok((state.clone(), Effects { is_unchanged: true, ..Effects::default() }));
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
