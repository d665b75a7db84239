//! The effect of every action.

use anyhook_model::ProcessName;
use jiff::SignedDuration;

use super::*;
use crate::agents::DropReason;

#[test]
fn nudge_types_the_message() {
    let said = |definition: Value| match Stage::new(&definition)
        .hear(idle(StateSource::Hook))
        .as_deref()
        .unwrap_or_default()
    {
        [MonitorAction::Nudge { rest: 1, message }] => message.clone(),
        other => panic!("{other:?}"),
    };
    let own = said(json!({}));
    assert!(own.contains("agent:signal"));
    assert_eq!(said(json!({"on_idle": {"action": "nudge", "message": "tests?"}})), "tests?");
    let both = json!({"on_idle": {"action": "nudge", "message": "tests?", "append": true}});
    assert_eq!(said(both), format!("{own}\ntests?"));
}

#[test]
fn a_nudge_is_typed_only_while_the_agent_is_idle() {
    let mut stage = Stage::new(&json!({}));
    stage.hear(idle(StateSource::Hook));
    let rest = stage.agent().rest().unwrap();
    let may = |stage: &Stage| stage.monitor.may_nudge(&stage.agents, rest);
    assert_eq!(may(&stage), Ok(()));
    assert_eq!(stage.monitor.may_nudge(&stage.agents, rest + 1), Err(IgnoreReason::RestOver));
    for (event, why) in [
        (works(), IgnoreReason::RestOver),
        (prompt(PromptType::Permission), IgnoreReason::Waiting),
        (exits(), IgnoreReason::Waiting),
        (signal(SignalKind::Escalate, "help"), IgnoreReason::SignalStored),
        (complete(), IgnoreReason::Stale),
    ] {
        let mut stage = Stage::new(&json!({}));
        stage.hear(idle(StateSource::Hook));
        stage.hear(event);
        assert_eq!(may(&stage), Err(why));
    }
    let mut at_prompt = Stage::new(&json!({"on_prompt": {"action": "gate", "run": "true"}}));
    at_prompt.hear_all([idle(StateSource::Hook), prompt(PromptType::Permission)]);
    let now = at_prompt.agent().activity;
    assert_eq!(
        at_prompt.monitor.may_nudge(&at_prompt.agents, now),
        Err(IgnoreReason::RestOver),
        "never into a prompt"
    );
    at_prompt.monitor.end();
    assert_eq!(may(&at_prompt), Err(IgnoreReason::Ended));
}

#[test]
fn done_and_fail_end_the_step_with_a_reason() {
    for (trigger, event) in [
        ("on_idle", idle(StateSource::Hook)),
        ("on_prompt", prompt(PromptType::PlanApproval)),
        ("on_dead", exits()),
        ("on_error", fails(FailureKind::Other)),
    ] {
        if trigger != "on_error" {
            let mut stage = Stage::new(&json!({trigger: "done"}));
            assert!(advances(&stage.hear(event.clone())), "{trigger}");
            assert_eq!(stage.monitor.agent(), None);
        }
        let mut stage = Stage::new(&json!({trigger: {"action": "fail", "message": "so"}}));
        let failed = stage.hear(event);
        assert_eq!(failed, Ok(vec![MonitorAction::Fail { why: "so".to_owned() }]));
        assert_eq!(stage.hear(complete()), dropped(IgnoreReason::Stale), "it ended before");
    }
    let failed = Stage::new(&json!({"on_error": "fail"})).hear(fails(FailureKind::RateLimited));
    let why = "the agent failed (rate_limited): 429".to_owned();
    assert_eq!(failed, Ok(vec![MonitorAction::Fail { why }]));
}

#[test]
fn a_gate_that_succeeds_advances_and_one_that_fails_escalates_with_its_output() {
    for (trigger, event) in [
        ("on_idle", idle(StateSource::Hook)),
        ("on_prompt", prompt(PromptType::Permission)),
        ("on_dead", exits()),
        ("on_error", fails(FailureKind::Other)),
    ] {
        let definition = json!({trigger: {"action": "gate", "run": "make check"}});
        let mut stage = Stage::new(&definition);
        let reaction = stage.hear(event.clone());
        let [MonitorAction::RunGate { gate, run, timeout }] =
            reaction.as_deref().unwrap_or_default()
        else {
            panic!("{reaction:?}")
        };
        assert_eq!((run.as_str(), *timeout), ("make check", SignedDuration::from_secs(30)));
        assert!(advances(&stage.gate_ends(*gate, Some(0))));

        for exit in [Some(1), None] {
            let mut stage = Stage::new(&definition);
            let gate = runs_gate(&stage.hear(event.clone())).unwrap();
            let asked = stage.gate_ends(gate, exit);
            assert_eq!(escalates(&asked), Some(DecisionSubject::Gate));
            assert!(question(&asked).ends_with("2 tests failed"), "{asked:?}");
            assert_eq!(
                stage.gate_ends(gate, Some(0)),
                dropped(IgnoreReason::NoGate),
                "it ended once"
            );
        }
    }
}

