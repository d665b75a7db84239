//! A monitored visit: one agent's work on one step.

use anyhook_model::bus::{AgentReport, SignalKind};
use anyhook_model::{AgentState, BusEvent, ProcessName, PromptType, StateSource};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::decide::OpenDecision;
use super::gate::GateRun;
use super::tally::ActionTallies;
use super::{DecisionSubject, IgnoreReason, MonitorAction, MonitorResult, Ticket};
use crate::agents::{Agent, Applied, DropReason};
use anyhook_model::reaction::{Action, Reactions, Trigger, Verb};

/// The message for an idle agent, if its definition has none.
pub(super) const NUDGE: &str = "Continue. If you are done, run `anyhook emit agent:signal \
    complete`; if you need a person, run `anyhook emit agent:signal escalate`.";

/// How long an agent may take to react to what is typed to it.
const SETTLE: SignedDuration = SignedDuration::from_secs(5);

/// How long after a call of a tool that asks the person its host may ask for a permission. A
/// question that comes later still replaces the one that was asked by then.
const ASKS_WITHIN: SignedDuration = SignedDuration::from_secs(3);

/// What is known about an agent's work on a step, and the actions taken.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct MonitoredVisit {
    number: u32,
    pub(super) agent: String,
    pub(super) reactions: Reactions,
    /// The running process, if known.
    process: Option<ProcessName>,
    /// When it was started.
    began: Timestamp,
    /// Counts its lives: identifies a death as the activity count identifies a rest.
    life: u64,
    /// What the agent signalled, while it is valid.
    pub(super) signal: Option<SignalKind>,
    pub(super) decision: Option<OpenDecision>,
    pub(super) gate: Option<GateRun>,
    waiting: Option<CooldownWait>,
    /// What a person wants typed once the agent is idle.
    pub(super) owed: Option<String>,
    /// The last rest that was nudged.
    nudged: Option<u64>,
    /// The agent's message when its turn failed.
    failure: Option<String>,
    /// What was done for the current rest and life only: earlier ones do not come back.
    done: Vec<DueTrigger>,
    pub(super) tallies: ActionTallies,
    tickets: u32,
}

/// A due trigger, and the rest or life it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct DueTrigger {
    pub(super) trigger: Trigger,
    pub(super) rest: u64,
}

/// A trigger that waits for the end of a cooldown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct CooldownWait {
    due: DueTrigger,
    until: Timestamp,
}

impl MonitoredVisit {
    pub(super) fn new(number: u32, agent: &str, reactions: Reactions, now: Timestamp) -> Self {
        Self {
            number,
            agent: agent.to_owned(),
            reactions,
            process: None,
            began: now,
            life: 1,
            signal: None,
            decision: None,
            gate: None,
            waiting: None,
            owed: None,
            nudged: None,
            failure: None,
            done: Vec::new(),
            tallies: ActionTallies::default(),
            tickets: 0,
        }
    }

    pub(super) fn started(&mut self, process: Option<ProcessName>, now: Timestamp) {
        self.process = process;
        self.began = now;
        self.life += 1;
        // It may fail or rest again before it does anything else.
        self.done.clear();
        self.waiting = None;
        self.owed = None;
    }

    pub(super) fn hear(
        &mut self,
        event: &BusEvent,
        report: &AgentReport,
        agent: &Agent,
        heard: Applied,
        now: Timestamp,
    ) -> MonitorResult {
        if let BusEvent::AgentSignal(signal) = event {
            return self.hear_signal(signal, agent);
        }
        if let Applied::Dropped(why) = heard {
            return Err(IgnoreReason::Uncounted(why));
        }
        if let BusEvent::AgentFailed(failed) = event {
            self.failure.clone_from(&failed.message);
        }
        self.follow(agent);
        let mut actions = self.dismiss_if_it_works(agent);
        let answer = if matches!(event, BusEvent::AgentStop(_)) {
            self.hear_stop(agent, now)
        } else if self.due(agent).is_some() {
            self.check_run(report, agent, now).and_then(|()| self.consider(agent, now))
        } else {
            Ok(Vec::new())
        };
        match answer {
            Ok(more) => actions.extend(more),
            Err(dropped) if actions.is_empty() => return Err(dropped),
            Err(_) => {}
        }
        Ok(actions)
    }

