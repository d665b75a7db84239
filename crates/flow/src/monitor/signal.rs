//! Agent signals about its own work, and stops that are held until the agent signals.

use anyhook_model::bus::{AgentSignal, SignalKind};
use jiff::Timestamp;

use super::visit::MonitoredVisit;
use super::{DecisionSubject, IgnoreReason, MonitorAction, MonitorResult};
use crate::agents::Agent;
use anyhook_model::reaction::{Trigger, Verb};

/// The message for an agent whose stop is held.
const HELD: &str = "Before you stop, report your status: run `anyhook emit agent:signal complete`, \
    or `escalate` if you need a person.";

/// The question for a person about an agent that stops.
const STOPS: &str = "the agent wants to stop without reporting that it is done";

impl MonitoredVisit {
    pub(super) fn hear_signal(&mut self, signal: &AgentSignal, agent: &Agent) -> MonitorResult {
        let message = signal.message.as_deref();
        match signal.kind {
            SignalKind::Complete => {
                let mut actions = self.dismiss();
                let why = message.unwrap_or("the agent reported that it is done").to_owned();
                actions.push(MonitorAction::Advance { why });
                Ok(actions)
            }
            SignalKind::Escalate => {
                let question = message.unwrap_or("the agent asks for help");
                if self.signal.is_some() && self.asks(question) {
                    return Err(IgnoreReason::Duplicate);
                }
                let actions = self.escalate(DecisionSubject::Signal, question.to_owned(), agent);
                self.signal = Some(SignalKind::Escalate);
                Ok(actions)
            }
            SignalKind::Continue => {
                self.tallies.start_anew();
                Ok(Vec::new())
            }
        }
    }

    /// The agent wanted to stop.
    pub(super) fn hear_stop(&mut self, agent: &Agent, now: Timestamp) -> MonitorResult {
        let action = self.reactions.on_stop.clone();
        match action.verb {
            Verb::Idle => return Ok(Vec::new()),
            Verb::Signal if self.signal.is_some() => return Err(IgnoreReason::SignalStored),
            Verb::Signal if self.may_hold() => {
                self.tallies.count(Trigger::OnStop, 0, &action, now);
                return Ok(vec![MonitorAction::BlockStop { message: action.say(HELD) }]);
            }
            _ => self.guard()?,
        }
        let question = match action.verb {
            Verb::Escalate => action.say(STOPS),
            _ => STOPS.to_owned(),
        };
        Ok(self.escalate(DecisionSubject::Stop, question, agent))
    }

    pub(super) fn holds_stop(&self) -> Option<String> {
        let action = &self.reactions.on_stop;
        let holds = action.verb == Verb::Signal && self.signal.is_none() && self.may_hold();
        holds.then(|| action.say(HELD))
    }

    fn may_hold(&self) -> bool {
        self.reactions.on_stop.attempts().allow(self.tallies.done(Trigger::OnStop, 0))
    }
}
