//! Precedence: which event counts, and which is dropped, with the reason.

use super::*;
use crate::agents::DropReason;

#[test]
fn complete_advances_while_idleness_is_pending() {
    let mut stage = Stage::new(&json!({"on_idle":
        {"action": "nudge", "attempts": "forever", "cooldown": "1h"}}));
    assert!(nudges(&stage.hear(idle(StateSource::Hook))));
    let pending = stage.hear_all([works(), idle(StateSource::Hook)]);
    assert!(matches!(pending.as_deref().unwrap_or_default(), [MonitorAction::WaitUntil(_)]));
    assert!(advances(&stage.hear(complete())));
    let fired = stage.monitor.timer_fired(&stage.agents, second(100_000));
    assert_eq!(fired, dropped(IgnoreReason::Stale), "the signal won");
}

#[test]
fn idle_after_the_step_advanced_does_nothing() {
    for definition in [json!({}), json!({"on_idle": "done"})] {
        let mut stage = Stage::new(&definition);
        assert!(advances(&stage.hear(complete())));
        for source in [StateSource::Hook, StateSource::Notification, StateSource::Log] {
            assert_eq!(stage.hear(idle(source)), dropped(IgnoreReason::Stale));
        }
    }
    let mut stage = Stage::new(&json!({"on_idle": "done"}));
    assert!(advances(&stage.hear(idle(StateSource::Hook))));
    assert_eq!(stage.hear(idle(StateSource::Log)), dropped(IgnoreReason::Stale));
}

#[test]
fn a_prompt_does_what_on_prompt_says_by_default_escalate() {
    for (kind, _) in PromptType::ALL {
        let mut stage = Stage::new(&json!({}));
        let reaction = stage.hear(prompt(kind));
        if kind == PromptType::Idle {
            assert!(nudges(&reaction), "a prompt of type idle is handled as idle");
        } else {
            assert_eq!(escalates(&reaction), Some(DecisionSubject::Prompt(kind)));
        }
    }
    assert!(advances(&Stage::new(&json!({"on_prompt": "done"})).hear(prompt(PromptType::Other))));
    let failed = Stage::new(&json!({"on_prompt": "fail"})).hear(prompt(PromptType::Other));
    assert!(fails_the_step(&failed));
}

#[test]
fn idle_from_a_hook_and_then_from_the_log_act_once() {
    for definition in [
        json!({}),
        json!({"on_idle": {"action": "nudge", "attempts": 5}}),
        json!({"on_idle": {"action": "nudge", "attempts": "forever"}}),
        json!({"on_idle": {"action": "gate", "run": "make", "attempts": 5}}),
    ] {
        let mut stage = Stage::new(&definition);
        assert_eq!(stage.hear(idle(StateSource::Hook)).as_deref().unwrap_or_default().len(), 1);
        for source in
            [StateSource::Log, StateSource::Notification, StateSource::Hook, StateSource::Log]
        {
            assert_eq!(stage.hear(idle(source)), dropped(IgnoreReason::Duplicate));
        }
    }
}

#[test]
fn the_log_alone_is_enough() {
    let mut stage = Stage::new(&json!({}));
    assert!(nudges(&stage.hear(idle(StateSource::Log))));
    assert_eq!(stage.hear(idle(StateSource::Hook)), dropped(IgnoreReason::Duplicate));
}

#[test]
fn events_of_a_stale_agent_are_dropped() {
    let mut stage = Stage::new(&json!({}));
    stage.monitor.enter("another", Reactions::default(), second(2));
    for event in [idle(StateSource::Hook), prompt(PromptType::Question), exits(), complete()] {
        assert_eq!(stage.hear(event), dropped(IgnoreReason::Stale));
    }
    assert_eq!(stage.monitor.agent(), Some("another"));
    assert_eq!(stage.agent().state.name(), "exited", "its state is kept all the same");
}

#[test]
fn events_of_an_unknown_agent_are_dropped_first_of_all() {
    let mut stage = Stage::new(&json!({}));
    stage.monitor = Monitor::default();
    assert_eq!(stage.hear(idle(StateSource::Hook)), dropped(IgnoreReason::UnknownAgent));
    stage.monitor.end();
    assert_eq!(stage.hear(complete()), dropped(IgnoreReason::UnknownAgent));
    let other = BusEvent::Other(anyhook_model::json::Object::new());
    let reaction = stage.monitor.hear(&other, &stage.agents, Applied::Same, second(9));
    assert_eq!(reaction, dropped(IgnoreReason::NoAgent));
}

