//! `workflow status` and `workflow next` name the next command, whatever the state is.

use serde_json::json;

use super::workflow_fixture::{Desk, artifact, signal};

fn tested(verdict: &str, severity: &str) -> Desk {
    let desk = Desk::new();
    desk.up_to("qa_testing");
    let mut report = artifact("qa_testing", "");
    report["verdict"] = json!(verdict);
    report["bugs"] = json!([{"id": "B1", "title": "wrong", "severity": severity}]);
    let ran = desk.hand_in(&desk.make_with("qa_testing", &report));
    assert_eq!(ran.code, 0, "{ran:?}");
    desk
}

fn failed() -> Desk {
    let desk = Desk::new();
    for attempt in 1..=3 {
        let mut failed = signal("requirements", &[]);
        failed["id"] = json!(format!("failed-{attempt}"));
        (failed["status"], failed["reason"]) = (json!("failed"), json!("no disk"));
        assert_eq!(desk.hand_in(&failed).code, 0);
    }
    desk
}

fn paused() -> Desk {
    let desk = Desk::new();
    desk.complete("requirements");
    desk
}

fn before_deployment() -> Desk {
    tested("approve", "p3")
}

fn done(desk: Desk, commands: &[&[&str]]) -> Desk {
    for command in commands {
        desk.ok(command);
    }
    desk
}

#[test]
fn every_state_names_the_next_command() {
    let deployed = done(before_deployment(), &[&["approve", "deployment", "--by", "ann"]]);
    deployed.complete("deployment");
    let abort = ["reject", "requirements", "--abort", "--by", "ann"];
    let not_deployed = &["reject", "deployment", "--by", "ann"];
    for (status, desk, way) in [
        ("running", Desk::new(), "start the agents: anyhook workflow run"),
        ("paused", paused(), "approve: anyhook workflow approve requirements"),
        ("failed", failed(), "try again: anyhook workflow reset requirements --note WHY"),
        (
            "paused",
            tested("needs_fixes", "p2"),
            "fix the bugs: anyhook workflow reject qa_testing --note WHY",
        ),
        (
            "blocked",
            tested("needs_fixes", "p0"),
            "fix the bugs: anyhook workflow reject qa_testing --note WHY",
        ),
        (
            "blocked",
            tested("major_issues", "p3"),
            "end the workflow: anyhook workflow reject qa_testing --abort",
        ),
        ("paused", before_deployment(), "approve: anyhook workflow approve deployment"),
        (
            "blocked",
            done(before_deployment(), &[not_deployed]),
            "try again: anyhook workflow reset deployment --note WHY",
        ),
        ("aborted", done(paused(), &[&abort]), "start a new one: anyhook workflow reset --all"),
        ("completed", deployed, "see what happened: anyhook workflow history"),
    ] {
        assert_eq!(desk.state()["status"], status, "{way}");
        for command in ["status", "next"] {
            let text = desk.ok(&[command]).stdout;
            assert!(text.contains(&format!("hint: {way}\n")), "{status}: {command}: {text}");
            let json = desk.ok(&[command, "--json"]).json();
            assert!(json["hints"].as_array().unwrap().contains(&json!(way)), "{json}");
        }
        // What is named is accepted.
        let words = way.split_once(": ").unwrap().1.replace("NAME", "ann").replace("WHY", "so");
        let words: Vec<&str> = words.split(' ').skip(2).collect();
        if words[0] != "run" {
            desk.ok(&words);
        }
    }
}

#[test]
fn a_refusal_has_the_right_hint() {
    let desk = tested("needs_fixes", "p0");
    let ran = desk.run(&["approve", "qa_testing", "--by", "ann"]);
    assert_eq!(ran.code, 65);
    assert!(ran.stderr.contains("fix the bugs: anyhook workflow reject qa_testing"), "{ran:?}");
    let desk = paused();
    let mut again = desk.make("requirements");
    again["id"] = json!("requirements-2");
    let ran = desk.hand_in(&again);
    assert!(ran.stderr.contains("requirements` is completed, not in_progress"), "{ran:?}");
    assert!(
        ran.stderr.contains("run `anyhook workflow status` to see what it waits for"),
        "{ran:?}"
    );
}