    /// Checks that an event is about the agent's current run.
    fn check_run(
        &self,
        report: &AgentReport,
        agent: &Agent,
        now: Timestamp,
    ) -> Result<(), IgnoreReason> {
        let is_other = matches!((&report.process, &self.process),
            (Some(told), Some(ours)) if told != ours);
        if agent.state.is_over() && is_other {
            return Err(IgnoreReason::Uncounted(DropReason::OtherProcess));
        }
        if report.at.unwrap_or(now) < self.began {
            return Err(IgnoreReason::EarlierRun);
        }
        Ok(())
    }

    /// Forgets everything that was for another rest or life than the current one.
    fn follow(&mut self, agent: &Agent) {
        let died = DueTrigger { trigger: Trigger::OnDead, rest: self.life };
        if !agent.state.is_over() && self.done.contains(&died) {
            self.life += 1;
        }
        let life = self.life;
        self.done.retain(|done| {
            done.rest == if done.trigger == Trigger::OnDead { life } else { agent.activity }
        });
        if agent.state == AgentState::Working {
            self.waiting = None;
        }
        if agent.state.is_over() {
            self.owed = None;
        }
    }

    /// Returns the trigger that is due for an agent.
    pub(super) fn due(&self, agent: &Agent) -> Option<DueTrigger> {
        let trigger = match agent.state {
            AgentState::Working => return None,
            // If a hook reports idle, the stop was not held.
            AgentState::Idle
                if self.reactions.on_stop.verb == Verb::Escalate
                    && agent.source <= StateSource::Hook =>
            {
                Trigger::OnStop
            }
            AgentState::Idle => Trigger::OnIdle,
            AgentState::Prompting(_) => Trigger::OnPrompt,
            AgentState::Failed(_) => Trigger::OnError,
            AgentState::Exited | AgentState::Gone => {
                return Some(DueTrigger { trigger: Trigger::OnDead, rest: self.life });
            }
        };
        agent.rest().map(|rest| DueTrigger { trigger, rest })
    }

    /// Returns the action for a due trigger, and the index of its rule.
    pub(super) fn action(&self, trigger: Trigger, agent: &Agent) -> (usize, Action) {
        let action = match (trigger, agent.state) {
            (Trigger::OnError, AgentState::Failed(kind)) => return self.reactions.on_error(kind),
            (Trigger::OnIdle, _) => &self.reactions.on_idle,
            (Trigger::OnPrompt, _) => &self.reactions.on_prompt,
            (Trigger::OnDead | Trigger::OnError, _) => &self.reactions.on_dead,
            (Trigger::OnStop, _) => &self.reactions.on_stop,
        };
        (0, action.clone())
    }

    /// Takes the actions that were postponed while something else came first.
    pub(super) fn catch_up(&mut self, agent: Option<&Agent>, now: Timestamp) -> Vec<MonitorAction> {
        // The known state may still belong to the previous run.
        let agent = agent.filter(|agent| agent.since >= self.began);
        agent.map(|agent| self.consider(agent, now).unwrap_or_default()).unwrap_or_default()
    }