#[test]
fn a_pipeline_that_ended_outranks_staleness() {
    let mut stage = Stage::new(&json!({}));
    assert_eq!(stage.monitor.end(), Ok(Vec::new()));
    for event in [complete(), idle(StateSource::Hook), prompt(PromptType::Question), exits()] {
        assert_eq!(stage.hear(event), dropped(IgnoreReason::Ended));
    }
    let entered = stage.monitor.enter(AGENT, Reactions::default(), second(20));
    assert_eq!(entered, dropped(IgnoreReason::Ended));
    assert!(stage.monitor.is_ended());
}

#[test]
fn idle_and_prompt_are_dropped_while_a_signal_is_stored() {
    let mut stage = Stage::new(&json!({}));
    let asked = stage.hear(signal(SignalKind::Escalate, "which key?"));
    assert_eq!(
        (escalates(&asked), question(&asked)),
        (Some(DecisionSubject::Signal), "which key?")
    );
    for event in [idle(StateSource::Hook), idle(StateSource::Log), prompt(PromptType::Permission)] {
        assert_eq!(stage.hear(event), dropped(IgnoreReason::SignalStored));
    }
}

#[test]
fn idle_and_prompt_are_dropped_while_the_step_waits_for_a_person() {
    let mut stage = Stage::new(&json!({"on_idle": "escalate"}));
    assert_eq!(escalates(&stage.hear(idle(StateSource::Hook))), Some(DecisionSubject::Idle));
    for event in [idle(StateSource::Log), prompt(PromptType::Question), idle(StateSource::Hook)] {
        assert_eq!(stage.hear(event), dropped(IgnoreReason::Waiting));
    }
}

#[test]
fn failures_and_ends_count_while_the_step_waits() {
    let mut stage = Stage::new(&json!({"on_idle": "escalate"}));
    stage.hear(idle(StateSource::Hook));
    let failed = stage.hear(fails(FailureKind::RateLimited));
    let [MonitorAction::DismissDecision { .. }, MonitorAction::Escalate { about, .. }] =
        failed.as_deref().unwrap_or_default()
    else {
        panic!("{failed:?}")
    };
    assert_eq!(*about, DecisionSubject::Error(FailureKind::RateLimited));
    let dead = stage.hear(exits());
    let [MonitorAction::DismissDecision { .. }, MonitorAction::Escalate { about, .. }] =
        dead.as_deref().unwrap_or_default()
    else {
        panic!("{dead:?}")
    };
    assert_eq!(*about, DecisionSubject::Dead);
}

#[test]
fn complete_advances_whatever_was_before() {
    let before: [&[BusEvent]; 7] = [
        &[],
        &[idle(StateSource::Hook)],
        &[idle(StateSource::Hook), works(), idle(StateSource::Hook)],
        &[prompt(PromptType::Question)],
        &[signal(SignalKind::Escalate, "help")],
        &[fails(FailureKind::Other)],
        &[exits()],
    ];
    for events in before {
        let mut stage = Stage::new(&json!({}));
        for event in events {
            stage.hear(event.clone());
        }
        let waited = stage.monitor.waits_for();
        let reaction = stage.hear(complete());
        assert!(advances(&reaction), "{events:?}");
        let dismissed =
            reaction.as_deref().unwrap_or_default().iter().find_map(|action| match action {
                MonitorAction::DismissDecision { decision } => Some(*decision),
                _ => None,
            });
        assert_eq!(dismissed, waited, "what was open is closed");
        assert_eq!(stage.hear(complete()), dropped(IgnoreReason::Stale), "once");
    }
}

#[test]
fn complete_in_the_agents_words() {
    let mut stage = Stage::new(&json!({}));
    let done = stage.hear(signal(SignalKind::Complete, "all green"));
    assert_eq!(done, Ok(vec![MonitorAction::Advance { why: "all green".to_owned() }]));
}

#[test]
fn a_question_outranks_a_permission_and_both_outrank_idleness() {
    let mut stage = Stage::new(&json!({"on_prompt": {"action": "gate", "run": "false"}}));
    let gate = runs_gate(&stage.hear(prompt(PromptType::Question))).unwrap();
    assert_eq!(stage.hear(prompt(PromptType::Permission)), dropped(IgnoreReason::Duplicate));
    for source in [StateSource::Notification, StateSource::Log] {
        assert_eq!(
            stage.hear(idle(source)),
            dropped(IgnoreReason::Uncounted(DropReason::Outranked))
        );
    }
    assert_eq!(escalates(&stage.gate_ends(gate, Some(1))), Some(DecisionSubject::Gate));
}

