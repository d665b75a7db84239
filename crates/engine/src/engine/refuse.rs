//! Refuses payloads that no hook can be asked about, where a guard is installed.
//!
//! A truncated payload is still decoded as far as possible. This is for what cannot be read at all:
//! a guard that did not see a call must not let it pass.

use std::io;

use anyhook_model::json::shorten;
use anyhook_model::{
    Caller, DecodeError, Effect, Event, EventKind, Host, Mode, OpenFormat, Payload, Reply, Verdict,
    exit_code,
};
use rustix::io::Errno;

use super::Engine;
use super::open_close::{ClosedEvent, RecordContext};
use super::record::{Exchange, told};
use crate::discover::{HookStatus, ReadDepth};
use crate::dispatch::FinishedDispatch;
use crate::guard_marker;
use crate::settings::DispatchSettings;

impl Engine {
    /// Answers a payload that could not be read, and journals it.
    pub fn refuse(
        &self,
        host: &dyn Host,
        error: &DecodeError,
        payload: &[u8],
        caller: &Caller,
    ) -> Reply {
        let kind = EventKind::Other("unreadable".to_owned());
        let mut event = Event::new(kind, host.id(), &caller.work_dir, caller.now);
        event.project_dir.clone_from(&caller.project_dir);
        let roots = self.unpinned(&event, event.project_dir.clone());
        let hooks = self.read_hooks(roots, &event.work_dir, ReadDepth::WhatMayRun);
        // A program that uses the open format is told what is wrong with an event, unless it may be
        // a call.
        let for_tools = host.id() == OpenFormat.id();
        let guarded = hooks.installed.hooks.iter().any(|standing| is_guard(standing, for_tools));
        event.project_dir = hooks.root;
        self.refuse_as(host, error, payload, event, guarded)
    }

    /// Refuses a tool call whose event has an unknown name, where a guard of tool calls is
    /// installed, since no guard is due at such an event.
    pub(super) fn refuse_unknown(
        &self,
        host: &dyn Host,
        event: &Event,
        payload: &[u8],
    ) -> Option<Reply> {
        let roots = self.known_roots(event);
        let hooks = self.read_hooks(roots, &event.work_dir, ReadDepth::WhatMayRun);
        if !hooks.installed.hooks.iter().any(|standing| is_guard(standing, true)) {
            return None;
        }
        let error = DecodeError::UnknownEvent(shorten(&event.kind.to_string(), 100));
        let mut refused = Event::new(event.kind.clone(), host.id(), &event.work_dir, event.at);
        refused.session.clone_from(&event.session);
        refused.project_dir = hooks.root;
        Some(self.refuse_as(host, &error, payload, refused, true))
    }

    /// Answers a payload that no hook was asked about, and journals it.
    fn refuse_as(
        &self,
        host: &dyn Host,
        error: &DecodeError,
        payload: &[u8],
        event: Event,
        guarded: bool,
    ) -> Reply {
        let mut reply = host.refuse(error, guarded);
        reply.blocks = guarded;
        let mut verdict = Verdict { warnings: vec![error.to_string()], ..Verdict::default() };
        verdict.effect = (reply.exit_code == exit_code::BLOCKED).then_some(Effect::Deny);
        let closed = ClosedEvent::of(
            RecordContext::begin(),
            FinishedDispatch { verdict, ..FinishedDispatch::of(event) },
        );
        let exchange = Exchange {
            payload: Some(Payload::new(payload)),
            lost: reply.lost.clone(),
            reply: Some(told(&reply)),
            ..Exchange::default()
        };
        let settings = DispatchSettings::default().journal(&self.places, None);
        let _ = self.journal_payload(vec![closed], exchange, settings, &mut reply);
        reply
    }

    /// Refuses a tool call where not a single file could be opened, so that no hook was found,
    /// although a guard is known to be installed.
    pub(super) fn refuse_blind(
        &self,
        host: &dyn Host,
        kind: &EventKind,
        error: &io::Error,
    ) -> Option<Reply> {
        let is_exhausted = [Errno::MFILE, Errno::NFILE]
            .iter()
            .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()));
        let is_tool_call = matches!(kind, EventKind::BeforeTool | EventKind::PermissionRequest);
        if !is_exhausted || !is_tool_call || !guard_marker::is_set(self.places.state.as_deref()?) {
            return None;
        }
        let why = "cannot be checked: too many open files (ulimit -n)";
        let mut reply = host.refuse(&DecodeError::NotTaken(why.to_owned()), true);
        reply.blocks = true;
        Some(reply)
    }
}

/// Returns whether a hook blocks what it cannot decide; `for_tools` restricts this to tool calls.
fn is_guard(standing: &HookStatus, for_tools: bool) -> bool {
    let hook = &standing.hook;
    let triggers = &hook.definition.triggers;
    let is_for_tools = || triggers.iter().any(|trigger| trigger.kind.takes_input_change());
    standing.out.is_none()
        && (!for_tools || is_for_tools())
        && hook.blocks_on_failure()
        && hook.definition.mode == Mode::Enforce
}
