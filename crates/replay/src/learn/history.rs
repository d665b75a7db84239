//! Past calls and how they ended, put together from the journal's records.
//!
//! A call is asked about in one record (`before_tool`), sometimes again in a second
//! (`permission_request`), and has run according to a third (`after_tool`). What a person said is in
//! `answered`, in the record of a decision's resolution, or in an agent's report of its own dialog.
//! Where an agent reports nothing, the call tells: one that was asked about and has run was allowed;
//! one that had not run when the turn ended was denied.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use anyhook_engine::journal::Journal;
use anyhook_hosts::bus_event::OURS;
use anyhook_model::approval_request::ApprovalEnding;
use anyhook_model::json::shorten;
use anyhook_model::{BusEvent, Effect, Event, EventKind, Record, Resolution};
use serde_json::Value;

use crate::source::{PastEvent, PastPayload};

/// Longer texts in the input of a tool that runs no command are cut: only names matter.
const TEXT_LIMIT: usize = 1000;

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallOutcome {
    /// It ran, or nothing is known that would have stopped it; no person was asked.
    Ran,
    /// A person was asked and allowed it.
    Allowed,
    /// A person was asked and denied it.
    Denied,
    /// A hook denied it.
    Blocked,
    /// What became of it is not known.
    Unanswered,
}

impl CallOutcome {
    /// Returns whether a person or a hook did not want it.
    pub fn is_denial(self) -> bool {
        matches!(self, Self::Denied | Self::Blocked)
    }

    /// Returns whether it was fine: a guard that stops such a call stops the wrong one.
    pub fn is_fine(self) -> bool {
        matches!(self, Self::Ran | Self::Allowed)
    }
}

/// A call in the past.
#[derive(Clone, Debug)]
pub struct PastCall {
    /// The ids of its records; the first is the one in which it was asked about first.
    pub records: Vec<String>,
    /// The host and its session.
    pub session: String,
    /// The project's folder, or the folder in which the agent worked.
    pub place: String,
    /// What was called.
    pub event: Event,
    /// How it ended.
    pub outcome: CallOutcome,
    /// Whether a person was asked by the agent itself, rather than by a hook.
    pub asked_by_agent: bool,
    /// Whether it can be an example: nothing of it was redacted, and it is not a part of a larger
    /// call.
    pub is_example: bool,
    /// What hooks decided.
    pub decisions: Vec<(String, Effect)>,
}

/// Reads the calls from payloads, in the order of the journal. Payloads that cannot be reconstructed
/// are left out. `home` is for paths that begin with `~`.
pub fn read(
    payloads: &[PastPayload],
    journal: Option<&Journal>,
    home: Option<&Path>,
) -> Vec<PastCall> {
    let mut reader = HistoryReader::default();
    for payload in payloads {
        reader.take(payload, journal, home);
    }
    reader.finish()
}

/// The host, the session, and the identity of a call.
type CallKey = (String, Option<String>, String);
/// The host and the session.
type SessionKey = (String, Option<String>);

#[derive(Default)]
struct HistoryReader {
    calls: Vec<ReadCall>,
    /// Calls that have not ended, by everything that identifies them.
    open: HashMap<CallKey, usize>,
    /// The calls of records.
    of_record: HashMap<String, usize>,
    /// Sessions whose agents report what ran.
    reporting: HashSet<SessionKey>,
}

struct ReadCall {
    call: PastCall,
    session: SessionKey,
    is_asked: bool,
    has_ended: bool,
    /// Whether its turn is over.
    is_settled: bool,
    answer: Option<bool>,
    stopped: Option<StoppedBy>,
}

/// What denied a call, other than a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StoppedBy {
    /// The decision of a hook.
    Hook,
    /// A hook that failed, or that asked where no one could be asked.
    Otherwise,
}

impl HistoryReader {
    fn take(&mut self, payload: &PastPayload, journal: Option<&Journal>, home: Option<&Path>) {
        let PastPayload::Journaled(records) = payload else { return };
        let Some(first) = records.first() else { return };
        if first.host == OURS {
            self.take_resolution(first);
            return;
        }
        match &first.event {
            EventKind::BeforeTool | EventKind::PermissionRequest => {
                let is_whole = records.len() == 1;
                for item in payload.items(journal).unwrap_or_default() {
                    self.take_call(item, is_whole, home);
                }
            }
            EventKind::AfterTool | EventKind::AfterToolFailure => {
                for record in records {
                    self.take_end(record);
                }
            }
            EventKind::BeforeStop
            | EventKind::AfterStop
            | EventKind::AfterAgent
            | EventKind::BeforeAgent
            | EventKind::SessionEnd => self.settle(&session_of(first)),
            EventKind::Other(name) if name == "permission.replied" => self.take_reply(first),
            _ => {}
        }
    }