    /// Takes the due action, if it is time.
    pub(super) fn consider(&mut self, agent: &Agent, now: Timestamp) -> MonitorResult {
        let Some(due) = self.due(agent) else { return Ok(Vec::new()) };
        let is_idle = matches!(due.trigger, Trigger::OnIdle | Trigger::OnStop);
        if is_idle || due.trigger == Trigger::OnPrompt {
            self.guard()?;
        }
        if self.is_done(due) {
            return Err(IgnoreReason::Duplicate);
        }
        let (rule, action) = self.action(due.trigger, agent);
        // A gate may still accept the work; a prompt or a failure cannot wait for that.
        let waits_for_gate = is_idle || due.trigger == Trigger::OnDead || action.verb == Verb::Gate;
        if self.gate.is_some() && waits_for_gate {
            return Err(IgnoreReason::GateRuns);
        }
        let settles = if is_idle { settles_until(agent) } else { asks_until(agent, &action) };
        if let Some(until) = settles.filter(|until| *until > now) {
            let waiting = Some(CooldownWait { due, until });
            if self.waiting == waiting {
                return Err(IgnoreReason::Settling);
            }
            self.waiting = waiting;
            return Ok(vec![MonitorAction::WaitUntil(until)]);
        }
        if is_idle && let Some(message) = self.owed.take() {
            return Ok(self.nudge(due, message));
        }
        if due.trigger == Trigger::OnPrompt {
            self.mark(due);
            return Ok(self.act(due, rule, &action, agent));
        }
        let done = self.tallies.done(due.trigger, rule);
        if is_repeatable(action.verb) && !action.attempts().allow(done) {
            self.mark(due);
            let question = format!("{} (after {})", self.why(agent), times(done));
            return Ok(self.escalate(about(due.trigger, agent), question, agent));
        }
        if let Some(until) = self.tallies.cools_until(due.trigger, rule, now) {
            let waiting = Some(CooldownWait { due, until });
            if self.waiting == waiting {
                return Err(IgnoreReason::CoolingDown);
            }
            self.waiting = waiting;
            return Ok(vec![MonitorAction::WaitUntil(until)]);
        }
        self.tallies.count(due.trigger, rule, &action, now);
        self.mark(due);
        Ok(self.act(due, rule, &action, agent))
    }

    /// The guards that apply only to idleness and prompts.
    pub(super) fn guard(&self) -> Result<(), IgnoreReason> {
        if self.signal.is_some() {
            return Err(IgnoreReason::SignalStored);
        }
        if self.decision.is_some() {
            return Err(IgnoreReason::Waiting);
        }
        Ok(())
    }

    fn act(
        &mut self,
        due: DueTrigger,
        rule: usize,
        action: &Action,
        agent: &Agent,
    ) -> Vec<MonitorAction> {
        let why = self.why(agent);
        let monitor_action = match (action.verb, &action.run) {
            (Verb::Nudge, _) if agent.state == AgentState::Idle => {
                return self.nudge(due, action.say(NUDGE));
            }
            (Verb::Done, _) => MonitorAction::Advance { why: action.say(&why) },
            (Verb::Fail, _) => MonitorAction::Fail { why: action.say(&why) },
            (Verb::Gate, Some(run)) => {
                let gate = self.ticket();
                self.gate = Some(GateRun::new(gate, due, rule));
                MonitorAction::RunGate { gate, run: run.clone(), timeout: action.timeout() }
            }
            (Verb::Recover, _) => {
                MonitorAction::Recover { message: action.message.clone(), append: action.append }
            }
            _ => return self.escalate(about(due.trigger, agent), action.say(&why), agent),
        };
        let mut actions = self.dismiss();
        actions.push(monitor_action);
        actions
    }

    /// Describes the agent's state, as the reason for an action.
    fn why(&self, agent: &Agent) -> String {
        let more = match agent.state {
            AgentState::Prompting(_) => agent.about.as_ref().or(agent.tool.as_ref()),
            AgentState::Failed(_) => self.failure.as_ref(),
            _ => None,
        };
        let what = match agent.state {
            AgentState::Working => "is working".to_owned(),
            AgentState::Idle => "is idle".to_owned(),
            AgentState::Prompting(kind) => format!("is at a prompt ({})", kind.name()),
            AgentState::Failed(kind) => format!("failed ({})", kind.name()),
            AgentState::Exited => "exited".to_owned(),
            AgentState::Gone => "is gone: its process ended unexpectedly".to_owned(),
        };
        let more = more.map(|more| format!(": {more}")).unwrap_or_default();
        format!("the agent {what}{more}")
    }

