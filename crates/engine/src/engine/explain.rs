//! Explains which hooks would run at an event, and why the others would not.

use anyhook_model::{Event, SkipReason, Spelling};

use super::EventHooks;
use crate::hook::Hook;
use crate::plan::DispatchPlan;

/// Returns what `explain` shows: each hook in order, and the reason it would not run, if any.
pub fn explain<'hooks>(
    hooks: &'hooks EventHooks,
    event: &Event,
) -> Vec<(&'hooks Hook, Spelling, Result<(), SkipReason>)> {
    let mut event = event.clone();
    event.project_dir.clone_from(&hooks.root);
    let event = &event;
    let plan = DispatchPlan::new(&hooks.installed, event);
    let mut due: Vec<_> = plan
        .steps
        .iter()
        .map(|step| (step.hook, step.spelling, step.mismatch(event).map_or(Ok(()), Err)))
        .collect();
    due.extend(plan.skipped.into_iter().map(|(hook, why)| (hook, Spelling::Canonical, Err(why))));
    due
}
