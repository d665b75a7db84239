//! The state file: two at once, a crash anywhere, a file that is damaged.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::thread;

use anyhook_testkit::needs::MachineNeed;
use anyhook_testkit::{require, run, write};
use serde_json::json;

use super::scripted_agents::Crew;
use super::workflow_fixture::{Desk, artifact, artifact_path, signal};

#[test]
fn the_same_signal_twice_changes_nothing() {
    let desk = Desk::new();
    let signal = desk.make("requirements");
    assert_eq!(desk.hand_in(&signal).code, 0);
    let before = desk.state();
    let again = desk.hand_in(&signal);
    assert_eq!(again.code, 0, "{again:?}");
    assert!(again.stdout.contains("nothing changed"));
    assert_eq!(desk.state(), before);
}

#[test]
fn completions_at_once_lose_nothing() {
    let desk = Desk::new();
    desk.up_to("frontend_implementation");
    let stages = ["frontend_implementation", "backend_implementation", "ai_implementation"];
    let signals = stages.map(|stage| desk.make(stage));
    let before = desk.state()["revision"].as_u64().unwrap();
    thread::scope(|scope| {
        // Each several times at once: they are the same signals.
        for signal in signals.iter().cycle().take(12) {
            scope.spawn(|| {
                let ran = desk.hand_in(signal);
                assert_eq!(ran.code, 0, "{ran:?}");
            });
        }
    });
    for stage in stages {
        assert_eq!(desk.status(stage), "completed");
    }
    assert_eq!(desk.status("qa_testing"), "in_progress");
    assert_eq!(desk.state()["revision"].as_u64().unwrap(), before + 3);
}

/// The project's folder is anybody's who can write there.
#[test]
fn what_is_not_a_file_in_the_place_of_the_lock_is_refused() {
    for kind in ["pipe", "link"] {
        let desk = Desk::new();
        let signal = desk.make("requirements");
        let lock = desk.environment.project().join("ARTIFACTS/system/.workflow-state.lock");
        let elsewhere = desk.environment.root().join("elsewhere");
        fs::remove_file(&lock).unwrap();
        match kind {
            "pipe" => assert!(Command::new("mkfifo").arg(&lock).status().unwrap().success()),
            _ => symlink(&elsewhere, &lock).unwrap(),
        }
        let before = desk.state();
        let ran = desk.hand_in(&signal);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{kind}: {ran:?}");
        assert_eq!(
            ran.stderr,
            format!(
                "error: cannot access `{}`: it is not a regular file\n\
                 hint: remove it: the lock must be an empty regular file\n",
                lock.display()
            )
        );
        assert_eq!(desk.state(), before);
        assert!(!elsewhere.exists());
    }
}

#[test]
fn a_crash_at_any_point_leaves_a_state_and_the_signal_can_be_handed_in_again() {
    for point in ["workflow.state.begun", "workflow.state.kept", "workflow.state.written"] {
        let desk = Desk::new();
        let before = desk.state();
        let signal = desk.make("requirements");
        let mut command = desk.environment.command(&["workflow", "complete", "-"]);
        command.env("ANYHOOK_FAULT", point);
        let ran = run(command, signal.to_string().as_bytes());
        assert_ne!(ran.code, 0, "{point} was not met");
        let state = desk.state();
        let is_written = point == "workflow.state.written";
        assert_eq!(state != before, is_written, "{point}");
        assert_eq!(desk.hand_in(&signal).code, 0, "{point}");
        assert_eq!(desk.status("requirements"), "completed", "{point}");
        assert_eq!(desk.state()["revision"], json!(2), "{point}: once");
    }
}

