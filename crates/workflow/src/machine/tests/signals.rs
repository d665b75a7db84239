//! Completion: the order of the checks, and what is merged.

use serde_json::json;

use super::*;
use crate::refusal::ArtifactDefect;

fn at_architecture(mode: &str) -> Run {
    let mut run = Run::new(mode, "low");
    run.done("requirements").approve("requirements");
    run
}

/// Sends a signal that must be refused; the state is unchanged.
fn refused(run: &mut Run, signal: &Value) -> WorkflowRefusal {
    let before = run.state.clone();
    let refusal = run.try_send(signal).unwrap_err();
    assert_eq!(run.state, before);
    assert!(!refusal.to_string().is_empty() && !refusal.hint().is_empty());
    refusal
}

#[test]
fn what_is_wrong_first_is_told_first() {
    let mut run = Run::new("feature", "low");
    run.set("product-requirements-packet.json", "summary", json!(7));
    let valid = run.signal("architecture");
    // Everything is wrong with it; the errors are fixed one by one.
    let mut signal = valid.clone();
    signal["status"] = json!("maybe");
    signal["agent"] = json!("qa_engineer");
    let WorkflowRefusal::Signal(faults) = refused(&mut run, &signal) else { panic!() };
    assert_eq!(faults[0].pointer, "/status");
    signal["status"] = json!("completed");
    assert!(matches!(refused(&mut run, &signal), WorkflowRefusal::NotOwner { .. }));
    signal["agent"] = json!("system_architect");
    let WorkflowRefusal::NotCurrent { current, status, .. } = refused(&mut run, &signal) else {
        panic!()
    };
    assert_eq!((current, status), (vec!["requirements".to_owned()], StageStatus::Pending));
    signal = run.signal("requirements");
    signal["output_artifacts"] = json!(["ARTIFACTS/product-manager/surprise.json"]);
    assert!(matches!(refused(&mut run, &signal), WorkflowRefusal::NoSchema { .. }));
    signal["output_artifacts"] = json!([]);
    assert!(matches!(refused(&mut run, &signal), WorkflowRefusal::MissingArtifact { .. }));
    signal["output_artifacts"] = json!(["product-requirements-packet.json"]);
    let WorkflowRefusal::Artifacts(wrong) = refused(&mut run, &signal) else { panic!() };
    assert!(matches!(&wrong[0].1, ArtifactDefect::Faults(all) if all[0].pointer == "/summary"));
    run.set("product-requirements-packet.json", "summary", json!("a shop"));
    run.send(&signal);
    assert_eq!(run.status("requirements"), "completed");
}

#[test]
fn every_fault_of_every_artifact_is_told() {
    let mut run = Run::new("feature", "low");
    run.set("product-requirements-packet.json", "summary", json!(""));
    run.set("product-requirements-packet.json", "requirements", json!([]));
    let signal = run.signal("requirements");
    let refusal = refused(&mut run, &signal);
    assert_eq!(
        refusal.to_string(),
        "`ARTIFACTS/product-manager/product-requirements-packet.json` is not valid:\n  \
         /requirements: needs at least one entry\n  /summary: is empty"
    );
}

#[test]
fn an_artifact_that_is_not_there_is_told() {
    let mut run = Run::new("feature", "low");
    run.files.clear();
    let signal = run.signal("requirements");
    assert!(matches!(refused(&mut run, &signal), WorkflowRefusal::Artifacts(_)));
}

#[test]
fn an_unknown_stage_is_told() {
    let mut run = Run::new("feature", "low");
    let mut signal = run.signal("requirements");
    signal["stage"] = json!("marketing");
    let refused = refused(&mut run, &signal);
    assert!(matches!(&refused, WorkflowRefusal::UnknownStage { name, .. } if name == "marketing"));
    assert!(
        refused
            .hint()
            .ends_with("deployment, safety_review, governance_review, code_health_review")
    );
}

#[test]
fn the_same_signal_twice_changes_nothing() {
    let mut run = Run::new("feature", "low");
    let signal = run.signal("requirements");
    run.send(&signal);
    let before = run.state.clone();
    run.send(&signal);
    assert_eq!(run.state, before);
    assert!(run.effects.is_unchanged && run.effects.invoke.is_empty());
}

