//! Long random event sequences, with time, gates and a person.

use std::collections::BTreeSet;

use anyhook_model::AgentState;
use proptest::prelude::*;

use super::explore::check_actions;
use super::*;

const SAID: &str = "what the person says";

#[derive(Clone, Debug)]
enum Turn {
    Happens(Box<BusEvent>),
    /// The log reports something that happened this many seconds ago.
    Late(StateSource, i64),
    TimePasses(i64),
    Timer,
    GateEnds(i32),
    Decides(usize),
    GivesUp,
    Starts,
}

fn turn() -> impl Strategy<Value = Turn> {
    let source = || {
        prop::sample::select(vec![StateSource::Hook, StateSource::Notification, StateSource::Log])
    };
    let prompts = prop::sample::select(PromptType::ALL.map(|(kind, _)| kind).to_vec());
    let kinds = prop::sample::select(FailureKind::ALL.map(|(kind, _)| kind).to_vec());
    let event = prop_oneof![
        6 => Just(works()),
        8 => source().prop_map(idle),
        4 => prompts.prop_map(prompt),
        2 => kinds.prop_map(fails),
        1 => Just(exits()),
        1 => Just(BusEvent::AgentGone(report(StateSource::Process))),
        1 => Just(BusEvent::AgentInput(report(StateSource::Hook))),
        2 => Just(stops()),
        1 => Just(complete()),
        2 => Just(signal(SignalKind::Escalate, "help")),
        1 => Just(signal(SignalKind::Continue, "")),
    ];
    prop_oneof![
        20 => event.prop_map(|event| Turn::Happens(Box::new(event))),
        2 => (source(), 1_i64..40).prop_map(|(source, ago)| Turn::Late(source, ago)),
        3 => (1_i64..60).prop_map(Turn::TimePasses),
        2 => Just(Turn::Timer),
        3 => (0..3).prop_map(Turn::GateEnds),
        5 => (0_usize..4).prop_map(Turn::Decides),
        1 => Just(Turn::GivesUp),
        1 => Just(Turn::Starts),
    ]
}

fn definition() -> impl Strategy<Value = Value> {
    let how = (prop::sample::select(vec![json!(1), json!(2), json!("forever")]), 0_usize..2);
    let action = |names: &'static [&'static str]| {
        (prop::sample::select(names), how.clone()).prop_map(|(name, (attempts, cools))| {
            let mut action = json!({"action": name, "attempts": attempts});
            if name == "gate" {
                action["run"] = "make".into();
            }
            if cools == 1 {
                action["cooldown"] = "30s".into();
            }
            action
        })
    };
    (
        action(&["nudge", "nudge", "nudge", "gate", "escalate", "done", "fail"]),
        action(&["escalate", "escalate", "gate", "done", "fail"]),
        action(&["recover", "recover", "gate", "escalate", "done"]),
        action(&["recover", "recover", "gate", "escalate", "fail"]),
        prop::sample::select(vec!["idle", "signal", "escalate"]),
    )
        .prop_map(|(idle, prompt, dead, error, stop)| {
            json!({"on_idle": idle, "on_prompt": prompt, "on_dead": dead, "on_error": error,
                "on_stop": stop})
        })
}

/// A sequence so far, and the actions taken in it.
struct Story {
    stage: Stage,
    gate: Option<Ticket>,
    life: u32,
    /// Rests that rules acted on, with the life and whether it was at a prompt.
    acted: BTreeSet<(u32, bool, u64)>,
    /// Nudges by rules since the counts were reset.
    nudges: u32,
    last_nudge: Option<i64>,
}

impl Story {
    fn take(&mut self, turn: &Turn) -> Result<(), TestCaseError> {
        let before = self.stage.monitor.clone();
        let now = second(self.stage.now);
        let (agents, monitor) = (&self.stage.agents, &mut self.stage.monitor);
        let reaction = match turn {
            Turn::Happens(event) => self.stage.hear(event.as_ref().clone()),
            Turn::Late(source, ago) => {
                let at = (self.stage.now - ago).max(0);
                self.stage.hear_at(idle(*source), at)
            }
            Turn::TimePasses(seconds) => {
                self.stage.now += seconds;
                Ok(Vec::new())
            }
            Turn::Timer => monitor.timer_fired(agents, now),
            Turn::GateEnds(exit) => {
                let Some(gate) = self.gate.take() else { return Ok(()) };
                monitor.gate_ended(agents, gate, Some(*exit), "output", now)
            }
            Turn::Decides(number) => {
                let Some(decision) = monitor.waits_for() else { return Ok(()) };
                let names = ["nudge", "dismiss", "allow", "retry"];
                monitor.decided(agents, decision, names[*number], Some(SAID), now)
            }
            Turn::GivesUp => {
                let Some(decision) = monitor.waits_for() else { return Ok(()) };
                monitor.given_up(agents, decision, now)
            }
            Turn::Starts => {
                monitor.started(None, now);
                self.life += 1;
                Ok(Vec::new())
            }
        };
        let by_person = matches!(turn, Turn::Decides(_));
        self.check(turn, &reaction, &before, by_person)
    }

