//! Learns hooks from the journal: what people and hooks decided about past calls suggests
//! declarative hooks, with test cases and a replay that shows what each would have done.
//!
//! - `history`: records become calls with outcomes; `subject`: what a call is about;
//! - `propose`: groups of calls become candidates, with the narrowest matcher (`condition`, `files`)
//!   and never one that allows what is dangerous (`risk`);
//! - `hook_text` and `yaml`: the HOOK.md and the test cases; `trial`: the replay;
//! - `page`: all of it for people.
//!
//! A proposal never decides against a call that it was made from: this is checked with the engine's
//! own matcher when it is made, and again by the replay.

mod condition;
mod files;
mod history;
mod hook_text;
pub mod page;
mod propose;
mod risk;
mod subject;
#[cfg(test)]
mod tests;
mod trial;
mod yaml;

use std::collections::HashSet;
use std::path::Path;

use anyhook_engine::{Hook, Level};
use anyhook_hook::environment::Environment;
use anyhook_model::Effect;
use anyhook_model::report::learn::{CallCounts, HookProposal, LeftOutGroup};

pub use self::history::{CallOutcome, PastCall};
pub use self::propose::{Candidate, ProposalLimits, Suggestions, propose};
use crate::ReplayError;
use crate::source::{PastEvents, PastPayload};

/// Which calls are looked at.
pub type CallFilter<'filter> = &'filter dyn Fn(&PastCall) -> bool;

/// What the past suggests.
#[derive(Debug)]
pub struct Lesson {
    /// The calls that were looked at.
    pub calls: CallCounts,
    /// What is proposed.
    pub proposals: Vec<HookProposal>,
    /// What is not, and why.
    pub left_out: Vec<LeftOutGroup>,
    /// What could not be read, and why.
    pub problems: Vec<String>,
}

/// Learns from past events. `installed` are hooks whose decisions are not proposed again. `progress`
/// is called with the number of payloads that were replayed.
pub fn learn(
    past: PastEvents,
    installed: &[Hook],
    limits: ProposalLimits,
    is_meant: CallFilter<'_>,
    environment: &Environment,
    progress: &mut dyn FnMut(u64),
) -> Result<Lesson, ReplayError> {
    let PastEvents { payloads, problems, .. } = past;
    let home = environment.places.home.as_deref();
    let mut calls = history::read(&payloads, environment.journal().as_ref(), home);
    calls.retain(is_meant);
    let Suggestions { candidates, mut left_out } = propose(&calls, installed, limits);
    let taken: HashSet<String> = installed.iter().map(|hook| hook.name().to_owned()).collect();
    let written = hook_text::write_all(candidates, &calls, taken, &mut left_out);
    let asked: Vec<PastPayload> = payloads.into_iter().filter(is_asked_about).collect();
    let proposals = trial::judge(written, &calls, &asked, environment, progress, &mut left_out)?;
    Ok(Lesson { calls: propose::counts(calls.iter()), proposals, left_out, problems })
}

/// Returns whether a payload asks about a call, so that a proposed hook may decide about it.
fn is_asked_about(payload: &PastPayload) -> bool {
    let PastPayload::Journaled(records) = payload else { return false };
    records.iter().any(|record| {
        use anyhook_model::EventKind::{BeforeTool, PermissionRequest};
        matches!(record.event, BeforeTool | PermissionRequest)
    })
}

/// Returns the only project to which a proposal may be added, if it may not be added at this level
/// of the project at `root`: a hook would also allow where no person has allowed anything.
pub fn only_for<'proposal>(
    proposal: &'proposal HookProposal,
    level: Level,
    root: &Path,
) -> Option<&'proposal Path> {
    let [project] = proposal.projects.as_slice() else { return None };
    let project = Path::new(project);
    let is_there = level == Level::Project && project == root;
    (proposal.decision == Effect::Allow && !is_there).then_some(project)
}
