//! Exhaustive exploration: every order of every event of a step, each absent, once or twice.
//!
//! Orders that lead to the same state with the same events left are merged, so that all of them can
//! be followed; how many there are is counted.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{Hash, Hasher};

use anyhook_model::AgentState;

use super::*;

const KINDS: usize = 7;
const COMPLETE: usize = 0;
const PROMPT: usize = 1;
const HOOK_IDLE: usize = 2;
const EXIT: usize = 5;
const WORKS: usize = 6;

fn events() -> [BusEvent; KINDS] {
    [
        complete(),
        prompt(PromptType::Permission),
        idle(StateSource::Hook),
        idle(StateSource::Notification),
        idle(StateSource::Log),
        exits(),
        works(),
    ]
}

/// How often each event has occurred.
type Counts = [u8; KINDS];

/// What makes two orders continue identically: the monitor's state, and everything about the agent
/// but the times.
#[derive(PartialEq, Eq)]
struct Key {
    counts: Counts,
    agent: Option<(AgentState, StateSource, u64)>,
    /// The last rest that was acted on.
    acted: Option<u64>,
    monitor: Monitor,
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Hashes the parts of the monitor that differ most: hashing all of it takes too long.
        (self.counts, self.agent, self.acted, self.monitor.waits_for()).hash(state);
    }
}

struct Node {
    agents: Agents,
    orders: u64,
}

/// What an exploration has visited.
#[derive(Debug, Default, PartialEq)]
struct Visited {
    /// Orders of events.
    orders: u64,
    /// States they lead to.
    states: u64,
    acted: u64,
    noted: u64,
    dropped: u64,
}

struct Explorer {
    events: [BusEvent; KINDS],
    /// The result of a gate, which is immediate; `None` if it never ends.
    gate: Option<i32>,
    visited: Visited,
}

impl Explorer {
    /// Follows every order in which up to `twice` events occur twice.
    fn explore(&mut self, reactions: &Reactions, twice: usize) -> u64 {
        let mut monitor = Monitor::default();
        monitor.enter(AGENT, reactions.clone(), second(0));
        let mut agents = Agents::default();
        let mut first = works();
        first.report_mut().unwrap().at = Some(second(0));
        agents.hear(&first, second(0));
        let start = Key { counts: [0; KINDS], agent: None, acted: None, monitor };
        let mut layer = HashMap::from([(start, Node { agents, orders: 1 })]);
        let mut orders = 0;
        for now in 1.. {
            let mut next = HashMap::new();
            for (key, node) in &layer {
                self.visited.states += 1;
                orders += node.orders;
                let doubled = (0..KINDS).filter(|kind| key.counts[*kind] == 2).count();
                for kind in 0..KINDS {
                    let may = key.counts[kind] == 0 || key.counts[kind] == 1 && doubled < twice;
                    if may {
                        let (key, node) = self.step(key, node, kind, now);
                        match next.entry(key) {
                            Entry::Occupied(mut known) => {
                                let known: &mut Node = known.get_mut();
                                known.orders += node.orders;
                            }
                            Entry::Vacant(place) => {
                                place.insert(node);
                            }
                        }
                    }
                }
            }
            if next.is_empty() {
                break;
            }
            layer = next;
        }
        orders
    }