#[test]
fn a_gates_message_and_timeout_count() {
    let mut stage = Stage::new(&json!({"on_error": [{"match": "no_network", "action": "gate",
        "run": "ping", "timeout": "5m", "message": "No network.", "append": true}]}));
    let reaction = stage.hear(fails(FailureKind::NoNetwork));
    let [MonitorAction::RunGate { gate, timeout, .. }] = reaction.as_deref().unwrap_or_default()
    else {
        panic!("{reaction:?}")
    };
    assert_eq!(*timeout, SignedDuration::from_mins(5));
    let asked = stage.gate_ends(*gate, Some(2));
    assert_eq!(question(&asked), "the gate `ping` failed (2):\n2 tests failed\nNo network.");
}

#[test]
fn a_gate_without_output_says_so() {
    let mut stage = Stage::new(&json!({"on_idle": {"action": "gate", "run": "make"}}));
    let gate = runs_gate(&stage.hear(idle(StateSource::Hook))).unwrap();
    let asked = stage.monitor.gate_ended(&stage.agents, gate, Some(1), " \n", second(9));
    assert_eq!(question(&asked), "the gate `make` failed (1) without output");
}

#[test]
fn the_end_of_a_long_output_is_shown() {
    let mut stage = Stage::new(&json!({"on_idle": {"action": "gate", "run": "make"}}));
    let gate = runs_gate(&stage.hear(idle(StateSource::Hook))).unwrap();
    let output = format!("{}the end", "é".repeat(100_000));
    let asked = stage.monitor.gate_ended(&stage.agents, gate, Some(1), &output, second(9));
    assert!(question(&asked).len() < 5_000 && question(&asked).ends_with("the end"));
}

#[test]
fn while_a_gate_runs_idleness_and_the_end_wait_for_it() {
    let definition = json!({"on_dead": "fail",
        "on_idle": {"action": "gate", "run": "make", "attempts": 9}});
    for (next, succeeds) in [(exits(), true), (exits(), false), (idle(StateSource::Hook), false)] {
        let mut stage = Stage::new(&definition);
        let gate = runs_gate(&stage.hear(idle(StateSource::Hook))).unwrap();
        stage.hear(works());
        assert_eq!(stage.hear(next.clone()), dropped(IgnoreReason::GateRuns));
        let ended = stage.gate_ends(gate, Some(i32::from(!succeeds)));
        if succeeds {
            assert!(advances(&ended));
        } else if next == exits() {
            assert!(fails_the_step(&ended), "it was not forgotten");
        } else {
            assert!(runs_gate(&ended).is_some(), "for the new rest: {ended:?}");
        }
    }
}

#[test]
fn a_prompt_does_not_wait_for_a_gate() {
    let mut stage = Stage::new(&json!({"on_idle": {"action": "gate", "run": "make"}}));
    let gate = runs_gate(&stage.hear(idle(StateSource::Hook))).unwrap();
    let asked = stage.hear(prompt(PromptType::Permission));
    assert_eq!(escalates(&asked), Some(DecisionSubject::Prompt(PromptType::Permission)));
    let mut later = Stage { monitor: stage.monitor.clone(), agents: stage.agents.clone(), now: 9 };
    assert_eq!(later.gate_ends(gate, Some(1)), dropped(IgnoreReason::Waiting));
    assert_eq!(stage.hear(exits()), dropped(IgnoreReason::GateRuns));
    let dead = stage.gate_ends(gate, Some(1));
    assert!(matches!(
        dead.as_deref().unwrap_or_default(),
        [
            MonitorAction::DismissDecision { .. },
            MonitorAction::Escalate { about: DecisionSubject::Dead, .. }
        ]
    ));
}

#[test]
fn recover_starts_the_agent_again() {
    let mut stage = Stage::new(&json!({"on_dead":
        {"action": "recover", "message": "go on", "append": true, "attempts": 2}}));
    let recover =
        Ok(vec![MonitorAction::Recover { message: Some("go on".to_owned()), append: true }]);
    assert_eq!(stage.hear(exits()), recover);
    assert_eq!(stage.hear(exits()), dropped(IgnoreReason::Duplicate));
    let gone = BusEvent::AgentGone(report(StateSource::Process));
    assert_eq!(stage.hear(gone.clone()), dropped(IgnoreReason::Duplicate), "one death, told twice");
    stage.hear(works());
    assert_eq!(stage.hear(gone), recover, "another life");
    // It dies before anything is heard from it.
    stage.monitor.started(None, second(stage.now + 1));
    assert_eq!(
        escalates(&stage.hear(exits())),
        Some(DecisionSubject::Dead),
        "attempts are used up"
    );
}

