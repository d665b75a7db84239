//! Decisions and refused requests, written to the journal.

use anyhook_flow::{State, inquiries};
use anyhook_hosts::happening;
use anyhook_model::{Happening, Record, Resolution};

use super::{NotDone, Runner, Tools};
use crate::core::Input;
use crate::faults;

impl Runner {
    pub(super) fn write_journal_lines(&mut self, state: &State) {
        for (id, resolution) in &state.outbox.journal_lines {
            if self.under_way.journal_lines.insert(id.clone()) {
                let resolution = resolution.clone();
                self.defer(move |tools| write(tools, &resolution));
            }
        }
    }
}

/// Writes a decision down. That it is there is known by reading it.
fn write(tools: &Tools, resolution: &Resolution) {
    faults::point("doer.journal.begun");
    let happening = Happening::DecisionResolved(resolution.clone());
    let mut record = happening::record(anyhook_engine::new_id(), resolution.at, &happening);
    record.about = Some(inquiries::ended(resolution));
    record.agent_id = Some(resolution.agent.clone());
    if let Err(error) = tools.engine.journal(vec![record]) {
        tracing::error!("a decision could not be journaled: {error}");
        tools.not_done(NotDone::JournalLine(resolution.id.clone()));
        return;
    }
    faults::point("doer.journal.written");
    tools.tell(Input::Grown);
}

/// Writes down that a request was refused.
pub(super) fn write_refusal(tools: &Tools, record: Record) {
    if let Err(error) = tools.engine.journal(vec![record]) {
        tracing::error!("a refusal could not be journaled: {error}");
    }
}
