//! Gates: commands that check whether the step is done.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::visit::{DueTrigger, MonitoredVisit};
use super::{DecisionSubject, IgnoreReason, MonitorAction, MonitorResult, Ticket};
use crate::agents::Agent;
use anyhook_model::reaction::{Action, Trigger};

/// Maximum length of a gate's output that is shown: the end of it, where the failure is.
const SHOWN: usize = 4_000;

/// A gate that is running, or has run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct GateRun {
    ticket: Ticket,
    due: DueTrigger,
    rule: usize,
}

impl GateRun {
    pub(super) fn new(ticket: Ticket, due: DueTrigger, rule: usize) -> Self {
        Self { ticket, due, rule }
    }
}

impl MonitoredVisit {
    pub(super) fn gate_ended(
        &mut self,
        agent: Option<&Agent>,
        ticket: Ticket,
        exit: Option<i32>,
        output: &str,
        now: Timestamp,
    ) -> MonitorResult {
        let Some(gate) = self.gate.take_if(|gate| gate.ticket == ticket) else {
            return Err(IgnoreReason::NoGate);
        };
        let Some(action) = self.gate_action(gate) else { return Err(IgnoreReason::NoGate) };
        let run = action.run.as_deref().unwrap_or_default();
        if exit == Some(0) {
            let mut actions = self.dismiss();
            actions.push(MonitorAction::Advance { why: format!("the gate `{run}` succeeded") });
            return Ok(actions);
        }
        let Some(agent) = agent else { return Err(IgnoreReason::UnknownAgent) };
        let is_over = self.due(agent) != Some(gate.due);
        // The agent continued in the meantime: what it does now may have waited for the gate.
        let actions = if is_over { self.catch_up(Some(agent), now) } else { Vec::new() };
        if !actions.is_empty() {
            return Ok(actions);
        }
        if self.decision.is_some() {
            return Err(IgnoreReason::Waiting);
        }
        if is_over {
            return Err(IgnoreReason::RestOver);
        }
        let how = exit.map_or("was killed".to_owned(), |code| format!("failed ({code})"));
        let own = match end_of(output).trim_end() {
            "" => format!("the gate `{run}` {how} without output"),
            end => format!("the gate `{run}` {how}:\n{end}"),
        };
        let actions = self.escalate(DecisionSubject::Gate, action.say(&own), agent);
        if let Some(decision) = &mut self.decision {
            decision.gate = Some(gate);
        }
        Ok(actions)
    }

    /// Runs a gate again.
    pub(super) fn run_again(&mut self, gate: GateRun) -> MonitorResult {
        let Some(action) = self.gate_action(gate) else { return Err(IgnoreReason::NoGate) };
        let Some(run) = action.run.clone() else { return Err(IgnoreReason::NoGate) };
        let ticket = self.ticket();
        self.gate = Some(GateRun { ticket, ..gate });
        Ok(vec![MonitorAction::RunGate { gate: ticket, run, timeout: action.timeout() }])
    }

    fn gate_action(&self, gate: GateRun) -> Option<Action> {
        let reactions = &self.reactions;
        Some(match gate.due.trigger {
            Trigger::OnIdle => reactions.on_idle.clone(),
            Trigger::OnPrompt => reactions.on_prompt.clone(),
            Trigger::OnDead => reactions.on_dead.clone(),
            Trigger::OnError => reactions.on_error.get(gate.rule)?.action.clone(),
            Trigger::OnStop => return None,
        })
    }
}

fn end_of(output: &str) -> &str {
    let output = output.trim_end();
    let mut from = output.len().saturating_sub(SHOWN);
    while !output.is_char_boundary(from) {
        from += 1;
    }
    &output[from..]
}