#[test]
fn what_is_told_of_the_run_before_does_not_count() {
    let process = |started| Some(ProcessName { pid: 7, started, namespace: None });
    let mut stage = Stage::new(&json!({"on_dead": {"action": "recover", "attempts": "forever"}}));
    stage.hear(exits());
    stage.monitor.started(process(2), second(10));
    stage.now = 20;
    let late = stage.hear_at(exits(), 9);
    assert_eq!(late, dropped(IgnoreReason::EarlierRun));
    let mut other = report(StateSource::Hook);
    other.process = process(1);
    let other = stage.hear(BusEvent::AgentExited(other));
    assert_eq!(other, dropped(IgnoreReason::Uncounted(DropReason::OtherProcess)));
    assert!(matches!(
        stage.hear(exits()).as_deref().unwrap_or_default(),
        [MonitorAction::Recover { .. }]
    ));
}

#[test]
fn an_agent_that_fails_again_at_once_is_not_forgotten() {
    let mut stage = Stage::new(&json!({"on_error": {"action": "recover", "attempts": 2}}));
    for _ in 0..2 {
        let failed = stage.hear(fails(FailureKind::Unauthorized));
        assert!(
            matches!(failed.as_deref().unwrap_or_default(), [MonitorAction::Recover { .. }]),
            "{failed:?}"
        );
        stage.monitor.started(None, second(stage.now));
    }
    let asked = stage.hear(fails(FailureKind::Unauthorized));
    assert_eq!(escalates(&asked), Some(DecisionSubject::Error(FailureKind::Unauthorized)));
}

#[test]
fn an_agent_that_stops_after_all_is_asked_about_again() {
    let mut stage = Stage::new(&json!({"on_stop": "escalate"}));
    assert_eq!(escalates(&stage.hear(stops())), Some(DecisionSubject::Stop));
    assert_eq!(stage.decide("dismiss"), Ok(Vec::new()));
    assert_eq!(escalates(&stage.hear(idle(StateSource::Hook))), Some(DecisionSubject::Stop));
}

#[test]
fn errors_by_kind_are_counted_each() {
    let mut stage = Stage::new(&json!({"on_error": [
        {"match": "rate_limited", "action": "recover", "attempts": 2},
        {"match": "unauthorized", "action": "fail"},
        {"action": "recover"},
    ]}));
    let recovers = |reaction: &MonitorResult| {
        matches!(reaction.as_deref().unwrap_or_default(), [MonitorAction::Recover { .. }])
    };
    assert!(recovers(&stage.hear(fails(FailureKind::RateLimited))));
    assert_eq!(stage.hear(fails(FailureKind::RateLimited)), dropped(IgnoreReason::Duplicate));
    assert!(recovers(&stage.hear_all([works(), fails(FailureKind::NoNetwork)])));
    assert!(recovers(&stage.hear_all([works(), fails(FailureKind::RateLimited)])));
    let asked = stage.hear_all([works(), fails(FailureKind::RateLimited)]);
    assert_eq!(escalates(&asked), Some(DecisionSubject::Error(FailureKind::RateLimited)));
    let failed = stage.hear_all([works(), fails(FailureKind::Unauthorized)]);
    assert!(fails_the_step(&failed));
}

#[test]
fn a_nudge_during_the_cooldown_waits_and_is_checked_again() {
    let definition =
        json!({"on_idle": {"action": "nudge", "attempts": "forever", "cooldown": "30s"}});
    let mut stage = Stage::new(&definition);
    assert!(nudges(&stage.hear(idle(StateSource::Hook))));
    let until = second(stage.now + 30);
    let waits = stage.hear_all([works(), idle(StateSource::Hook)]);
    assert_eq!(waits, Ok(vec![MonitorAction::WaitUntil(until)]));
    assert_eq!(stage.monitor.waits_until(), Some(until));
    assert_eq!(stage.hear(idle(StateSource::Log)), dropped(IgnoreReason::CoolingDown));
    let early = stage.monitor.timer_fired(&stage.agents, second(stage.now));
    assert_eq!(early, dropped(IgnoreReason::NoTimer));
    let fired = stage.monitor.timer_fired(&stage.agents, until);
    assert!(nudges(&fired), "{fired:?}");
    assert_eq!(stage.monitor.timer_fired(&stage.agents, until), dropped(IgnoreReason::NoTimer));
    assert_eq!(stage.hear(idle(StateSource::Log)), dropped(IgnoreReason::Duplicate));

    for (event, why) in [
        (works(), IgnoreReason::NoTimer),
        (prompt(PromptType::Question), IgnoreReason::RestOver),
        (exits(), IgnoreReason::RestOver),
        (signal(SignalKind::Escalate, "help"), IgnoreReason::SignalStored),
    ] {
        let mut stage = Stage::new(&definition);
        stage.hear_all([idle(StateSource::Hook), works(), idle(StateSource::Hook), event]);
        let fired = stage.monitor.timer_fired(&stage.agents, second(100));
        assert_eq!(fired, dropped(why));
    }
}

