//! Identifies a tool call, from the moment it is asked about to the moment it has run.

use std::io;

use anyhook_model::json::{any_leaf, to_spaced};
use anyhook_model::{Event, EventKind, Record, RecordId, Verdict};
use serde::Serialize;

use super::Engine;
use crate::digest::{hex, sha256};
use crate::dispatch::FinishedDispatch;
use crate::journal::denied::{DIGEST, is_digest};
use crate::session::Session;
use crate::summary::LONG;

/// Inputs up to this size get a digest next to their call's id.
const DIGEST_LIMIT: usize = LONG;

/// Returns what identifies a tool call in a record: the host's id for it, otherwise a digest of the
/// tool and its input.
pub fn call_of(event: &Event) -> Option<String> {
    CallId::of(event).call
}

/// Returns the digest of a call after hooks changed its input.
pub fn changed_call_of(record: &Record) -> Option<String> {
    let (tool, input) = (record.tool.as_ref()?, record.verdict.input.as_ref()?);
    Some(digest(tool, input))
}

fn digest(tool: &str, input: &(impl Serialize + ?Sized)) -> String {
    let text = format!("{tool}\n{}", to_spaced(input));
    format!("{DIGEST}{}", hex(&sha256(text.as_bytes())[..16]))
}

/// What identifies a tool call.
#[derive(Clone, Debug, Default)]
pub(super) struct CallId {
    /// The host's id, otherwise the digest.
    pub(super) call: Option<String>,
    /// The digest, next to an id.
    pub(super) digest: Option<String>,
}

impl CallId {
    pub(super) fn of(event: &Event) -> Self {
        let Some(tool) = &event.tool else { return Self::default() };
        // For a call that has an id, the digest is only an aid, so it is skipped for large inputs.
        let mut size = 0;
        let is_large = any_leaf(&tool.input, &mut |leaf| {
            size += leaf.len();
            size > DIGEST_LIMIT
        });
        let digest = || digest(&tool.name, &tool.input);
        match &tool.use_id {
            Some(id) => Self { call: Some(id.clone()), digest: (!is_large).then(digest) },
            None => Self { call: Some(digest()), digest: None },
        }
    }

    /// Counts a call that was asked about, also under its identity after hooks changed it.
    pub(super) fn count(&self, session: &Session, finished: &FinishedDispatch) -> io::Result<()> {
        let changed = finished.verdict.input.as_ref().map(|_| Self::of(&finished.event));
        let changed = changed.filter(|_| self.digest.is_none()).and_then(|id| id.call);
        session.count_call(self.call.as_deref().unwrap_or(""), changed.as_deref())
    }
}

impl Engine {
    /// Remembers which call was denied, so that it is noticed if it runs anyway.
    pub fn remember_call(&self, event: &Event, record: &Record, verdict: &Verdict) {
        let id = CallId { call: record.call.clone(), digest: record.call_digest.clone() };
        self.remember_call_id(event, &id, &record.id, verdict);
    }

    pub(super) fn remember_call_id(
        &self,
        event: &Event,
        id: &CallId,
        record: &RecordId,
        verdict: &Verdict,
    ) {
        let (Some(session), Some(call)) = (self.session(event), &id.call) else { return };
        let record = verdict.id.as_ref().unwrap_or(record);
        // What cannot be remembered is found by `verify`: the journal has it all.
        let _ = match event.kind {
            EventKind::BeforeTool | EventKind::PermissionRequest if verdict.is_block() => {
                session.deny(call, record.as_str())
            }
            EventKind::BeforeTool => {
                let digest = id.digest.as_ref().unwrap_or(call);
                if is_digest(digest) { session.let_through(digest) } else { Ok(()) }
            }
            _ => Ok(()),
        };
    }
}
