//! The monitor of the agent that works on a step of a pipeline: decides which reactions are due.
//!
//! The [agent registry](crate::agents) weighs what sources report; the monitor decides what follows
//! from it. Every action is taken once per rest, and everything that is not done has a reason.

use std::collections::BTreeSet;

use anyhook_model::{BusEvent, ProcessName};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::agents::{Agent, Agents, Applied};
use anyhook_model::reaction::Reactions;

mod action;
mod decide;
mod gate;
mod signal;
mod tally;
mod visit;

pub use action::{DecisionSubject, IgnoreReason, MonitorAction, Ticket};
use visit::MonitoredVisit;

/// The result of an event: the actions to take, in order, or why it is ignored. An event that only
/// updates what is known has no actions.
pub type MonitorResult = Result<Vec<MonitorAction>, IgnoreReason>;

/// Watches the agents of one pipeline, one after the other.
///
/// It receives everything and does nothing itself: its owner carries out the
/// [actions](MonitorAction) and reports their results.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Monitor {
    /// Whether the pipeline is over.
    ended: bool,
    /// Number of visits, including the current one.
    visits: u32,
    /// The agents of steps that are over.
    former: BTreeSet<String>,
    /// The step an agent works on.
    visit: Option<MonitoredVisit>,
}

impl Monitor {
    /// An agent begins to work on a step; anything open about the previous one is closed.
    pub fn enter(&mut self, agent: &str, reactions: Reactions, now: Timestamp) -> MonitorResult {
        if self.ended {
            return Err(IgnoreReason::Ended);
        }
        let left = self.leave();
        self.visits += 1;
        self.former.remove(agent);
        self.visit = Some(MonitoredVisit::new(self.visits, agent, reactions, now));
        Ok(left)
    }

    /// The agent's process was started, or restarted after [`MonitorAction::Recover`]: reports
    /// older than `now` are about the previous process.
    pub fn started(&mut self, process: Option<ProcessName>, now: Timestamp) {
        if let Some(visit) = &mut self.visit {
            visit.started(process, now);
        }
    }

    /// The step ended for another reason than what its agent did.
    pub fn step_over(&mut self) -> MonitorResult {
        Ok(self.leave())
    }

    /// The pipeline is over: completed, failed or cancelled.
    pub fn end(&mut self) -> MonitorResult {
        let left = self.leave();
        self.ended = true;
        Ok(left)
    }

    /// Handles an event, after `agents` has applied it and returned the effect.
    pub fn hear(
        &mut self,
        event: &BusEvent,
        agents: &Agents,
        heard: Applied,
        now: Timestamp,
    ) -> MonitorResult {
        let Some(report) = event.report() else {
            return Err(IgnoreReason::NoAgent);
        };
        let is_current = self.visit.as_ref().is_some_and(|visit| visit.agent == report.agent);
        let (false, Some(agent)) =
            (!is_current && !self.former.contains(&report.agent), agents.get(&report.agent))
        else {
            return Err(IgnoreReason::UnknownAgent);
        };
        if self.ended {
            return Err(IgnoreReason::Ended);
        }
        if !is_current {
            return Err(IgnoreReason::Stale);
        }
        self.react(|visit| visit.hear(event, report, agent, heard, now))
    }

    /// A timer fired; see [`MonitorAction::WaitUntil`].
    pub fn timer_fired(&mut self, agents: &Agents, now: Timestamp) -> MonitorResult {
        self.react_to(agents, |visit, agent| visit.timer_fired(agent, now))
    }

    /// A gate ended with an exit code, or without one if it was killed; see
    /// [`MonitorAction::RunGate`].
    pub fn gate_ended(
        &mut self,
        agents: &Agents,
        gate: Ticket,
        exit: Option<i32>,
        output: &str,
        now: Timestamp,
    ) -> MonitorResult {
        self.react_to(agents, |visit, agent| visit.gate_ended(agent, gate, exit, output, now))
    }

    /// A person chose an option, perhaps with a message; see [`MonitorAction::Escalate`].
    pub fn decided(
        &mut self,
        agents: &Agents,
        decision: Ticket,
        choice: &str,
        message: Option<&str>,
        now: Timestamp,
    ) -> MonitorResult {
        self.react_to(agents, |visit, agent| visit.decided(agent, decision, choice, message, now))
    }

    /// No one chose, and no one will: the decision is closed.
    pub fn given_up(&mut self, agents: &Agents, decision: Ticket, now: Timestamp) -> MonitorResult {
        self.react_to(agents, |visit, agent| visit.given_up(agent, decision, now))
    }

    /// Returns whether a nudge may be typed right now: call it just before typing.
    pub fn may_nudge(&self, agents: &Agents, rest: u64) -> Result<(), IgnoreReason> {
        let visit = match &self.visit {
            _ if self.ended => return Err(IgnoreReason::Ended),
            None => return Err(IgnoreReason::Stale),
            Some(visit) => visit,
        };
        visit.may_nudge(agents.get(&visit.agent), rest)
    }

    /// Returns whether the pipeline is over.
    pub fn is_ended(&self) -> bool {
        self.ended
    }

    /// Returns the agent that works on the step.
    pub fn agent(&self) -> Option<&str> {
        self.visit.as_ref().map(|visit| visit.agent.as_str())
    }

    /// Returns the open decision: the step waits for a person.
    pub fn waits_for(&self) -> Option<Ticket> {
        self.visit.as_ref().and_then(MonitoredVisit::open_decision)
    }

    /// Returns whether an open decision is about a prompt of the agent.
    pub fn asks_about_prompt(&self, decision: Ticket) -> bool {
        self.visit.as_ref().is_some_and(|visit| visit.asks_about_prompt(decision))
    }

    /// Returns when the pending timer fires, so that it can be set again.
    pub fn waits_until(&self) -> Option<Timestamp> {
        self.visit.as_ref().and_then(MonitoredVisit::waits_until)
    }

    /// Returns the message for an agent that wants to stop, while its stop is held.
    pub fn holds_stop(&self) -> Option<String> {
        self.visit.as_ref().and_then(MonitoredVisit::holds_stop)
    }

    fn react_to(
        &mut self,
        agents: &Agents,
        act: impl FnOnce(&mut MonitoredVisit, Option<&Agent>) -> MonitorResult,
    ) -> MonitorResult {
        if self.ended {
            return Err(IgnoreReason::Ended);
        }
        self.react(|visit| {
            let agent = agents.get(&visit.agent);
            act(visit, agent)
        })
    }

    fn react(&mut self, act: impl FnOnce(&mut MonitoredVisit) -> MonitorResult) -> MonitorResult {
        let Some(visit) = &mut self.visit else { return Err(IgnoreReason::Stale) };
        let answer = act(visit);
        if let Ok(actions) = &answer
            && actions.iter().any(MonitorAction::ends_step)
        {
            self.leave();
        }
        answer
    }

    /// Leaves the step; returns the actions that close what is open.
    fn leave(&mut self) -> Vec<MonitorAction> {
        let Some(mut visit) = self.visit.take() else { return Vec::new() };
        let closed = visit.dismiss();
        self.former.insert(visit.agent);
        closed
    }
}

#[cfg(test)]
#[expect(unused_must_use, reason = "what sets the stage for a test may come to anything")]
mod tests;
