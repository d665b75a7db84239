//! Lost agents: those that end without a signal.

use jiff::Timestamp;

use super::draft::Draft;
use super::{Invocation, WorkflowEffects, goes_on, next};
use crate::definition::WorkflowDefinition;
use crate::refusal::WorkflowRefusal;
use crate::state::WorkflowState;

/// Records that an agent ended before it was done: it is retried, or has failed.
///
/// Nothing changes if it is no longer awaited: its signal has arrived, another attempt has begun,
/// or the workflow is over.
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
