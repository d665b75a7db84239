//! Agents that end without a word.

use jiff::Timestamp;

use super::draft::Draft;
use super::{Invocation, WorkflowEffects, goes_on, next};
use crate::definition::WorkflowDefinition;
use crate::refusal::WorkflowRefusal;
use crate::state::WorkflowState;

/// Takes note that an agent ended before it was done: it is tried again, or has failed.
///
/// Nothing changes if it is not waited for any more: its signal has come, another attempt has
/// begun, or the workflow is over.
pub fn lost(
    definition: &WorkflowDefinition,
    state: &WorkflowState,
    invocation: &Invocation,
    reason: &str,
    at: Timestamp,
) -> Result<(WorkflowState, WorkflowEffects), WorkflowRefusal> {
    if !next(definition, state).contains(invocation) {
        return Ok((
            state.clone(),
            WorkflowEffects { is_unchanged: true, ..WorkflowEffects::default() },
        ));
    }
    goes_on(definition, state)?;
    let mut draft = Draft::new(definition, state, at);
    draft.in_vain(invocation, reason);
    Ok(draft.finish())
}
