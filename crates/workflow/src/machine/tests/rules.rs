//! Rules and artifacts that change while a workflow is running.

use serde_json::json;

use super::*;

fn without_approval(run: &mut Run) {
    let stage = run.definition.stages.iter_mut().find(|one| one.name.text == "requirements");
    stage.unwrap().approval = None;
}

#[test]
fn a_gate_that_is_taken_away_is_noticed_by_whoever_goes_on() {
    let mut run = Run::new("feature", "low");
    run.done("requirements");
    without_approval(&mut run);
    let signal = run.signal("architecture");
    assert_eq!(run.try_send(&signal), Err(WorkflowRefusal::OtherRules));
    let (definition, state) = (&run.definition, &run.state);
    for refused in [
        approve(definition, state, "requirements", kim("")),
        reject(definition, state, "requirements", kim("")),
        choose(definition, state, "requirements", Decision::Fix, kim("")),
        retry(definition, state, "requirements", kim("")),
        rollback(definition, state, "requirements", kim("")),
        abort(definition, state, kim("")),
    ] {
        assert_eq!(refused, Err(WorkflowRefusal::OtherRules));
    }
    assert!(WorkflowRefusal::OtherRules.hint().contains("anyhook workflow reset --rules"));
}

#[test]
fn a_person_takes_the_rules_as_they_are_now() {
    let mut run = Run::new("feature", "low");
    run.done("requirements");
    without_approval(&mut run);
    run.definition.stages[1].agent.text = "ai_engineer".to_owned();
    let nobody = PersonDecision { by: " ", note: None, at: time(1) };
    assert_eq!(accept_rules(&run.definition, &run.state, nobody), Err(WorkflowRefusal::Nobody));
    let (state, effects) = accept_rules(&run.definition, &run.state, kim("too slow")).unwrap();
    run.take(state, effects);
    let told = &run.effects.told[0];
    assert_eq!(told.what, "rules accepted");
    assert_eq!((told.by.as_deref(), told.note.as_deref()), (Some("kim"), Some("too slow")));
    // Questions of the old rules are no longer asked.
    assert_eq!(run.state.fits(&run.definition), None);
    assert_eq!(run.next(), ["ai_engineer"]);
    assert_eq!(run.state.stages["architecture"].agent, "ai_engineer");
    let (state, effects) = accept_rules(&run.definition, &run.state, kim("")).unwrap();
    assert!(effects.is_unchanged && state == run.state);
}

#[test]
fn other_stages_cannot_be_accepted_and_an_end_is_an_end() {
    let mut run = Run::new("feature", "low");
    let (state, _) = abort(&run.definition, &run.state, kim("")).unwrap();
    let over = accept_rules(&run.definition, &state, kim("")).unwrap_err();
    assert_eq!(over, WorkflowRefusal::Over(WorkflowStatus::Aborted));
    run.definition.stages.pop();
    let refused = accept_rules(&run.definition, &run.state, kim(""));
    assert!(matches!(refused, Err(WorkflowRefusal::OtherDefinition(_))));
}

#[test]
fn a_state_without_rules_goes_on_by_any() {
    let mut run = Run::new("feature", "low");
    run.state.rules = None;
    without_approval(&mut run);
    run.done("requirements");
    assert_eq!(run.next(), ["system_architect"]);
    let (state, effects) = accept_rules(&run.definition, &run.state, kim("")).unwrap();
    assert!(state.rules.is_some() && !effects.is_unchanged);
}

#[test]
fn what_was_completed_is_known_by_its_digest() {
    let mut run = Run::new("feature", "medium");
    run.done("requirements").reviewed("safety_review", "requirements", "approve");
    let path = "ARTIFACTS/product-manager/product-requirements-packet.json";
    let stage = &run.state.stages["requirements"];
    let mut value = run.files[path].clone();
    assert!(!stage.has_changed(path, &value));
    value["summary"] = json!("another");
    assert!(stage.has_changed(path, &value));
    assert!(!stage.has_changed("ARTIFACTS/other.json", &value), "nobody knows");
    assert_eq!(stage.reviews["safety_review"].artifact_digests.len(), 1);
    // An artifact that must be repeated may change.
    run.reject("requirements");
    assert!(!run.state.stages["requirements"].has_changed(path, &value));
}

#[test]
fn all_that_is_wrong_with_all_artifacts_is_told_at_once() {
    let both = "modes = [\"feature\", \"bug_fix\", \"refactor\"]";
    let text = DEFAULT.replace("modes = [\"full_system\"]\n\n", "\n").replace(both, "");
    let mut run = Run::with(&text, "feature", "low");
    run.done("requirements").approve("requirements");
    run.set("architecture-assessment.json", "summary", json!(7));
    run.files.remove("ARTIFACTS/system-architect/architecture-handover-packet.json").unwrap();
    let signal = run.signal("architecture");
    let refused = run.try_send(&signal).unwrap_err().to_string();
    assert!(refused.contains("architecture-handover-packet.json` is missing\n"), "{refused}");
    assert!(refused.contains("/summary: is 7, but must be of type string"), "{refused}");
}