#[test]
fn a_damaged_state_is_refused_with_a_way_back() {
    let desk = Desk::new();
    desk.complete("requirements");
    desk.approve("requirements");
    let file = desk.path("ARTIFACTS/system/workflow-state.json");
    let whole = fs::read_to_string(&file).unwrap();
    let damaged = &whole[..whole.find("\"stages\"").unwrap()];
    write(&file, damaged, 0o644);
    assert_run!(desk.environment, desk.run(&["status"]));
    let refused = desk.hand_in(&signal("architecture", &[]));
    assert_eq!(refused.code, 65, "{refused:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), damaged, "untouched");

    desk.ok(&["reset", "--previous"]);
    assert_eq!(desk.state()["paused_at"], "requirements", "as before the approval");
    let kept: Vec<String> = fs::read_dir(desk.path("ARTIFACTS/system"))
        .unwrap()
        .flatten()
        .filter(|entry| fs::read_to_string(entry.path()).is_ok_and(|text| text == damaged))
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    assert!(kept.iter().any(|name| name.starts_with("workflow-state.2")), "{kept:?}");
    let history = desk.state()["history"].as_array().unwrap().clone();
    assert_eq!(history.last().unwrap()["what"], "restored previous state");
    desk.approve("requirements");
    assert_eq!(desk.status("architecture"), "in_progress");
}

#[test]
fn what_was_decided_since_is_decided_again() {
    let desk = Desk::new();
    desk.complete("requirements");
    desk.approve("requirements");
    let approved = desk.state()["revision"].as_u64().unwrap();
    desk.ok(&["reset", "--previous", "--by", "ann", "--note", "too early"]);
    let state = desk.state();
    assert_eq!(state["paused_at"], "requirements");
    // A question of now is none that was answered before: the state only goes on.
    assert_eq!(state["revision"].as_u64().unwrap(), approved + 1);
    assert!(
        desk.environment
            .journal()
            .iter()
            .any(|line| { line["about"] == "restored previous state by ann: too early" })
    );
}

#[test]
fn the_doctor_looks_at_the_state_and_at_the_definition() {
    let of_workflow = |desk: &Desk| -> Vec<(String, String)> {
        let report = desk.environment.run(&["doctor", "--json"]).json();
        let findings = report["findings"].as_array().unwrap().iter();
        let text = |finding: &serde_json::Value, key: &str| {
            finding[key].as_str().unwrap_or_default().to_owned()
        };
        let ours = findings.filter(|finding| finding["about"] == "workflow");
        ours.map(|one| (text(one, "severity"), text(one, "message"))).collect()
    };
    let desk = Desk::new();
    let good = ("good".to_owned(), "delivery: running at requirements".to_owned());
    assert_eq!(of_workflow(&desk), [good]);
    write(&desk.path("ARTIFACTS/system/workflow-state.json"), "{", 0o644);
    assert!(of_workflow(&desk)[0].1.contains("cannot read `ARTIFACTS/system/workflow-state.json`"));
    write(&desk.path(".agents/workflow.toml"), "name = 7\n", 0o644);
    let (severity, message) = of_workflow(&desk).remove(0);
    assert_eq!(severity, "bad");
    assert!(message.contains("in `.agents/workflow.toml`"), "{message}");
}

#[test]
fn a_state_that_is_json_and_no_state_is_refused_too() {
    let desk = Desk::new();
    let mut state = desk.state();
    state["stages"]["requirements"]["status"] = json!("nearly");
    desk.write("ARTIFACTS/system/workflow-state.json", &state);
    let ran = desk.run(&["status"]);
    assert_eq!(ran.code, 65);
    assert!(ran.stderr.contains("/stages/requirements/status: is `nearly`, not one of"), "{ran:?}");
    assert!(ran.stderr.contains("hint: `anyhook workflow reset --previous`"), "{ran:?}");
    let fresh = desk.ok(&["reset", "--all", "--json"]).json();
    assert_eq!(fresh["status"], "running");
}

#[test]
fn a_state_of_another_workflow_is_refused() {
    let desk = Desk::new();
    let file = desk.path(".agents/workflow.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("\"qa_testing\"", "\"trying\"")).unwrap();
    assert_run!(desk.environment, desk.run(&["status"]));
    assert_eq!(desk.run(&["init"]).code, 65);
}

