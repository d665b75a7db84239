//! The stop cap: a gate that blocks too often in one turn is overridden.

use std::io;

use anyhook_model::{RecordId, Verdict};

use crate::session::Session;

/// Lets a stop pass that was blocked too often in this turn; otherwise counts it.
pub(super) fn cap_stop(
    verdict: &mut Verdict,
    session: Option<&Session>,
    cap: u32,
    trouble: &mut Option<io::Error>,
) {
    let Some(session) = session else { return };
    if session.stop_blocks_in_turn() < u64::from(cap) {
        let id = verdict.id.as_ref().map_or("", RecordId::as_str);
        if let Err(error) = session.count_stop_block(id) {
            trouble.get_or_insert(error);
        }
        return;
    }
    let by = verdict.by.take().unwrap_or_default();
    let reason = verdict.reason.take().unwrap_or_default();
    verdict.effect = None;
    verdict.capped = true;
    verdict.warnings.push(format!(
        "allowed to stop although {by} blocks it: {cap} stops were already blocked in this turn (stop_cap in anyhook.toml). Its reason: {reason}"
    ));
}
