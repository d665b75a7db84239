//! What the commands print.

use anyhook_testkit::CommandRun;
use serde_json::{Value, json};

use super::workflow_fixture::{Desk, WORK};

#[test]
fn help() {
    let environment = crate::environment();
    assert_run!(environment, environment.run(&["workflow", "--help"]));
    for command in [
        "init", "status", "next", "context", "complete", "approve", "reject", "validate", "check",
        "graph", "history", "reset",
    ] {
        let ran = environment.run(&["workflow", command, "--help"]);
        assert!(ran.code == 0 && ran.stdout.contains("Example: "), "{ran:?}");
    }
}

#[test]
fn init_writes_what_is_not_there_and_begins_once() {
    let environment = crate::environment();
    assert_run!(environment, environment.run(&["workflow", "init"]));
    let state = environment.project().join("ARTIFACTS/system/workflow-state.json");
    let begun = std::fs::read(&state).unwrap();
    assert_run!(environment, environment.run(&["workflow", "init"]));
    assert_eq!(std::fs::read(&state).unwrap(), begun);
    assert_run!(environment, environment.run(&["workflow", "check"]));
}

#[test]
fn the_board_on_the_way() {
    let desk = Desk::with(&json!({"project_name": "shop", "risk_level": "low"}));
    desk.up_to("architecture");
    desk.complete("architecture");
    assert_run!(desk.environment, desk.ok(&["status"]));
    desk.approve("architecture");
    desk.complete("backend_implementation");
    assert_run!(desk.environment, desk.ok(&["status"]));
    assert_run!(desk.environment, desk.ok(&["status", "--json"]));
}

/// Checks what is printed against the schema that is promised.
fn keeps_to(desk: &Desk, name: &str, ran: &CommandRun) {
    let schema = desk.environment.run(&["schema", name]).json();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let value = ran.json();
    let errors: Vec<String> =
        validator.iter_errors(&value).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{name}: {errors:?}\n{value}");
}

#[test]
fn what_is_printed_as_json_keeps_to_its_schema() {
    let desk = Desk::new();
    keeps_to(&desk, "workflow-next", &desk.ok(&["next", "--json"]));
    let requirements = desk.make("requirements");
    let completed = desk
        .environment
        .run_with_input(&["workflow", "complete", "-", "--json"], requirements.to_string());
    keeps_to(&desk, "workflow-status", &completed);
    keeps_to(&desk, "workflow-status", &desk.ok(&["status", "--json"]));
    keeps_to(&desk, "workflow-next", &desk.ok(&["next", "--json"]));
    keeps_to(&desk, "workflow-history", &desk.ok(&["history", "--json"]));
    keeps_to(&desk, "workflow-check", &desk.ok(&["check", "--json"]));
    keeps_to(&desk, "workflow-validate", &desk.ok(&["validate", "--all", "--json"]));
    let approved = desk.ok(&["approve", "requirements", "--by", "ann", "--json"]);
    keeps_to(&desk, "workflow-status", &approved);
    keeps_to(&desk, "workflow-status", &desk.ok(&["init", "--json"]));
    keeps_to(&desk, "workflow-status", &desk.ok(&["reset", "--all", "--json"]));
    keeps_to(&desk, "workflow-context", &desk.ok(&["context", "product_manager", "--json"]));
}

#[test]
fn without_a_name_the_login_decides() {
    let desk = Desk::new();
    let requirements = desk.make("requirements");
    desk.environment.run_with_input(&["workflow", "complete", "-"], requirements.to_string());
    let mut approve = desk.environment.command(&["workflow", "approve", "requirements"]);
    approve.env("USER", "ann");
    let ran = anyhook_testkit::run(approve, b"");
    assert_eq!(ran.code, 0, "{ran:?}");
    let history = desk.ok(&["history", "--json"]).json();
    let by = history["lines"].as_array().unwrap().iter().any(|line| line["by"] == "ann");
    assert!(by, "{history}");
}

#[test]
fn every_agent_is_given_what_the_matrix_says() {
    let upstream = |desk: &Desk, agent: &str| -> Vec<String> {
        let given = desk.ok(&["context", agent, "--json"]).json();
        assert_eq!(given["project_config"]["project_name"], "shop", "{agent}");
        assert_eq!(given["workflow_state"]["workflow"], "delivery", "{agent}");
        assert_eq!(given["output_schemas"].as_object().unwrap().len(), 1, "{agent}");
        let paths = given["upstream_artifacts"].as_object().unwrap().keys();
        paths.map(|path| path.rsplit('/').next().unwrap().to_owned()).collect()
    };
    let desk = Desk::new();
    assert_eq!(upstream(&desk, "product_manager"), Vec::<String>::new());
    desk.up_to("architecture");
    assert_eq!(upstream(&desk, "system_architect"), ["product-requirements-packet.json"]);
    desk.complete("architecture");
    desk.approve("architecture");
    for agent in ["frontend_engineer", "backend_engineer", "ai_engineer"] {
        assert_eq!(upstream(&desk, agent), ["architecture-handover-packet.json"], "{agent}");
    }
    for stage in ["frontend_implementation", "backend_implementation", "ai_implementation"] {
        desk.complete(stage);
    }
    let reports = [
        "ai-implementation-report.json",
        "backend-implementation-report.json",
        "frontend-implementation-report.json",
    ];
    let with = |more: &'static str| [&reports[..], &[more]].concat();
    assert_eq!(upstream(&desk, "qa_engineer"), with("product-requirements-packet.json"));
    desk.complete("qa_testing");
    desk.approve("deployment");
    let mut given = upstream(&desk, "devops_engineer");
    given.sort();
    assert_eq!(given, with("qa-test-report.json"));
    assert!(WORK.len() == 10, "all ten agents are somewhere in these tests");
}

#[test]
fn reviewers_are_given_the_stage_they_review() {
    let desk = Desk::with(&json!({"project_name": "shop"}));
    let mut packet = super::workflow_fixture::artifact("requirements", "full_system");
    packet["risk_level"] = json!("critical");
    desk.hand_in(&desk.make_with("requirements", &packet));
    for agent in ["safety_agent", "governance_agent"] {
        let given = desk.ok(&["context", agent, "--json"]).json();
        let upstream: Vec<&String> =
            given["upstream_artifacts"].as_object().map(|paths| paths.keys().collect()).unwrap();
        assert_eq!(upstream, ["ARTIFACTS/product-manager/product-requirements-packet.json"]);
        assert_eq!(given["reviewed_stage"], Value::from("requirements"));
    }
}

#[test]
fn the_context_of_an_agent() {
    let desk = Desk::new();
    desk.up_to("architecture");
    assert_run!(desk.environment, desk.ok(&["context", "system_architect"]));
}
