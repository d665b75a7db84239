//! Applies an event to its session and the session to the event: counts turns and steps, and keeps
//! the guards that the session began with in effect.

use std::io;
use std::path::Path;
use std::time::SystemTime;

use anyhook_model::json::Object;
use anyhook_model::{Event, EventKind};
use serde_json::Value;

use super::{Engine, EventHooks, now};
use crate::announce;
use crate::discover::{HookStatus, InstalledHooks, ReadDepth};
use crate::failure_streak;
use crate::guard_marker;
use crate::hook::Hook;
use crate::index;
use crate::session::{self, Session};
use crate::session_guards::{self, GuardCheck};

impl Engine {
    /// Returns the session of an event, if it names one and there is a place to remember it.
    pub(super) fn session(&self, event: &Event) -> Option<Session> {
        let state = self.places.state.as_deref()?;
        let id = event.session.as_deref()?;
        Some(match &event.foreign_entry {
            None => Session::new(state, &event.host, id),
            Some(entry) => Session::of_foreign_entry(state, entry, id),
        })
    }

    /// Compares the hooks of an event with those its session began with.
    pub(super) fn check_guards(
        &self,
        session: &Session,
        hooks: &EventHooks,
        event: &Event,
        can_tell: bool,
    ) -> io::Result<GuardCheck> {
        let Some(state) = self.places.state.as_deref() else { return Ok(GuardCheck::default()) };
        let find = || {
            if hooks.is_by_index() { self.all_hooks(hooks, event) } else { hooks.installed.clone() }
        };
        let scene = session_guards::GuardContext {
            state,
            folder: session.folder(),
            root: hooks.root.as_deref(),
            stamp: self.stamp(hooks, state),
            can_tell,
            now: now(),
        };
        session_guards::check(&scene, find, |installed| announce::hooks_off(installed, state))
    }

    /// Adds guards that decide as their session remembers them.
    pub(super) fn add_remembered(
        &self,
        hooks: &mut EventHooks,
        event: &Event,
        remembered: Vec<Hook>,
    ) {
        let is_due = |hook: &Hook| hook.definition.spelling_of(&event.kind).is_some();
        if !remembered.iter().any(is_due) {
            return;
        }
        if hooks.is_by_index() {
            // What one of them changes, another hook may match, so all of them are needed.
            let installed = self.all_hooks(hooks, event);
            hooks.replace(installed);
        }
        let hooks = &mut hooks.installed.hooks;
        for hook in remembered.into_iter().filter(is_due) {
            if hooks.iter().any(|standing| standing.hook.name() == hook.name()) {
                continue;
            }
            let before = |standing: &HookStatus| {
                standing.hook.definition.priority >= hook.definition.priority
            };
            let place = hooks.iter().take_while(|standing| before(standing)).count();
            hooks.insert(place, HookStatus { hook, out: None });
        }
    }

    /// Returns whether guards may decide on an event that are not among the hooks it triggers:
    /// those its session remembers.
    pub(super) fn may_be_remembered(&self, event: &Event, hooks: &EventHooks) -> bool {
        let (Some(session), Some(state)) = (self.session(event), &self.places.state) else {
            return false;
        };
        session_guards::may_differ(session.folder(), self.stamp(hooks, state))
    }

    fn all_hooks(&self, hooks: &EventHooks, event: &Event) -> InstalledHooks {
        InstalledHooks::find_in(&self.places, hooks.roots(), &event.work_dir, ReadDepth::WhatMayRun)
    }
}

/// Remembers what an event says about its session, and fills in what only we can count.
pub(super) fn remember(
    session: &Session,
    event: &mut Event,
    counted: &mut Object,
    state: Option<&Path>,
) -> io::Result<()> {
    // A blocked stop that the host sends back as a prompt is not a person's prompt. Anyone can end
    // a prompt with our mark, so the id must be one by which this session blocked a stop.
    if event.kind == EventKind::BeforeAgent
        && event.repeats.as_deref().is_some_and(|id| session.has_blocked_stop(id))
    {
        event.kind = EventKind::Other("continuation".to_owned());
    }
    let written = (|| {
        session.started(event.at)?;
        match event.kind {
            EventKind::SessionStart => {
                if let Some(state) = state {
                    session::forget_old(state, SystemTime::now());
                    index::forget_old(state, SystemTime::now());
                    failure_streak::forget_old(state, SystemTime::now());
                    guard_marker::forget_gone(state);
                }
                session.begin_turn()
            }
            // A subagent's prompt is part of the turn that started it.
            EventKind::BeforeAgent if event.agent.is_none() => session.begin_turn(),
            _ => Ok(()),
        }
    })();
    let mut fill = |name: &str, value: Option<Value>| {
        if let Some(value) = value.filter(|_| event.data.get(name).is_none_or(Value::is_null)) {
            counted.insert(name.to_owned(), value.clone());
            event.data.insert(name.to_owned(), value);
        }
    };
    match event.kind {
        EventKind::BeforeStop | EventKind::AfterStop => {
            fill("step_count", Some(session.steps_in_turn().into()));
        }
        EventKind::SessionEnd => {
            fill("total_steps", Some(session.total_steps().into()));
            let seconds = session.start().map(|start| event.at.duration_since(start).as_secs());
            fill("duration_seconds", seconds.map(Value::from));
        }
        _ => {}
    }
    written
}
