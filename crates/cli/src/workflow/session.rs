//! The sessions of agents that `anyhook workflow run` has started: they end when the work is handed
//! in.

use anyhook_engine::{Engine, new_id, now};
use anyhook_hosts::happening;
use anyhook_model::Happening;
use anyhook_model::bus::{AgentReport, AgentSignal, SignalKind};

use crate::environment::{Environment, workflow_agent};
use crate::error::Trouble;

/// Says that an agent is done, as the agent itself might by `anyhook emit`: the daemon ends its
/// session.
pub fn end(agent: &str, environment: &Environment) -> Result<(), Trouble> {
    let report = AgentReport { agent: agent.to_owned(), ..AgentReport::default() };
    let message = Some("its work is handed in".to_owned());
    let signal = AgentSignal { report, kind: SignalKind::Complete, message };
    let mut record = happening::record(new_id(), now(), &Happening::AgentSignal(signal));
    record.work_dir = environment.work_dir.to_string_lossy().into_owned();
    let journal = environment.journal().ok_or_else(Trouble::no_journal)?;
    Engine::new(environment.places.clone())
        .journal(vec![record])
        .map_err(|error| Trouble::at(journal.folder(), error))
}

/// Says so of the session that we were called in, if it was started for what was handed in by
/// `agent`.
///
/// `workflow run` would find out, too, but a moment later: an agent that rests meanwhile would be
/// told that something is missing.
pub fn end_own(agent: &str, environment: &Environment) {
    let (own, is_started_by_run) = workflow_agent();
    if is_started_by_run
        && own.as_deref() == Some(agent)
        && let Some(id) = &environment.agent_id
    {
        // In a sandbox nothing can be journaled; then `workflow run` says so.
        let _ = end(id, environment);
    }
}