    /// Applies one event, and checks all invariants.
    fn step(&mut self, key: &Key, node: &Node, kind: usize, now: i64) -> (Key, Node) {
        let (mut counts, mut acted, before) = (key.counts, key.acted, &key.monitor);
        counts[kind] += 1;
        let (mut monitor, mut agents) = (before.clone(), node.agents.clone());
        self.events[kind].report_mut().unwrap().at = Some(second(now));
        let was = agents.get(AGENT).unwrap().state;
        let event = &self.events[kind];
        let heard = agents.hear(event, second(now)).unwrap();
        let reaction = monitor.hear(event, &agents, heard, second(now));
        let agent = agents.get(AGENT).unwrap();
        match &reaction {
            Ok(actions) if actions.is_empty() => self.visited.noted += 1,
            Ok(_) => self.visited.acted += 1,
            Err(why) => {
                assert!(!why.words().is_empty());
                self.visited.dropped += 1;
            }
        }

        if before.agent().is_none() {
            assert_eq!(reaction, dropped(IgnoreReason::Stale), "nothing acts after the end");
            assert_eq!(&monitor, before);
        } else {
            match kind {
                COMPLETE => assert!(advances(&reaction), "no signal is lost"),
                EXIT => check_exit(&reaction, was),
                WORKS => check_works(&reaction, before),
                _ => {
                    if let Some(rest) = check_rest(&reaction, kind, before, &monitor, &agents) {
                        assert_ne!(acted, Some(rest), "one action for a rest: {reaction:?}");
                        acted = Some(rest);
                    } else if reaction == dropped(IgnoreReason::Duplicate) {
                        assert_eq!(acted, agent.rest(), "what was dropped was done");
                    }
                }
            }
        }
        check_actions(reaction.as_deref().unwrap_or_default(), before, &monitor);
        if let (Some(gate), Some(exit)) = (runs_gate(&reaction), self.gate) {
            let before = monitor.clone();
            let ended = monitor.gate_ended(&agents, gate, Some(exit), "output", second(now));
            assert_eq!((advances(&ended), escalates(&ended).is_some()), (exit == 0, exit != 0));
            check_actions(ended.as_deref().unwrap_or_default(), &before, &monitor);
        }
        // Once the step is over, the agent does not matter.
        let agent = agents.get(AGENT).filter(|_| monitor.agent().is_some());
        let agent = agent.map(|agent| (agent.state, agent.source, agent.activity));
        let acted = acted.filter(|_| agent.is_some());
        (Key { counts, agent, acted, monitor }, Node { agents, orders: node.orders })
    }
}

fn check_exit(reaction: &MonitorResult, was: AgentState) {
    if was.is_over() {
        let again = [dropped(IgnoreReason::Duplicate), dropped(IgnoreReason::GateRuns)];
        assert!(again.contains(reaction), "{reaction:?}");
        return;
    }
    let asks = matches!(
        reaction.as_deref().unwrap_or_default(),
        [.., MonitorAction::Escalate { about: DecisionSubject::Dead, .. }]
    );
    assert!(asks || *reaction == dropped(IgnoreReason::GateRuns), "{reaction:?}");
}

fn check_works(reaction: &MonitorResult, before: &Monitor) {
    match before.waits_for() {
        Some(decision) => {
            assert_eq!(
                reaction.as_deref().unwrap_or_default(),
                [MonitorAction::DismissDecision { decision }]
            );
        }
        None => assert_eq!(*reaction, Ok(Vec::new())),
    }
}

/// Checks the reaction to idleness or a prompt; returns the rest, if it was acted on.
fn check_rest(
    reaction: &MonitorResult,
    kind: usize,
    before: &Monitor,
    monitor: &Monitor,
    agents: &Agents,
) -> Option<u64> {
    let agent = agents.get(AGENT).unwrap();
    // The end of a turn ends the decision about its prompt.
    let actions = match reaction.as_deref().unwrap_or_default() {
        [MonitorAction::DismissDecision { decision }, rest @ ..] if kind == HOOK_IDLE => {
            assert_eq!(before.waits_for(), Some(*decision));
            rest
        }
        all => all,
    };
    let [action] = actions else {
        match reaction {
            Ok(all) if !all.is_empty() && actions.is_empty() => {}
            Err(IgnoreReason::Waiting) => assert!(before.waits_for().is_some()),
            Err(IgnoreReason::Uncounted(_)) => assert!(kind != HOOK_IDLE),
            Err(IgnoreReason::Duplicate | IgnoreReason::GateRuns) => {}
            other => panic!("{other:?} after {kind}"),
        }
        return None;
    };
    let is_prompt = matches!(agent.state, AgentState::Prompting(_));
    assert_eq!(is_prompt, kind == PROMPT);
    match action {
        MonitorAction::Nudge { rest, .. } => {
            assert_eq!(agent.state, AgentState::Idle);
            assert_eq!(monitor.may_nudge(agents, *rest), Ok(()));
        }
        MonitorAction::Escalate { about, .. } => {
            assert_eq!(matches!(about, DecisionSubject::Prompt(_)), is_prompt);
        }
        MonitorAction::Advance { .. }
        | MonitorAction::Fail { .. }
        | MonitorAction::RunGate { .. } => {}
        other => panic!("{other:?}"),
    }
    Some(agent.rest().unwrap())
}

