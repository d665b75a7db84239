//! What a person can choose, and when no answer is needed any more.

use super::*;

fn names(about: DecisionSubject) -> Vec<String> {
    about.options().into_iter().map(|option| option.name).collect()
}

#[test]
fn the_options_of_every_decision() {
    for about in [DecisionSubject::Idle, DecisionSubject::Stop, DecisionSubject::Signal] {
        assert_eq!(names(about), ["nudge", "done", "fail", "dismiss"]);
    }
    assert_eq!(
        names(DecisionSubject::Prompt(PromptType::Other)),
        ["allow", "deny", "attach", "fail"]
    );
    for about in
        [DecisionSubject::Gate, DecisionSubject::Dead, DecisionSubject::Error(FailureKind::Other)]
    {
        assert_eq!(names(about), ["retry", "skip", "fail"]);
    }
    let asked = Stage::new(&json!({})).hear(prompt(PromptType::Permission));
    let [MonitorAction::Escalate { options, .. }] = asked.as_deref().unwrap_or_default() else {
        panic!("{asked:?}")
    };
    assert_eq!(options[0].name, "allow", "number 1");
}

#[test]
fn the_first_choice_counts_and_only_those_there_are() {
    let mut stage = Stage::new(&json!({"on_idle": "escalate"}));
    stage.hear(idle(StateSource::Hook));
    let decision = stage.monitor.waits_for().unwrap();
    assert_eq!(stage.decide("allow"), dropped(IgnoreReason::NoSuchChoice));
    assert_eq!(stage.monitor.waits_for(), Some(decision), "it is open still");
    assert_eq!(stage.decide("dismiss"), Ok(Vec::new()));
    let again = stage.monitor.decided(&stage.agents, decision, "fail", None, second(9));
    assert_eq!(again, dropped(IgnoreReason::NoDecision));
}

#[test]
fn done_skip_and_fail_end_the_step() {
    for (event, forward) in [
        (idle(StateSource::Hook), Some("done")),
        (prompt(PromptType::Question), None),
        (exits(), Some("skip")),
        (fails(FailureKind::Other), Some("skip")),
        (signal(SignalKind::Escalate, "x"), Some("done")),
    ] {
        let asked = || {
            let mut stage = Stage::new(&json!({"on_idle": "escalate"}));
            stage.hear(event.clone());
            stage
        };
        assert!(fails_the_step(&asked().decide("fail")));
        if let Some(choice) = forward {
            assert!(advances(&asked().decide(choice)));
        }
    }
}

#[test]
fn a_chosen_nudge_says_what_the_person_says() {
    let mut stage = Stage::new(&json!({"on_idle": "escalate"}));
    stage.hear(idle(StateSource::Hook));
    let decision = stage.monitor.waits_for().unwrap();
    let told = stage.monitor.decided(&stage.agents, decision, "nudge", Some("use main"), second(9));
    let nudge = MonitorAction::Nudge { rest: 1, message: "use main".to_owned() };
    assert_eq!(told, Ok(vec![nudge]));
    assert_eq!(stage.monitor.may_nudge(&stage.agents, 1), Ok(()));
    let again = stage.hear_all([works(), idle(StateSource::Hook)]);
    assert_eq!(escalates(&again), Some(DecisionSubject::Idle), "the next rest is another matter");
}

#[test]
fn a_chosen_nudge_waits_until_the_agent_is_idle() {
    let mut stage = Stage::new(&json!({"on_idle": "fail"}));
    stage.hear(signal(SignalKind::Escalate, "which branch?"));
    let decision = stage.monitor.waits_for().unwrap();
    let told = stage.monitor.decided(&stage.agents, decision, "nudge", Some("main"), second(9));
    assert_eq!(told, Ok(Vec::new()), "it works still");
    assert_eq!(stage.hear(works()), Ok(Vec::new()));
    let nudged = stage.hear(idle(StateSource::Hook));
    assert!(
        matches!(nudged.as_deref().unwrap_or_default(), [MonitorAction::Nudge { message, .. }] if message == "main")
    );
    assert!(fails_the_step(&stage.hear_all([works(), idle(StateSource::Hook)])));
}

#[test]
fn a_chosen_nudge_is_not_typed_into_a_prompt() {
    let mut stage = Stage::new(&json!({"on_idle": "escalate"}));
    stage.hear_all([idle(StateSource::Hook), prompt(PromptType::Permission)]);
    let told = stage.decide("nudge");
    assert_eq!(
        escalates(&told),
        Some(DecisionSubject::Prompt(PromptType::Permission)),
        "it asks, first"
    );
    let worked = stage.hear(works());
    assert!(matches!(
        worked.as_deref().unwrap_or_default(),
        [MonitorAction::DismissDecision { .. }]
    ));
    assert!(nudges(&stage.hear(idle(StateSource::Hook))));
}