#[test]
fn done_twice_with_another_signal_is_refused() {
    let mut run = Run::new("feature", "low");
    run.done("requirements");
    let again = run.signal("requirements");
    let WorkflowRefusal::NotCurrent { status, .. } = refused(&mut run, &again) else { panic!() };
    assert_eq!(status, StageStatus::Completed);
    run.approve("requirements");
    let WorkflowRefusal::NotCurrent { current, .. } = refused(&mut run, &again) else { panic!() };
    assert_eq!(current, ["architecture"]);
}

#[test]
fn nobody_is_done_before_their_turn() {
    let mut run = Run::new("feature", "low");
    let later: Vec<String> =
        run.definition.stages[1..].iter().map(|stage| stage.name.text.clone()).collect();
    for stage in later {
        let signal = run.signal(&stage);
        assert!(
            matches!(refused(&mut run, &signal), WorkflowRefusal::NotCurrent { .. }),
            "{stage}"
        );
    }
}

#[test]
fn nobody_is_done_with_the_stage_of_another() {
    let mut run = at_architecture("feature");
    run.done("architecture");
    let mut signal = run.signal("frontend_implementation");
    signal["agent"] = json!("backend_engineer");
    let refusal = refused(&mut run, &signal);
    assert_eq!(
        refusal.to_string(),
        "`frontend_implementation` belongs to `frontend_engineer`, not to `backend_engineer`"
    );
}

#[test]
fn a_deployment_that_failed_is_not_done() {
    for told in ["failed", "rolled_back"] {
        let mut run = at_architecture("feature");
        run.says("architecture", &json!({"next_agent_required": "ai_engineer"}));
        run.done("ai_implementation").done("qa_testing").approve("deployment");
        run.set("deployment-report.json", "status", json!(told));
        for status in ["completed", "completed_with_warnings"] {
            let mut signal = run.signal("deployment");
            signal["status"] = json!(status);
            signal["warnings"] = json!(["slow"]);
            let refusal = refused(&mut run, &signal);
            assert_eq!(
                refusal.to_string(),
                format!(
                    "`ARTIFACTS/devops-engineer/deployment-report.json` says `{told}`, but the \
                     signal says that `deployment` is done"
                )
            );
        }
        // A reported failure is accepted as it is.
        run.says("deployment", &json!({"status": "failed", "reason": "no disk"}));
        assert_eq!(run.status("deployment"), "blocked");
    }
}

#[test]
fn the_tests_begin_when_all_of_the_group_are_done() {
    let mut run = at_architecture("feature");
    run.done("architecture");
    let group = ["ai_implementation", "frontend_implementation", "backend_implementation"];
    for stage in group {
        assert_eq!(run.status("qa_testing"), "pending");
        run.done(stage);
    }
    assert_eq!(run.status("qa_testing"), "in_progress");
}

#[test]
fn two_completions_of_one_group_both_count() {
    let mut run = at_architecture("feature");
    run.done("architecture");
    let first = run.signal("frontend_implementation");
    let second = run.signal("backend_implementation");
    run.send(&second).send(&first);
    assert_eq!(run.status("frontend_implementation"), "completed");
    assert_eq!(run.status("backend_implementation"), "completed");
    assert_eq!(run.next(), ["ai_engineer"]);
}

#[test]
fn warnings_are_kept_and_it_goes_on() {
    let mut run = at_architecture("feature");
    let said = json!({"status": "completed_with_warnings", "warnings": ["look out"]});
    run.says("architecture", &said);
    assert_eq!(run.status("architecture"), "completed_with_warnings");
    assert_eq!(run.state.stages["architecture"].warnings, ["look out"]);
    assert_eq!(run.next().len(), 3);
}

#[test]
fn null_is_as_good_as_nothing() {
    let mut run = Run::new("feature", "low");
    run.says("requirements", &json!({"risk_level": null, "next_agent_required": null}));
    assert_eq!(run.state.risk(), Risk::Low);
}

#[test]
fn who_is_not_required_is_skipped() {
    let mut run = at_architecture("feature");
    run.says("architecture", &json!({"next_agent_required": "backend_engineer"}));
    assert_eq!(run.next(), ["backend_engineer"]);
    assert_eq!(run.status("frontend_implementation"), "skipped");
    assert_eq!(run.status("ai_implementation"), "skipped");
    run.done("backend_implementation");
    assert_eq!(run.next(), ["qa_engineer"]);

    let mut run = at_architecture("feature");
    let both = json!({"next_agent_required": ["backend_engineer", "ai_engineer"]});
    run.says("architecture", &both);
    assert_eq!(run.next(), ["backend_engineer", "ai_engineer"]);
}

