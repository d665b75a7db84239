//! An agent that is sent back is told why, in the words of whoever found it.

use super::*;
use crate::context::context;

/// Returns the reasons an agent is given when it is sent back: the notes, then the findings.
fn told(run: &Run, agent: &str) -> (Vec<String>, String) {
    let given = context(&run.definition, &run.state, agent).unwrap();
    let findings = given.findings.iter().map(|one| one.text(4000)).collect::<Vec<_>>();
    (given.feedback, findings.join("\n"))
}

fn bugs() -> Value {
    json!([
        {
            "id": "B1", "title": "TOTALWRONG", "severity": "p2", "stage": "backend_implementation",
            "steps_to_reproduce": ["add 2 and 2"], "expected": "4", "actual": "5",
        },
        {"id": "B2", "title": "UGLY", "severity": "p3", "stage": "frontend_implementation"},
        {"id": "B3", "title": "GONE", "severity": "p3", "status": "fixed"},
    ])
}

fn tested(verdict: &str, bugs: Value) -> Run {
    let mut run = Run::new("feature", "low");
    run.done("requirements").approve("requirements").done("architecture");
    run.done("frontend_implementation").done("backend_implementation").done("ai_implementation");
    run.set("qa-test-report.json", "verdict", json!(verdict));
    run.set("qa-test-report.json", "bugs", bugs).done("qa_testing");
    run
}

#[test]
fn each_engineer_is_told_the_bugs_to_fix() {
    for verdict in ["needs_fixes", "major_issues"] {
        let mut run = tested(verdict, bugs());
        run.choose("qa_testing", Decision::Fix);
        let (notes, findings) = told(&run, "backend_engineer");
        assert_eq!(notes, ["kim wants these bugs fixed: so"]);
        for part in ["B1 (p2): TOTALWRONG", "1. add 2 and 2", "expected: 4", "actual: 5"] {
            assert!(findings.contains(part), "{verdict}: {part}: {findings}");
        }
        assert!(findings.contains("ARTIFACTS/qa-engineer/qa-test-report.json"), "{findings}");
        assert!(!findings.contains("UGLY") && !findings.contains("GONE"), "{findings}");
        assert!(told(&run, "frontend_engineer").1.contains("B2 (p3): UGLY"));
        // After a failed attempt the bugs still have to be fixed.
        let failed = json!({"status": "failed", "reason": "no disk", "output_artifacts": []});
        run.says("backend_implementation", &failed);
        let (notes, findings) = told(&run, "backend_engineer");
        assert_eq!(notes, ["kim wants these bugs fixed: so", "no disk"]);
        assert!(findings.contains("TOTALWRONG"), "{findings}");
        // Completed work stays completed.
        run.done("backend_implementation");
        assert_eq!(told(&run, "backend_engineer"), (Vec::new(), String::new()));
    }
}

#[test]
fn a_person_who_goes_back_hands_on_the_bugs() {
    let mut run = tested("needs_fixes", bugs());
    let back = rollback(&run.definition, &run.state, "architecture", kim("redesign")).unwrap();
    run.take(back.0, back.1);
    let (notes, findings) = told(&run, "system_architect");
    assert_eq!(notes, ["kim rolled back to it: redesign"]);
    assert!(findings.contains("TOTALWRONG") && findings.contains("UGLY"), "{findings}");
}

#[test]
fn a_failure_that_rolls_back_hands_on_its_reason_and_the_bugs() {
    let text = DEFAULT.replace(
        "on_failure = \"block\"",
        "on_failure = \"rollback\"\nrollback_to = \"backend_implementation\"",
    );
    let mut run = Run::with(&text, "feature", "low");
    run.done("requirements").approve("requirements").done("architecture");
    run.done("frontend_implementation").done("backend_implementation").done("ai_implementation");
    let bug = json!([{"id": "B9", "title": "SLOWSTART", "severity": "p3"}]);
    run.set("qa-test-report.json", "bugs", bug).done("qa_testing").approve("deployment");
    let failed = json!({"status": "failed", "reason": "it does not start", "output_artifacts": []});
    run.says("deployment", &failed);
    let (notes, findings) = told(&run, "backend_engineer");
    assert_eq!(notes, ["deployment: it does not start"]);
    assert!(findings.contains("SLOWSTART"), "{findings}");
}