    fn take_call(&mut self, item: PastEvent, is_whole: bool, home: Option<&Path>) {
        let PastEvent { id, event, record: Some(record) } = item else { return };
        let keys = keys_of(&record);
        let index = match self.same_call(&record, &keys) {
            Some(index) => index,
            None => self.add(slim(event, home), &record, is_whole),
        };
        for key in keys {
            self.open.insert(key, index);
        }
        self.of_record.insert(id.clone(), index);
        self.calls[index].take(id, &record);
    }

    /// Returns the call that a permission is requested for, if it is known.
    fn same_call(&self, record: &Record, keys: &[CallKey]) -> Option<usize> {
        let is_request = record.event == EventKind::PermissionRequest;
        let found = keys.iter().filter(|_| is_request).find_map(|key| self.open.get(key));
        found.copied().filter(|index| !self.calls[*index].has_ended)
    }

    fn add(&mut self, event: Event, record: &Record, is_whole: bool) -> usize {
        let session = session_of(record);
        // Without a session, every call counts as one of its own.
        let name = session.1.clone().unwrap_or_else(|| record.id.to_string());
        let place = record.project_dir.clone().unwrap_or_else(|| record.work_dir.clone());
        let call = PastCall {
            records: Vec::new(),
            session: format!("{} {name}", session.0),
            place,
            event,
            outcome: CallOutcome::Unanswered,
            asked_by_agent: false,
            is_example: is_whole,
            decisions: Vec::new(),
        };
        self.calls.push(ReadCall {
            call,
            session,
            is_asked: false,
            has_ended: false,
            is_settled: false,
            answer: None,
            stopped: None,
        });
        self.calls.len() - 1
    }

    fn take_end(&mut self, record: &Record) {
        self.reporting.insert(session_of(record));
        let indexes: Vec<usize> =
            keys_of(record).iter().filter_map(|key| self.open.remove(key)).collect();
        for index in indexes {
            self.calls[index].has_ended = true;
        }
    }

    fn take_resolution(&mut self, record: &Record) {
        let text = record.payload.as_ref().map(anyhook_model::Payload::as_text).unwrap_or_default();
        let Ok(BusEvent::DecisionResolved(resolution)) = serde_json::from_str(text) else { return };
        if let Some(index) = self.of_record.get(&resolution.id.to_string()) {
            self.calls[*index].take_answer(&resolution);
        }
    }

    /// Takes an agent's report of what was answered in its own dialog.
    fn take_reply(&mut self, record: &Record) {
        let text = record.payload.as_ref().map(anyhook_model::Payload::as_text).unwrap_or_default();
        let payload: Value = serde_json::from_str(text).unwrap_or_default();
        let reply = payload.pointer("/event/properties/reply").and_then(Value::as_str);
        let Some(reply) = reply else { return };
        let by_key = keys_of(record).iter().find_map(|key| self.open.get(key).copied());
        let session = session_of(record);
        let is_waiting = |call: &ReadCall| {
            call.session == session && call.is_asked && call.answer.is_none() && !call.has_ended
        };
        let waiting = || self.calls.iter().rposition(is_waiting);
        if let Some(index) = by_key.or_else(waiting) {
            self.calls[index].answer = Some(reply != "reject");
        }
    }

    fn settle(&mut self, session: &SessionKey) {
        let open: HashSet<usize> = self
            .open
            .iter()
            .filter(|((host, name, _), _)| *host == session.0 && *name == session.1)
            .map(|(_, index)| *index)
            .collect();
        self.open.retain(|_, index| !open.contains(index));
        for index in open {
            self.calls[index].is_settled = true;
        }
    }

    fn finish(self) -> Vec<PastCall> {
        let reporting = self.reporting;
        let finished = self.calls.into_iter().map(|read| {
            let outcome = read.outcome(reporting.contains(&read.session));
            PastCall { outcome, ..read.call }
        });
        finished.collect()
    }
}