    pub(super) fn nudge(&mut self, due: DueTrigger, message: String) -> Vec<MonitorAction> {
        self.mark(due);
        self.nudged = Some(due.rest);
        vec![MonitorAction::Nudge { rest: due.rest, message }]
    }

    pub(super) fn may_nudge(&self, agent: Option<&Agent>, rest: u64) -> Result<(), IgnoreReason> {
        self.guard()?;
        match agent {
            Some(agent) if agent.state == AgentState::Idle && agent.activity == rest => Ok(()),
            _ => Err(IgnoreReason::RestOver),
        }
    }

    pub(super) fn timer_fired(&mut self, agent: Option<&Agent>, now: Timestamp) -> MonitorResult {
        let Some(waiting) = self.waiting.take_if(|waiting| waiting.until <= now) else {
            return Err(IgnoreReason::NoTimer);
        };
        match agent {
            Some(agent) if self.due(agent) == Some(waiting.due) => self.consider(agent, now),
            _ => Err(IgnoreReason::RestOver),
        }
    }

    pub(super) fn waits_until(&self) -> Option<Timestamp> {
        self.waiting.map(|waiting| waiting.until)
    }

    /// Returns whether the agent rests, and is not about to read our nudge.
    pub(super) fn rests_by_itself(&self, agent: &Agent) -> bool {
        match agent.state {
            AgentState::Working => false,
            AgentState::Idle => self.nudged != Some(agent.activity),
            _ => true,
        }
    }

    pub(super) fn ticket(&mut self) -> Ticket {
        self.tickets += 1;
        Ticket { visit: self.number, number: self.tickets }
    }

    pub(super) fn mark(&mut self, due: DueTrigger) {
        self.waiting.take_if(|waiting| waiting.due == due);
        self.done.push(due);
    }

    fn is_done(&self, due: DueTrigger) -> bool {
        let is_idle = |trigger| matches!(trigger, Trigger::OnIdle | Trigger::OnStop);
        self.done.iter().any(|done| {
            done.rest == due.rest
                && (done.trigger == due.trigger || is_idle(done.trigger) && is_idle(due.trigger))
        })
    }
}

/// Returns until when an agent may not have read what was typed to it: a source other than its own
/// events may report it as idle because it was idle before. Its own events are trusted at once.
fn settles_until(agent: &Agent) -> Option<Timestamp> {
    let is_second_hand = agent.source > StateSource::Hook;
    agent
        .typed_unanswered()
        .filter(|_| is_second_hand)
        .and_then(|typed| typed.checked_add(SETTLE).ok())
}

/// Returns until when the host may still ask for a permission for a prompt that is already known:
/// in that case its question is the one a person is asked.
fn asks_until(agent: &Agent, action: &Action) -> Option<Timestamp> {
    let AgentState::Prompting(kind) = agent.state else { return None };
    let may_ask = matches!(kind, PromptType::PlanApproval | PromptType::Question)
        && agent.hooked
        && !agent.asked
        && action.verb == Verb::Escalate;
    agent.since.checked_add(ASKS_WITHIN).ok().filter(|_| may_ask)
}

/// Returns whether an action can be repeated: the others end the step, or ask a person as well.
fn is_repeatable(verb: Verb) -> bool {
    matches!(verb, Verb::Nudge | Verb::Gate | Verb::Recover)
}

fn about(trigger: Trigger, agent: &Agent) -> DecisionSubject {
    match (trigger, agent.state) {
        (_, AgentState::Prompting(kind)) => DecisionSubject::Prompt(kind),
        (_, AgentState::Failed(kind)) => DecisionSubject::Error(kind),
        (_, AgentState::Exited | AgentState::Gone) => DecisionSubject::Dead,
        (Trigger::OnStop, _) => DecisionSubject::Stop,
        _ => DecisionSubject::Idle,
    }
}

fn times(times: u32) -> String {
    if times == 1 { "one attempt".to_owned() } else { format!("{times} attempts") }
}
