//! Time limits of agents.
//!
//! Only the process that starts agents knows since when one works: a stage may be open for days
//! before.

use jiff::{SignedDuration, Timestamp};

use super::draft::Draft;
use super::{Invocation, WorkflowEffects, goes_on, next};
use crate::definition::WorkflowDefinition;
use crate::refusal::WorkflowRefusal;
use crate::state::WorkflowState;

/// Returns the time limit of an agent, if there is one.
pub fn time_limit(
    definition: &WorkflowDefinition,
    invocation: &Invocation,
) -> Option<SignedDuration> {
    let trying = match &invocation.reviewed {
        Some(_) => &definition.review(&invocation.stage)?.trying,
        None => &definition.stage(&invocation.stage)?.trying,
    };
    trying.timeout
}

/// Records agents that exceeded their time limit: each is retried, or has failed.
///
/// Those that are no longer awaited are ignored: their signal has arrived, or another attempt has
/// begun.
pub fn late(
    definition: &WorkflowDefinition,
    state: &WorkflowState,
    invocations: &[Invocation],
    at: Timestamp,
) -> Result<(WorkflowState, WorkflowEffects), WorkflowRefusal> {
    goes_on(definition, state)?;
    let mut draft = Draft::new(definition, state, at);
    for one in invocations {
        // A failure before may have rolled it back.
        if next(definition, &draft.state).contains(one) {
            let reason = match time_limit(definition, one) {
                Some(limit) => format!("it took longer than {limit:#}"),
                None => "it took too long".to_owned(),
            };
            draft.in_vain(one, &reason);
        }
    }
    Ok(draft.finish())
}
