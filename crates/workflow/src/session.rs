//! Sessions of agents that a supervisor has started: they end when the work is submitted.

use anyhook_engine::journal::Journal;
use anyhook_engine::settings::Settings;
use anyhook_engine::{Engine, new_id, now};
use anyhook_hosts::bus_event;
use anyhook_model::bus::{AgentReport, AgentSignal, SignalKind};
use anyhook_model::{BusEvent, Record};

use crate::caller::WorkflowCaller;
use crate::error::WorkflowError;

/// Signals that the agent of a session is done, as the agent itself might with `anyhook emit`: the
/// daemon ends the session.
pub(crate) fn end(session: &str, caller: &WorkflowCaller) -> Result<(), WorkflowError> {
    let state = caller.places.state.as_deref().ok_or(WorkflowError::NoJournal)?;
    Engine::new(caller.places.clone()).journal(vec![end_of(session, caller)]).map_err(|error| {
        let journal = Journal::with(state, Settings::load(&caller.places, None).journal);
        WorkflowError::At { path: journal.folder().to_owned(), error }
    })
}

/// Returns the record that ends the caller's session, if that was started for the work that `agent`
/// submits.
///
/// The supervisor would notice, too, but a moment later: an agent that rests meanwhile would be
/// told that something is missing.
pub(crate) fn end_of_own(agent: &str, caller: &WorkflowCaller) -> Option<Record> {
    let session = caller.session.as_deref()?;
    (caller.agent.as_deref() == Some(agent)).then(|| end_of(session, caller))
}

fn end_of(session: &str, caller: &WorkflowCaller) -> Record {
    let report = AgentReport { agent: session.to_owned(), ..AgentReport::default() };
    let message = Some("its work was handed in".to_owned());
    let signal = AgentSignal { report, kind: SignalKind::Complete, message };
    let mut record = bus_event::record(new_id(), now(), &BusEvent::AgentSignal(signal));
    record.work_dir = caller.work_dir.to_string_lossy().into_owned();
    record
}
