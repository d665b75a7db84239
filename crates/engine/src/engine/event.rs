//! Dispatches one event through its hooks.

use std::ffi::OsString;
use std::time::Duration;

use anyhook_model::agent_directives::AgentDirectives;
use anyhook_model::event::CallDoubt;
use anyhook_model::{Effect, Event, Host, Mode, Payload, Spelling};

use super::decode::Partial;
use super::open_close::{ClosedEvent, DispatchedEvent};
use super::raise_alarms::can_tell;
use super::{Engine, EventHooks};
use crate::agent_directives;
use crate::discover::InstalledHooks;
use crate::dispatch::{AgentPayload, Dispatch, DispatchStep, FinishedDispatch, RunResult};
use crate::plan::DispatchPlan;
use crate::settings::DispatchSettings;

/// Which event of a payload this is: some payloads are several events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum PayloadPart {
    #[default]
    First,
    Further,
}

/// The inputs that accompany an event.
#[derive(Debug, Default)]
pub(super) struct IncomingEvent<'caller> {
    pub(super) part: PayloadPart,
    /// The id the agent was given by the program that started it.
    pub(super) agent_id: Option<&'caller str>,
    /// The payload it came in.
    pub(super) payload: AgentPayload<'caller>,
    /// What was found out while decoding it.
    pub(super) partial: Option<Partial>,
    /// The settings, as far as they were read for the same payload.
    pub(super) settings: DispatchSettings,
}

impl Engine {
    /// Sends one event through its hooks, using what the session remembers. Does not journal; the
    /// record has the event as its payload.
    pub fn dispatch_event(
        &self,
        host: &dyn Host,
        event: Event,
        deadline: Option<Duration>,
    ) -> DispatchedEvent {
        let payload = Payload::from(event.to_json(Spelling::Canonical));
        self.dispatch_one(host, event, deadline, IncomingEvent::default()).into_dispatched(payload)
    }

    /// Sends one event of a payload through its hooks.
    pub(super) fn dispatch_one(
        &self,
        host: &dyn Host,
        mut event: Event,
        deadline: Option<Duration>,
        incoming: IncomingEvent<'_>,
    ) -> ClosedEvent {
        // Where it is not certain what is called, every guard is needed.
        let by_index = self.by_index && event.doubt.is_none();
        let can_tell = can_tell(host, &event.kind);
        let (agent_id, payload) = (incoming.agent_id, incoming.payload);
        let opened = self.open_one(&mut event, incoming, by_index, can_tell);
        let plan = DispatchPlan::new(&opened.hooks.installed, &event);
        let left = || deadline.map(|deadline| deadline.saturating_sub(opened.began.elapsed()));
        let dispatch = Dispatch::new(host, plan, event).with_payload(payload);
        let mut finished = dispatch.drive(|step| match step {
            DispatchStep::Run(due) => self.run(due, left(), &[]),
            DispatchStep::Detach(due) => self.detach(due, &opened),
            DispatchStep::Done => RunResult::not_started("already finished"),
        });
        deny_doubtful(&opened.hooks, &mut finished);
        if agent_directives::may_hold(&finished.event, &finished.verdict)
            && let Some(instructions) = self.instructions(agent_id)
        {
            agent_directives::hold(instructions, &finished.event, &mut finished.verdict);
        }
        self.close_one(host, opened, finished)
    }

    /// Runs only these hooks, waiting even for async ones; nothing is remembered or journaled.
    pub fn run_only(
        &self,
        host: &dyn Host,
        installed: &InstalledHooks,
        mut event: Event,
        environment: &[(OsString, OsString)],
    ) -> FinishedDispatch {
        if event.home.is_none() {
            event.home.clone_from(&self.places.home);
        }
        Dispatch::new(host, DispatchPlan::new(installed, &event), event).drive(|step| match step {
            DispatchStep::Run(due) | DispatchStep::Detach(due) => self.run(due, None, environment),
            DispatchStep::Done => RunResult::not_started("already finished"),
        })
    }

    /// Reads the daemon's directives for this agent's hook processes; `None` without an id.
    pub(super) fn instructions(&self, agent_id: Option<&str>) -> Option<AgentDirectives> {
        agent_directives::read(self.places.state.as_deref()?, agent_id?)
    }
}

/// Denies a call that a guard did not see as it is: a guard that blocks on failure must not be
/// bypassed.
fn deny_doubtful(hooks: &EventHooks, finished: &mut FinishedDispatch) {
    let event = &finished.event;
    let Some(doubt) = event.doubt.filter(|_| event.kind.takes_input_change()) else { return };
    if finished.verdict.is_block() {
        return;
    }
    let plan = DispatchPlan::new(&hooks.installed, event);
    let guard = plan.steps.iter().find(|step| {
        let definition = &step.hook.definition;
        let decides = definition.mode == Mode::Enforce && !definition.is_async;
        // A guard that matched the call although it has no name has decided on it.
        let was_passed = doubt != CallDoubt::Unnamed || step.mismatch(event).is_some();
        decides && step.hook.blocks_on_failure() && was_passed
    });
    if let Some(guard) = guard {
        let name = guard.hook.name();
        finished.verdict.effect = Some(Effect::Deny);
        finished.verdict.reason = Some(format!(
            "{doubt}, so hook {name} could not check the call, and it blocks on failure"
        ));
        finished.verdict.by = Some(name.to_owned());
        finished.verdict.input = None;
        finished.verdict.native_input = None;
    }
}
