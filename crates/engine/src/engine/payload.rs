//! Dispatches one payload of a host: its events one after another, and one reply to all of them.

use std::mem;
use std::time::{Duration, Instant};

use anyhook_model::event::CallDoubt;
use anyhook_model::{Caller, Effect, EventKind, Host, Reply, Verdict};

use super::Engine;
use super::decode::DecodedPayload;
use super::event::{IncomingEvent, PayloadPart};
use super::open_close::ClosedEvent;
use super::record::{Exchange, told};
use crate::dispatch::AgentPayload;
use crate::settings::DispatchSettings;

impl Engine {
    /// Answers a host's payload. Every path ends in a reply.
    ///
    /// An owned payload goes into the journal as it is; a borrowed one is copied.
    pub fn dispatch(
        &self,
        host: &dyn Host,
        payload: impl Into<Vec<u8>>,
        caller: &Caller,
        deadline: Option<Duration>,
    ) -> Reply {
        let payload: Vec<u8> = payload.into();
        let began = Instant::now();
        let left = || deadline.map(|deadline| deadline.saturating_sub(began.elapsed()));
        let mut settings = DispatchSettings::default();
        let decoded = match self.decode(host, &payload, caller, &settings) {
            Ok(decoded) => decoded,
            Err(error) => return self.refuse(host, &error, &payload, caller),
        };
        let first = decoded.events.first();
        if let Some(event) = first.filter(|event| event.doubt == Some(CallDoubt::UnknownEvent))
            && let Some(reply) = self.refuse_unknown(host, event, &payload)
        {
            return reply;
        }
        if let (Some(tell), Some(event)) = (self.tell_kind, first) {
            tell(&event.kind);
        }
        if let Some(event) = first
            && let Some(reply) = self.drop_double(host, event, caller)
        {
            return reply;
        }
        let is_one_call = decoded.events.iter().filter(|event| event.tool.is_some()).count() > 1;
        let (mut verdict, mut closed) =
            self.dispatch_all(host, decoded, &payload, caller, left, &mut settings);
        if is_one_call && verdict.effect == Some(Effect::Allow) && !all_allowed(&closed) {
            // Allowed is only what every hook was asked about: one file of a patch does not allow
            // the rest.
            verdict.effect = None;
            verdict.reason = None;
            verdict.by = None;
        }
        let answered =
            self.request_approval(host, &mut closed, is_one_call, &mut verdict, left(), &settings);
        let Some(first) = closed.first() else { return Reply::default() };
        let lost = self.decide_unasked(host, first.event(), &mut verdict, &settings);
        let mut reply = host.encode(first.event(), &verdict);
        reply.lost.extend(lost);
        reply.blocks = verdict.is_block() && reply.lost.iter().all(|lost| lost.what != "deny");
        self.remember_call_id(first.event(), &first.facts.call, &first.facts.id, &verdict);
        let (kind, root) = (first.event().kind.clone(), first.event().project_dir.clone());
        let exchange = Exchange {
            payload: Some(payload.into()),
            answered,
            lost: reply.lost.clone(),
            reply: Some(told(&reply)),
            ..Exchange::default()
        };
        let journal = settings.journal(&self.places, root.as_deref());
        match self.journal_payload(closed, exchange, journal, &mut reply) {
            Err(error) if !reply.blocks => self.refuse_blind(host, &kind, &error).unwrap_or(reply),
            _ => reply,
        }
    }

    /// Dispatches the events of a payload until one is blocked. Returns the combined result, and
    /// each event's own.
    fn dispatch_all(
        &self,
        host: &dyn Host,
        decoded: DecodedPayload,
        payload: &[u8],
        caller: &Caller,
        left: impl Fn() -> Option<Duration>,
        settings: &mut DispatchSettings,
    ) -> (Verdict, Vec<ClosedEvent>) {
        let DecodedPayload { events, mut partial } = decoded;
        let mut verdict = Verdict::default();
        let mut closed: Vec<ClosedEvent> = Vec::with_capacity(events.len());
        // The hooks that ran; needed only if there is a further event.
        let mut ran: Vec<String> = Vec::new();
        let last = events.len().saturating_sub(1);
        for (index, event) in events.into_iter().enumerate() {
            let (part, payload) = match index {
                0 => (PayloadPart::First, AgentPayload::Of(payload)),
                _ => (PayloadPart::Further, AgentPayload::Further { payload, ran: &ran }),
            };
            let only_told = part == PayloadPart::Further
                && matches!(
                    event.kind,
                    EventKind::AfterAgent | EventKind::AfterStop | EventKind::Notification
                );
            let incoming = IncomingEvent {
                part,
                agent_id: caller.agent_id.as_deref(),
                payload,
                partial: partial.take(),
                settings: mem::take(settings),
            };
            let mut one = self.dispatch_one(host, event, left(), incoming);
            *settings = mem::take(&mut one.settings);
            let mut own = one.finished.verdict.clone();
            if only_told {
                report_only(&mut own);
            }
            if verdict.id.is_none() {
                verdict.id.clone_from(&own.id);
            }
            verdict.join(own);
            if index < last {
                ran.extend(one.finished.runs.iter().map(|run| run.folder.clone()));
            }
            closed.push(one);
            if verdict.is_block() {
                break;
            }
        }
        (verdict, closed)
    }
}

/// Returns whether each call of a payload was allowed by its own hooks.
fn all_allowed(closed: &[ClosedEvent]) -> bool {
    let mut calls = closed.iter().filter(|one| one.event().tool.is_some());
    calls.all(|call| call.finished.verdict.effect == Some(Effect::Allow))
}

/// Clears the effect of a verdict on something that has already happened: the stop it follows
/// stands.
fn report_only(verdict: &mut Verdict) {
    if verdict.effect.take() == Some(Effect::Deny) {
        let by = verdict.by.take().unwrap_or_default();
        let reason = verdict.reason.take().unwrap_or_default();
        verdict.warnings.push(format!("{by}: {reason}"));
    }
}
