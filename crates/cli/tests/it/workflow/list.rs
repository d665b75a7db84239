//! `anyhook workflow list`: every workflow of a user, over all projects.

use std::fs;

use anyhook_testkit::{run, write};
use serde_json::{Value, json};

use super::workflow_fixture::Desk;

fn listed(desk: &Desk) -> Vec<Value> {
    desk.ok(&["list", "--json"]).json()["workflows"].as_array().unwrap().clone()
}

/// Begins a workflow in another project of the same user.
fn another(desk: &Desk, name: &str) -> std::path::PathBuf {
    let root = desk.environment.root().join(name);
    write(
        &root.join("project-config.json"),
        r#"{"project_name": "x", "risk_level": "low"}"#,
        0o644,
    );
    fs::create_dir_all(root.join(".git")).unwrap();
    let mut command = desk.environment.command(&["workflow", "init"]);
    command.current_dir(&root);
    let ran = run(command, b"");
    assert_eq!(ran.code, 0, "{ran:?}");
    root
}

#[test]
fn every_project_is_listed_with_who_is_waited_for() {
    let desk = Desk::new();
    let other = another(&desk, "other");
    desk.complete("requirements");
    let all = listed(&desk);
    let of = |root: &std::path::Path| {
        let root = fs::canonicalize(root).unwrap();
        all.iter().find(|one| one["project"] == root.to_str().unwrap()).unwrap().clone()
    };
    let here = of(&desk.environment.project());
    assert_eq!(
        (&here["status"], &here["stage"], &here["waiting_for"], &here["execution_mode"]),
        (
            &json!("paused"),
            &json!("requirements"),
            &json!("approval of requirements"),
            &json!("full_system")
        )
    );
    assert_eq!(here["id"], desk.state()["id"]);
    let there = of(&other);
    assert_eq!(
        (&there["status"], &there["waiting_for"]),
        (&json!("running"), &json!("product_manager"))
    );
    assert_eq!(all.len(), 2);
    let text = desk.ok(&["list"]).stdout;
    for part in ["approval of requirements", "product_manager", "other", "paused"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn what_is_gone_or_damaged_is_said() {
    let desk = Desk::new();
    let gone = another(&desk, "gone");
    let damaged = another(&desk, "damaged");
    let of = |name: &str| {
        let all = listed(&desk);
        all.iter().find(|one| one["project"].as_str().unwrap().ends_with(name)).cloned()
    };
    fs::remove_dir_all(&gone).unwrap();
    write(&damaged.join("ARTIFACTS/system/workflow-state.json"), "{", 0o644);
    assert_eq!(of("gone").unwrap()["status"], "gone");
    let damaged = of("damaged").unwrap();
    assert_eq!(damaged["status"], "unreadable");
    assert!(damaged["problem"].as_str().unwrap().contains("not JSON"), "{damaged}");
    // What has been gone for long is forgotten.
    let folder = desk.environment.state().join("workflows");
    for file in fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()) {
        let Ok(mut entry) = serde_json::from_slice::<Value>(&fs::read(&file).unwrap()) else {
            continue;
        };
        if entry["project"].as_str().unwrap().ends_with("gone") {
            entry["updated_at"] = json!("2020-01-02T03:04:05Z");
            write(&file, entry.to_string(), 0o644);
        }
    }
    assert_eq!(of("gone"), None);
    assert_eq!(listed(&desk).len(), 2);
}

#[test]
fn nothing_was_run_yet() {
    let environment = crate::environment();
    let ran = environment.run(&["workflow", "list"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (0, "no workflows yet\nhint: anyhook workflow init\n")
    );
    assert_eq!(environment.run(&["workflow", "list", "--json"]).json(), json!({"workflows": []}));
}
