//! Decisions: how they are opened, answered and dismissed.

use anyhook_model::approval_request::ANSWER;
use anyhook_model::{AgentState, PromptType};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::gate::GateRun;
use super::visit::{DueTrigger, MonitoredVisit, NUDGE};
use super::{DecisionSubject, IgnoreReason, MonitorAction, MonitorResult, Ticket};
use crate::agents::Agent;
use anyhook_model::reaction::Trigger;

/// An open decision.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct OpenDecision {
    ticket: Ticket,
    about: DecisionSubject,
    question: String,
    /// The agent's activity count at that time.
    activity: u64,
    /// Whether the agent has rested since, so that further work means it resumed.
    rested: bool,
    /// The gate it is about.
    pub(super) gate: Option<GateRun>,
}

impl MonitoredVisit {
    /// Opens a decision, replacing any other.
    pub(super) fn escalate(
        &mut self,
        about: DecisionSubject,
        question: String,
        agent: &Agent,
    ) -> Vec<MonitorAction> {
        let mut actions = self.dismiss();
        let ticket = self.ticket();
        // An agent that signals is active, whatever prompt it was last seen at.
        let is_busy =
            about == DecisionSubject::Signal && matches!(agent.state, AgentState::Prompting(_));
        self.decision = Some(OpenDecision {
            ticket,
            about,
            question: question.clone(),
            activity: agent.activity,
            rested: self.rests_by_itself(agent) && !is_busy,
            gate: None,
        });
        let options = about.options();
        actions.push(MonitorAction::Escalate { decision: ticket, about, question, options });
        actions
    }

    /// Closes the open decision.
    pub(super) fn dismiss(&mut self) -> Vec<MonitorAction> {
        self.signal = None;
        let closed = self.decision.take();
        closed
            .map(|decision| MonitorAction::DismissDecision { decision: decision.ticket })
            .into_iter()
            .collect()
    }

    /// Closes the open decision if the agent resumed work by itself, or if its turn ended and with
    /// it the prompt that the decision is about.
    pub(super) fn dismiss_if_it_works(&mut self, agent: &Agent) -> Vec<MonitorAction> {
        let rests = self.rests_by_itself(agent);
        let Some(decision) = &mut self.decision else { return Vec::new() };
        decision.rested |= rests && agent.activity != decision.activity;
        let works_again = decision.rested && agent.state == AgentState::Working;
        let is_answered = matches!(decision.about, DecisionSubject::Prompt(_))
            && agent.state == AgentState::Idle
            && agent.activity != decision.activity;
        if works_again || is_answered { self.dismiss() } else { Vec::new() }
    }

    pub(super) fn open_decision(&self) -> Option<Ticket> {
        self.decision.as_ref().map(|decision| decision.ticket)
    }

    /// Returns whether an open decision is about a prompt.
    pub(super) fn asks_about_prompt(&self, ticket: Ticket) -> bool {
        let is_it = |decision: &OpenDecision| {
            decision.ticket == ticket && matches!(decision.about, DecisionSubject::Prompt(_))
        };
        self.decision.as_ref().is_some_and(is_it)
    }

    /// Returns whether a person is being asked this question.
    pub(super) fn asks(&self, question: &str) -> bool {
        self.decision.as_ref().is_some_and(|decision| decision.question == question)
    }

    pub(super) fn given_up(
        &mut self,
        agent: Option<&Agent>,
        ticket: Ticket,
        now: Timestamp,
    ) -> MonitorResult {
        if self.open_decision() != Some(ticket) {
            return Err(IgnoreReason::NoDecision);
        }
        self.dismiss();
        Ok(self.catch_up(agent, now))
    }

    pub(super) fn decided(
        &mut self,
        agent: Option<&Agent>,
        ticket: Ticket,
        choice: &str,
        message: Option<&str>,
        now: Timestamp,
    ) -> MonitorResult {
        let Some(decision) = self.decision.clone().filter(|open| open.ticket == ticket) else {
            return Err(IgnoreReason::NoDecision);
        };
        // Options that the agent itself offers are not among ours.
        let is_answer =
            choice == ANSWER && decision.about == DecisionSubject::Prompt(PromptType::Question);
        if !is_answer && !decision.about.options().iter().any(|option| option.name == choice) {
            return Err(IgnoreReason::NoSuchChoice);
        }
        self.dismiss();
        let said = message.map(str::to_owned);
        let why = || said.clone().unwrap_or_else(|| format!("a person chose {choice}"));
        match (choice, agent) {
            ("done" | "skip", _) => Ok(vec![MonitorAction::Advance { why: why() }]),
            ("fail", _) => Ok(vec![MonitorAction::Fail { why: why() }]),
            ("retry", _) => match decision.gate {
                Some(gate) => {
                    let mut actions = self.run_again(gate)?;
                    actions.extend(self.catch_up(agent, now));
                    Ok(actions)
                }
                None if agent.is_some_and(is_going_on) => self.catch_up_or_drop(agent, now),
                None => Ok(vec![MonitorAction::Recover { message: said, append: true }]),
            },
            ("allow" | "deny" | ANSWER, Some(agent)) => {
                let is_there = matches!(agent.state, AgentState::Prompting(_))
                    && agent.activity == decision.activity;
                if is_there {
                    let allow = choice != "deny";
                    return Ok(vec![MonitorAction::Answer {
                        rest: agent.activity,
                        allow,
                        message: said,
                    }]);
                }
                self.catch_up_or_drop(Some(agent), now)
            }
            ("attach", _) => {
                self.ignore(agent);
                Ok(vec![MonitorAction::Attach])
            }
            ("nudge", Some(agent)) => {
                let message = said.unwrap_or_else(|| self.reactions.on_idle.say(NUDGE));
                if agent.state == AgentState::Idle {
                    let due = DueTrigger { trigger: Trigger::OnIdle, rest: agent.activity };
                    return Ok(self.nudge(due, message));
                }
                // Messages are typed only while the agent rests.
                self.owed = Some(message);
                Ok(self.catch_up(Some(agent), now))
            }
            _ => {
                self.ignore(agent);
                Ok(Vec::new())
            }
        }
    }

    /// The choice comes too late: the agent does something else.
    fn catch_up_or_drop(&mut self, agent: Option<&Agent>, now: Timestamp) -> MonitorResult {
        let actions = self.catch_up(agent, now);
        if actions.is_empty() { Err(IgnoreReason::RestOver) } else { Ok(actions) }
    }

    /// Leaves the current rest to a person.
    fn ignore(&mut self, agent: Option<&Agent>) {
        if let Some(due) = agent.and_then(|agent| self.due(agent)) {
            self.mark(due);
        }
    }
}

/// Returns whether an agent that had failed or ended is active again.
fn is_going_on(agent: &Agent) -> bool {
    !agent.state.is_over() && !matches!(agent.state, AgentState::Failed(_))
}