    fn check(
        &mut self,
        turn: &Turn,
        reaction: &MonitorResult,
        before: &Monitor,
        by_person: bool,
    ) -> Result<(), TestCaseError> {
        let agent = self.stage.agent().clone();
        if !by_person && !matches!(turn, Turn::GivesUp) {
            check_actions(reaction.as_deref().unwrap_or_default(), before, &self.stage.monitor);
        }
        if before.agent().is_none() {
            prop_assert!(
                reaction.as_deref().unwrap_or_default().is_empty(),
                "after the end: {reaction:?}"
            );
            return Ok(());
        }
        if let Turn::Happens(event) = turn
            && let BusEvent::AgentSignal(signal) = event.as_ref()
        {
            match signal.kind {
                SignalKind::Complete => prop_assert!(advances(reaction)),
                SignalKind::Escalate => prop_assert!(self.stage.monitor.waits_for().is_some()),
                SignalKind::Continue => self.nudges = 0,
            }
        }
        for action in reaction.as_deref().unwrap_or_default() {
            let is_prompt = matches!(agent.state, AgentState::Prompting(_));
            let acts = match action {
                MonitorAction::Nudge { rest, message } => {
                    prop_assert_eq!(agent.state, AgentState::Idle);
                    prop_assert_eq!(
                        self.stage.monitor.may_nudge(&self.stage.agents, *rest),
                        Ok(())
                    );
                    if message != SAID {
                        self.count_nudge(before)?;
                    }
                    true
                }
                MonitorAction::RunGate { gate, .. } => {
                    self.gate = Some(*gate);
                    agent.state == AgentState::Idle || is_prompt
                }
                MonitorAction::Escalate {
                    about: DecisionSubject::Idle | DecisionSubject::Prompt(_),
                    ..
                } => true,
                _ => false,
            };
            if acts && !by_person {
                let rest = (self.life, is_prompt, agent.activity);
                prop_assert!(self.acted.insert(rest), "twice for {rest:?}: {action:?}");
            }
        }
        self.check_nothing_is_forgotten()
    }

    fn count_nudge(&mut self, before: &Monitor) -> Result<(), TestCaseError> {
        let action = before.visit.as_ref().map(|visit| visit.reactions.on_idle.clone()).unwrap();
        prop_assert!(action.attempts().allow(self.nudges), "more often than allowed");
        self.nudges += 1;
        if let (Some(last), Some(cooldown)) = (self.last_nudge, action.cooldown) {
            prop_assert!(self.stage.now - last >= cooldown.as_secs(), "sooner than allowed");
        }
        self.last_nudge = Some(self.stage.now);
        Ok(())
    }

    /// The agent's current state has been acted on, or something is in progress.
    fn check_nothing_is_forgotten(&self) -> Result<(), TestCaseError> {
        let agent = self.stage.agent();
        let retold = match agent.state {
            AgentState::Idle if !agent.fresh => idle(agent.source.max(StateSource::Hook)),
            AgentState::Prompting(kind) => prompt(kind),
            AgentState::Failed(kind) => fails(kind),
            _ => return Ok(()),
        };
        if self.life > 0 || self.stage.monitor.agent().is_none() {
            return Ok(());
        }
        let mut stage = Stage {
            agents: self.stage.agents.clone(),
            monitor: self.stage.monitor.clone(),
            now: self.stage.now,
        };
        let reaction = stage.hear(retold);
        prop_assert!(
            matches!(
                reaction,
                Err(IgnoreReason::Duplicate
                    | IgnoreReason::Waiting
                    | IgnoreReason::SignalStored
                    | IgnoreReason::GateRuns
                    | IgnoreReason::CoolingDown)
            ) || stage.monitor.waits_until().is_some()
                || self.stage.monitor.waits_until().is_some(),
            "{:?} was forgotten: {reaction:?}",
            agent.state
        );
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn long_stories_keep_every_rule(
        definition in definition(), turns in prop::collection::vec(turn(), 1..80),
    ) {
        let mut story = Story {
            stage: Stage::new(&definition),
            gate: None,
            life: 0,
            acted: BTreeSet::new(),
            nudges: 0,
            last_nudge: None,
        };
        for turn in &turns {
            story.take(turn)?;
        }
        let text = serde_json::to_string(&story.stage.monitor).unwrap();
        prop_assert!(text.len() < 4_000, "it does not grow with the story: {}", text.len());
    }
}
