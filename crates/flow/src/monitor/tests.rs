//! Test harness: one agent and a manual clock.

use anyhook_model::bus::{AgentFailed, AgentPrompt, AgentReport, AgentSignal, SignalKind};
use anyhook_model::{FailureKind, PromptType, StateSource};
use serde_json::{Value, json};

use super::*;

mod actions;
mod decisions;
mod explore;
mod idle_periods;
mod precedence;
mod random;

const AGENT: &str = "worker";

fn second(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn report(source: StateSource) -> AgentReport {
    AgentReport { agent: AGENT.to_owned(), source, ..AgentReport::default() }
}

fn works() -> BusEvent {
    BusEvent::AgentWorking(report(StateSource::Hook))
}

fn idle(source: StateSource) -> BusEvent {
    BusEvent::AgentIdle(report(source))
}

/// The agent's host prompts the person.
fn prompt(prompt_type: PromptType) -> BusEvent {
    let report = AgentReport { asks: true, ..report(StateSource::Hook) };
    BusEvent::AgentPrompt(AgentPrompt { report, prompt_type })
}

/// The agent calls a tool that asks the person; its host may ask as well.
fn calls(prompt_type: PromptType) -> BusEvent {
    BusEvent::AgentPrompt(AgentPrompt { report: report(StateSource::Hook), prompt_type })
}

fn fails(kind: FailureKind) -> BusEvent {
    let message = Some("429".to_owned());
    BusEvent::AgentFailed(AgentFailed { report: report(StateSource::Hook), kind, message })
}

fn exits() -> BusEvent {
    BusEvent::AgentExited(report(StateSource::Hook))
}

fn stops() -> BusEvent {
    BusEvent::AgentStop(report(StateSource::Hook))
}

fn signal(kind: SignalKind, message: &str) -> BusEvent {
    let message = (!message.is_empty()).then(|| message.to_owned());
    BusEvent::AgentSignal(AgentSignal { report: report(StateSource::Signal), kind, message })
}

fn complete() -> BusEvent {
    signal(SignalKind::Complete, "")
}

struct Stage {
    agents: Agents,
    monitor: Monitor,
    now: i64,
}

impl Stage {
    /// An agent that works on a step, with the given definition.
    fn new(definition: &Value) -> Self {
        let reactions = Reactions::read(definition).unwrap();
        let mut stage = Self { agents: Agents::default(), monitor: Monitor::default(), now: 0 };
        assert_eq!(stage.monitor.enter(AGENT, reactions, second(0)), Ok(Vec::new()));
        assert_eq!(stage.hear(works()), Ok(Vec::new()));
        stage
    }

    /// Receives an event one second later.
    fn hear(&mut self, event: BusEvent) -> MonitorResult {
        self.now += 1;
        self.hear_at(event, self.now)
    }

    fn hear_at(&mut self, mut event: BusEvent, at: i64) -> MonitorResult {
        event.report_mut().unwrap().at = Some(second(at));
        let heard = self.agents.hear(&event, second(self.now)).unwrap();
        let reaction = self.monitor.hear(&event, &self.agents, heard, second(self.now));
        // A restarted daemon continues where it was.
        let text = serde_json::to_string(&self.monitor).unwrap();
        assert_eq!(serde_json::from_str::<Monitor>(&text).unwrap(), self.monitor);
        reaction
    }

    /// Like [`Self::hear`], with the result of the last of several.
    fn hear_all(&mut self, events: impl IntoIterator<Item = BusEvent>) -> MonitorResult {
        events.into_iter().map(|event| self.hear(event)).last().unwrap()
    }

    fn decide(&mut self, choice: &str) -> MonitorResult {
        let decision = self.monitor.waits_for().unwrap();
        self.monitor.decided(&self.agents, decision, choice, None, second(self.now))
    }

    fn gate_ends(&mut self, gate: Ticket, exit: Option<i32>) -> MonitorResult {
        self.monitor.gate_ended(&self.agents, gate, exit, "2 tests failed\n", second(self.now))
    }

    fn agent(&self) -> &Agent {
        self.agents.get(AGENT).unwrap()
    }
}

fn nudges(reaction: &MonitorResult) -> bool {
    matches!(reaction.as_deref().unwrap_or_default(), [MonitorAction::Nudge { .. }])
}

fn advances(reaction: &MonitorResult) -> bool {
    matches!(reaction.as_deref().unwrap_or_default(), [.., MonitorAction::Advance { .. }])
}

fn fails_the_step(reaction: &MonitorResult) -> bool {
    matches!(reaction.as_deref().unwrap_or_default(), [.., MonitorAction::Fail { .. }])
}

/// The subject of a decision, if asking a person is the only action.
fn escalates(reaction: &MonitorResult) -> Option<DecisionSubject> {
    match reaction.as_deref().unwrap_or_default() {
        [MonitorAction::Escalate { about, .. }] => Some(*about),
        _ => None,
    }
}

fn question(reaction: &MonitorResult) -> &str {
    match reaction.as_deref().unwrap_or_default() {
        [.., MonitorAction::Escalate { question, .. }] => question,
        _ => panic!("nobody is asked: {reaction:?}"),
    }
}

fn runs_gate(reaction: &MonitorResult) -> Option<Ticket> {
    match reaction.as_deref().unwrap_or_default() {
        [MonitorAction::RunGate { gate, .. }] => Some(*gate),
        _ => None,
    }
}

fn dropped(why: IgnoreReason) -> MonitorResult {
    Err(why)
}
