//! Reconstructs past events from the journal: what a journaled payload was, as the hooks saw it
//! then.

use std::path::PathBuf;

use anyhook_hook::find_host;
use anyhook_model::{Caller, Event, OpenFormat, Record};

/// Why a journaled event cannot be reconstructed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayLoss {
    /// The record has the first format, or is of an event that could not be read.
    #[error("the journal has no payload for it")]
    NoPayload,
    /// The payload can no longer be parsed.
    #[error("its payload cannot be read: {0}")]
    Unreadable(String),
}

/// Returns the events of a record's payload; `record` is the first of that payload.
///
/// Its long texts must have been restored.
pub fn events(record: &Record) -> Result<Vec<Event>, ReplayLoss> {
    let payload = record.payload.as_ref().ok_or(ReplayLoss::NoPayload)?;
    // An agent with a built-in engine sends events in the open format.
    let host = find_host(&record.host).unwrap_or(&OpenFormat);
    let caller = Caller {
        work_dir: PathBuf::from(&record.work_dir),
        project_dir: record.project_dir.as_ref().map(PathBuf::from),
        now: record.at,
        agent_id: None,
        foreign_entry: None,
    };
    let mut events = host
        .decode(payload.as_text().as_bytes(), &caller)
        .map_err(|error| ReplayLoss::Unreadable(error.to_string()))?;
    for event in &mut events {
        event.host.clone_from(&record.host);
        event.foreign_entry.clone_from(&record.foreign_entry);
        // What the engine filled in: the root it pinned, and its counts.
        event.project_dir.clone_from(&caller.project_dir);
        for (name, value) in &record.counted {
            event.data.insert(name.clone(), value.clone());
        }
    }
    Ok(events)
}