#[test]
fn who_cannot_come_next_is_refused() {
    let mut run = at_architecture("feature");
    let mut signal = run.signal("architecture");
    signal["next_agent_required"] = json!("devops_engineer");
    let WorkflowRefusal::NotNext { possible, .. } = refused(&mut run, &signal) else { panic!() };
    assert!(possible.contains(&"ai_engineer".to_owned()));
}

#[test]
fn a_reviewer_may_be_required() {
    let mut run = at_architecture("feature");
    run.says("architecture", &json!({"next_agent_required": "governance_agent"}));
    assert_eq!(run.next(), ["governance_agent(architecture)"]);
    run.reviewed("governance_review", "architecture", "approve");
    assert_eq!(run.next().len(), 3);
}

#[test]
fn an_artifact_of_another_mode_is_refused() {
    let mut run = at_architecture("feature");
    run.set("architecture-assessment.json", "execution_mode", json!("refactor"));
    let signal = run.signal("architecture");
    assert!(matches!(refused(&mut run, &signal), WorkflowRefusal::OtherMode { .. }));
    let mut signal = run.signal("architecture");
    signal["output_artifacts"] = json!(["architecture-handover-packet.json"]);
    assert!(matches!(refused(&mut run, &signal), WorkflowRefusal::NoSchema { .. }));
}

#[test]
fn nobody_makes_the_risk_less_than_another_has_said() {
    let mut run = Run::new("feature", "low");
    run.says("requirements", &json!({"risk_level": "medium"}));
    assert_eq!(run.state.risk(), Risk::Medium);
    run.reviewed("safety_review", "requirements", "approve").approve("requirements");
    run.says("architecture", &json!({"risk_level": "low"}));
    assert_eq!(run.state.risk(), Risk::Medium);
}

#[test]
fn a_schema_of_the_projects_own_counts() {
    let text = DEFAULT.replace("schema = \"pm-output\"", "schema_file = \"schemas/own.json\"");
    let mut run = Run::with(&text, "feature", "low");
    let path = "ARTIFACTS/product-manager/product-requirements-packet.json";
    run.files.insert(path.to_owned(), json!({"execution_mode": "feature"}));
    let signal = run.signal("requirements");
    assert!(matches!(refused(&mut run, &signal), WorkflowRefusal::NoSchema { .. }));
    let own = ArtifactSchema::new(r#"{"required": ["execution_mode"]}"#).unwrap();
    let schemas = OwnSchemas::from([("schemas/own.json".to_owned(), own)]);
    let send = |artifacts: &Artifacts| {
        let submission =
            SignalSubmission { signal: &signal, artifacts, schemas: &schemas, at: time(1) };
        complete(&run.definition, &run.state, submission)
    };
    assert_eq!(send(&run.files).unwrap().0.execution_mode, Some(Mode::Feature));
    let wrong = Artifacts::from([(path.to_owned(), json!({}))]);
    assert!(matches!(send(&wrong), Err(WorkflowRefusal::Artifacts(_))));
}

#[test]
fn without_a_mode_the_architect_cannot_be_done() {
    let text = DEFAULT.replace("schema = \"pm-output\"", "schema_file = \"schemas/own.json\"");
    let mut run = Run::with(&text, "feature", "low");
    let schemas =
        OwnSchemas::from([("schemas/own.json".to_owned(), ArtifactSchema::new("{}").unwrap())]);
    let path = "ARTIFACTS/product-manager/product-requirements-packet.json";
    run.files.insert(path.to_owned(), json!({"risk_level": "low"}));
    let signal = run.signal("requirements");
    let submission =
        SignalSubmission { signal: &signal, artifacts: &run.files, schemas: &schemas, at: time(1) };
    let (state, effects) = complete(&run.definition, &run.state, submission).unwrap();
    run.take(state, effects);
    run.approve("requirements");
    run.files.clear();
    let signal = run.signal("architecture");
    assert_eq!(refused(&mut run, &signal), WorkflowRefusal::NoMode);
}
