//! Joins the calls that agents have executed, according to their logs, with the records of the
//! events before them.
//!
//! A record is in the journal before its call is executed, but both are read by others, at their own
//! pace: a call without a record is a *suspect* for a moment, and an alarm after that. Suspects are
//! part of the state, so that none is lost and none is reported twice.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::{Hash, Hasher};

use anyhook_model::{ProcessName, RecordId};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// How long the record of a call may be read after the call itself.
pub const GRACE: SignedDuration = SignedDuration::from_millis(300);

/// Maximum number of calls that are suspected at once; more of them are reported at once.
const SUSPECTS: usize = 10_000;
/// Maximum number of reported calls that are remembered.
const TOLD: usize = 1_000;
/// Maximum number of events before calls that are remembered.
const ASKED: usize = 65_536;

/// A call that an agent has executed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RanCall {
    /// The agent's host.
    pub host: String,
    /// The agent's id.
    pub agent: String,
    /// The session, as hooks are told.
    pub session: String,
    /// The host's id of the call, otherwise the digest of its tool and input.
    pub call: String,
    /// The log's own name for the call, if several calls may have the same digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_id: Option<String>,
    /// The tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// What it was about: shortened, without secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// When it ended, according to the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// The agent's working folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_dir: Option<String>,
    /// When the session began, as far as the log tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began: Option<Timestamp>,
    /// The session that the beginning of the log was copied from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copied_from: Option<String>,
}

impl RanCall {
    /// Returns what identifies this execution.
    pub fn key(&self) -> String {
        key(&self.session, self.own_id.as_ref().unwrap_or(&self.call))
    }
}

fn key(session: &str, call: &str) -> String {
    format!("{session} {call}")
}

/// A call without a record, for now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suspect {
    /// The call.
    pub call: RanCall,
    /// The id that the record of its alarm will have.
    pub record: RecordId,
    /// When it was read.
    pub heard: Timestamp,
}

impl Suspect {
    /// Returns when its record should have been read.
    pub fn due(&self) -> Timestamp {
        self.heard.saturating_add(GRACE).unwrap_or(self.heard)
    }
}

/// A call that no hook was asked about, until that is in the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnaskedCall {
    /// The call.
    pub call: RanCall,
    /// When that was certain.
    pub at: Timestamp,
    /// The agent's process, if it was stopped for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frozen: Option<ProcessName>,
}

/// The executed calls about which something is still to be found out, and those that were reported.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RanCalls {
    suspects: BTreeMap<String, Suspect>,
    /// Reported calls and the records of their alarms, the latest last.
    told: VecDeque<(String, RecordId)>,
}

impl RanCalls {
    /// Returns the calls that have no record yet.
    pub fn suspects(&self) -> impl Iterator<Item = &Suspect> {
        self.suspects.values()
    }

    /// Returns when the first of them is due.
    pub fn next_due(&self) -> Option<Timestamp> {
        self.suspects.values().map(Suspect::due).min()
    }

    /// Returns whether no more of them can be kept.
    pub fn is_full(&self) -> bool {
        self.suspects.len() >= SUSPECTS
    }

    /// Adds a call that has no record yet; one that was reported before is not added.
    pub(crate) fn suspect(&mut self, call: &RanCall, record: &RecordId, heard: Timestamp) {
        let key = call.key();
        if self.record_of(&key).is_some() || self.record_of(&super_key(call)).is_some() {
            return;
        }
        let suspect = || Suspect { call: call.clone(), record: record.clone(), heard };
        self.suspects.entry(key).or_insert_with(suspect);
    }

    /// Its record was found.
    pub(crate) fn acquit(&mut self, key: &str) {
        self.suspects.remove(key);
    }

    /// It has none: returns the call, once.
    pub(crate) fn convict(&mut self, key: &str) -> Option<Suspect> {
        let suspect = self.suspects.remove(key)?;
        self.remember(key.to_owned(), suspect.record.clone());
        Some(suspect)
    }

