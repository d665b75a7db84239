//! Detects calls that ran although they were denied: the host ignored us.
//!
//! A session's `denied` file allows an immediate warning. This module needs nothing but the
//! records, for `anyhook verify`.
//!
//! A call is identified by the host's id for it, and by a digest of tool and input, for hosts and
//! events without an id; a later call with the same input that no one denied is another call.

use std::collections::{HashMap, HashSet};

use anyhook_model::report::RanAnyway;
use anyhook_model::{EventKind, Record, RecordId};

/// Matches events of tools that ran with earlier denials of the same call.
#[derive(Debug, Default)]
pub struct Denials {
    open: HashMap<CallKey, RecordId>,
    /// Already reported: a patch that ran is several events, but one alarm.
    told: HashSet<CallKey>,
    found: Vec<RanAnyway>,
}

/// The host, the session, and the identity of the call.
type CallKey = (String, Option<String>, String);

impl Denials {
    /// Takes the next record, in the order of the journal.
    pub fn take(&mut self, record: &Record) {
        if record.of.is_some() {
            return;
        }
        let keys: Vec<CallKey> = [&record.call, &record.call_digest]
            .into_iter()
            .flatten()
            // Without a session anyone may have made the same call.
            .filter(|call| !is_digest(call) || record.session.is_some())
            .map(|call| (record.host.clone(), record.session.clone(), call.clone()))
            .collect();
        match record.event {
            EventKind::BeforeTool | EventKind::PermissionRequest if record.denies() => {
                for key in keys {
                    self.told.remove(&key);
                    self.open.insert(key, record.id.clone());
                }
            }
            EventKind::BeforeTool => {
                for key in keys {
                    self.open.remove(&key);
                }
            }
            EventKind::AfterTool => {
                let open: Vec<RecordId> =
                    keys.iter().filter_map(|key| self.open.remove(key)).collect();
                // The engine may have seen a denial whose record is gone.
                let denied = open.into_iter().next().or_else(|| record.denied_by.clone());
                let is_told = keys.iter().any(|key| self.told.contains(key));
                if let Some(denied) = denied.filter(|_| !is_told) {
                    self.told.extend(keys);
                    self.found.push(RanAnyway::of(record, denied));
                }
            }
            _ => {}
        }
    }

    /// Returns what was found.
    pub fn found(self) -> Vec<RanAnyway> {
        self.found
    }
}

/// The prefix of a digest that identifies a call.
pub const DIGEST: &str = "sha256:";

/// Returns whether a call is identified by its input alone.
pub fn is_digest(call: &str) -> bool {
    call.starts_with(DIGEST)
}

#[cfg(test)]
mod tests {
    use anyhook_model::Effect;
    use jiff::Timestamp;

    use super::*;

    fn record(id: &str, event: EventKind, session: &str, call: &str, denies: bool) -> Record {
        let mut record =
            Record::new(RecordId::from_text(id), Timestamp::UNIX_EPOCH, "codex", event);
        record.session = Some(session.to_owned()).filter(|session| !session.is_empty());
        record.call = Some(call.to_owned());
        record.verdict.effect = denies.then_some(Effect::Deny);
        record
    }

    fn found(records: &[Record]) -> Vec<(String, String)> {
        let mut denials = Denials::default();
        for record in records {
            denials.take(record);
        }
        let pair = |ran: RanAnyway| (ran.denied.to_string(), ran.ran.to_string());
        denials.found().into_iter().map(pair).collect()
    }

    #[test]
    fn a_denied_call_that_ran_is_found_once() {
        use EventKind::{AfterTool, AfterToolFailure, BeforeTool};
        let denied = record("a", BeforeTool, "s", "t1", true);
        let ran = |id: &str, session: &str, call: &str| record(id, AfterTool, session, call, false);
        let pair = |one: &str, other: &str| vec![(one.to_owned(), other.to_owned())];
        assert_eq!(
            found(&[denied.clone(), ran("b", "s", "t1"), ran("c", "s", "t1")]),
            pair("a", "b")
        );
        assert_eq!(found(&[denied.clone(), ran("b", "s", "t2")]), []);
        assert_eq!(found(&[denied.clone(), ran("b", "other", "t1")]), []);
        assert_eq!(found(&[ran("b", "s", "t1"), denied.clone()]), []);
        let failed = record("b", AfterToolFailure, "s", "t1", false);
        assert_eq!(found(&[denied, failed]), [], "some hosts report a denied call as failed");
    }

    /// Claude Code's permission requests have no id; the calls that ran have one.
    #[test]
    fn a_denial_without_an_id_is_joined_by_the_input() {
        use EventKind::{AfterTool, BeforeTool, PermissionRequest};
        let digest = Some("sha256:12".to_owned());
        let with_digest = |mut record: Record| {
            record.call_digest.clone_from(&digest);
            record
        };
        let asked = with_digest(record("a", BeforeTool, "s", "t9", false));
        let denied = record("b", PermissionRequest, "s", "sha256:12", true);
        let ran = with_digest(record("c", AfterTool, "s", "t9", false));
        assert_eq!(found(&[asked, denied.clone(), ran.clone()]).len(), 1);
        let again = with_digest(record("d", BeforeTool, "s", "t10", false));
        let ran = with_digest(record("e", AfterTool, "s", "t10", false));
        assert_eq!(found(&[denied, again, ran]), [], "another call of the same input");
    }

    #[test]
    fn a_patch_that_ran_is_one_alarm() {
        use EventKind::{AfterTool, BeforeTool};
        let denied = record("a", BeforeTool, "s", "t1", true);
        let ran = |id: &str| {
            let mut ran = record(id, AfterTool, "s", "t1", false);
            ran.denied_by = Some(RecordId::from_text("a"));
            ran
        };
        assert_eq!(found(&[denied, ran("b"), ran("c"), ran("d")]).len(), 1);
    }

    #[test]
    fn a_call_known_by_its_input_is_another_when_it_is_let_through() {
        use EventKind::{AfterTool, BeforeTool};
        let call = "sha256:12";
        let denied = record("a", BeforeTool, "s", call, true);
        let passed = record("b", BeforeTool, "s", call, false);
        let ran = record("c", AfterTool, "s", call, false);
        assert_eq!(found(&[denied.clone(), passed, ran.clone()]), []);
        assert_eq!(found(&[denied, ran]).len(), 1);
        let nobodys = |event, denies| record("a", event, "", call, denies);
        assert_eq!(found(&[nobodys(BeforeTool, true), nobodys(AfterTool, false)]), []);
    }
}
