//! Test verdicts and bugs.

use serde_json::json;

use super::*;

/// A workflow whose tests completed with a verdict and bugs.
fn tested(verdict: &str, bugs: &Value) -> Run {
    let mut run = Run::new("feature", "low");
    run.done("requirements").approve("requirements");
    run.says("architecture", &json!({"next_agent_required": ["backend_engineer", "ai_engineer"]}));
    run.done("backend_implementation").done("ai_implementation");
    run.set("qa-test-report.json", "verdict", json!(verdict));
    run.set("qa-test-report.json", "bugs", bugs.clone());
    run.done("qa_testing");
    run
}

fn bug(severity: &str, stage: Option<&str>) -> Value {
    json!({"id": "B1", "title": "wrong", "severity": severity, "stage": stage})
}

#[test]
fn what_is_approved_goes_to_deployment() {
    let run = tested("approve", &json!([bug("p3", None)]));
    assert_eq!(run.state.paused_at.as_deref(), Some("deployment"));
}

#[test]
fn bad_bugs_and_major_issues_block() {
    for (verdict, severity) in
        [("needs_fixes", "p0"), ("needs_fixes", "p1"), ("major_issues", "p3")]
    {
        let mut run = tested(verdict, &json!([bug("p3", None), bug(severity, None)]));
        assert_eq!(run.status("qa_testing"), "blocked", "{verdict} {severity}");
        assert_eq!(run.state.status, WorkflowStatus::Blocked);
        let anyway =
            choose(&run.definition, &run.state, "qa_testing", Decision::DeployAnyway, kim("now"));
        assert!(matches!(anyway, Err(WorkflowRefusal::NothingAsked { .. })));
        run.choose("qa_testing", Decision::Fix);
        assert_eq!(run.next(), ["backend_engineer", "ai_engineer"]);
    }
}

#[test]
fn a_bug_that_is_mended_does_not_block() {
    let mut mended = bug("p0", None);
    mended["status"] = json!("fixed");
    let run = tested("needs_fixes", &json!([mended, bug("p2", None)]));
    assert_eq!(run.state.stages["qa_testing"].asks, Some(Asks::Choice));
}

#[test]
fn about_other_bugs_a_person_chooses() {
    let bugs = json!([bug("p2", Some("backend_implementation"))]);
    let run = tested("needs_fixes", &bugs);
    assert_eq!(run.state.status, WorkflowStatus::Paused);
    assert_eq!(run.state.paused_at.as_deref(), Some("qa_testing"));
    assert_eq!(run.effects.ask, [("qa_testing".to_owned(), Asks::Choice)]);
    // It is not a yes-or-no question.
    let yes = approve(&run.definition, &run.state, "qa_testing", kim("fine"));
    assert!(matches!(yes, Err(WorkflowRefusal::NothingAsked { .. })));

    let mut fixed = run.clone();
    fixed.choose("qa_testing", Decision::Fix);
    assert_eq!(fixed.next(), ["backend_engineer"]);
    assert_eq!(fixed.status("qa_testing"), "rolled_back");
    assert_eq!(fixed.status("ai_implementation"), "completed");
    assert_eq!(
        fixed.state.stages["backend_implementation"].feedback,
        ["kim wants these bugs fixed: so"]
    );
    fixed.done("backend_implementation");
    assert_eq!(fixed.next(), ["qa_engineer"]);

    let mut anyway = run.clone();
    anyway.choose("qa_testing", Decision::DeployAnyway);
    assert_eq!(anyway.state.paused_at.as_deref(), Some("deployment"));

    let mut ended = run;
    ended.choose("qa_testing", Decision::Abort);
    assert_eq!(ended.state.status, WorkflowStatus::Aborted);
    assert!(ended.next().is_empty());
    let signal = ended.signal("deployment");
    let over = Err(WorkflowRefusal::Over(WorkflowStatus::Aborted));
    assert_eq!(ended.try_send(&signal), over);
}

#[test]
fn a_bug_that_names_no_stage_is_for_all_who_mend() {
    let bugs = json!([bug("p2", Some("backend_implementation")), bug("p3", Some("elsewhere"))]);
    let mut run = tested("needs_fixes", &bugs);
    run.choose("qa_testing", Decision::Fix);
    // A skipped agent cannot fix anything.
    assert_eq!(run.next(), ["backend_engineer", "ai_engineer"]);
}
