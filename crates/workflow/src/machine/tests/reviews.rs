//! Risk requires reviews; reviews decide whether a stage may continue.

use serde_json::json;

use super::*;

/// The reviewers that each risk level requires at each stage.
#[test]
fn the_risk_says_who_reviews() {
    for (risk, requirements, architecture) in [
        ("low", &[][..], &[][..]),
        ("medium", &["safety_agent(requirements)"], &[]),
        (
            "high",
            &["safety_agent(requirements)", "governance_agent(requirements)"],
            &["safety_agent(architecture)", "governance_agent(architecture)"],
        ),
        (
            "critical",
            &["safety_agent(requirements)", "governance_agent(requirements)"],
            &["safety_agent(architecture)", "governance_agent(architecture)"],
        ),
        (
            "unknown",
            &["safety_agent(requirements)", "governance_agent(requirements)"],
            &["safety_agent(architecture)", "governance_agent(architecture)"],
        ),
    ] {
        let mut run = Run::new("feature", risk);
        run.done("requirements");
        let mut asked = run.next();
        asked.sort_by_key(|name| name.starts_with("governance"));
        assert_eq!(asked, requirements, "{risk}");
        for review in ["safety_review", "governance_review"] {
            if run.state.stages["requirements"].reviews.contains_key(review) {
                assert_eq!(run.state.status, WorkflowStatus::Running);
                run.reviewed(review, "requirements", "approve");
            }
        }
        // People decide after they know the reviews.
        assert_eq!(run.state.paused_at.as_deref(), Some("requirements"), "{risk}");
        run.approve("requirements").done("architecture");
        let mut asked = run.next();
        asked.retain(|name| name.contains('('));
        asked.sort_by_key(|name| name.starts_with("governance"));
        assert_eq!(asked, architecture, "{risk}");
    }
}

/// Low requires no one; medium requires safety at the requirements; anything higher, or unknown,
/// requires safety and governance at every stage.
#[test]
fn each_risk_asks_for_its_reviews_at_each_stage() {
    let both = ["governance_review", "safety_review"];
    for (risk, _) in Risk::ALL {
        let mut run = Run::new("full_system", risk.name());
        let stages: Vec<String> =
            run.definition.stages.iter().map(|stage| stage.name.text.clone()).collect();
        for stage in stages {
            if run.state.stages[&stage].asks == Some(Asks::Approval) {
                run.approve(&stage);
            }
            run.done(&stage);
            let asked: Vec<String> = run.state.stages[&stage].reviews.keys().cloned().collect();
            let expected: &[&str] = match risk {
                Risk::Medium if stage == "requirements" => &["safety_review"],
                Risk::Low | Risk::Medium => &[],
                Risk::High | Risk::Critical | Risk::Unknown => &both,
            };
            assert_eq!(asked, expected, "{risk:?} {stage}");
            for review in asked {
                run.reviewed(&review, &stage, "approve");
            }
            if run.state.stages[&stage].asks == Some(Asks::Approval) {
                run.approve(&stage);
            }
        }
        assert_eq!(run.state.status, WorkflowStatus::Completed, "{risk:?}");
    }
}

#[test]
fn after_reviews_the_pause_is_at_the_stage_that_was_reviewed() {
    let mut run = Run::new("full_system", "high");
    run.done("requirements");
    for review in ["safety_review", "governance_review"] {
        assert_eq!(run.state.current_stage.as_deref(), Some("requirements"));
        run.reviewed(review, "requirements", "approve");
    }
    assert_eq!(run.state.paused_at.as_deref(), Some("requirements"));
    assert_eq!(run.state.current_stage.as_deref(), Some("requirements"));
    run.approve("requirements");
    assert_eq!(run.state.current_stage.as_deref(), Some("architecture"));
}

#[test]
fn a_review_without_a_verdict_is_refused() {
    let text = DEFAULT.replace("schema = \"safety-output\"", "schema = \"project-config\"");
    let mut run = Run::with(&text, "feature", "medium");
    run.done("requirements");
    let signal = run.signal("safety_review");
    let refused = run.try_send(&signal).unwrap_err();
    assert_eq!(refused, WorkflowRefusal::NoVerdict("safety_review".to_owned()));
}

#[test]
fn a_risk_that_nobody_told_is_unknown() {
    let mut run = Run::new("feature", "low");
    run.set("product-requirements-packet.json", "risk_level", Value::Null);
    run.done("requirements");
    assert_eq!(run.state.safety_and_governance.risk_level, None);
    assert_eq!(run.next().len(), 2);
}

#[test]
fn notes_are_kept_as_warnings() {
    let mut run = Run::new("feature", "medium");
    run.done("requirements").reviewed("safety_review", "requirements", "approve_with_notes");
    assert_eq!(run.state.stages["requirements"].warnings, ["safety_review: Fine."]);
    assert_eq!(run.state.paused_at.as_deref(), Some("requirements"));
}

