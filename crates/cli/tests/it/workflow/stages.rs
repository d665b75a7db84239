//! From the first stage to the last: order, gates, reviews, tests, retries.

use serde_json::{Value, json};

use super::workflow_fixture::{Desk, artifact, signal};

fn next(desk: &Desk) -> Vec<String> {
    let report = desk.ok(&["next", "--json"]).json();
    let next = report["next"].as_array().unwrap().iter();
    next.map(|one| one["agent"].as_str().unwrap().to_owned()).collect()
}

fn waits(desk: &Desk) -> Vec<String> {
    let report = desk.ok(&["next", "--json"]).json();
    let waits = report["waits"].as_array().unwrap().iter();
    waits.map(|one| one["stage"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn from_the_requirements_to_the_deployment() {
    let desk = Desk::new();
    assert_eq!(next(&desk), ["product_manager"]);
    desk.complete("requirements");
    assert_eq!((next(&desk), waits(&desk)), (vec![], vec!["requirements".to_owned()]));
    desk.approve("requirements");
    assert_eq!(next(&desk), ["system_architect"]);
    desk.complete("architecture");
    assert_eq!(waits(&desk), ["architecture"]);
    desk.approve("architecture");
    assert_eq!(next(&desk), ["frontend_engineer", "backend_engineer", "ai_engineer"]);
    // In any order: they are done side by side.
    desk.complete("backend_implementation");
    assert_eq!(next(&desk), ["frontend_engineer", "ai_engineer"]);
    desk.complete("ai_implementation");
    desk.complete("frontend_implementation");
    assert_eq!(next(&desk), ["qa_engineer"]);
    desk.complete("qa_testing");
    assert_eq!(waits(&desk), ["deployment"]);
    desk.approve("deployment");
    assert_eq!(next(&desk), ["devops_engineer"]);
    desk.complete("deployment");
    assert_eq!(desk.state()["status"], "completed");
    assert_eq!(next(&desk), Vec::<String>::new());
    assert_run!(desk.environment, desk.ok(&["history"]));
    assert_run!(desk.environment, desk.ok(&["status"]));
}

#[test]
fn a_pause_keeps_the_stage_it_paused_at() {
    let desk = Desk::new();
    desk.complete("requirements");
    let state = desk.state();
    assert_eq!(
        (&state["status"], &state["paused_at"], &state["current_stage"]),
        (&json!("paused"), &json!("requirements"), &json!("requirements"))
    );
}

#[test]
fn a_stage_that_is_rejected_is_done_again_with_the_note() {
    let desk = Desk::new();
    desk.complete("requirements");
    desk.ok(&["reject", "requirements", "--by", "ann", "--note", "says nothing about speed"]);
    assert_eq!(desk.status("requirements"), "in_progress");
    let context = desk.ok(&["context", "product_manager"]).stdout;
    assert!(context.contains("ann rejected it: says nothing about speed"), "{context}");
    // The signal of before does not count for what is to be done now.
    let again = desk.hand_in(&desk.make("requirements"));
    assert!(again.stdout.contains("nothing changed"), "{again:?}");
    assert_eq!(desk.status("requirements"), "in_progress");
    let mut signal = desk.make("requirements");
    signal["id"] = json!("requirements-2");
    assert_eq!(desk.hand_in(&signal).code, 0);
    assert_eq!(desk.status("requirements"), "completed");
}

#[test]
fn what_is_decided_is_journaled_with_who_and_why() {
    let desk = Desk::new();
    desk.complete("requirements");
    desk.ok(&["approve", "requirements", "--by", "ann", "--note", "good"]);
    let journal = desk.environment.journal();
    let approved = journal.iter().find(|line| line["event"] == "workflow:approved").unwrap();
    assert_eq!(approved["about"], "requirements approved by ann: good");
    assert_eq!(approved["payload"]["by"], "ann");
    let log = desk.environment.run(&["log"]);
    assert!(log.stdout.contains("workflow:approved"), "{log:?}");
}

#[test]
fn a_person_decides_and_no_agent() {
    let desk = Desk::new();
    desk.complete("requirements");
    for arguments in [
        &["workflow", "approve", "requirements", "--by", "ann"][..],
        &["workflow", "reject", "requirements", "--by", "ann"],
        &["workflow", "reset", "--all"],
        &["workflow", "reset", "--rules"],
    ] {
        let mut command = desk.environment.command(arguments);
        command.env("CLAUDECODE", "1");
        let ran = anyhook_testkit::run(command, b"");
        assert_eq!(ran.code, 1, "{ran:?}");
        assert!(ran.stderr.contains("only a person may do this"), "{ran:?}");
    }
    assert_eq!(desk.state()["status"], "paused");
}

#[test]
fn another_mode_has_an_assessment_and_no_gate_after_it() {
    let desk = Desk::new();
    let signal = desk.make_with("requirements", &artifact("requirements", "feature"));
    assert_eq!(desk.hand_in(&signal).code, 0);
    desk.approve("requirements");
    let given = desk.ok(&["context", "system_architect", "--json"]).json();
    let schemas = given["output_schemas"].as_object().unwrap();
    let paths: Vec<&String> = schemas.keys().collect();
    assert_eq!(paths, ["ARTIFACTS/system-architect/architecture-assessment.json"]);
    // The packet of a whole system is none of a feature.
    let wrong = desk.hand_in(&desk.make("architecture"));
    assert_eq!(wrong.code, 65, "{wrong:?}");
    assert_eq!(desk.status("architecture"), "in_progress");
    let path = "ARTIFACTS/system-architect/architecture-assessment.json";
    let fixture = include_str!("../../../../workflow/src/fixtures/architecture-assessment.json");
    desk.write(path, &serde_json::from_str(fixture).unwrap());
    let done = desk.hand_in(&super::workflow_fixture::signal("architecture", &[path]));
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(next(&desk), ["frontend_engineer", "backend_engineer", "ai_engineer"]);
    let given = desk.ok(&["context", "backend_engineer", "--json"]).json();
    assert!(given["upstream_artifacts"][path].is_object(), "{given}");
}

fn reviewers_at_requirements(risk: Value) -> Vec<String> {
    let desk = Desk::with(&json!({"project_name": "shop"}));
    let mut packet = artifact("requirements", "full_system");
    packet["risk_level"] = risk;
    assert_eq!(desk.hand_in(&desk.make_with("requirements", &packet)).code, 0);
    next(&desk)
}

#[test]
fn the_risk_says_who_reviews() {
    assert_eq!(reviewers_at_requirements(json!("low")), Vec::<String>::new());
    assert_eq!(reviewers_at_requirements(json!("medium")), ["safety_agent"]);
    for risk in [json!("high"), json!("critical"), json!("unknown"), Value::Null] {
        let mut reviewers = reviewers_at_requirements(risk.clone());
        reviewers.sort();
        assert_eq!(reviewers, ["governance_agent", "safety_agent"], "{risk}");
    }
}

#[test]
fn a_reviewer_sends_the_stage_back() {
    let desk = Desk::with(&json!({"project_name": "shop"}));
    let mut packet = artifact("requirements", "full_system");
    packet["risk_level"] = json!("medium");
    desk.hand_in(&desk.make_with("requirements", &packet));
    let mut review = artifact("safety_review", "");
    review["verdict"] = json!("needs_changes");
    review["summary"] = json!("Say who may see orders.");
    review["findings"] = json!([{"title": "Privacy", "severity": "high"}]);
    let signal = desk.make_with("safety_review", &review);
    let ran = desk.hand_in(&signal);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(desk.status("requirements"), "in_progress");
    let context = desk.ok(&["context", "product_manager"]).stdout;
    assert!(context.contains("Say who may see orders."), "{context}");
}

#[test]
fn code_health_is_looked_at_if_it_is_configured() {
    let desk = Desk::new();
    let file = desk.path(".agents/workflow.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("stages = []", "stages = [\"implementation\"]")).unwrap();
    desk.ok(&["reset", "--rules", "--by", "ann"]);
    desk.up_to("frontend_implementation");
    desk.complete("backend_implementation");
    assert_eq!(next(&desk), ["frontend_engineer", "code_health_agent", "ai_engineer"]);
    let given = desk.ok(&["context", "code_health_agent", "--json"]).json();
    assert_eq!(given["reviewed_stage"], "backend_implementation");
}

fn tested(verdict: &str, severity: Option<&str>) -> Desk {
    let desk = Desk::new();
    desk.up_to("qa_testing");
    let mut report = artifact("qa_testing", "");
    report["verdict"] = json!(verdict);
    if let Some(severity) = severity {
        report["tests"] = json!({"total": 2, "passed": 1, "failed": 1});
        report["bugs"] = json!([{
            "id": "B1", "title": "The total is wrong", "severity": severity,
            "stage": "backend_implementation", "steps_to_reproduce": ["Buy two."],
        }]);
    }
    let ran = desk.hand_in(&desk.make_with("qa_testing", &report));
    assert_eq!(ran.code, 0, "{ran:?}");
    desk
}

#[test]
fn tests_that_approve_lead_to_the_deployment() {
    assert_eq!(waits(&tested("approve", None)), ["deployment"]);
}

#[test]
fn a_bad_bug_blocks() {
    for severity in ["p0", "p1"] {
        let desk = tested("needs_fixes", Some(severity));
        assert_eq!(desk.status("qa_testing"), "blocked");
        assert_eq!(waits(&desk), Vec::<String>::new());
        // It can be mended all the same, and not deployed.
        assert_eq!(desk.run(&["approve", "qa_testing", "--by", "ann"]).code, 65);
        desk.ok(&["reject", "qa_testing", "--by", "ann", "--note", "mend it"]);
        assert_eq!(next(&desk), ["backend_engineer"]);
    }
    assert_eq!(tested("major_issues", Some("p2")).status("qa_testing"), "blocked");
}

#[test]
fn a_person_chooses_about_other_bugs() {
    let desk = tested("needs_fixes", Some("p2"));
    assert_eq!(waits(&desk), ["qa_testing"]);
    assert_run!(desk.environment, desk.ok(&["next"]));
    desk.approve("qa_testing");
    assert_eq!(waits(&desk), ["deployment"], "deployed anyway");

    let desk = tested("needs_fixes", Some("p2"));
    desk.ok(&["reject", "qa_testing", "--by", "ann", "--note", "mend it"]);
    assert_eq!(next(&desk), ["backend_engineer"]);
    let context = desk.ok(&["context", "backend_engineer"]).stdout;
    assert!(context.contains("ann wants these bugs fixed: mend it"), "{context}");

    let desk = tested("needs_fixes", Some("p2"));
    desk.ok(&["reject", "qa_testing", "--abort", "--by", "ann"]);
    assert_eq!(desk.state()["status"], "aborted");
    assert_eq!(next(&desk), Vec::<String>::new());
}

#[test]
fn warnings_are_kept_and_the_work_goes_on() {
    let desk = Desk::new();
    let mut signal = desk.make("requirements");
    signal["status"] = json!("completed_with_warnings");
    signal["warnings"] = json!(["Nobody has asked the users."]);
    assert_eq!(desk.hand_in(&signal).code, 0);
    desk.approve("requirements");
    assert_eq!(next(&desk), ["system_architect"]);
    let board = desk.ok(&["status"]).stdout;
    assert!(board.contains("Nobody has asked the users."), "{board}");
}

#[test]
fn a_stage_that_fails_is_tried_again_and_then_a_person_is_needed() {
    let desk = Desk::new();
    for attempt in 1..=3 {
        assert_eq!(desk.status("requirements"), "in_progress");
        let mut failed = signal("requirements", &[]);
        failed["id"] = json!(format!("failed-{attempt}"));
        failed["status"] = json!("failed");
        failed["reason"] = json!("nobody answers");
        assert_eq!(desk.hand_in(&failed).code, 0);
    }
    assert_eq!(desk.status("requirements"), "failed");
    desk.ok(&["reset", "requirements", "--by", "ann", "--note", "ask again"]);
    assert_eq!(desk.status("requirements"), "in_progress");
    let context = desk.ok(&["context", "product_manager"]).stdout;
    assert!(context.contains("nobody answers") && context.contains("ask again"), "{context}");
}

#[test]
fn a_stage_that_is_done_can_be_done_again_with_all_that_came_after() {
    let desk = Desk::new();
    desk.up_to("qa_testing");
    desk.ok(&["reset", "architecture", "--by", "ann", "--note", "other database"]);
    assert_eq!(next(&desk), ["system_architect"]);
    assert_eq!(desk.status("backend_implementation"), "rolled_back");
    assert_eq!(desk.status("requirements"), "completed");
}

#[test]
fn only_those_who_are_needed_come_next() {
    let desk = Desk::new();
    desk.complete("requirements");
    desk.approve("requirements");
    let mut signal = desk.make("architecture");
    signal["next_agent_required"] = json!(["backend_engineer"]);
    assert_eq!(desk.hand_in(&signal).code, 0);
    desk.approve("architecture");
    assert_eq!(next(&desk), ["backend_engineer"]);
    assert_eq!(desk.status("frontend_implementation"), "skipped");
    desk.complete("backend_implementation");
    assert_eq!(next(&desk), ["qa_engineer"]);
    // Who tests is given all that was made, and nothing that was not.
    let given = desk.ok(&["context", "qa_engineer", "--json"]).json();
    let upstream = given["upstream_artifacts"].as_object().unwrap();
    let paths: Vec<&String> = upstream.keys().collect();
    assert_eq!(
        paths,
        [
            "ARTIFACTS/backend-engineer/backend-implementation-report.json",
            "ARTIFACTS/product-manager/product-requirements-packet.json"
        ]
    );
}
