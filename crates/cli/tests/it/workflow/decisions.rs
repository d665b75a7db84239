//! A gate that subagents reach is a decision, though nobody waits at it.

use std::fs;

use anyhook_testkit::write;
use serde_json::{Value, json};

use super::scripted_agents::Crew;
use super::workflow_fixture::signal_path;

/// Hands in the requirements as the hook of a subagent does.
fn reach_the_gate(crew: &Crew) {
    let desk = &crew.desk;
    let signal = desk.make("requirements");
    desk.write(&signal_path("product_manager"), &signal);
    let event = json!({
        "event_type": "subagent_stop", "subagent_type": "product-manager", "final_message": "done",
    });
    let ran = desk.event(&["workflow", "complete", "--event"], &event);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    assert_eq!(desk.state()["paused_at"], "requirements");
}

fn approvals(crew: &Crew) -> usize {
    let history = crew.desk.state()["history"].as_array().unwrap().clone();
    history.iter().filter(|line| line["what"] == "approved").count()
}

fn open(crew: &Crew) -> Vec<Value> {
    crew.gates().into_iter().filter(|one| one["resolution"].is_null()).collect()
}

#[test]
fn whoever_approves_the_decision_approves_the_stage_once() {
    let crew = Crew::new("");
    reach_the_gate(&crew);
    let decision = crew.wait_asked("requirements");
    crew.resolve(&decision, "approve", "good");
    crew.wait("the approval", || crew.desk.status("architecture") == "in_progress");
    let approval = &crew.desk.state()["stages"]["requirements"]["approval"];
    assert_eq!((&approval["by"], &approval["note"]), (&json!("ann"), &json!("good")));
    assert_eq!((approvals(&crew), crew.gates().len()), (1, 1));
}

/// As a subagent of an agent with the pack does: the daemon outlives the hook that started it.
#[test]
fn the_hooks_of_the_pack_have_a_person_asked() {
    let crew = Crew::new("");
    let desk = &crew.desk;
    assert_eq!(desk.environment.run(&["add", "pack/delivery-workflow"]).code, 0);
    let signal = desk.make("requirements");
    desk.write(&signal_path("product_manager"), &signal);
    let ran = desk.environment.event(&json!({
        "event_type": "subagent_stop", "subagent_type": "product-manager", "final_message": "done",
    }));
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(desk.state()["paused_at"], "requirements", "{ran:?}");
    anyhook_testkit::wait_until("a daemon", || desk.environment.daemon().is_some());
    crew.resolve(&crew.wait_asked("requirements"), "approve", "good");
    crew.wait("the approval", || desk.status("architecture") == "in_progress");
    assert_eq!((approvals(&crew), crew.gates().len()), (1, 1));
}

#[test]
fn a_daemon_that_a_person_stopped_is_not_started_for_a_gate() {
    let crew = Crew::new("");
    let environment = &crew.desk.environment;
    assert_eq!(environment.run(&["daemon", "start"]).code, 0);
    assert_eq!(environment.run(&["daemon", "stop"]).code, 0);
    reach_the_gate(&crew);
    let status = environment.run(&["daemon", "status", "--json"]);
    assert_eq!(status.json(), Value::Null, "{status:?}");
    assert!(environment.state().join("daemon/stopped").exists(), "a start would have removed it");
}

#[test]
fn whoever_rejects_the_decision_sends_the_stage_back() {
    let crew = Crew::new("");
    reach_the_gate(&crew);
    crew.resolve(&crew.wait_asked("requirements"), "reject", "says nothing about speed");
    crew.wait("the rejection", || crew.desk.status("requirements") == "in_progress");
    let given = crew.desk.ok(&["context", "product_manager"]).stdout;
    assert!(given.contains("ann rejected it: says nothing about speed"), "{given}");
    // The next attempt is another question.
    let mut again = crew.desk.make("requirements");
    again["id"] = json!("requirements-2");
    assert_eq!(crew.desk.hand_in(&again).code, 0);
    crew.wait_asked("requirements");
    assert_eq!(crew.gates().len(), 2);
}

#[test]
fn whoever_approves_the_stage_ends_the_decision() {
    let crew = Crew::new("");
    reach_the_gate(&crew);
    crew.wait_asked("requirements");
    crew.desk.approve("requirements");
    crew.wait("the end of the decision", || open(&crew).is_empty());
    assert_eq!(crew.gates().len(), 1);
    assert_eq!(crew.gates()[0]["resolution"]["ending"], "dismissed");
    assert_eq!(approvals(&crew), 1);
}

#[test]
fn one_gate_is_one_decision_whoever_asks() {
    let crew = Crew::new("");
    reach_the_gate(&crew);
    let decision = crew.wait_asked("requirements");
    let run = crew.begin(&["--wait"]);
    run.wait_told("requirements");
    // A command more, and a new daemon, ask nothing anew.
    crew.desk.ok(&["status"]);
    crew.desk.environment.kill_daemon();
    crew.wait("the same decision", || {
        open(&crew).iter().any(|one| one["inquiry"]["id"] == decision.as_str())
    });
    crew.resolve(&decision, "approve", "good");
    crew.wait("the approval", || approvals(&crew) > 0);
    crew.wait("the next gate", || !open(&crew).is_empty());
    assert_eq!(approvals(&crew), 1);
    let of_requirements = crew.gates();
    let of_requirements =
        of_requirements.iter().filter(|one| one["inquiry"]["agent"] == "workflow/requirements");
    assert_eq!(of_requirements.count(), 1);
}

#[test]
fn a_daemon_that_comes_later_asks_too() {
    let crew = Crew::new("");
    reach_the_gate(&crew);
    let decision = crew.wait_asked("requirements");
    let ran = crew.desk.environment.run(&["daemon", "stop"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    // `decision list` starts one, which finds the gate where it was.
    assert_eq!(crew.wait_asked("requirements"), decision);
}

#[test]
fn without_a_daemon_the_gate_is_as_ever() {
    let crew = Crew::new("");
    // A file where its folder should be: no daemon can be started.
    let folder = crew.desk.environment.state().join("daemon");
    let _ = fs::remove_dir_all(&folder);
    write(&folder, "", 0o644);
    reach_the_gate(&crew);
    let text = crew.desk.ok(&["status"]).stdout;
    assert!(text.contains("anyhook workflow approve requirements"), "{text}");
    crew.desk.approve("requirements");
    assert_eq!(crew.desk.status("architecture"), "in_progress");
}
