//! Raises alarms: calls that bypassed a guard, and guards that are off.

use anyhook_model::json::shorten;
use anyhook_model::report::RanAnyway;
use anyhook_model::{Alarm, AlarmKind, Event, EventKind, Host, RecordId};

use super::Engine;
use super::event::PayloadPart;
use super::open_close::ClosedEvent;
use crate::alarms;
use crate::redact::without_secrets;
use crate::session::Session;
use crate::summary::SUMMARY_LIMIT;

impl Engine {
    /// Reports what bypassed a guard: immediately, and for calls that ran, again when the next
    /// session starts.
    ///
    /// A host without a channel to the person tells the model, which is not expected to keep it to
    /// itself.
    pub(super) fn raise_alarms(
        &self,
        host: &dyn Host,
        session: Option<&Session>,
        closed: &mut ClosedEvent,
        part: PayloadPart,
    ) {
        if let Some(state) = self.places.state.as_ref().filter(|_| part == PayloadPart::First) {
            let kind = &closed.event().kind;
            // Where no person would see them, they are kept for a session in which one does.
            if *kind == EventKind::SessionStart && host.can_warn(kind) {
                closed.alarms.extend(alarms::take(state));
            }
            if let Some(alarm) = session.and_then(|session| call_alarm(session, closed)) {
                // `verify` and `doctor` find it in the journal in any case.
                let _ = alarms::raise(state, &alarm);
                closed.alarms.push(alarm);
            }
        }
        let starts = closed.event().kind == EventKind::SessionStart;
        let verdict = &mut closed.finished.verdict;
        for alarm in &closed.alarms {
            // Hooks that are off are the person's to fix, where they can be told.
            if alarm.kind != AlarmKind::HooksOff || !starts {
                verdict.add_context(Some(alarm.text.clone()));
            }
            verdict.warnings.push(alarm.text.clone());
        }
    }
}

/// Returns whether a message at an event of this host reaches a person or the model.
pub(super) fn can_tell(host: &dyn Host, kind: &EventKind) -> bool {
    is_heard(kind) && host.can_warn(kind)
}

/// Returns whether an event is one at which agents accept messages.
pub(super) fn is_heard(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::SessionStart
            | EventKind::BeforeAgent
            | EventKind::BeforeTool
            | EventKind::AfterTool
            | EventKind::AfterToolFailure
    )
}

/// Returns the alarm about the call of an event, if there is one: it ran although it was denied, or
/// although no hook was asked. Records the denial.
fn call_alarm(session: &Session, closed: &mut ClosedEvent) -> Option<Alarm> {
    let (event, facts) = (&closed.finished.event, &closed.facts);
    if !matches!(event.kind, EventKind::AfterTool | EventKind::AfterToolFailure) {
        return None;
    }
    let calls = [&facts.call.call, &facts.call.digest].into_iter().flatten();
    let denied = calls.into_iter().find_map(|call| session.denied_by(call));
    let about = || facts.about.clone().map(|about| shorten(&without_secrets(about), SUMMARY_LIMIT));
    if let Some(denied) = denied.filter(|_| event.kind == EventKind::AfterTool) {
        let denied = RecordId::from_text(denied);
        let alarm = alarms::ran_anyway(&RanAnyway {
            denied: denied.clone(),
            ran: facts.id.clone(),
            at: facts.at,
            host: event.host.clone(),
            session: event.session.clone(),
            tool: event.tool.as_ref().map(|tool| tool.name.clone()),
            about: about(),
        });
        closed.denied_by = Some(denied);
        return Some(alarm);
    }
    let call = facts.call.call.as_deref().filter(|_| is_known_before(event))?;
    if session.was_asked(call) != Some(false) {
        return None;
    }
    let tool = event.tool.as_ref().map_or("", |tool| &tool.name);
    let what = format!("{tool} {}", about().unwrap_or_default());
    Some(alarms::ran_unasked(&event.host, what.trim(), &facts.id))
}

/// Returns whether a call that ran has the same identity as when it was asked about.
fn is_known_before(event: &Event) -> bool {
    let Some(tool) = &event.tool else { return false };
    // Without an id, it is identified by its input: a person may have edited what is written to a
    // file, and a call that follows from another one's result is not the model's.
    tool.use_id.is_some()
        || (tool.name == "Shell"
            && tool.input.is_object()
            && !event.raw.contains_key("original_request_name"))
}
