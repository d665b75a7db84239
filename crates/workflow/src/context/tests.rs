//! The matrix: which agent is given what.

use serde_json::json;

use super::*;
use crate::machine::tests::Run;
use crate::testing::{DEFAULT, kind};

fn upstream(run: &Run, agent: &str) -> Vec<String> {
    let context = context(&run.definition, &run.state, agent).unwrap();
    let files = context.upstream.iter().map(|one| one.path.rsplit('/').next().unwrap().to_owned());
    files.collect()
}

fn schemas(run: &Run, agent: &str) -> Vec<String> {
    let context = context(&run.definition, &run.state, agent).unwrap();
    let kinds = context.outputs.iter().map(|output| match &output.schema {
        SchemaChoice::Kind(kind) => kind.to_string(),
        SchemaChoice::File(file) => file.text.clone(),
    });
    kinds.collect()
}

#[test]
fn everybody_is_given_what_they_need() {
    let requirements = "product-requirements-packet.json";
    for (mode, architecture, kind) in [
        ("full_system", "architecture-handover-packet.json", "architect-output"),
        ("feature", "architecture-assessment.json", "architecture-assessment"),
        ("bug_fix", "architecture-assessment.json", "architecture-assessment"),
        ("refactor", "architecture-assessment.json", "architecture-assessment"),
    ] {
        let mut run = Run::new(mode, "low");
        assert!(upstream(&run, "product_manager").is_empty());
        assert_eq!(schemas(&run, "product_manager"), ["pm-output"]);
        run.done("requirements").approve("requirements");
        assert_eq!(upstream(&run, "system_architect"), [requirements]);
        assert_eq!(schemas(&run, "system_architect"), [kind]);
        run.done("architecture");
        if mode == "full_system" {
            run.approve("architecture");
        }
        for (agent, kind) in [
            ("frontend_engineer", "frontend-output"),
            ("backend_engineer", "backend-output"),
            ("ai_engineer", "ai-engineer-output"),
        ] {
            assert_eq!(upstream(&run, agent), [architecture]);
            assert_eq!(schemas(&run, agent), [kind]);
        }
        run.done("frontend_implementation").done("backend_implementation");
        run.done("ai_implementation");
        let reports = [
            "frontend-implementation-report.json",
            "backend-implementation-report.json",
            "ai-implementation-report.json",
        ];
        let all: Vec<&str> = [requirements].into_iter().chain(reports).collect();
        assert_eq!(upstream(&run, "qa_engineer"), all);
        assert_eq!(schemas(&run, "qa_engineer"), ["qa-output"]);
        run.done("qa_testing");
        let all: Vec<&str> = reports.into_iter().chain(["qa-test-report.json"]).collect();
        assert_eq!(upstream(&run, "devops_engineer"), all);
        assert_eq!(schemas(&run, "devops_engineer"), ["devops-output"]);
    }
}

#[test]
fn who_was_skipped_has_made_nothing() {
    let mut run = Run::new("feature", "low");
    run.done("requirements").approve("requirements");
    run.says("architecture", &json!({"next_agent_required": "ai_engineer"}));
    run.done("ai_implementation");
    let files = ["product-requirements-packet.json", "ai-implementation-report.json"];
    assert_eq!(upstream(&run, "qa_engineer"), files);
}

#[test]
fn a_reviewer_is_given_the_stage_that_is_reviewed() {
    let mut run = Run::new("feature", "medium");
    let none = context(&run.definition, &run.state, "safety_agent").unwrap_err();
    assert_eq!(none.to_string(), "`safety_agent` has nothing to review");
    run.done("requirements");
    let given = context(&run.definition, &run.state, "safety_agent").unwrap();
    assert_eq!(given.reviewed.as_deref(), Some("requirements"));
    assert_eq!(given.stage, "safety_review");
    assert_eq!(given.upstream[0].stage, "requirements");
    assert_eq!(given.outputs[0].schema, SchemaChoice::Kind(kind("safety-output")));
}

#[test]
fn every_reviewer_is_given_its_own_schema() {
    let text = DEFAULT.replace("stages = []", "stages = [\"requirements\"]");
    let mut run = Run::with(&text, "full_system", "high");
    run.done("requirements");
    for (agent, kind) in [
        ("safety_agent", "safety-output"),
        ("governance_agent", "governance-output"),
        ("code_health_agent", "code-health-output"),
    ] {
        assert_eq!(upstream(&run, agent), ["product-requirements-packet.json"]);
        assert_eq!(schemas(&run, agent), [kind]);
    }
}

#[test]
fn code_health_is_given_the_reports_that_are_there() {
    let text = DEFAULT.replace("stages = []", "stages = [\"implementation\"]");
    let mut run = Run::with(&text, "feature", "low");
    run.done("requirements").approve("requirements").done("architecture");
    run.done("backend_implementation");
    assert_eq!(upstream(&run, "code_health_agent"), ["backend-implementation-report.json"]);
    run.done("frontend_implementation");
    let both = ["frontend-implementation-report.json", "backend-implementation-report.json"];
    assert_eq!(upstream(&run, "code_health_agent"), both);
}

/// Several artifacts of one stage do not replace each other.
#[test]
fn every_artifact_of_a_stage_is_given() {
    let more = "schema = \"pm-output\"\n\n[[stage.artifact]]\nfile = \"more.json\"\nschema = \"project-config\"\n";
    let text = DEFAULT.replace("schema = \"pm-output\"\n", more);
    let mut run = Run::with(&text, "feature", "low");
    run.done("requirements").approve("requirements");
    let both = ["product-requirements-packet.json", "more.json"];
    assert_eq!(upstream(&run, "system_architect"), both);
}

#[test]
fn what_is_not_made_yet_is_told_with_its_stage() {
    let run = Run::new("feature", "low");
    let error = context(&run.definition, &run.state, "system_architect").unwrap_err();
    assert_eq!(
        error.to_string(),
        "`system_architect` needs `ARTIFACTS/product-manager/product-requirements-packet.json`, \
         which the stage `requirements` produces; it is in_progress"
    );
    assert_eq!(error.hint(), "complete `requirements` first");
    let error = context(&run.definition, &run.state, "nobody").unwrap_err();
    assert!(error.hint().contains("product_manager"));
}

#[test]
fn what_was_sent_back_comes_with_why() {
    let mut run = Run::new("feature", "low");
    run.done("requirements").reject("requirements");
    let given = context(&run.definition, &run.state, "product_manager").unwrap();
    assert_eq!(given.feedback, ["kim rejected it: no"]);
}

/// An agent of both a stage and a review is given the context of what it does now.
#[test]
fn an_agent_may_have_several_things_to_do() {
    let text = DEFAULT
        .replace("agent = \"safety_agent\"", "agent = \"devops_engineer\"")
        .replace("[agent.safety_agent]\ndescription = \"Reviews safety risks.\"\n", "");
    let mut run = Run::with(&text, "feature", "medium");
    run.done("requirements");
    let given = context(&run.definition, &run.state, "devops_engineer").unwrap();
    assert_eq!(given.stage, "safety_review");
    run.reviewed("safety_review", "requirements", "approve");
    let error = context(&run.definition, &run.state, "devops_engineer").unwrap_err();
    assert!(matches!(error, ContextError::NotMade { .. }));
}