    /// Records the alarm about a call that a record contains; returns whether it is the first one
    /// about that call.
    pub(crate) fn is_first_alarm(
        &mut self,
        session: Option<&str>,
        call: Option<&str>,
        record: &RecordId,
    ) -> bool {
        let (Some(session), Some(call)) = (session, call) else { return true };
        if self.told.iter().any(|(_, told)| told == record) {
            return true;
        }
        let key = key(session, call);
        if self.record_of(&key).is_some() {
            return false;
        }
        self.suspects.remove(&key);
        self.remember(key, record.clone());
        true
    }

    fn record_of(&self, key: &str) -> Option<&RecordId> {
        self.told.iter().rev().find(|(told, _)| told == key).map(|(_, record)| record)
    }

    fn remember(&mut self, key: String, record: RecordId) {
        if self.told.len() >= TOLD {
            self.told.pop_front();
        }
        self.told.push_back((key, record));
    }
}

/// Returns what identifies a call for hooks.
fn super_key(call: &RanCall) -> String {
    key(&call.session, &call.call)
}

/// The calls that hooks were asked about, as far as their records were read. Not part of the state:
/// what was read before a restart is known to the engine's sessions.
#[derive(Clone, Debug, Default)]
pub struct AskedCalls {
    /// How often each was asked about and not executed yet.
    left: HashMap<u64, u32>,
    order: VecDeque<u64>,
    /// Whether some were forgotten.
    is_partial: bool,
}

impl AskedCalls {
    /// A record says that hooks were asked about a call.
    pub fn ask(&mut self, session: &str, call: &str) {
        let key = hash(session, call);
        if self.order.len() >= ASKED
            && let Some(oldest) = self.order.pop_front()
        {
            self.left.remove(&oldest);
            self.is_partial = true;
        }
        self.order.push_back(key);
        *self.left.entry(key).or_default() += 1;
    }

    /// Returns whether hooks were asked about an executed call. Calls with the same digest need a
    /// record each.
    pub fn take(&mut self, call: &RanCall) -> bool {
        match self.left.get_mut(&hash(&call.session, &call.call)) {
            None | Some(0) => false,
            Some(left) if call.own_id.is_some() => {
                *left -= 1;
                true
            }
            Some(_) => true,
        }
    }

    /// Returns whether records that were read are no longer known.
    pub fn is_partial(&self) -> bool {
        self.is_partial
    }
}