#[test]
fn who_needs_changes_sends_it_back_when_all_have_spoken() {
    let mut run = Run::new("feature", "high");
    run.done("requirements").reviewed("safety_review", "requirements", "needs_changes");
    assert_eq!(run.next(), ["governance_agent(requirements)"]);
    run.reviewed("governance_review", "requirements", "approve");
    assert_eq!(run.next(), ["product_manager"]);
    let stage = &run.state.stages["requirements"];
    assert_eq!(stage.feedback, ["safety_review: Fine."]);
    assert_eq!((stage.attempts, stage.failures), (2, 1));
    assert!(stage.reviews.is_empty() && stage.output_artifacts.is_empty());
    // A repeated stage is reviewed again.
    run.done("requirements");
    assert_eq!(run.next().len(), 2);
}

#[test]
fn sent_back_too_often_it_is_blocked() {
    let mut run = Run::new("feature", "medium");
    for _ in 0..3 {
        run.done("requirements").reviewed("safety_review", "requirements", "needs_changes");
    }
    assert_eq!(run.status("requirements"), "blocked");
    assert_eq!(run.state.status, WorkflowStatus::Blocked);
    assert_eq!(run.state.current_stage.as_deref(), Some("requirements"));
}

#[test]
fn who_rejects_blocks() {
    let mut run = Run::new("feature", "medium");
    run.done("requirements").reviewed("safety_review", "requirements", "reject");
    assert_eq!(run.status("requirements"), "blocked");
    assert_eq!(run.state.stages["requirements"].reason.as_deref(), Some("safety_review: Fine."));
    assert!(run.next().is_empty());
}

#[test]
fn a_reviewers_word_about_the_risk_counts() {
    let mut run = Run::new("feature", "medium");
    run.set("safety-review.json", "risk_level", json!("high"));
    run.done("requirements").reviewed("safety_review", "requirements", "approve");
    assert_eq!(run.state.risk(), Risk::High);
    assert_eq!(run.next(), ["governance_agent(requirements)"]);
    run.set("governance-review.json", "risk_level", json!("low"));
    run.reviewed("governance_review", "requirements", "approve").approve("requirements");
    // The risk is never lowered.
    assert_eq!(run.state.risk(), Risk::High);
    run.done("architecture");
    assert_eq!(run.next(), ["governance_agent(architecture)", "safety_agent(architecture)"]);
}

#[test]
fn code_health_is_looked_at_if_that_is_configured() {
    let text = DEFAULT.replace("stages = []", "stages = [\"implementation\"]");
    let mut run = Run::with(&text, "feature", "low");
    run.done("requirements").approve("requirements");
    run.says("architecture", &json!({"next_agent_required": "backend_engineer"}));
    run.done("backend_implementation");
    assert_eq!(run.next(), ["code_health_agent(backend_implementation)"]);
    run.reviewed("code_health_review", "backend_implementation", "approve");
    assert_eq!(run.next(), ["qa_engineer"]);
}

#[test]
fn a_reviewer_looks_at_one_stage_at_a_time() {
    let text = DEFAULT.replace("stages = []", "stages = [\"implementation\"]");
    let mut run = Run::with(&text, "feature", "low");
    run.done("requirements").approve("requirements").done("architecture");
    run.done("backend_implementation").done("frontend_implementation");
    let asked = "code_health_agent(backend_implementation)";
    assert_eq!(run.next(), [asked, "ai_engineer"]);
    run.reviewed("code_health_review", "backend_implementation", "approve");
    assert_eq!(run.next(), ["code_health_agent(frontend_implementation)", "ai_engineer"]);
}

#[test]
fn a_review_that_nobody_asked_for_or_of_another_stage_is_refused() {
    let mut run = Run::new("feature", "medium");
    let signal = run.signal("safety_review");
    assert!(matches!(run.try_send(&signal), Err(WorkflowRefusal::NotAsked { .. })));
    run.done("requirements").set("safety-review.json", "stage_reviewed", json!("architecture"));
    let signal = run.signal("safety_review");
    assert!(matches!(run.try_send(&signal), Err(WorkflowRefusal::OtherStage { .. })));
    run.set("safety-review.json", "stage_reviewed", json!("requirements"));
    let mut signal = run.signal("safety_review");
    signal["reviewed_stage"] = json!("architecture");
    assert!(matches!(run.try_send(&signal), Err(WorkflowRefusal::OtherStage { .. })));
    signal["agent"] = json!("governance_agent");
    assert!(matches!(run.try_send(&signal), Err(WorkflowRefusal::NotOwner { .. })));
}

#[test]
fn a_review_that_fails_is_asked_for_again_and_blocks_in_the_end() {
    let mut run = Run::new("feature", "medium");
    run.done("requirements");
    for attempt in 1..=3 {
        assert_eq!(run.effects.invoke[0].attempt, attempt);
        let said = json!({"status": "failed", "reason": "no idea", "output_artifacts": []});
        run.says("safety_review", &said);
    }
    assert_eq!(run.status("requirements"), "blocked");
    let reason = run.state.stages["requirements"].reason.as_deref();
    assert_eq!(reason, Some("safety_review: no idea"));
}
