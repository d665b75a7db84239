use super::*;

fn with_agent(reactions: &Value) -> World {
    let mut world = World::begin(plan(vec![to(agent("a", reactions), "b"), shell("b")]));
    world.starts();
    world.works();
    world
}

#[test]
fn a_signal_ends_the_agent_and_goes_on() {
    let mut world = with_agent(&json!({}));
    assert_eq!(world.agent(), "7k2m9x4q.a.1");
    let effects = world.signals(SignalKind::Complete, None);
    assert_eq!(told(&effects), ["step:completed"]);
    assert_eq!(world.visits().len(), 1, "two never work at once");
    let former = world.pipeline().view(&|_| String::new()).visits[0].agent.clone().unwrap();
    let effects = world.ends();
    assert_eq!(
        told(&effects),
        ["session:deleted", "pipeline:advanced", "step:started", "agent:exited"]
    );
    assert!(
        world.state.agents.get(&former).unwrap().state.is_over(),
        "nobody takes it for one that works"
    );
    world.exits(0);
    assert_eq!(world.phase(), PipelinePhase::Completed);
}

#[test]
fn an_idle_agent_is_nudged_once_and_then_a_person_is_asked() {
    let mut world = with_agent(&json!({}));
    world.idles();
    world.idles();
    assert!(world.state.outbox.notices.is_empty(), "the pipeline looks after it");
    world.nudges();
    world.idles();
    assert_eq!(world.phase(), PipelinePhase::Waiting);
    assert_eq!(world.options(), ["nudge", "done", "fail", "dismiss"]);
    world.decides("done");
    world.ends();
    assert_eq!(world.visits()[1].0, "b");
}

#[test]
fn a_gate_lets_it_go_on_or_asks_with_its_output() {
    let reactions = json!({"on_idle": {"action": "gate", "run": "make test"}});
    let is_gate = |work: &JobWork| matches!(work, JobWork::Gate { .. });
    let mut world = with_agent(&reactions);
    world.idles();
    let gate = world.job(is_gate);
    world.result(gate, exited(Some(0), "ok"));
    assert_eq!(world.visits()[0].1, VisitState::Completed);

    let mut world = with_agent(&reactions);
    world.idles();
    let gate = world.job(is_gate);
    world.result(gate, exited(Some(2), "1 test failed"));
    assert_eq!(world.options(), ["retry", "skip", "fail"]);
    let question = "the gate `make test` failed (2):\n1 test failed";
    assert_eq!(world.question().question, question);
    world.decides("retry");
    let again = world.job(is_gate);
    assert_ne!(again, gate);
    world.result(again, JobResult::InDoubt);
    assert_eq!(world.phase(), PipelinePhase::Waiting, "a gate in doubt has not succeeded");
    world.decides("skip");
    world.ends();
    world.exits(0);
    assert_eq!(world.phase(), PipelinePhase::Completed);
}

#[test]
fn the_question_of_a_hook_that_waits_is_the_pipelines_own() {
    for (choice, phase) in [("allow", PipelinePhase::Running), ("fail", PipelinePhase::Running)] {
        let mut world = with_agent(&json!({}));
        let asked = world.hook_asks("perm1");
        assert_eq!(world.question().id, asked);
        assert_eq!(world.options(), ["allow", "deny", "attach", "fail"]);
        assert_eq!(world.state.inquiries.open().count(), 1, "one decision, not two");
        let effects = world.decides(choice);
        assert!(!effects.answers.is_empty());
        assert_eq!(world.phase(), phase);
        let answers = world.pipeline().jobs().any(|job| matches!(job.work, JobWork::Answer { .. }));
        assert!(!answers, "nothing is typed where a hook answers");
        assert_eq!(world.visits()[0].1 == VisitState::Failed, choice == "fail");
    }
}

/// A permission that a hook process asked for, and that no one answered while it waited.
fn unanswered_dialog() -> World {
    let mut world = with_agent(&json!({}));
    let asked = world.hook_asks("perm1");
    let expired = Resolution {
        id: asked.clone(),
        agent: world.agent(),
        ending: ApprovalEnding::Expired,
        choice: None,
        message: None,
        answers: Vec::new(),
        by: "nobody".to_owned(),
        process: None,
        at: world.at(),
        digest: None,
        asked: None,
        agent_name: None,
        pipeline: None,
        claimed_by: None,
        again: false,
        follows: None,
        signature: None,
    };
    world.hear(BusEvent::DecisionResolved(expired));
    assert_ne!(world.question().id, asked);
    world
}

#[test]
fn a_dialog_that_nobody_answered_in_time_is_asked_about_again() {
    let mut world = unanswered_dialog();
    assert_eq!(world.options(), ["attach", "fail"]);
    world.decides("attach");
    assert_eq!(world.phase(), PipelinePhase::Running);
}

