//! Opens an event before its hooks run and closes it afterwards: what is known, and what is left to
//! decide.

use std::cell::OnceCell;
use std::io;
use std::time::{Duration, Instant};

use anyhook_model::agent::ProcessName;
use anyhook_model::event::CallDoubt;
use anyhook_model::json::{Object, shorten};
use anyhook_model::{Alarm, Event, EventKind, Host, Payload, Record, RecordId, Verdict};
use jiff::Timestamp;

use super::call_id::CallId;
use super::event::{IncomingEvent, PayloadPart};
use super::raise_alarms::is_heard;
use super::record::{self, Exchange};
use super::session_effects::remember;
use super::stop_cap::cap_stop;
use super::{Engine, EventHooks, new_id, now};
use crate::canary;
use crate::dispatch::FinishedDispatch;
use crate::failure_streak;
use crate::process_name;
use crate::session::Session;
use crate::settings::DispatchSettings;
use crate::summary::summary;

/// An event on its way through its hooks: what is known about it apart from them.
#[derive(Debug)]
pub struct OpenedEvent {
    /// The hooks it triggers; a driver may add to them.
    pub hooks: EventHooks,
    pub(super) facts: RecordContext,
    pub(super) settings: DispatchSettings,
    pub(super) began: Instant,
    session: Option<Session>,
    trouble: Option<io::Error>,
    part: PayloadPart,
    alarms: Vec<Alarm>,
}

impl OpenedEvent {
    /// Returns the id its record will have.
    pub fn id(&self) -> &RecordId {
        &self.facts.id
    }
}

/// What a record contains that was known before the hooks ran.
#[derive(Clone, Debug)]
pub(super) struct RecordContext {
    pub(super) id: RecordId,
    pub(super) at: Timestamp,
    /// What the event was about, as received: hooks may change the input.
    pub(super) about: Option<String>,
    pub(super) counted: Object,
    pub(super) call: CallId,
    pub(super) agent_id: Option<String>,
}

impl RecordContext {
    /// Begins a record now, with nothing else known yet.
    pub(super) fn begin() -> Self {
        Self {
            id: new_id(),
            at: now(),
            about: None,
            counted: Object::new(),
            call: CallId::default(),
            agent_id: None,
        }
    }
}

/// An event whose hooks have all had their turn: everything its record is made of.
#[derive(Clone, Debug)]
pub(super) struct ClosedEvent {
    pub(super) facts: RecordContext,
    pub(super) finished: FinishedDispatch,
    pub(super) process: Option<ProcessName>,
    pub(super) alarms: Vec<Alarm>,
    /// The denial that the host ignored.
    pub(super) denied_by: Option<RecordId>,
    /// Whether it is a canary of ours.
    pub(super) canary: bool,
    pub(super) took: Duration,
    pub(super) settings: DispatchSettings,
}

impl ClosedEvent {
    /// Wraps the hooks' result for an event, with nothing else known.
    pub(super) fn of(facts: RecordContext, finished: FinishedDispatch) -> Self {
        Self {
            facts,
            finished,
            process: None,
            alarms: Vec::new(),
            denied_by: None,
            canary: false,
            took: Duration::ZERO,
            settings: DispatchSettings::default(),
        }
    }

    /// Returns the event, with all input changes.
    pub(super) fn event(&self) -> &Event {
        &self.finished.event
    }

    /// Builds the record, and keeps the rest.
    pub(super) fn into_dispatched(self, payload: Payload) -> DispatchedEvent {
        let exchange = Exchange { payload: Some(payload), ..Exchange::default() };
        let (verdict, settings) = (self.finished.verdict.clone(), self.settings.clone());
        let (record, event) = record::build(self, exchange);
        DispatchedEvent { verdict, record: Box::new(record), event, settings }
    }
}

/// An event that went through its hooks.
#[derive(Clone, Debug)]
pub struct DispatchedEvent {
    /// The verdict.
    pub verdict: Verdict,
    /// What the journal gets. It is large and moved often.
    pub record: Box<Record>,
    /// The event, with all input changes, and the project root its hooks came from.
    pub event: Event,
    /// The settings it was dispatched with.
    pub settings: DispatchSettings,
}

impl Engine {
    /// Begins the dispatch of an event for a custom driver: remembers what it says about its
    /// session, and finds the hooks it triggers.
    ///
    /// The driver plans ([`crate::plan::DispatchPlan::new`]), runs the
    /// [`crate::dispatch::Dispatch`] to its end and passes the result to [`Self::close`].
    pub fn open(&self, event: &mut Event) -> OpenedEvent {
        // Hooks that the driver adds may change what others match, so none of them can be skipped.
        self.open_one(event, IncomingEvent::default(), false, is_heard(&event.kind))
    }

    /// Finishes a dispatch that [`Self::open`] began: caps a stop gate, raises alarms, builds the
    /// record.
    pub fn close(
        &self,
        host: &dyn Host,
        opened: OpenedEvent,
        finished: FinishedDispatch,
        payload: Payload,
    ) -> DispatchedEvent {
        self.close_one(host, opened, finished).into_dispatched(payload)
    }

