//! Writes decisions, alarms about executed calls and refused requests to the journal.

use anyhook_engine::alarms;
use anyhook_flow::ran_calls::UnaskedCall;
use anyhook_flow::{DaemonState, approval_requests};
use anyhook_hosts::bus_event;
use anyhook_model::record::CALL_UNASKED;
use anyhook_model::{BusEvent, EventKind, Record, RecordId, Resolution};

use super::{OutboxFailure, Runner, RunnerContext};
use crate::core::CoreMessage;
use crate::failpoints;

impl Runner {
    pub(super) fn write_unasked_calls(&mut self, state: &DaemonState) {
        for (id, unasked) in &state.outbox.unasked_calls {
            if self.under_way.journal_lines.insert(id.clone()) {
                let (id, unasked) = (id.clone(), unasked.clone());
                let agent = &unasked.call.agent;
                let name = state.agent_name(agent).unwrap_or_else(|| agent.clone());
                self.defer(move |tools| write_unasked(tools, &id, &unasked, &name));
            }
        }
    }

    pub(super) fn write_journal_lines(&mut self, state: &DaemonState) {
        for resolution in state.outbox.journal_lines_by_time() {
            if self.under_way.journal_lines.insert(resolution.id.clone()) {
                let resolution = resolution.clone();
                self.defer(move |tools| write(tools, &resolution));
            }
        }
    }
}

/// Journals the alarm about a call that no hook was asked about, and keeps it for the start of the
/// next session. That it is there is confirmed by reading the journal.
fn write_unasked(tools: &RunnerContext, id: &RecordId, unasked: &UnaskedCall, agent_name: &str) {
    let call = &unasked.call;
    let host = anyhook_hosts::find(&call.host);
    let tool = call.tool.as_deref().map(|tool| {
        let known =
            host.and_then(|host| host.protocol.tools.iter().find(|known| known.native == tool));
        known.map_or(tool, |known| known.canonical).to_owned()
    });
    let kind = EventKind::Other(CALL_UNASKED.to_owned());
    let mut record = Record::new(id.clone(), unasked.at, &call.host, kind);
    record.session = Some(call.session.clone());
    record.agent_id = Some(call.agent.clone());
    record.work_dir = call.work_dir.clone().unwrap_or_default();
    record.project_dir.clone_from(&call.work_dir);
    record.call = Some(call.call.clone());
    record.about.clone_from(&call.about);
    let what = [tool.as_deref(), call.about.as_deref()];
    let what = what.into_iter().flatten().collect::<Vec<_>>().join(" ");
    record.tool = tool;
    let thaw = format!("anyhook agent thaw {agent_name}");
    let frozen = unasked.frozen.as_ref().map(|process| (process.pid, thaw.as_str()));
    let alarm = alarms::in_log_only(&call.host, &what, id, frozen);
    if let Some(state) = &tools.places.state {
        // `doctor` and `log` find it in the journal in any case.
        let _ = alarms::raise(state, &alarm);
    }
    record.alarms.push(alarm);
    if let Err(error) = tools.engine.journal(vec![record]) {
        tracing::error!("cannot journal an alarm: {error}");
        tools.not_done(OutboxFailure::JournalLine(id.clone()));
        return;
    }
    tools.tell(CoreMessage::JournalChanged);
}

/// Journals a decision. That it is there is confirmed by reading the journal.
fn write(tools: &RunnerContext, resolution: &Resolution) {
    failpoints::point("runner.journal.begun");
    let event = BusEvent::DecisionResolved(resolution.clone());
    let mut record = bus_event::record(anyhook_engine::new_id(), resolution.at, &event);
    record.about = Some(approval_requests::ended(resolution));
    record.agent_id = Some(resolution.agent.clone());
    if let Err(error) = tools.engine.journal(vec![record]) {
        tracing::error!("cannot journal a decision: {error}");
        tools.not_done(OutboxFailure::JournalLine(resolution.id.clone()));
        return;
    }
    failpoints::point("runner.journal.written");
    tools.tell(CoreMessage::JournalChanged);
}

/// Journals that a request was refused.
pub(super) fn write_refusal(tools: &RunnerContext, record: Record) {
    if let Err(error) = tools.engine.journal(vec![record]) {
        tracing::error!("cannot journal a refusal: {error}");
    }
}
