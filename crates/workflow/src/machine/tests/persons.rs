//! Decisions of people.

use super::*;

#[test]
fn what_is_rejected_is_done_again() {
    let mut run = Run::new("feature", "low");
    run.done("requirements").reject("requirements");
    assert_eq!(run.next(), ["product_manager"]);
    let stage = &run.state.stages["requirements"];
    assert_eq!(stage.feedback, ["kim rejected it: no"]);
    assert_eq!(stage.attempts, 2);
    let line = run.state.history.iter().find(|line| line.what == "rejected").unwrap();
    assert_eq!((line.by.as_deref(), line.note.as_deref()), (Some("kim"), Some("no")));
    // A person may send it back as often as they like.
    for _ in 0..5 {
        run.done("requirements").reject("requirements");
    }
    run.done("requirements").approve("requirements");
    assert_eq!(run.next(), ["system_architect"]);
}

fn at_deployment() -> Run {
    let mut run = Run::new("feature", "low");
    run.done("requirements").approve("requirements").done("architecture");
    for stage in ["frontend_implementation", "backend_implementation", "ai_implementation"] {
        run.done(stage);
    }
    run.done("qa_testing");
    run
}

#[test]
fn a_deployment_that_is_rejected_does_not_begin() {
    let mut run = at_deployment();
    run.reject("deployment");
    assert_eq!(run.status("deployment"), "blocked");
    assert!(run.next().is_empty());
    let (state, effects) = retry(&run.definition, &run.state, "deployment", kim("again")).unwrap();
    run.take(state, effects);
    // The person is asked again, and the stage is not started.
    assert_eq!(run.state.paused_at.as_deref(), Some("deployment"));
    run.approve("deployment").done("deployment");
    assert_eq!(run.state.status, WorkflowStatus::Completed);
}

#[test]
fn who_is_not_asked_decides_nothing() {
    let run = Run::new("feature", "low");
    let (definition, state) = (&run.definition, &run.state);
    for refused in [
        approve(definition, state, "requirements", kim("")),
        reject(definition, state, "requirements", kim("")),
        retry(definition, state, "requirements", kim("")),
        rollback(definition, state, "architecture", kim("")),
        choose(definition, state, "requirements", Decision::Fix, kim("")),
        choose(definition, state, "requirements", Decision::Approved, kim("")),
    ] {
        assert!(matches!(refused, Err(WorkflowRefusal::NothingAsked { .. })), "{refused:?}");
    }
    let unknown = approve(definition, state, "marketing", kim(""));
    let unknown = unknown.unwrap_err();
    assert!(matches!(&unknown, WorkflowRefusal::UnknownStage { name, .. } if name == "marketing"));
    assert!(unknown.hint().starts_with("available: requirements, architecture, "), "{unknown:?}");
}

#[test]
fn somebody_decides() {
    let mut run = Run::new("feature", "low");
    run.done("requirements");
    let nobody = PersonDecision { by: " ", note: None, at: time(1) };
    let refused = approve(&run.definition, &run.state, "requirements", nobody);
    assert_eq!(refused.unwrap_err(), WorkflowRefusal::Nobody);
    let refused = abort(&run.definition, &run.state, nobody);
    assert_eq!(refused.unwrap_err(), WorkflowRefusal::Nobody);
}

#[test]
fn going_back_takes_all_back_that_came_after() {
    let mut run = at_deployment();
    let (state, effects) =
        rollback(&run.definition, &run.state, "architecture", kim("wrong")).unwrap();
    run.take(state, effects);
    assert_eq!(run.next(), ["system_architect"]);
    assert_eq!(run.status("requirements"), "completed");
    for stage in ["frontend_implementation", "ai_implementation", "qa_testing"] {
        assert_eq!(run.status(stage), "rolled_back");
    }
    assert_eq!(run.status("deployment"), "pending");
    assert_eq!(run.state.paused_at, None);
    run.done("architecture");
    assert_eq!(run.next().len(), 3);
    // A signal of an agent that still works on what was rolled back is refused.
    let late = run.signal("qa_testing");
    assert!(matches!(run.try_send(&late), Err(WorkflowRefusal::NotCurrent { .. })));
}

#[test]
fn what_is_over_cannot_be_ended() {
    let mut run = at_deployment();
    run.approve("deployment").done("deployment");
    let refused = abort(&run.definition, &run.state, kim("no"));
    assert_eq!(refused.unwrap_err(), WorkflowRefusal::Over(WorkflowStatus::Completed));
}