#[test]
fn a_dialog_that_was_answered_on_the_screen_is_not_asked_about_any_more() {
    let mut world = unanswered_dialog();
    world.works();
    assert_eq!(world.state.inquiries.open().count(), 0, "somebody allowed it there");
    assert_eq!(world.phase(), PipelinePhase::Running);
    let mut world = unanswered_dialog();
    let asked = world.question().id.clone();
    world.idles();
    let ended = world.state.inquiries.get(&asked).unwrap().resolution.clone().unwrap();
    assert_eq!(ended.ending, ApprovalEnding::Dismissed, "somebody refused it there");
}

#[test]
fn a_dialog_on_the_screen_is_answered_by_keys() {
    let mut world = with_agent(&json!({}));
    let report = AgentReport { source: StateSource::Log, ..world.report() };
    let prompt = AgentPrompt { report, prompt_type: PromptType::Other };
    world.hear(BusEvent::AgentPrompt(prompt));
    assert_eq!(world.options(), ["allow", "deny", "attach", "fail"]);
    world.decides("allow");
    let job = world.job(|work| matches!(work, JobWork::Answer { allow: true, .. }));
    world.result(job, JobResult::Failed { why: "the screen shows something else".to_owned() });
    assert_eq!(world.options(), ["attach", "fail"]);
}

#[test]
fn a_dead_agent_is_started_again_when_its_former_run_is_no_more() {
    let mut world = with_agent(&json!({"on_dead": "recover"}));
    let is_agent = |work: &JobWork| matches!(work, JobWork::Agent { .. });
    let first = world.job(is_agent);
    let report = world.report();
    // Its host says that the session is over while its process is still ending.
    world.hear(BusEvent::AgentExited(report));
    assert_eq!(world.job(is_agent), first);
    world.ends();
    let second = world.job(|work| matches!(work, JobWork::Agent { life: 2, .. }));
    world.starts();
    world.result(second, exited(Some(1), "")); // It dies again: attempts are used up.
    assert_eq!(
        (world.phase(), world.options()),
        (PipelinePhase::Waiting, ["retry", "skip", "fail"].map(str::to_owned).to_vec())
    );
    world.decides("retry");
    world.job(|work| matches!(work, JobWork::Agent { life: 3, .. }));
}

#[test]
fn the_end_of_its_process_does_not_take_the_question_away() {
    let mut world = with_agent(&json!({}));
    let report = world.report();
    world.hear(BusEvent::AgentExited(report));
    let question = world.question().id.clone();
    let job = world.job(|work| matches!(work, JobWork::Agent { .. }));
    world.result(job, exited(Some(0), ""));
    assert_eq!(world.question().id, question);
    world.decides("skip");
    world.exits(0);
    assert_eq!(world.phase(), PipelinePhase::Completed);
}

#[test]
fn an_agent_that_cannot_be_started_fails_the_step() {
    let mut world = World::begin(plan(vec![agent("a", &json!({}))]));
    let job = world.job(|work| matches!(work, JobWork::Agent { .. }));
    world.result(job, JobResult::Failed { why: "cannot create a terminal".to_owned() });
    assert_eq!(world.phase(), PipelinePhase::Failed);
    let why = world.pipeline().view(&|_| String::new()).why.unwrap();
    assert_eq!(why, "step `a` failed: could not start the agent: cannot create a terminal");
}

#[test]
fn what_an_agent_asks_for_is_asked_once() {
    let mut world = with_agent(&json!({}));
    world.signals(SignalKind::Escalate, Some("which database?"));
    assert_eq!(world.state.inquiries.open().count(), 1);
    assert_eq!(world.question().question, "which database?");
    world.decides("nudge");
    assert_eq!(world.phase(), PipelinePhase::Running);
    world.idles();
    world.job(|work| matches!(work, JobWork::Nudge { .. }));
}

#[test]
fn agents_of_others_and_of_steps_that_are_over_change_nothing() {
    let mut world = with_agent(&json!({}));
    let stale = world.report();
    world.signals(SignalKind::Complete, None);
    let effects = world.hear(BusEvent::AgentIdle(stale.clone()));
    assert_eq!(effects.dropped, Some("the step has ended"));
    world.ends();
    let late = AgentReport { at: None, ..stale };
    let effects = world.hear(BusEvent::AgentIdle(late));
    let words = "the agent is not working on the current step";
    assert_eq!(effects.dropped, Some(words));
    let other = AgentReport { agent: "7k2m9x4q.z.9".to_owned(), ..AgentReport::default() };
    world.hear(BusEvent::AgentIdle(other));
    assert_eq!(world.phase(), PipelinePhase::Running);
}

#[test]
fn every_event_that_changes_nothing_has_its_reason_in_the_log() {
    let mut world = with_agent(&json!({}));
    let stale = world.report();
    let notes = |world: &World| -> Vec<String> {
        let lines = world.pipeline().lines(0).into_iter().map(|line| line.text);
        lines.filter(|text| text.contains(" ignored: ")).collect()
    };
    world.signals(SignalKind::Complete, None);
    world.hear(BusEvent::AgentIdle(stale.clone()));
    world.ends();
    let late = AgentReport { at: None, ..stale };
    let agent = late.agent.clone();
    world.hear(BusEvent::AgentIdle(late.clone()));
    let prompt = AgentPrompt { report: late.clone(), prompt_type: PromptType::Question };
    world.hear(BusEvent::AgentPrompt(prompt));
    // It is expected that it ends.
    world.hear(BusEvent::AgentExited(late));
    let why = "the agent is not working on the current step";
    assert_eq!(
        notes(&world),
        [
            format!("agent:idle of {agent} ignored: the step has ended"),
            format!("agent:idle of {agent} ignored: {why}"),
            format!("agent:prompt of {agent} ignored: {why}"),
        ]
    );
}