#[test]
fn allow_and_deny_answer_that_very_prompt() {
    for (choice, allow) in [("allow", true), ("deny", false)] {
        let mut stage = Stage::new(&json!({}));
        stage.hear(prompt(PromptType::Permission));
        let rest = stage.agent().rest().unwrap();
        let answer = MonitorAction::Answer { rest, allow, message: None };
        assert_eq!(stage.decide(choice), Ok(vec![answer]));
        assert_eq!(stage.hear(prompt(PromptType::Permission)), dropped(IgnoreReason::Duplicate));
    }
}

#[test]
fn a_turn_that_is_over_ends_the_decision_about_its_prompt() {
    let mut stage = Stage::new(&json!({"on_idle": {"action": "nudge", "message": "go"}}));
    stage.hear(prompt(PromptType::Permission));
    let over = stage.hear(idle(StateSource::Hook));
    assert!(
        matches!(
            over.as_deref().unwrap_or_default(),
            [MonitorAction::DismissDecision { .. }, MonitorAction::Nudge { .. }]
        ),
        "somebody has answered: {over:?}"
    );
    // Other decisions stay open.
    let mut stage = Stage::new(&json!({"on_idle": "escalate"}));
    stage.hear(idle(StateSource::Hook));
    assert_eq!(stage.hear(idle(StateSource::Notification)), dropped(IgnoreReason::Waiting));
}

#[test]
fn another_prompt_is_asked_about_when_the_first_is_decided() {
    let mut stage = Stage::new(&json!({}));
    stage.hear(prompt(PromptType::Permission));
    assert_eq!(stage.hear(prompt(PromptType::Question)), dropped(IgnoreReason::Waiting));
    let next = stage.decide("allow");
    assert_eq!(escalates(&next), Some(DecisionSubject::Prompt(PromptType::Question)));
}

#[test]
fn attach_leaves_the_prompt_to_the_person() {
    let mut stage = Stage::new(&json!({}));
    stage.hear(prompt(PromptType::Question));
    assert_eq!(stage.decide("attach"), Ok(vec![MonitorAction::Attach]));
    assert_eq!(stage.hear(prompt(PromptType::Question)), dropped(IgnoreReason::Duplicate));
    assert!(nudges(&stage.hear_all([works(), idle(StateSource::Hook)])));
}

#[test]
fn retry_starts_the_agent_or_the_gate_again() {
    for event in [exits(), fails(FailureKind::NoNetwork)] {
        let mut stage = Stage::new(&json!({}));
        stage.hear(event);
        assert!(matches!(
            stage.decide("retry").as_deref().unwrap_or_default(),
            [MonitorAction::Recover { .. }]
        ));
    }
    let mut stage = Stage::new(&json!({"on_idle": {"action": "gate", "run": "make"}}));
    let gate = runs_gate(&stage.hear(idle(StateSource::Hook))).unwrap();
    stage.gate_ends(gate, Some(1));
    let again = runs_gate(&stage.decide("retry")).unwrap();
    assert_ne!(again, gate);
    assert_eq!(escalates(&stage.gate_ends(again, Some(1))), Some(DecisionSubject::Gate));
    stage.hear(prompt(PromptType::Permission));
    let both = stage.decide("retry");
    let [MonitorAction::RunGate { gate, .. }, MonitorAction::Escalate { about, .. }] =
        both.as_deref().unwrap_or_default()
    else {
        panic!("{both:?}")
    };
    assert_eq!(
        *about,
        DecisionSubject::Prompt(PromptType::Permission),
        "it waited for the decision"
    );
    assert!(advances(&stage.gate_ends(*gate, Some(0))));
}

#[test]
fn an_agent_that_went_on_is_not_started_again() {
    let mut stage = Stage::new(&json!({}));
    stage.hear_all([fails(FailureKind::NoNetwork), prompt(PromptType::Permission)]);
    let asked = stage.decide("retry");
    assert_eq!(escalates(&asked), Some(DecisionSubject::Prompt(PromptType::Permission)));
}

#[test]
fn an_agent_that_works_again_by_itself_needs_no_decision() {
    for event in
        [idle(StateSource::Hook), prompt(PromptType::Question), fails(FailureKind::Other), exits()]
    {
        let mut stage = Stage::new(&json!({"on_idle": "escalate"}));
        stage.hear(event);
        let decision = stage.monitor.waits_for().unwrap();
        let worked = stage.hear(works());
        assert_eq!(worked, Ok(vec![MonitorAction::DismissDecision { decision }]));
        assert_eq!(stage.monitor.waits_for(), None);
        assert_eq!(stage.hear(works()), Ok(Vec::new()));
    }
}

