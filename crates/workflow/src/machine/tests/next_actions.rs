//! In every state there is a command that leads out of it, and the workflow accepts it.

use super::*;
use crate::next_actions::ways;

/// Does what a command would; returns whether it is accepted.
fn follow(run: &Run, command: &str) -> Result<(), WorkflowRefusal> {
    let words: Vec<&str> = command.split(' ').collect();
    let [_, _, verb, rest @ ..] = words.as_slice() else { panic!("{command}") };
    let (definition, state) = (&run.definition, &run.state);
    let stage = rest.first().copied().unwrap_or_default();
    let now = state.stages.get(stage);
    let has_choice = now.is_some_and(|now| now.asks == Some(Asks::Choice));
    let is_blocked_by_bugs = now.is_some_and(|now| now.qa_verdict.is_some() && now.asks.is_none());
    let why = kim("so");
    let done = match *verb {
        "approve" if has_choice => choose(definition, state, stage, Decision::DeployAnyway, why),
        "approve" => approve(definition, state, stage, why),
        "reject" if rest.contains(&"--abort") => {
            choose(definition, state, stage, Decision::Abort, why)
        }
        "reject" if has_choice || is_blocked_by_bugs => {
            choose(definition, state, stage, Decision::Fix, why)
        }
        "reject" => reject(definition, state, stage, why),
        "reset" if stage == "--all" => return Ok(()),
        "reset" => retry(definition, state, stage, why),
        "history" => return Ok(()),
        "run" => {
            let is_asked = state.stages.values().any(|stage| stage.asks.is_some());
            assert!(!run.next().is_empty() || is_asked, "nothing to run");
            return Ok(());
        }
        "context" => {
            return crate::context::context(definition, state, stage)
                .map(drop)
                .map_err(|error| panic!("{error}"));
        }
        _ => panic!("{command}"),
    };
    done.map(|(after, _)| assert_ne!(after.revision, state.revision, "{command}"))
}

fn tested(verdict: &str, severity: &str) -> Run {
    let mut run = Run::new("feature", "low");
    run.done("requirements").approve("requirements").done("architecture");
    run.done("frontend_implementation").done("backend_implementation").done("ai_implementation");
    run.set("qa-test-report.json", "verdict", json!(verdict));
    let bug = json!({"id": "B1", "title": "wrong", "severity": severity});
    run.set("qa-test-report.json", "bugs", json!([bug])).done("qa_testing");
    run
}

fn failed(stage: &str, run: &mut Run) {
    while run.status(stage) == "in_progress" {
        run.says(stage, &json!({"status": "failed", "reason": "no disk", "output_artifacts": []}));
    }
}

#[test]
fn every_state_has_a_way_on() {
    let begun = Run::new("feature", "low");
    let mut paused = begun.clone();
    paused.done("requirements");
    let mut reviewed = Run::new("feature", "medium");
    reviewed.done("requirements");
    let mut rejected = reviewed.clone();
    rejected.reviewed("safety_review", "requirements", "reject");
    let mut stuck = begun.clone();
    failed("requirements", &mut stuck);
    let mut side_by_side = paused.clone();
    side_by_side.approve("requirements").done("architecture");
    failed("backend_implementation", &mut side_by_side);
    let before_deployment = tested("approve", "p3");
    let mut not_deployed = before_deployment.clone();
    not_deployed.reject("deployment");
    let mut in_vain = before_deployment.clone();
    in_vain.approve("deployment");
    failed("deployment", &mut in_vain);
    let mut over = before_deployment.clone();
    over.approve("deployment").done("deployment");
    let choice = tested("needs_fixes", "p2");
    let mut aborted = choice.clone();
    aborted.choose("qa_testing", Decision::Abort);
    for (name, run, status, expected) in [
        ("begun", begun, "running", "run"),
        ("paused", paused, "paused", "approve requirements"),
        ("reviewed", reviewed, "running", "run"),
        ("rejected", rejected, "blocked", "reset requirements --note WHY"),
        ("failed", stuck, "failed", "reset requirements --note WHY"),
        ("failed beside others", side_by_side, "failed", "reset backend_implementation --note WHY"),
        ("before deployment", before_deployment, "paused", "approve deployment"),
        ("not deployed", not_deployed, "blocked", "reset deployment --note WHY"),
        ("deployed in vain", in_vain, "blocked", "reset deployment --note WHY"),
        ("choice", choice, "paused", "reject qa_testing --note WHY"),
        ("bad bugs", tested("needs_fixes", "p0"), "blocked", "reject qa_testing --note WHY"),
        ("major issues", tested("major_issues", "p3"), "blocked", "reject qa_testing --note WHY"),
        ("aborted", aborted, "aborted", "reset --all"),
        ("completed", over, "completed", "reset --all"),
    ] {
        assert_eq!(run.state.status.name(), status, "{name}");
        let ways = ways(&run.definition, &run.state);
        let commands: Vec<&str> = ways.iter().map(|way| way.command.as_str()).collect();
        let expected = format!("anyhook workflow {expected}");
        assert!(commands.contains(&expected.as_str()), "{name}: {commands:?}");
        for command in commands {
            follow(&run, command).unwrap_or_else(|refusal| panic!("{name}: {command}: {refusal}"));
        }
    }
}

#[test]
fn a_refusal_names_what_can_be_done() {
    let run = tested("needs_fixes", "p0");
    let refused = approve(&run.definition, &run.state, "qa_testing", kim("")).unwrap_err();
    assert!(
        refused.hint().starts_with("fix the bugs: anyhook workflow reject qa_testing"),
        "{}",
        refused.hint()
    );
    // At its gate it is no agent's turn.
    let mut run = Run::new("full_system", "low");
    run.done("requirements").approve("requirements").done("architecture");
    let signal = run.signal("architecture");
    let refused = run.try_send(&signal).unwrap_err();
    assert_eq!(refused.to_string(), "the stage `architecture` is completed, not in_progress");
    let hint = "no agent can start now; run `anyhook workflow status` to see what it waits for";
    assert_eq!(refused.hint(), hint);
}