#[test]
fn a_cooldown_is_waited_for() {
    let reactions = json!({"on_idle": {"action": "nudge", "attempts": 3, "cooldown": "5m"}});
    let mut world = with_agent(&reactions);
    world.idles();
    world.nudges();
    let effects = world.idles();
    assert!(told(&effects).contains(&"timer:started".to_owned()));
    let until = world.pipeline().waits_until().unwrap();
    world.now = until.as_second();
    let effects = world.apply(EntryKind::TimerFired(id()));
    assert_eq!(told(&effects), ["timer:fired"]);
    world.job(|work| matches!(work, JobWork::Nudge { .. }));
}

#[test]
fn what_an_agent_did_before_its_start_was_known_counts() {
    let mut world = World::begin(plan(vec![agent("a", &json!({}))]));
    world.works();
    world.idles();
    world.starts();
    world.nudges();
    world.idles();
    assert_eq!(world.phase(), PipelinePhase::Waiting, "it was not taken for one that works");
}

#[test]
fn an_agent_that_is_done_before_its_start_is_known_is_ended_all_the_same() {
    let mut world = World::begin(plan(vec![to(agent("a", &json!({})), "b"), shell("b")]));
    world.signals(SignalKind::Complete, None);
    world.starts();
    world.ends();
    world.exits(0);
    assert_eq!(world.phase(), PipelinePhase::Completed);
    assert_eq!(world.state.agents.len(), 1, "one agent, with its name");
}

#[test]
fn one_dialog_after_the_other_is_asked_about() {
    let mut world = with_agent(&json!({}));
    let on_screen = |world: &World, about: Option<&str>| AgentReport {
        source: StateSource::Screen,
        about: about.map(str::to_owned),
        ..world.report()
    };
    let shows = |world: &mut World, about: &str| {
        let report = on_screen(world, Some(about));
        let prompt_type = PromptType::Permission;
        world.hear(BusEvent::AgentPrompt(AgentPrompt { report, prompt_type }));
    };
    shows(&mut world, "trust this folder?");
    assert!(world.question().question.contains("trust this folder?"));
    world.decides("allow");
    let about = Some("trust this folder?".to_owned());
    let job =
        world.job(|work| matches!(work, JobWork::Answer { about: asked, .. } if *asked == about));
    world.result(job, JobResult::Done { note: None });
    let report = on_screen(&world, None);
    world.hear(BusEvent::AgentWorking(report));
    shows(&mut world, "skip all permissions?");
    assert!(world.question().question.contains("skip all permissions?"));
}

/// An agent that asks a question on its screen, after the time in which its host may ask through a
/// hook.
fn asked_on_its_screen(questions: Vec<AgentQuestion>) -> World {
    let mut world = with_agent(&json!({}));
    let report = AgentReport { questions, ..world.report() };
    let prompt_type = PromptType::Question;
    world.hear(BusEvent::AgentPrompt(AgentPrompt { report, prompt_type }));
    world.now += 5;
    world.apply(EntryKind::TimerFired(id()));
    world
}

fn colour(multiple: bool) -> AgentQuestion {
    AgentQuestion {
        text: "Which colour?".to_owned(),
        header: None,
        options: vec![Choice::new("red", ""), Choice::new("blue", "")],
        multiple,
        free_text: true,
    }
}

#[test]
fn a_question_on_the_screen_is_answered_by_the_keys_of_its_option() {
    let mut world = asked_on_its_screen(vec![colour(false)]);
    assert_eq!(world.options(), ["red", "blue", "attach", "fail"]);
    let id = world.question().id.to_string();
    let refused =
        world.state.inquiries.answer(&id, "grey", &[], None, "ann".to_owned(), world.at());
    assert!(refused.is_err(), "other words cannot be chosen");
    world.decides("2");
    let wanted = (Some("Which colour?".to_owned()), Some("blue".to_owned()));
    let job = world.job(|work| {
        matches!(work, JobWork::Answer { about, choose, .. } if (about, choose) == (&wanted.0, &wanted.1))
    });
    world.check_json();
    world.result(job, JobResult::Done { note: None });
    assert_eq!(world.state.inquiries.open().count(), 0);
}

#[test]
fn a_question_that_keys_cannot_answer_is_left_to_its_session() {
    for questions in [vec![], vec![colour(true)], vec![colour(false), colour(false)]] {
        let world = asked_on_its_screen(questions);
        assert_eq!(world.options(), ["attach", "fail"]);
        assert!(world.question().question.contains("only in its own session"));
    }
}