#[test]
fn what_the_agent_asks_for_is_not_dismissed_by_the_end_of_its_own_call() {
    // It signals from a tool, and the end of the tool counts as work.
    for before in [works(), prompt(PromptType::Permission)] {
        let mut stage = Stage::new(&json!({}));
        stage.hear_all([before, signal(SignalKind::Escalate, "help")]);
        assert_eq!(stage.hear(works()), Ok(Vec::new()));
        assert_eq!(stage.hear(idle(StateSource::Hook)), dropped(IgnoreReason::SignalStored));
        let worked = stage.hear(works());
        assert!(matches!(
            worked.as_deref().unwrap_or_default(),
            [MonitorAction::DismissDecision { .. }]
        ));
        assert!(nudges(&stage.hear(idle(StateSource::Hook))), "nothing is stored any more");
    }
}

#[test]
fn a_prompt_told_of_again_does_not_make_the_signal_look_old() {
    let mut stage = Stage::new(&json!({}));
    stage.hear_all([prompt(PromptType::Permission), signal(SignalKind::Escalate, "help")]);
    assert_eq!(stage.hear(prompt(PromptType::Permission)), dropped(IgnoreReason::SignalStored));
    assert_eq!(stage.hear(works()), Ok(Vec::new()));
    assert!(stage.monitor.waits_for().is_some());
}

#[test]
fn our_own_nudge_does_not_dismiss_what_the_agent_asks_for() {
    let mut stage = Stage::new(&json!({}));
    // Idle is received first, and the nudge is already pending when the signal arrives.
    assert!(nudges(&stage.hear(idle(StateSource::Hook))));
    assert_eq!(
        escalates(&stage.hear(signal(SignalKind::Escalate, "help"))),
        Some(DecisionSubject::Signal)
    );
    assert_eq!(stage.hear(works()), Ok(Vec::new()), "it reads the nudge");
    assert!(stage.monitor.waits_for().is_some());
}

#[test]
fn the_same_signal_twice_asks_once_and_another_one_anew() {
    let mut stage = Stage::new(&json!({}));
    let escalate = |message| signal(SignalKind::Escalate, message);
    stage.hear(escalate("a"));
    assert_eq!(stage.hear(escalate("a")), dropped(IgnoreReason::Duplicate));
    let other = stage.hear(escalate("b"));
    assert!(matches!(
        other.as_deref().unwrap_or_default(),
        [MonitorAction::DismissDecision { .. }, MonitorAction::Escalate { question, .. }] if question == "b"
    ));
}

#[test]
fn a_decision_nobody_makes_leaves_the_agent_to_the_rules() {
    let mut stage = Stage::new(&json!({}));
    stage.hear_all([signal(SignalKind::Escalate, "help"), idle(StateSource::Hook)]);
    let decision = stage.monitor.waits_for().unwrap();
    assert!(nudges(&stage.monitor.given_up(&stage.agents, decision, second(90))));
    let again = stage.monitor.given_up(&stage.agents, decision, second(91));
    assert_eq!(again, dropped(IgnoreReason::NoDecision));
}

#[test]
fn the_end_of_the_pipeline_closes_what_is_open() {
    let mut stage = Stage::new(&json!({}));
    stage.hear(prompt(PromptType::Question));
    let decision = stage.monitor.waits_for().unwrap();
    let ended = stage.monitor.end();
    assert_eq!(ended, Ok(vec![MonitorAction::DismissDecision { decision }]));
    let late = stage.monitor.decided(&stage.agents, decision, "fail", None, second(9));
    assert_eq!(late, dropped(IgnoreReason::Ended));
}

/// One prompt is one decision: the host's, if it asks in time.
#[test]
fn a_tool_that_asks_waits_for_its_hosts_question() {
    for kind in [PromptType::PlanApproval, PromptType::Question] {
        let mut stage = Stage::new(&json!({}));
        let waits = stage.hear(calls(kind));
        let until = second(stage.now + 3);
        assert_eq!(waits, Ok(vec![MonitorAction::WaitUntil(until)]));
        let asked = stage.hear_at(prompt(kind), stage.now);
        assert_eq!(escalates(&asked), Some(DecisionSubject::Prompt(kind)));
        let late = stage.monitor.timer_fired(&stage.agents, until);
        assert_eq!(late, dropped(IgnoreReason::NoTimer));

        let mut stage = Stage::new(&json!({}));
        stage.hear(calls(kind));
        let fired = stage.monitor.timer_fired(&stage.agents, second(stage.now + 3));
        assert_eq!(
            escalates(&fired),
            Some(DecisionSubject::Prompt(kind)),
            "a host that does not ask"
        );
    }
}
