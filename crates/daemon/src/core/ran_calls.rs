//! Finds calls that agents have executed and that no hook was asked about: joins what agents' logs
//! report with the journal.

use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhook_engine::session::Session;
use anyhook_engine::settings::Settings;
use anyhook_engine::{Places, changed_call_of};
use anyhook_flow::EntryKind;
use anyhook_flow::agents::Agent;
use anyhook_flow::names;
use anyhook_flow::ran_calls::{AskedCalls, RanCall, Suspect};
use anyhook_model::daemon::{RefusalCode, Response};
use anyhook_model::{EventKind, ProcessName, Record, StateDir};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::Core;
use super::requests::{not_found, refusal};
use crate::freeze;

/// A call that ended longer ago is not news: its log was read late, or copied.
const OLD: SignedDuration = SignedDuration::from_hours(24);

/// The event of a command that takes our entries out of agents' settings.
const UNINSTALLED: &str = "command:uninstall";

/// What the join needs besides the state.
#[derive(Debug)]
pub(super) struct CallJoin {
    asked: AskedCalls,
    places: Places,
    /// When this daemon began to read the journal: it does not know by itself which calls were
    /// asked about before.
    since: Timestamp,
}

impl CallJoin {
    pub(super) fn new(places: Places) -> Self {
        Self { asked: AskedCalls::default(), places, since: anyhook_engine::now() }
    }

    /// Records the calls that hooks were asked about: sessions and calls.
    pub(super) fn ask(&mut self, asked: &[(String, String)]) {
        for (session, call) in asked {
            self.asked.ask(session, call);
        }
    }

    /// Returns whether hooks were asked about a call.
    fn take(&mut self, call: &RanCall) -> bool {
        self.asked.take(call) || self.was_asked_before(call)
    }

    /// Returns whether the engine knows that hooks were asked about a call, where we do not know it
    /// ourselves.
    fn was_asked_before(&self, call: &RanCall) -> bool {
        let Some(state) = &self.places.state else { return false };
        let session = |id: &str| Session::new(state, &call.host, id).was_asked(&call.call);
        // The original of a copied call may be long ago: only a session that knows all of its calls
        // proves anything.
        if call.copied_from.as_deref().is_some_and(|from| session(from) != Some(false)) {
            return true;
        }
        let is_ours = call.at.is_some_and(|at| at > self.since) && !self.asked.is_partial();
        !is_ours && session(&call.session) == Some(true)
    }

    /// Returns since when our hooks are in an agent's settings, as `install` recorded it: in the
    /// user's, or in those of the project that the agent works in.
    fn installed(&self, host: &str, work_dir: Option<&str>) -> Option<Timestamp> {
        let folder = StateDir::new(self.places.state.as_ref()?).installed();
        let places = work_dir.into_iter().flat_map(|folder| Path::new(folder).ancestors());
        let places = places.map(|place| place.to_string_lossy().replace('/', "%"));
        let mut names = ["user".to_owned()].into_iter().chain(places);
        names.find_map(|place| {
            let status = folder.join(format!("{host}-{place}.json")).metadata().ok()?;
            Timestamp::try_from(status.modified().unwrap_or(SystemTime::UNIX_EPOCH)).ok()
        })
    }
}

/// Returns the call that a record says hooks were asked about: its session and what identifies it.
pub(super) fn asked_of(record: &Record) -> impl Iterator<Item = (String, String)> {
    let is_asked = record.event == EventKind::BeforeTool && record.with.is_none();
    let session = record.session.clone().filter(|_| is_asked);
    // Without an id, a changed call may be logged either way.
    let changed = record.call_digest.is_none().then(|| changed_call_of(record)).flatten();
    let calls = record.call.clone().into_iter().chain(changed);
    session.into_iter().flat_map(move |session| {
        calls.clone().map(move |call| (session.clone(), call)).collect::<Vec<_>>()
    })
}

/// Returns whether a record says that our entries were taken out of agents' settings.
pub(super) fn is_uninstallation(record: &Record) -> bool {
    matches!(&record.event, EventKind::Other(name) if name == UNINSTALLED)
        && record.about.as_ref().is_some_and(|about| about.ends_with(": done"))
}