/// Checks that decisions are opened and closed in turn, and that the step ends once and as the last
/// action.
pub(super) fn check_actions(actions: &[MonitorAction], before: &Monitor, after: &Monitor) {
    let mut open = before.waits_for();
    for (number, action) in actions.iter().enumerate() {
        match action {
            MonitorAction::Escalate { decision, .. } => {
                assert_eq!(open.replace(*decision), None, "one at a time");
            }
            MonitorAction::DismissDecision { decision } => assert_eq!(open.take(), Some(*decision)),
            action if action.ends_step() => {
                assert_eq!(number + 1, actions.len());
                assert_eq!((after.agent(), open), (None, None));
            }
            _ => {}
        }
    }
    assert_eq!(after.waits_for(), open);
}

/// Number of orders of events that are absent or present, up to `twice` of them twice.
fn orders(twice: usize) -> u64 {
    let factorial = |number: u64| (1..=number).product::<u64>();
    let choose = |of: u64, some: u64| factorial(of) / factorial(some) / factorial(of - some);
    let mut orders = 0;
    for doubled in (0..=7_u64).take(twice + 1) {
        for single in 0..=7 - doubled {
            let which = choose(7, doubled) * choose(7 - doubled, single);
            orders += which * (factorial(2 * doubled + single) >> doubled);
        }
    }
    orders
}

fn definitions(idle: &[Value], prompt: &[Value]) -> Vec<Reactions> {
    let mut all = Vec::new();
    for on_idle in idle {
        for on_prompt in prompt {
            let definition = json!({"on_idle": on_idle, "on_prompt": on_prompt});
            all.push(Reactions::read(&definition).unwrap());
        }
    }
    all
}

fn explore(definitions: &[Reactions], gate: Option<i32>, twice: usize) -> Visited {
    let mut explorer = Explorer { events: events(), gate, visited: Visited::default() };
    for definition in definitions {
        let seen = explorer.explore(definition, twice);
        assert_eq!(seen, orders(twice), "every order was followed");
        explorer.visited.orders += seen;
    }
    explorer.visited
}

fn definitions_without_gates() -> Vec<Reactions> {
    let nudge = |attempts: Value| json!({"action": "nudge", "attempts": attempts});
    definitions(
        &[
            nudge(json!(1)),
            nudge(json!(2)),
            nudge(json!(3)),
            nudge(json!("forever")),
            json!("done"),
            json!("fail"),
            json!("escalate"),
        ],
        &[json!("escalate"), json!("done"), json!("fail")],
    )
}

fn definitions_with_gates() -> Vec<Reactions> {
    let gate = |attempts: u32| json!({"action": "gate", "run": "make", "attempts": attempts});
    definitions(&[gate(1), gate(2), json!("nudge")], &[gate(1), json!("escalate")])
}

/// Every result of a gate: never, success, failure.
const GATES: [Option<i32>; 3] = [None, Some(0), Some(1)];

#[test]
fn every_order_for_every_action() {
    let visited = explore(&definitions_without_gates(), None, 1);
    let expected =
        Visited { orders: 6_473_313, states: 50_957, acted: 77_166, noted: 2_571, dropped: 84_898 };
    assert_eq!(visited, expected);
}

#[test]
fn every_order_with_gates() {
    let visited = GATES.map(|gate| explore(&definitions_with_gates(), gate, 1));
    let numbers = visited.map(|visited| (visited.orders, visited.states, visited.acted));
    assert_eq!(
        numbers,
        [(1_849_518, 22_597, 30_070), (1_849_518, 12_108, 16_553), (1_849_518, 25_765, 41_561)]
    );
}

#[test]
fn every_order_with_every_event_up_to_twice() {
    let visited = explore(&[Reactions::default()], None, KINDS);
    let expected = Visited {
        orders: 1_924_223_799,
        states: 71_292,
        acted: 134_523,
        noted: 3_814,
        dropped: 124_202,
    };
    assert_eq!(visited, expected);
}

#[test]
#[ignore = "takes minutes"]
fn every_order_for_every_action_with_every_event_up_to_twice() {
    let all = explore(&definitions_without_gates(), None, KINDS).orders
        + GATES
            .map(|gate| explore(&definitions_with_gates(), gate, KINDS).orders)
            .iter()
            .sum::<u64>();
    assert_eq!(all, 39 * 1_924_223_799);
}