fn hash(session: &str, call: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (session, call).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn call(number: usize, own_id: Option<String>) -> RanCall {
        let own = own_id.is_some();
        RanCall {
            host: "codex".to_owned(),
            agent: "codex:s".to_owned(),
            session: "s".to_owned(),
            // Digests are the same for a while.
            call: if own { format!("sha256:{}", number / 3) } else { format!("call {number}") },
            own_id,
            ..RanCall::default()
        }
    }

    fn second(number: i64) -> Timestamp {
        Timestamp::from_second(number).unwrap()
    }

    /// What happens, in an order that keeps every record within the grace of its call.
    #[derive(Clone, Debug)]
    enum Step {
        /// The journal's record.
        Record(usize),
        /// The log's line; it may be read more than once.
        Line(usize),
    }

    /// Does what the daemon does, and returns the calls that are reported.
    fn join(steps: &[Step], with_digests: bool, restarts: &[usize]) -> Vec<String> {
        let one = |number: usize| call(number, with_digests.then(|| format!("own {number}")));
        let mut asked = AskedCalls::default();
        let mut state = RanCalls::default();
        let mut alarms = Vec::new();
        for (number, step) in steps.iter().enumerate() {
            match step {
                Step::Record(number) => asked.ask("s", &one(*number).call),
                Step::Line(number) => {
                    let call = one(*number);
                    if !asked.take(&call) {
                        let record = RecordId::from_text(call.key());
                        state.suspect(&call, &record, second(0));
                    }
                }
            }
            if restarts.contains(&number) {
                let stored = serde_json::to_string(&state).unwrap();
                state = serde_json::from_str(&stored).unwrap();
            }
        }
        let suspects: Vec<RanCall> = state.suspects().map(|one| one.call.clone()).collect();
        for call in suspects {
            if asked.take(&call) {
                state.acquit(&call.key());
            } else {
                alarms.extend(state.convict(&call.key()).map(|one| one.call.key()));
            }
        }
        // Read once more: by another daemon, or because the log repeats itself.
        for step in steps {
            if let Step::Line(number) = step {
                let call = one(*number);
                let record = RecordId::from_text("again");
                if alarms.contains(&call.key()) {
                    state.suspect(&call, &record, second(9));
                }
            }
        }
        assert_eq!(state.suspects().count(), 0);
        alarms
    }

    /// The records of some calls and the lines of all, in any order.
    fn any_order() -> impl Strategy<Value = (Vec<bool>, Vec<Step>)> {
        prop::collection::vec(any::<bool>(), 0..40).prop_flat_map(|guarded| {
            let records = (0..guarded.len()).filter(|at| guarded[*at]).map(Step::Record);
            let lines = (0..guarded.len()).map(Step::Line);
            let steps: Vec<Step> = records.chain(lines).collect();
            (Just(guarded), Just(steps).prop_shuffle())
        })
    }

    proptest! {
        #[test]
        fn each_unguarded_call_is_one_alarm_and_no_guarded_one(
            (guarded, steps) in any_order(), restarts in prop::collection::vec(0_usize..80, 0..4)
        ) {
            let mut alarms = join(&steps, false, &restarts);
            alarms.sort();
            let mut expected: Vec<String> = (0..guarded.len())
                .filter(|at| !guarded[*at])
                .map(|at| call(at, None).key())
                .collect();
            expected.sort();
            prop_assert_eq!(alarms, expected);
        }

        /// Which one of several equal calls was not asked about cannot be told, but how many.
        #[test]
        fn of_equal_calls_as_many_are_alarms_as_have_no_record((guarded, steps) in any_order()) {
            let alarms = join(&steps, true, &[]);
            prop_assert_eq!(alarms.len(), guarded.iter().filter(|guarded| !**guarded).count());
        }
    }

    #[test]
    fn an_alarm_of_a_hook_event_is_the_same_alarm() {
        let mut state = RanCalls::default();
        let (ours, theirs) = (RecordId::from_text("ours"), RecordId::from_text("theirs"));
        state.suspect(&call(1, None), &ours, second(0));
        assert!(state.is_first_alarm(Some("s"), Some("call 1"), &theirs));
        assert_eq!(state.suspects().count(), 0);
        state.suspect(&call(1, None), &ours, second(1));
        assert_eq!(state.suspects().count(), 0);
        // The other way round.
        state.suspect(&call(2, None), &ours, second(1));
        assert!(state.convict(&call(2, None).key()).is_some());
        assert!(state.is_first_alarm(Some("s"), Some("call 2"), &ours));
        let other = RecordId::from_text("other");
        assert!(!state.is_first_alarm(Some("s"), Some("call 2"), &other));
        assert!(state.is_first_alarm(None, None, &other));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut asked = AskedCalls::default();
        for number in 0..=ASKED {
            asked.ask("s", &format!("call {number}"));
        }
        assert!(asked.is_partial() && asked.left.len() == ASKED);
        assert!(!asked.take(&call(0, None)) && asked.take(&call(1, None)));
        let mut state = RanCalls::default();
        for number in 0..2 * TOLD {
            let call = call(number, None);
            state.suspect(&call, &RecordId::from_text("x"), second(0));
            assert!(state.convict(&call.key()).is_some());
        }
        assert_eq!(state.told.len(), TOLD);
        assert_eq!(state.next_due(), None);
    }
}
