//! A stage with one agent and a clock that is told what time it is.

use anyhook_model::bus::{AgentFailed, AgentPrompt, AgentReport, AgentSignal, SignalKind};
use anyhook_model::{FailureKind, PromptType, Source};
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

fn report(source: Source) -> AgentReport {
    AgentReport { agent: AGENT.to_owned(), source, ..AgentReport::default() }
}

fn works() -> Happening {
    Happening::AgentWorking(report(Source::Hook))
}

fn idle(source: Source) -> Happening {
    Happening::AgentIdle(report(source))
}

/// The agent's host asks the person.
fn prompt(prompt_type: PromptType) -> Happening {
    let report = AgentReport { asks: true, ..report(Source::Hook) };
    Happening::AgentPrompt(AgentPrompt { report, prompt_type })
}

/// The agent calls a tool that asks the person; its host may ask, too.
fn calls(prompt_type: PromptType) -> Happening {
    Happening::AgentPrompt(AgentPrompt { report: report(Source::Hook), prompt_type })
}

fn fails(kind: FailureKind) -> Happening {
    let message = Some("429".to_owned());
    Happening::AgentFailed(AgentFailed { report: report(Source::Hook), kind, message })
}

fn exits() -> Happening {
    Happening::AgentExited(report(Source::Hook))
}

fn stops() -> Happening {
    Happening::AgentStop(report(Source::Hook))
}

fn signal(kind: SignalKind, message: &str) -> Happening {
    let message = (!message.is_empty()).then(|| message.to_owned());
    Happening::AgentSignal(AgentSignal { report: report(Source::Signal), kind, message })
}

fn complete() -> Happening {
    signal(SignalKind::Complete, "")
}

struct Stage {
    agents: Agents,
    monitor: Monitor,
    now: i64,
}

impl Stage {
    /// An agent that works on a step, with what its definition says.
    fn new(definition: &Value) -> Self {
        let reactions = Reactions::read(definition).unwrap();
        let mut stage = Self { agents: Agents::default(), monitor: Monitor::default(), now: 0 };
        assert_eq!(stage.monitor.enter(AGENT, reactions, second(0)), Ok(Vec::new()));
        assert_eq!(stage.hear(works()), Ok(Vec::new()));
        stage
    }

    /// A second later something happens.
    fn hear(&mut self, happening: Happening) -> MonitorResult {
        self.now += 1;
        self.hear_at(happening, self.now)
    }

    fn hear_at(&mut self, mut happening: Happening, at: i64) -> MonitorResult {
        happening.report_mut().unwrap().at = Some(second(at));
        let heard = self.agents.hear(&happening, second(self.now)).unwrap();
        let reaction = self.monitor.hear(&happening, &self.agents, heard, second(self.now));
        // A daemon that is started again goes on where it was.
        let text = serde_json::to_string(&self.monitor).unwrap();
        assert_eq!(serde_json::from_str::<Monitor>(&text).unwrap(), self.monitor);
        reaction
    }

    /// As [`Self::hear`] of the last of several.
    fn hear_all(&mut self, happenings: impl IntoIterator<Item = Happening>) -> MonitorResult {
        happenings.into_iter().map(|happening| self.hear(happening)).last().unwrap()
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
    matches!(reaction.as_deref().unwrap_or_default(), [Effect::Nudge { .. }])
}

fn advances(reaction: &MonitorResult) -> bool {
    matches!(reaction.as_deref().unwrap_or_default(), [.., Effect::Advance { .. }])
}

fn fails_the_step(reaction: &MonitorResult) -> bool {
    matches!(reaction.as_deref().unwrap_or_default(), [.., Effect::Fail { .. }])
}

/// What a person is asked about, if that is all that is done.
fn escalates(reaction: &MonitorResult) -> Option<About> {
    match reaction.as_deref().unwrap_or_default() {
        [Effect::Escalate { about, .. }] => Some(*about),
        _ => None,
    }
}

fn question(reaction: &MonitorResult) -> &str {
    match reaction.as_deref().unwrap_or_default() {
        [.., Effect::Escalate { question, .. }] => question,
        _ => panic!("nobody is asked: {reaction:?}"),
    }
}

fn runs_gate(reaction: &MonitorResult) -> Option<Ticket> {
    match reaction.as_deref().unwrap_or_default() {
        [Effect::RunGate { gate, .. }] => Some(*gate),
        _ => None,
    }
}

fn dropped(why: Dropped) -> MonitorResult {
    Err(why)
}