    pub(super) fn open_one(
        &self,
        event: &mut Event,
        incoming: IncomingEvent<'_>,
        by_index: bool,
        can_tell: bool,
    ) -> OpenedEvent {
        let (began, at) = (Instant::now(), now());
        let IncomingEvent { part, agent_id, partial, settings, payload: _ } = incoming;
        let session = self.session(event);
        let mut trouble = None;
        let mut counted = Object::new();
        if let Some(session) = &session {
            let state = self.places.state.as_deref();
            trouble = remember(session, event, &mut counted, state).err();
        }
        // An event that was decoded in part already has its place filled in.
        let named =
            partial.as_ref().map_or(&event.project_dir, |partial| &partial.hooks.roots().named);
        let named = named.clone();
        let roots = self.roots(event, named, session.as_ref(), &mut trouble);
        self.set_place(event, roots.pinned.as_deref());
        let (hooks, told) = partial.map(|partial| (partial.hooks, partial.about)).unzip();
        let mut hooks =
            hooks.filter(|hooks: &EventHooks| *hooks.roots() == roots).unwrap_or_else(|| {
                self.find_hooks(roots, event, by_index, &OnceCell::new(), &settings)
            });
        let mut alarms = Vec::new();
        if let Some(session) = &session {
            match self.check_guards(session, &hooks, event, can_tell) {
                Ok(checked) => {
                    self.add_remembered(&mut hooks, event, checked.remembered);
                    alarms = checked.alarms;
                }
                Err(error) => trouble = trouble.or(Some(error)),
            }
        }
        let facts = RecordContext {
            id: new_id(),
            at,
            about: told.unwrap_or_else(|| summary(event, &[])),
            counted,
            call: CallId::of(event),
            agent_id: agent_id.map(str::to_owned),
        };
        OpenedEvent { hooks, facts, settings, began, session, trouble, part, alarms }
    }

    pub(super) fn close_one(
        &self,
        host: &dyn Host,
        opened: OpenedEvent,
        mut finished: FinishedDispatch,
    ) -> ClosedEvent {
        let OpenedEvent { hooks, facts, settings, began, session, mut trouble, part, alarms } =
            opened;
        finished.verdict.id = Some(facts.id.clone());
        if finished.event.kind == EventKind::BeforeStop && finished.verdict.is_block() {
            let cap = settings.get(&self.places, hooks.root.as_deref()).stop_cap;
            let cap = host.stop_cap().map_or(cap, |host| host.min(cap));
            cap_stop(&mut finished.verdict, session.as_ref(), cap, &mut trouble);
        }
        if let Some(state) = &self.places.state {
            finished.runs.iter().for_each(|run| failure_streak::remember(state, run));
        }
        finished.verdict.warnings.extend(unknown_event(&finished.event));
        finished.verdict.warnings.extend(hooks.installed.notes.iter().cloned());
        // A patch is one call, and one event per file. If we are killed before this point, the call
        // counts as not asked about.
        if let (Some(session), EventKind::BeforeTool, PayloadPart::First) =
            (&session, &finished.event.kind, part)
        {
            trouble = trouble.or(facts.call.count(session, &finished).err());
        }
        if let Some(error) = trouble {
            finished.verdict.warnings.push(format!("cannot save session state: {error}"));
        }
        let state = self.places.state.as_deref();
        let canary = state.is_some_and(|state| canary::is_one(state, &finished));
        let took = began.elapsed();
        let mut closed =
            ClosedEvent { alarms, canary, took, settings, ..ClosedEvent::of(facts, finished) };
        self.raise_alarms(host, session.as_ref(), &mut closed, part);
        closed.process = self.agent_process(host, closed.event(), part);
        closed
    }

    /// Returns the agent's process, where a session or a turn begins.
    fn agent_process(
        &self,
        host: &dyn Host,
        event: &Event,
        part: PayloadPart,
    ) -> Option<ProcessName> {
        let begins = matches!(event.kind, EventKind::SessionStart | EventKind::BeforeAgent);
        let is_told = self.names_agent && begins && part == PayloadPart::First;
        if is_told { process_name::of_agent(host.process_names()) } else { None }
    }
}

/// Warns about an event with an unknown name, which therefore triggered no hook.
fn unknown_event(event: &Event) -> Option<String> {
    let EventKind::Other(name) = &event.kind else { return None };
    let hint = match EventKind::slip_of(name) {
        Some(meant) if meant == name => "it is an event of another agent".to_owned(),
        Some(meant) => format!("did you mean `{meant}`?"),
        None if event.doubt == Some(CallDoubt::UnknownEvent) => {
            "it carries a tool call that no hook has checked".to_owned()
        }
        None => return None,
    };
    Some(format!("unknown event `{}`, so no hook ran: {hint}", shorten(name, 100)))
}
