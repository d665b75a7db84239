//! Writes decisions and refused requests to the journal.

use anyhook_flow::{DaemonState, approval_requests};
use anyhook_hosts::bus_event;
use anyhook_model::{BusEvent, Record, Resolution};

use super::{OutboxFailure, Runner, RunnerContext};
use crate::core::CoreMessage;
use crate::failpoints;

impl Runner {
    pub(super) fn write_journal_lines(&mut self, state: &DaemonState) {
        for resolution in state.outbox.journal_lines_by_time() {
            if self.under_way.journal_lines.insert(resolution.id.clone()) {
                let resolution = resolution.clone();
                self.defer(move |tools| write(tools, &resolution));
            }
        }
    }
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