#[test]
fn after_the_cooldown_nothing_waits() {
    let mut stage =
        Stage::new(&json!({"on_idle": {"action": "nudge", "attempts": 9, "cooldown": "5m"}}));
    assert!(nudges(&stage.hear(idle(StateSource::Hook))));
    stage.now += 300;
    assert!(nudges(&stage.hear_all([works(), idle(StateSource::Hook)])));
}

#[test]
fn the_end_of_the_attempts_does_not_wait_for_the_cooldown() {
    let mut stage = Stage::new(&json!({"on_idle": {"action": "nudge", "cooldown": "5m"}}));
    stage.hear(idle(StateSource::Hook));
    assert_eq!(
        escalates(&stage.hear_all([works(), idle(StateSource::Hook)])),
        Some(DecisionSubject::Idle)
    );
}

#[test]
fn on_stop_signal_holds_the_stop_until_a_signal_comes() {
    let mut stage =
        Stage::new(&json!({"on_stop": {"action": "signal", "message": "first signal"}}));
    for _ in 0..5 {
        assert_eq!(stage.monitor.holds_stop().as_deref(), Some("first signal"));
        let held = stage.hear(stops());
        let message = "first signal".to_owned();
        assert_eq!(held, Ok(vec![MonitorAction::BlockStop { message }]));
    }
    stage.hear(signal(SignalKind::Continue, ""));
    assert!(stage.monitor.holds_stop().is_some(), "it is not done yet");
    stage.hear(signal(SignalKind::Escalate, "help"));
    assert_eq!(stage.monitor.holds_stop(), None);
    assert_eq!(stage.hear(stops()), dropped(IgnoreReason::SignalStored));
    assert!(advances(&stage.hear(complete())));
    assert_eq!(stage.monitor.holds_stop(), None);
}

#[test]
fn an_agent_whose_stop_was_not_held_after_all_is_idle() {
    let mut stage = Stage::new(&json!({"on_stop": "signal"}));
    stage.hear(stops());
    assert!(nudges(&stage.hear(idle(StateSource::Hook))));
}

#[test]
fn a_stop_is_held_so_often_if_the_definition_says_so() {
    let mut stage = Stage::new(&json!({"on_stop": {"action": "signal", "attempts": 2}}));
    for _ in 0..2 {
        assert!(matches!(
            stage.hear(stops()).as_deref().unwrap_or_default(),
            [MonitorAction::BlockStop { .. }]
        ));
    }
    assert_eq!(stage.monitor.holds_stop(), None);
    assert_eq!(escalates(&stage.hear(stops())), Some(DecisionSubject::Stop));
    assert_eq!(stage.hear(stops()), dropped(IgnoreReason::Waiting));
}

#[test]
fn on_stop_idle_does_nothing_and_the_agent_is_idle() {
    let mut stage = Stage::new(&json!({}));
    assert_eq!(stage.monitor.holds_stop(), None);
    assert_eq!(stage.hear(stops()), Ok(Vec::new()));
    assert!(nudges(&stage.hear(idle(StateSource::Hook))));
}

#[test]
fn on_stop_escalate_asks_a_person_in_the_place_of_on_idle() {
    let definition = json!({"on_stop": {"action": "escalate", "message": "look"}});
    for stop in [stops(), idle(StateSource::Hook)] {
        let mut stage = Stage::new(&definition);
        let asked = stage.hear(stop);
        assert_eq!((escalates(&asked), question(&asked)), (Some(DecisionSubject::Stop), "look"));
        for source in [StateSource::Hook, StateSource::Log] {
            assert_eq!(stage.hear(idle(source)), dropped(IgnoreReason::Waiting));
        }
        stage.decide("dismiss");
        assert_eq!(stage.hear(idle(StateSource::Log)), dropped(IgnoreReason::Duplicate));
    }
    let mut stage = Stage::new(&definition);
    assert!(nudges(&stage.hear(idle(StateSource::Log))), "nobody saw it stop");
    assert_eq!(stage.hear(idle(StateSource::Hook)), dropped(IgnoreReason::Duplicate), "one rest");
}