impl ReadCall {
    fn take(&mut self, id: String, record: &Record) {
        let call = &mut self.call;
        call.records.push(id);
        call.is_example &= record.redacted.is_empty();
        let counts = record.runs.iter().filter(|run| run.failure.is_none());
        let decided = counts.filter_map(|run| Some((run.hook.clone(), run.decision.effect?)));
        call.decisions.extend(decided);
        if let Some(answer) = &record.answered {
            self.is_asked = true;
            self.call.asked_by_agent |= !asks(record);
            self.take_answer(answer);
            return;
        }
        let is_request = record.event == EventKind::PermissionRequest;
        if record.denies() {
            let by_hook = is_by_hook(record) || self.stopped == Some(StoppedBy::Hook);
            self.stopped = Some(if by_hook { StoppedBy::Hook } else { StoppedBy::Otherwise });
            return;
        }
        match record.verdict.effect {
            Some(Effect::Ask) => self.is_asked = true,
            None if is_request => {
                self.is_asked = true;
                self.call.asked_by_agent = true;
            }
            _ => {}
        }
    }

    /// Takes a person's answer. One that follows from an earlier answer says nothing new.
    fn take_answer(&mut self, resolution: &Resolution) {
        let is_new = resolution.ending == ApprovalEnding::Chosen && resolution.follows.is_none();
        let answer = match resolution.choice.as_deref() {
            Some("allow") => Some(true),
            Some("deny") => Some(false),
            _ => None,
        };
        self.is_asked = true;
        if is_new && answer.is_some() {
            self.answer = answer;
        }
    }

    fn outcome(&self, is_reporting: bool) -> CallOutcome {
        match (self.stopped, self.answer) {
            (Some(StoppedBy::Hook), _) => CallOutcome::Blocked,
            (_, Some(true)) => CallOutcome::Allowed,
            (_, Some(false)) => CallOutcome::Denied,
            (None, None) if self.is_asked => self.unsaid(is_reporting),
            (None, None) if self.has_ended || !is_reporting => CallOutcome::Ran,
            (_, None) => CallOutcome::Unanswered,
        }
    }

    /// Returns what a person answered in the agent's own dialog, of which nothing is recorded: what
    /// happened then tells.
    fn unsaid(&self, is_reporting: bool) -> CallOutcome {
        if self.has_ended {
            CallOutcome::Allowed
        } else if is_reporting && self.is_settled {
            CallOutcome::Denied
        } else {
            CallOutcome::Unanswered
        }
    }
}

/// Returns whether one of a record's hooks asked for a person's approval.
fn asks(record: &Record) -> bool {
    let counts = record.runs.iter().filter(|run| !run.shadow && run.failure.is_none());
    counts.into_iter().any(|run| run.decision.effect == Some(Effect::Ask))
}

/// Returns whether a hook denied it as it is written, rather than by failing.
fn is_by_hook(record: &Record) -> bool {
    let by = record.verdict.by.as_deref();
    let is_it = |run: &&anyhook_model::RunRecord| Some(run.hook.as_str()) == by && !run.shadow;
    record
        .runs
        .iter()
        .find(is_it)
        .is_some_and(|run| run.failure.is_none() && run.decision.effect == Some(Effect::Deny))
}

fn session_of(record: &Record) -> SessionKey {
    (record.host.clone(), record.session.clone())
}

fn keys_of(record: &Record) -> Vec<CallKey> {
    let (host, session) = session_of(record);
    let names = [&record.call, &record.call_digest].into_iter().flatten();
    // Without a session anyone may have made the same call.
    let is_certain = |name: &&String| session.is_some() || !name.starts_with("sha256:");
    let key = |name: &String| (host.clone(), session.clone(), name.clone());
    names.filter(is_certain).map(key).collect()
}

/// Returns an event without what is not needed: there may be very many.
fn slim(mut event: Event, home: Option<&Path>) -> Event {
    event.raw.retain(|name, _| name == "mcp");
    event.context.clear();
    event.data.clear();
    event.home = home.map(Path::to_owned);
    if let Some(tool) = &mut event.tool {
        let is_shell = tool.names().any(|name| name == "Shell");
        if !is_shell {
            cut(&mut tool.input);
            if let Some(native) = &mut tool.native {
                cut(&mut native.tool_input);
            }
        }
    }
    event
}

fn cut(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > TEXT_LIMIT => *text = shorten(text, TEXT_LIMIT),
        Value::Array(items) => items.iter_mut().for_each(cut),
        Value::Object(fields) => fields.values_mut().for_each(cut),
        _ => {}
    }
}
