//! Decodes a payload into events.

use anyhook_model::{Caller, DecodeError, Event, Host};

use super::{Engine, EventHooks};
use crate::settings::DispatchSettings;

/// A decoded payload.
pub(super) struct DecodedPayload {
    pub(super) events: Vec<Event>,
    /// What is already known about the first event, if it was decoded in part.
    pub(super) partial: Option<Partial>,
}

/// What was found out about an event that was decoded in part.
#[derive(Debug)]
pub(super) struct Partial {
    /// The hooks it may trigger.
    pub(super) hooks: EventHooks,
    /// What it is about.
    pub(super) about: Option<String>,
}

impl Engine {
    /// Decodes a payload: in part where it is large and no hook can match, otherwise in full.
    pub(super) fn decode(
        &self,
        host: &dyn Host,
        payload: &[u8],
        caller: &Caller,
        settings: &DispatchSettings,
    ) -> Result<DecodedPayload, DecodeError> {
        if payload.len() > self.large
            && let Some((event, partial)) = self.decode_partly(host, payload, caller, settings)
        {
            return Ok(DecodedPayload { events: vec![event], partial: Some(partial) });
        }
        Ok(DecodedPayload { events: decode_all(host, payload, caller)?, partial: None })
    }
}

/// Decodes a payload in full.
pub(super) fn decode_all(
    host: &dyn Host,
    payload: &[u8],
    caller: &Caller,
) -> Result<Vec<Event>, DecodeError> {
    let mut events = host.decode(payload, caller)?;
    if caller.foreign_entry.is_some() {
        for event in &mut events {
            event.foreign_entry.clone_from(&caller.foreign_entry);
        }
    }
    Ok(events)
}