#[test]
fn a_new_idle_after_the_attempts_are_used_up_escalates_once() {
    for (attempts, nudged) in [(json!(1), 1), (json!(2), 2), (json!(3), 3)] {
        let mut stage = Stage::new(&json!({"on_idle": {"action": "nudge", "attempts": attempts}}));
        for _ in 0..nudged {
            assert!(nudges(&stage.hear(idle(StateSource::Hook))));
            assert_eq!(stage.hear(idle(StateSource::Log)), dropped(IgnoreReason::Duplicate));
            stage.hear(works());
        }
        let asked = stage.hear(idle(StateSource::Hook));
        assert_eq!(escalates(&asked), Some(DecisionSubject::Idle));
        for source in [StateSource::Notification, StateSource::Log, StateSource::Hook] {
            assert_eq!(stage.hear(idle(source)), dropped(IgnoreReason::Waiting));
        }
        assert_eq!(stage.decide("dismiss"), Ok(Vec::new()));
        assert_eq!(stage.hear(idle(StateSource::Log)), dropped(IgnoreReason::Duplicate));
    }
    let mut stage = Stage::new(&json!({"on_idle": {"action": "nudge", "attempts": "forever"}}));
    for _ in 0..100 {
        assert!(nudges(&stage.hear(idle(StateSource::Hook))));
        stage.hear(works());
    }
}

#[test]
fn continue_starts_the_counts_of_idleness_anew() {
    let mut stage = Stage::new(&json!({}));
    assert!(nudges(&stage.hear(idle(StateSource::Hook))));
    stage.hear(works());
    assert_eq!(stage.hear(signal(SignalKind::Continue, "")), Ok(Vec::new()));
    assert!(nudges(&stage.hear(idle(StateSource::Hook))), "it is not stored either");
    let again = stage.hear_all([works(), idle(StateSource::Hook)]);
    assert_eq!(escalates(&again), Some(DecisionSubject::Idle));
}

#[test]
fn on_prompt_fires_once_per_prompt_and_ignores_attempts_and_cooldown() {
    let mut stage = Stage::new(&json!({"on_prompt":
        {"action": "gate", "run": "true", "attempts": 1, "cooldown": "1h"}}));
    for _ in 0..5 {
        let gate = runs_gate(&stage.hear(prompt(PromptType::Permission))).unwrap();
        assert_eq!(stage.hear(prompt(PromptType::Permission)), dropped(IgnoreReason::Duplicate));
        stage.hear(works());
        assert_eq!(stage.gate_ends(gate, Some(1)), dropped(IgnoreReason::RestOver));
    }
}

#[test]
fn what_the_book_does_not_count_is_dropped_with_its_reason() {
    let mut stage = Stage::new(&json!({}));
    stage.hear(exits());
    assert_eq!(
        stage.hear(idle(StateSource::Log)),
        dropped(IgnoreReason::Uncounted(DropReason::Over))
    );
    assert_eq!(IgnoreReason::Uncounted(DropReason::Over).words(), "the agent has ended");
}

#[test]
fn an_agent_that_has_just_started_does_not_rest() {
    let mut stage = Stage::new(&json!({"on_idle": "done"}));
    stage.agents = Agents::default();
    let mut fresh = report(StateSource::Hook);
    fresh.fresh = true;
    assert_eq!(stage.hear(BusEvent::AgentIdle(fresh)), Ok(Vec::new()));
    assert_eq!(stage.hear(works()), Ok(Vec::new()));
    assert!(advances(&stage.hear(idle(StateSource::Hook))));
}

#[test]
fn a_second_visit_begins_anew() {
    let mut stage = Stage::new(&json!({}));
    assert!(nudges(&stage.hear(idle(StateSource::Hook))));
    stage.hear(works());
    let asked = stage.hear(idle(StateSource::Hook));
    assert_eq!(escalates(&asked), Some(DecisionSubject::Idle));
    let old = stage.monitor.waits_for().unwrap();
    let entered = stage.monitor.enter(AGENT, Reactions::default(), second(stage.now));
    assert_eq!(
        entered.as_deref().unwrap_or_default(),
        [MonitorAction::DismissDecision { decision: old }]
    );
    assert!(nudges(&stage.hear(idle(StateSource::Hook))), "keyed by the visit, too");
    let late = stage.monitor.decided(&stage.agents, old, "fail", None, second(stage.now));
    assert_eq!(late, dropped(IgnoreReason::NoDecision), "a decision of the visit before");
}
