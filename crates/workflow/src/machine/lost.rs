//! Agents that end without a word.

use jiff::Timestamp;

use super::draft::Draft;
use super::{Effects, Invocation, goes_on, next};
use crate::definition::Definition;
use crate::refusal::Refusal;
use crate::state::State;

/// Takes note that an agent ended before it was done: it is tried again, or has failed.
///
/// Nothing changes if it is not waited for any more: its signal has come, another attempt has
/// begun, or the workflow is over.
pub fn lost(
    definition: &Definition,
    state: &State,
    invocation: &Invocation,
    reason: &str,
    at: Timestamp,
) -> Result<(State, Effects), Refusal> {
    if !next(definition, state).contains(invocation) {
        return Ok((state.clone(), Effects { is_unchanged: true, ..Effects::default() }));
    }
    goes_on(definition, state)?;
    let mut draft = Draft::new(definition, state, at);
    draft.in_vain(invocation, reason);
    Ok(draft.finish())
}
