//! `anyhook learn`: hooks that the journal suggests.

use std::fs;

use anyhook_testkit::TestEnv;
use serde_json::{Value, json};

use crate::environment;

/// Sessions in which a person denied forced pushes and allowed a linter, in the agent's own dialog.
pub fn past() -> TestEnv {
    let environment = environment();
    for session in ["one", "two"] {
        let call = |number: usize, command: &str, events: &[&str]| {
            for event in events {
                tell(&environment, session, event, &format!("{session}{number}"), command);
            }
        };
        let allowed = ["before_tool", "permission_request", "after_tool"];
        call(1, "git push origin main", &["before_tool", "after_tool"]);
        call(2, "git push --force origin main", &allowed[..2]);
        call(3, "npm run lint", &allowed);
        call(4, "npm run lint", &allowed);
        call(5, "rm -rf build", &allowed);
        call(6, "rm -rf build", &allowed);
        environment.event(&json!({"event_type": "before_stop", "session_id": session}));
    }
    environment
}

fn tell(environment: &TestEnv, session: &str, event: &str, id: &str, command: &str) {
    let ran = environment.event(&json!({
        "event_type": event, "session_id": session, "tool_use_id": id,
        "work_dir": environment.project(), "tool_name": "Shell",
        "tool_input": {"command": command},
    }));
    assert_eq!(ran.code, 0, "{ran:?}");
}

fn learn(environment: &TestEnv, arguments: &[&str]) -> Value {
    let ran = environment.run(&[&["learn", "--json"][..], arguments].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.json()
}

fn names(report: &Value) -> Vec<&str> {
    let proposals = report["proposals"].as_array().unwrap();
    proposals.iter().map(|one| one["name"].as_str().unwrap()).collect()
}

#[test]
fn what_people_chose_becomes_hooks() {
    let environment = past();
    assert_run!(environment, environment.run(&["learn", "--since", "2026-01-01T00:00:00Z"]));
    let report = learn(&environment, &[]);
    assert_eq!(names(&report), ["deny-git-push-force", "allow-npm-run-lint"]);
    let would = &report["proposals"][0]["would_have_decided"];
    assert_eq!(
        (&would["calls"], &would["denied"], &would["ran"]),
        (&json!(2), &json!(2), &json!(0))
    );
    assert_eq!(report["proposals"][0]["evidence"].as_array().unwrap().len(), 2);
    let why = report["left_out"][0]["why"].as_str().unwrap();
    assert!(why.starts_with("never allowed unseen: "), "{why}");
    assert!(!environment.user_hooks().exists(), "nothing is added unasked");
}

#[test]
fn a_hook_is_added_in_shadow_mode_with_tests_that_pass() {
    let environment = past();
    let write = ["learn", "deny-git-push-force", "--write"];
    let ran = environment.run(&write);
    assert_eq!(ran.code, 1, "no one can be asked: {ran:?}");
    assert!(ran.stderr.contains("hint: use --yes to skip the confirmation"), "{ran:?}");
    assert!(!environment.user_hooks().exists());
    let ran = environment.run(&[&write[..], &["--yes"]].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("to enforce one: anyhook promote deny-git-push-force"), "{ran:?}");
    let folder = environment.user_hooks().join("deny-git-push-force");
    let file = fs::read_to_string(folder.join("HOOK.md")).unwrap();
    assert!(file.contains("\nmode: shadow\n") && file.contains("\ndecision: deny\n"), "{file}");
    for (command, words) in [("check", "no problems in 1 hook"), ("test", "3 passed, 0 failed")] {
        let ran = environment.run(&[command]);
        assert!(ran.code == 0 && ran.stdout.contains(words), "{ran:?}");
    }
    let records = environment.all_records();
    let about = records.iter().rev().find_map(|record| record["about"].as_str()).unwrap();
    assert_eq!(about, "anyhook learn deny-git-push-force --write --yes: done");
    assert_eq!(environment.shell("git push --force origin main").code, 0, "in shadow mode");
    assert_eq!(names(&learn(&environment, &[])), ["allow-npm-run-lint"], "not proposed again");
    assert_eq!(environment.run(&["promote", "deny-git-push-force"]).code, 0);
    assert_eq!(environment.shell("git push --force origin main").code, 2);
    assert_eq!(environment.shell("git push origin main").code, 0);
}

#[test]
fn what_was_allowed_in_one_project_is_allowed_there_only() {
    let environment = past();
    let write = ["learn", "allow-npm-run-lint", "--write", "--yes"];
    let ran = environment.run(&write);
    assert_eq!(ran.code, 1, "{ran:?}");
    let why = "it was only allowed in ~/project; add it there with --level project";
    assert!(ran.stderr.contains(why), "{ran:?}");
    let ran = environment.run(&[&write[..], &["--level", "project"]].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(environment.run(&["trust", "allow-npm-run-lint"]).code, 0);
    assert_eq!(environment.run(&["promote", "allow-npm-run-lint"]).code, 0);
    let asked = |command: &str| {
        let ran = environment.event(&json!({
            "event_type": "permission_request", "session_id": "new", "tool_name": "Shell",
            "tool_input": {"command": command},
        }));
        ran.json()["decision"].as_str().map(str::to_owned)
    };
    assert_eq!(asked("npm run lint").as_deref(), Some("allow"));
    for other in ["npm run lint; ls", "npm run lint > x", "npm run build"] {
        assert_eq!(asked(other), None, "{other}");
    }
}

#[test]
fn a_hook_that_is_there_is_never_replaced() {
    let environment = past();
    let folder = environment.user_hooks().join("deny-git-push-force");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("notes.txt"), "mine").unwrap();
    let report = learn(&environment, &["--write", "--yes"]);
    let added = report["added"].as_array().unwrap();
    assert_eq!(added.len(), 1, "{report}");
    assert_eq!(added[0]["name"], "deny-git-push-force-2");
    assert_eq!(fs::read_to_string(folder.join("notes.txt")).unwrap(), "mine");
}

#[test]
fn calls_can_be_selected() {
    let environment = past();
    let none: [&str; 0] = [];
    assert_eq!(names(&learn(&environment, &["--host", "codex"])), none);
    assert_eq!(names(&learn(&environment, &["--project", "other"])), none);
    assert_eq!(names(&learn(&environment, &["--project", "project"])).len(), 2);
    assert_eq!(names(&learn(&environment, &["--min", "3"])), ["allow-npm-run-lint"]);
    assert_eq!(names(&learn(&environment, &["--since", "2099-01-01"])), none);
}

#[test]
fn errors_and_help() {
    let environment = past();
    assert_run!(environment, environment.run(&["learn", "nothing"]), @"
    exit code: 65
    ----- stderr -----
    error: `nothing` is not proposed
    hint: `anyhook learn` lists the proposals
    ");
    assert_run!(environment, environment.run(&["learn", "--help"]));
    let empty = crate::environment();
    assert_run!(empty, empty.run(&["learn", "--since", "2026-01-01T00:00:00Z"]), @"
    exit code: 0
    ----- stdout -----
    0 calls since 2026-01-01 00:00:00: people allowed 0 and denied 0, hooks denied 0
    they suggest no new hook
    ");
}
