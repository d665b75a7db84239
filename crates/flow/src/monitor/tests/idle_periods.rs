//! One idle period is acted on once, whatever sources report it, in any order and however close.

use proptest::prelude::*;

use super::*;

/// A report that the agent is idle.
#[derive(Clone, Copy, Debug)]
struct Report {
    source: StateSource,
    /// The time it is stamped with, in milliseconds after the turn's end.
    at: i64,
    /// When it is received.
    heard: i64,
}

/// An agent whose turn ended, the reports about it, and when the agent reacted to the nudge.
#[derive(Clone, Debug)]
struct Period {
    reports: Vec<Report>,
    /// How long it takes to type a nudge after it is requested.
    typing: i64,
    /// When the agent reacts to it, after it was typed: the next turn.
    reacts: i64,
    /// When that is received.
    reaction_heard: i64,
}

/// Every report is received within this time, and the agent reacts within it.
const WITHIN: i64 = 2_000;
/// Second-hand reports are stamped within this time, before the agent reacts: anything stamped
/// later is another idle period.
const STAMPED: i64 = 300;
/// Time between the ends of two turns.
const APART: i64 = 60_000;

fn report_of(source: StateSource) -> impl Strategy<Value = Report> {
    // A hook reports the exact end, a log a line that was written a little later, and `emit` the
    // current time.
    let at = match source {
        StateSource::Hook => 0..1i64,
        _ => 0..STAMPED,
    };
    (at, 0..WITHIN).prop_map(move |(at, after)| Report { source, at, heard: at + after })
}

fn period(is_hooked: bool) -> impl Strategy<Value = Period> {
    let second_hand = prop_oneof![
        report_of(StateSource::Notification),
        report_of(StateSource::Log),
        report_of(StateSource::Notification),
    ];
    let hook = report_of(StateSource::Hook);
    let reports =
        (hook, proptest::collection::vec(second_hand, 1..5)).prop_map(move |(hook, mut all)| {
            if is_hooked {
                all.push(hook);
            }
            all.sort_by_key(|report| report.heard);
            all
        });
    (reports, 1..200i64, STAMPED..WITHIN, 0..500i64).prop_map(|(reports, typing, reacts, late)| {
        Period { reports, typing, reacts, reaction_heard: reacts + late }
    })
}

/// The reactions to each period: how often it was nudged, how often a person was asked.
fn run(definition: &Value, periods: &[Period]) -> Vec<(usize, usize)> {
    let time = |at: i64| Timestamp::from_millisecond(at).unwrap();
    let mut agents = Agents::default();
    let mut monitor = Monitor::default();
    monitor.enter(AGENT, Reactions::read(definition).unwrap(), time(0));
    let mut done = Vec::new();
    let mut end = APART;
    // The agent begins its first turn.
    let mut pending = vec![(1, BusEvent::AgentInput(report(StateSource::Hook)), 1)];
    for period in periods {
        let mut counts = (0, 0);
        for told in &period.reports {
            pending.push((end + told.heard, idle(told.source), end + told.at));
        }
        let until = end + APART - 1;
        let mut nudge: Option<(i64, u64)> = None;
        loop {
            pending.sort_by_key(|(heard, ..)| *heard);
            let next = pending.first().map(|(heard, ..)| *heard);
            let typed = nudge.map(|(at, _)| at);
            let timer = monitor.waits_until().map(Timestamp::as_millisecond);
            let now = [next, typed, timer].into_iter().flatten().min();
            let Some(now) = now.filter(|now| *now <= until) else { break };
            let reaction = if typed == Some(now) {
                let (_, rest) = nudge.take().unwrap();
                if monitor.may_nudge(&agents, rest).is_err() {
                    continue;
                }
                counts.0 += 1;
                pending.push((
                    now + period.reaction_heard,
                    BusEvent::AgentInput(report(StateSource::Hook)),
                    now + period.reacts,
                ));
                let mut input = BusEvent::AgentInput(report(StateSource::Signal));
                input.report_mut().unwrap().at = Some(time(now));
                let heard = agents.hear(&input, time(now)).unwrap();
                monitor.hear(&input, &agents, heard, time(now))
            } else if next == Some(now) {
                let (_, mut event, at) = pending.remove(0);
                event.report_mut().unwrap().at = Some(time(at));
                let heard = agents.hear(&event, time(now)).unwrap();
                monitor.hear(&event, &agents, heard, time(now))
            } else {
                monitor.timer_fired(&agents, time(now))
            };
            for action in reaction.as_deref().unwrap_or_default() {
                match action {
                    MonitorAction::Nudge { rest, .. } => nudge = Some((now + period.typing, *rest)),
                    MonitorAction::Escalate { .. } => counts.1 += 1,
                    _ => {}
                }
            }
        }
        done.push(counts);
        end += APART;
    }
    done
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn one_nudge_for_each(periods in proptest::collection::vec(any::<bool>().prop_flat_map(period), 1..4)) {
        let forever = json!({"on_idle": {"action": "nudge", "attempts": "forever"}});
        for counts in run(&forever, &periods) {
            prop_assert_eq!(counts, (1, 0));
        }
    }

    #[test]
    fn a_person_is_asked_at_the_second(periods in proptest::collection::vec(any::<bool>().prop_flat_map(period), 2..3)) {
        let counts = run(&json!({}), &periods);
        prop_assert_eq!(counts, [(1, 0), (0, 1)]);
    }
}

/// As the real Claude Code reports it: its hook, then the line in its log, with our nudge in
/// between.
#[test]
fn the_line_in_the_log_comes_after_the_nudge() {
    let reports = vec![
        Report { source: StateSource::Hook, at: 0, heard: 1 },
        Report { source: StateSource::Log, at: 47, heard: 48 },
    ];
    let period = Period { reports, typing: 43, reacts: 400, reaction_heard: 401 };
    assert_eq!(run(&json!({}), &[period.clone(), period]), [(1, 0), (0, 1)]);
}

/// An agent that reports only through `anyhook emit`, and does not react.
#[test]
fn an_agent_that_does_not_react_is_a_persons_after_a_while() {
    let emit = |heard| Report { source: StateSource::Notification, at: heard, heard };
    let period = Period {
        reports: vec![emit(0), emit(100), emit(20_000)],
        typing: 10,
        reacts: APART * 2,
        reaction_heard: APART * 2,
    };
    assert_eq!(run(&json!({}), &[period]), [(1, 1)]);
}
