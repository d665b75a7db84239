//! Time: what takes longer than it may.

use jiff::Timestamp;

use super::draft::Draft;
use super::{Effects, goes_on, next};
use crate::workflow::definition::{Definition, Trying};
use crate::workflow::refusal::Refusal;
use crate::workflow::state::State;

/// Something that is worked on: the stage, the review of it if it is one, how it is tried, until
/// when.
type Due<'all> = (String, Option<String>, &'all Trying, Timestamp);

fn due<'all>(definition: &'all Definition, state: &State) -> Vec<Due<'all>> {
    let all = next(definition, state).into_iter().filter_map(|one| {
        let (name, review, trying) = match one.reviewed {
            Some(reviewed) => {
                let trying = &definition.review(&one.stage)?.trying;
                (reviewed, Some(one.stage), trying)
            }
            None => {
                let trying = &definition.stage(&one.stage)?.trying;
                (one.stage, None, trying)
            }
        };
        let stage = state.stages.get(&name)?;
        let started = match &review {
            Some(review) => stage.reviews.get(review)?.started_at?,
            None => stage.started_at?,
        };
        let until = started.checked_add(trying.timeout?).ok()?;
        Some((name, review, trying, until))
    });
    all.collect()
}

/// Returns when something takes longer than it may, if nothing happens until then.
pub fn deadline(definition: &Definition, state: &State) -> Option<Timestamp> {
    due(definition, state).into_iter().map(|(.., until)| until).min()
}

/// Ends what took longer than it may: it is tried again, or has failed.
pub fn expire(
    definition: &Definition,
    state: &State,
    at: Timestamp,
) -> Result<(State, Effects), Refusal> {
    goes_on(definition, state)?;
    let mut draft = Draft::new(definition, state, at);
    for (name, review, trying, until) in due(definition, state) {
        if until > at {
            continue;
        }
        let reason = match trying.timeout {
            Some(timeout) => format!("it took longer than {timeout:#}"),
            None => "it took too long".to_owned(),
        };
        match review.as_deref().and_then(|review| definition.review(review)) {
            Some(review) => draft.review_failed(review, &name, &reason),
            None => {
                // A failure before may have taken it back.
                let is_same = draft.state.stages.get(&name) == state.stages.get(&name);
                if let Some(stage) = definition.stage(&name).filter(|_| is_same) {
                    draft.fail(stage, &reason);
                }
            }
        }
    }
    Ok(draft.finish())
}