fn found() -> Value {
    json!([{
        "title": "NOLIMIT", "severity": "high", "location": "packet.json#/goals",
        "recommendation": "set a limit",
    }])
}

#[test]
fn a_review_hands_back_every_finding() {
    let mut run = Run::new("feature", "medium");
    run.set("safety-review.json", "findings", found());
    run.done("requirements");
    let mut changed = run.clone();
    changed.reviewed("safety_review", "requirements", "needs_changes");
    // A rejecting review blocks; then a person retries it.
    let mut rejected = run.clone();
    rejected.reviewed("safety_review", "requirements", "reject");
    let back = retry(&rejected.definition, &rejected.state, "requirements", kim("try")).unwrap();
    rejected.take(back.0, back.1);
    // A person may send back what a reviewer approved with notes.
    let mut noted = run;
    noted.reviewed("safety_review", "requirements", "approve_with_notes").reject("requirements");
    for (name, run, note) in [
        ("needs_changes", changed, "safety_review: Fine."),
        ("reject", rejected, "kim: try"),
        ("approve_with_notes", noted, "kim rejected it: no"),
    ] {
        assert_eq!(run.next(), ["product_manager"], "{name}");
        let (notes, findings) = told(&run, "product_manager");
        assert!(notes.iter().any(|one| one == note), "{name}: {notes:?}");
        for part in [
            "(high): NOLIMIT",
            "location: packet.json#/goals",
            "recommendation: set a limit",
            "ARTIFACTS/safety-agent/safety-review.json",
        ] {
            assert!(findings.contains(part), "{name}: {part}: {findings}");
        }
    }
}

#[test]
fn a_policy_that_is_not_met_is_a_finding() {
    let mut run = Run::new("feature", "high");
    let policies = json!([
        {"policy": "PRIVACY", "status": "not_met", "notes": "say what is kept"},
        {"policy": "LICENCE", "status": "met"},
    ]);
    run.set("governance-review.json", "policies", policies);
    run.set("governance-review.json", "findings", found());
    run.done("requirements").reviewed("safety_review", "requirements", "approve");
    run.reviewed("governance_review", "requirements", "needs_changes");
    let findings = told(&run, "product_manager").1;
    assert!(findings.contains("(not_met): PRIVACY\n  notes: say what is kept"), "{findings}");
    assert!(!findings.contains("LICENCE"), "{findings}");
}

#[test]
fn bugs_that_block_cannot_be_approved() {
    let mut run = Run::new("feature", "low");
    run.done("requirements").approve("requirements").done("architecture");
    run.done("frontend_implementation").done("backend_implementation").done("ai_implementation");
    run.set("qa-test-report.json", "verdict", json!("approve"));
    for (severity, status, is_refused) in [
        ("p0", Value::Null, true),
        ("p0", json!("open"), true),
        ("p1", json!("open"), true),
        ("p2", json!("open"), false),
        ("p0", json!("fixed"), false),
        ("p0", json!("wont_fix"), false),
    ] {
        let mut bug = json!({"id": "B1", "title": "wrong", "severity": severity});
        if !status.is_null() {
            bug["status"] = status.clone();
        }
        let mut run = run.clone();
        run.set("qa-test-report.json", "bugs", json!([bug]));
        let signal = run.signal("qa_testing");
        let sent = run.try_send(&signal);
        if is_refused {
            let refusal = sent.unwrap_err();
            assert!(
                matches!(refusal, WorkflowRefusal::OpenBugs { .. }),
                "{severity} {status}: {refusal}"
            );
            assert_eq!(run.next(), ["qa_engineer"]);
        } else {
            sent.unwrap();
            assert_eq!(run.state.paused_at.as_deref(), Some("deployment"));
        }
    }
}