#[test]
fn a_gate_that_is_taken_away_in_between_is_noticed() {
    let desk = Desk::new();
    desk.complete("requirements");
    let file = desk.path(".agents/workflow.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("approval = \"after\"\n", "").replace("approval_modes", "#"))
        .unwrap();
    let before = desk.state();
    assert_run!(desk.environment, desk.run(&["status"]));
    let orders = [&["next"][..], &["approve", "requirements", "--by", "ann"], &["run"]];
    for arguments in orders.into_iter().chain([&["reset", "requirements"][..]]) {
        let ran = desk.run(arguments);
        assert_eq!(ran.code, 65, "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains("anyhook workflow reset --rules"), "{arguments:?}: {ran:?}");
    }
    let early = desk.hand_in(&desk.make("architecture"));
    assert!(early.stderr.contains("have changed since it began"), "{early:?}");
    assert_eq!(desk.state(), before, "untouched");

    // What decides nothing may change; and what is as it was is as it was.
    fs::write(&file, format!("# as before\n\n{text}")).unwrap();
    desk.ok(&["status"]);
    fs::write(&file, text.replace("approval = \"after\"\n", "").replace("approval_modes", "#"))
        .unwrap();
    desk.ok(&["reset", "--rules", "--by", "ann", "--note", "nobody has time"]);
    assert_eq!(desk.status("architecture"), "in_progress", "nobody is asked any more");
    let history = desk.ok(&["history"]).stdout;
    let line = history.lines().find(|line| line.contains("rules accepted")).unwrap();
    assert!(line.contains("ann") && line.contains("nobody has time"), "{line}");
    let revision = desk.state()["revision"].clone();
    desk.ok(&["reset", "--rules", "--by", "ann"]);
    assert_eq!(desk.state()["revision"], revision, "they are accepted");
}

#[test]
fn an_artifact_that_is_replaced_after_its_completion_is_noticed() {
    let desk = Desk::new();
    desk.complete("requirements");
    let path = artifact_path("requirements");
    let packet = artifact("requirements", "full_system");
    // The same with other space is the same.
    write(&desk.path(&path), serde_json::to_string_pretty(&packet).unwrap(), 0o644);
    let changed = |desk: &Desk| {
        let report = desk.ok(&["status", "--json"]).json();
        report["stages"][0]["artifacts"][0]["changed"].as_bool().unwrap()
    };
    assert!(!changed(&desk));
    desk.approve("requirements");
    desk.ok(&["context", "system_architect"]);

    let mut other = packet.clone();
    other["summary"] = json!("A large shop.");
    desk.write(&path, &other);
    assert!(changed(&desk));
    let board = desk.ok(&["status"]).stdout;
    assert!(board.contains("product-requirements-packet.json (changed since)"), "{board}");
    assert_run!(desk.environment, desk.run(&["context", "system_architect"]));
    write(&desk.path(&path), "{", 0o644);
    assert!(changed(&desk), "it could be read then");

    // As it was, it is taken again; and a stage that is done again makes it anew.
    desk.write(&path, &packet);
    desk.ok(&["context", "system_architect"]);
    desk.write(&path, &other);
    desk.ok(&["reset", "requirements", "--by", "ann"]);
    let mut signal = desk.make_with("requirements", &other);
    signal["id"] = json!("requirements-2");
    assert_eq!(desk.hand_in(&signal).code, 0);
    assert!(!changed(&desk));
    desk.approve("requirements");
    desk.ok(&["context", "system_architect"]);
}

#[test]
fn a_person_is_told_at_the_gate_that_an_artifact_has_changed() {
    let desk = Desk::new();
    desk.complete("requirements");
    let mut packet = artifact("requirements", "full_system");
    packet["summary"] = json!("A large shop.");
    let path = artifact_path("requirements");
    desk.write(&path, &packet);
    let crew = Crew::at(desk, "");
    let all = crew.begin(&["--wait"]);
    let asked = crew.wait_asked("requirements");
    let gates = crew.gates();
    let gate = gates.iter().find(|one| one["inquiry"]["id"] == asked.as_str()).unwrap();
    let question = gate["inquiry"]["question"].as_str().unwrap();
    let line = format!("warning: {path} has changed since it was completed");
    assert!(question.contains(&line), "{question}");
    drop(all);
}

#[test]
fn a_state_that_cannot_be_written_is_said_and_nothing_is_half_done() {
    require!(MachineNeed::Users);
    let desk = Desk::new();
    let signal = desk.make("requirements");
    desk.environment.give_to(0);
    let mut command = desk.environment.command_as(12345, &["workflow", "complete", "-"]);
    command.current_dir(desk.environment.project());
    let ran = run(command, signal.to_string().as_bytes());
    assert_ne!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("hint: "), "{ran:?}");
    assert_eq!(desk.status("requirements"), "in_progress");
}