impl Core {
    /// Takes the calls that a line of a log reports as executed. Those that are in the journal are
    /// done with; the others are stored, together with the position after the line.
    pub(super) fn calls_ran(&mut self, calls: Vec<RanCall>, file: String, position: Value) {
        let mut suspects = Vec::new();
        for mut call in calls {
            if let Some(id) = self.state.agents.of_session(&call.host, &call.session) {
                id.clone_into(&mut call.agent);
            }
            if !self.calls.take(&call) && self.is_expected(&call) {
                suspects.push(EntryKind::CallRan(Box::new(call), anyhook_engine::new_id()));
            }
        }
        if !suspects.is_empty() {
            suspects.push(EntryKind::LogRead(file, position));
            self.pending.entries.extend(suspects);
        }
    }

    /// Returns whether an event before a call should be in the journal: our hooks are in the agent's
    /// settings, or were called in this very session, whatever became of them since.
    fn is_expected(&self, call: &RanCall) -> bool {
        let now = anyhook_engine::now();
        if call.at.is_some_and(|at| now.duration_since(at) > OLD) {
            return false;
        }
        if self.state.agents.get(&call.agent).is_some_and(|agent| agent.hooked) {
            return true;
        }
        // An agent that was started before the installation may not know of it.
        self.calls
            .installed(&call.host, call.work_dir.as_deref())
            .is_some_and(|since| call.began.or(call.at).is_none_or(|began| began >= since))
    }

    /// Decides about the calls whose records should have been read by now.
    pub(super) fn look_at_suspects(&mut self) {
        if self.journal.is_behind || self.pending.must_wait() {
            return;
        }
        let now = anyhook_engine::now();
        let is_full = self.state.ran_calls.is_full();
        let due = |suspect: &&Suspect| suspect.due() <= now || is_full;
        let due: Vec<Suspect> = self.state.ran_calls.suspects().filter(due).cloned().collect();
        if due.is_empty() {
            return;
        }
        let freezes = Settings::load(&self.calls.places, None).alarms.freeze;
        for Suspect { call, .. } in due {
            let key = call.key();
            let entry = if self.calls.take(&call) {
                EntryKind::CallAsked(key)
            } else {
                // Before it is stored: stopping a process twice does no harm, and not at all would.
                let frozen = freezes.then(|| self.freeze(&call)).flatten();
                EntryKind::RanUnasked { key, frozen }
            };
            self.pending.entries.push_back(entry);
        }
        self.store_what_waits();
    }

    /// Returns how long nothing has to be decided about executed calls.
    pub(super) fn next_suspect(&self) -> Option<Duration> {
        let due = self.state.ran_calls.next_due()?;
        let left = due.duration_since(anyhook_engine::now());
        Some(Duration::try_from(left).unwrap_or(Duration::ZERO))
    }

    fn freeze(&self, call: &RanCall) -> Option<ProcessName> {
        let known = self.state.agents.get(&call.agent);
        let known = known.and_then(|agent| agent.process.as_ref());
        let process = freeze::process_of(known, &call.host, call.work_dir.as_deref())?;
        match freeze::stop(&process) {
            Ok(()) => Some(process),
            Err(error) => {
                tracing::error!("cannot stop process {} of {}: {error}", process.pid, call.agent);
                None
            }
        }
    }

    /// Lets an agent continue that was stopped.
    pub(super) fn thaw(&mut self, agent: &str, by: String) -> Response {
        let id = match names::find(agent, &self.known_agents()) {
            Ok(id) => id,
            Err(error) => return not_found("agent", agent, error),
        };
        let frozen = |agent: &Agent| agent.frozen.clone();
        let Some(process) = self.state.agents.get(&id).and_then(frozen) else {
            let why = format!("agent `{agent}` was not stopped by an alarm");
            return Response::Refused(refusal(RefusalCode::NotNow, &why));
        };
        match freeze::resume(&process) {
            // It has ended meanwhile.
            Ok(()) | Err(rustix::io::Errno::SRCH) => {}
            Err(error) => {
                let why = format!("process {} cannot be continued: {error}", process.pid);
                return Response::Refused(refusal(RefusalCode::NotNow, &why));
            }
        }
        if self.commit(vec![EntryKind::Thawed { agent: id, by }]).is_err() {
            return self.cannot_store();
        }
        Response::Done
    }
}
