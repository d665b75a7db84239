//! Failures, retries, timeouts and rollbacks.

use jiff::SignedDuration;
use serde_json::json;

use super::*;

fn fails(run: &mut Run, stage: &str) {
    run.says(stage, &json!({"status": "failed", "reason": "no disk", "output_artifacts": []}));
}

#[test]
fn what_fails_is_tried_again_as_often_as_it_may() {
    let mut run = Run::new("feature", "low");
    for attempt in 2..=3 {
        fails(&mut run, "requirements");
        assert_eq!(run.status("requirements"), "in_progress");
        assert_eq!(run.effects.invoke[0].attempt, attempt);
        assert_eq!(run.state.stages["requirements"].feedback, ["no disk"]);
    }
    fails(&mut run, "requirements");
    assert_eq!(run.status("requirements"), "failed");
    assert_eq!(run.state.status, WorkflowStatus::Failed);
    assert_eq!(run.state.stages["requirements"].reason.as_deref(), Some("no disk"));
    assert!(run.next().is_empty());
    let (state, effects) = retry(&run.definition, &run.state, "requirements", kim("now")).unwrap();
    run.take(state, effects);
    assert_eq!(run.next(), ["product_manager"]);
    assert_eq!(run.state.stages["requirements"].failures, 0);
    assert_eq!(run.state.stages["requirements"].feedback, ["no disk", "kim: now"]);
}

#[test]
fn what_is_blocked_waits_for_a_person() {
    let mut run = Run::new("feature", "low");
    let said = json!({"status": "blocked", "reason": "whose is it?", "output_artifacts": []});
    run.says("requirements", &said);
    assert_eq!(run.status("requirements"), "blocked");
    assert_eq!(run.state.status, WorkflowStatus::Blocked);
    let signal = run.signal("requirements");
    assert!(matches!(run.try_send(&signal), Err(WorkflowRefusal::NotCurrent { .. })));
}

#[test]
fn others_of_a_group_go_on_when_one_fails() {
    let mut run = Run::new("feature", "low");
    run.done("requirements").approve("requirements").done("architecture");
    for _ in 0..3 {
        fails(&mut run, "ai_implementation");
    }
    assert_eq!(run.state.status, WorkflowStatus::Failed);
    run.done("frontend_implementation").done("backend_implementation");
    assert_eq!(run.status("qa_testing"), "pending");
    let (state, effects) =
        retry(&run.definition, &run.state, "ai_implementation", kim("now")).unwrap();
    run.take(state, effects);
    run.done("ai_implementation");
    assert_eq!(run.next(), ["qa_engineer"]);
}

fn deploying(text: &str) -> Run {
    let mut run = Run::with(text, "feature", "low");
    run.done("requirements").approve("requirements").done("architecture");
    for stage in ["frontend_implementation", "backend_implementation", "ai_implementation"] {
        run.done(stage);
    }
    run.done("qa_testing").approve("deployment");
    run
}

#[test]
fn a_deployment_that_failed_needs_a_person() {
    let mut run = deploying(DEFAULT);
    fails(&mut run, "deployment");
    assert_eq!(run.status("deployment"), "blocked");
    assert_eq!(run.state.status, WorkflowStatus::Blocked);
}

#[test]
fn a_failure_goes_back_if_it_is_to_but_not_for_ever() {
    let text = DEFAULT.replace(
        "on_failure = \"block\"",
        "on_failure = \"rollback\"\nrollback_to = \"qa_testing\"",
    );
    let mut run = deploying(&text);
    fails(&mut run, "deployment");
    assert_eq!(run.status("deployment"), "rolled_back");
    assert_eq!(run.next(), ["qa_engineer"]);
    assert_eq!(run.state.stages["qa_testing"].feedback, ["deployment: no disk"]);
    run.done("qa_testing");
    // Approval is required again.
    assert_eq!(run.state.paused_at.as_deref(), Some("deployment"));
    run.approve("deployment");
    fails(&mut run, "deployment");
    assert_eq!(run.status("deployment"), "failed");
}

/// Records that all working agents are late.
fn all_late(run: &mut Run) {
    let all = next(&run.definition, &run.state);
    let (state, effects) = late(&run.definition, &run.state, &all, time(9)).unwrap();
    run.take(state, effects);
}

#[test]
fn what_takes_too_long_is_tried_again() {
    let mut run = Run::new("feature", "low");
    let first = next(&run.definition, &run.state);
    assert_eq!(time_limit(&run.definition, &first[0]), Some(SignedDuration::from_hours(2)));
    all_late(&mut run);
    let stage = &run.state.stages["requirements"];
    assert_eq!((stage.attempts, stage.failures), (2, 1));
    assert_eq!(stage.feedback, ["it took longer than 2h"]);
    // The first attempt is over: it cannot be late again.
    let (state, effects) = late(&run.definition, &run.state, &first, time(10)).unwrap();
    assert!(effects.is_unchanged);
    assert_eq!(state, run.state);
}

#[test]
fn a_review_that_takes_too_long_is_asked_for_again() {
    let mut run = Run::new("feature", "medium");
    run.done("requirements");
    let review = next(&run.definition, &run.state);
    assert_eq!(time_limit(&run.definition, &review[0]), Some(SignedDuration::from_hours(1)));
    for attempt in 2..=3 {
        all_late(&mut run);
        assert_eq!(run.next(), ["safety_agent(requirements)"]);
        assert_eq!(run.effects.invoke[0].attempt, attempt);
    }
    all_late(&mut run);
    assert_eq!(run.status("requirements"), "blocked");
    assert!(run.next().is_empty());
}
