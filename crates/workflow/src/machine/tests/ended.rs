//! Agents that end without a signal.

use super::*;

/// Ends the agent that works on a stage.
fn ends(run: &mut Run, stage: &str) -> Invocation {
    let all = next(&run.definition, &run.state);
    let one = all.into_iter().find(|one| one.stage == stage).unwrap();
    let (state, effects) =
        lost(&run.definition, &run.state, &one, "it ended with 1", time(1)).unwrap();
    run.take(state, effects);
    one
}

fn is_unchanged(run: &Run, one: &Invocation) -> bool {
    let (state, effects) = lost(&run.definition, &run.state, one, "late", time(2)).unwrap();
    assert_eq!(effects.is_unchanged, state == run.state);
    assert!(effects.invoke.is_empty() && effects.told.is_empty());
    effects.is_unchanged
}

#[test]
fn an_agent_that_ends_is_tried_again_as_often_as_it_may() {
    let mut run = Run::new("feature", "low");
    for attempt in 2..=3 {
        ends(&mut run, "requirements");
        assert_eq!(run.effects.invoke[0].attempt, attempt);
        assert_eq!(run.state.stages["requirements"].feedback, ["it ended with 1"]);
    }
    ends(&mut run, "requirements");
    assert_eq!(run.status("requirements"), "failed");
    assert_eq!(run.state.status, WorkflowStatus::Failed);
    assert_eq!(run.state.stages["requirements"].reason.as_deref(), Some("it ended with 1"));
}

#[test]
fn an_agent_of_an_earlier_attempt_may_end() {
    let mut run = Run::new("feature", "low");
    let first = ends(&mut run, "requirements");
    assert!(is_unchanged(&run, &first));
}

#[test]
fn an_agent_that_is_done_may_end() {
    let mut run = Run::new("feature", "low");
    let one = run.effects.invoke[0].clone();
    run.done("requirements");
    assert!(is_unchanged(&run, &one));
    run.approve("requirements");
    assert!(is_unchanged(&run, &one));
}

#[test]
fn what_is_over_is_not_changed_by_an_agent_that_ends() {
    let mut run = Run::new("feature", "low");
    let one = run.effects.invoke[0].clone();
    let (state, effects) = abort(&run.definition, &run.state, kim("enough")).unwrap();
    run.take(state, effects);
    assert!(is_unchanged(&run, &one));
}

#[test]
fn one_of_a_group_ends_and_the_others_go_on() {
    let mut run = Run::new("feature", "low");
    run.done("requirements").approve("requirements").done("architecture");
    ends(&mut run, "backend_implementation");
    assert_eq!(run.effects.invoke.len(), 1);
    assert_eq!(run.effects.invoke[0].agent, "backend_engineer");
    assert_eq!(run.state.stages["frontend_implementation"].attempts, 1);
}

#[test]
fn a_deployment_whose_agent_ends_needs_a_person() {
    let mut run = Run::new("feature", "low");
    run.done("requirements").approve("requirements");
    run.says("architecture", &json!({"next_agent_required": "ai_engineer"}));
    run.done("ai_implementation").done("qa_testing").approve("deployment");
    ends(&mut run, "deployment");
    assert_eq!(run.status("deployment"), "blocked");
}

#[test]
fn a_reviewer_that_ends_is_asked_again_and_blocks_in_the_end() {
    let mut run = Run::new("feature", "medium");
    run.done("requirements");
    for attempt in 2..=3 {
        let earlier = ends(&mut run, "safety_review");
        assert_eq!(run.next(), ["safety_agent(requirements)"]);
        assert_eq!(run.effects.invoke[0].attempt, attempt);
        assert!(is_unchanged(&run, &earlier));
    }
    ends(&mut run, "safety_review");
    assert_eq!(run.status("requirements"), "blocked");
    let reason = run.state.stages["requirements"].reason.as_deref();
    assert_eq!(reason, Some("safety_review: it ended with 1"));
}

#[test]
fn a_state_of_another_definition_is_not_changed() {
    let mut run = Run::new("feature", "low");
    let one = run.effects.invoke[0].clone();
    run.definition.stages.pop();
    let refused = lost(&run.definition, &run.state, &one, "gone", time(1));
    assert!(matches!(refused, Err(WorkflowRefusal::OtherDefinition(_))));
}
