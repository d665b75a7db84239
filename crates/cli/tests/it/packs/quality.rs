//! The packs that run the project's own tools: `tests-before-stop`, `format-on-write`,
//! `lint-on-write`.

use std::fs;

use anyhook_testkit::{CommandRun, TestEnv, write};
use serde_json::json;

use anyhook_testkit::git::make_repository;

use super::{edit_hook, with_packs};

fn stop(environment: &TestEnv) -> CommandRun {
    environment.event(&json!({"event_type": "before_stop", "session_id": "s"}))
}

#[test]
fn an_agent_stops_when_the_tests_pass() {
    let environment = with_packs(&["tests-before-stop"]);
    let project = environment.project();
    let test =
        "test:\n\t@echo run >> ../runs; grep -q good code || { echo 'expected good'; exit 1; }\n";
    fs::write(project.join("Makefile"), test).unwrap();
    fs::write(project.join("code"), "good\n").unwrap();
    make_repository(&environment);
    let runs =
        || fs::read_to_string(environment.home().join("runs")).unwrap_or_default().lines().count();

    environment.event(&json!({"event_type": "session_start", "session_id": "s"}));
    assert_eq!((stop(&environment).code, runs()), (0, 0), "nothing changed in this session");
    fs::write(project.join("code"), "bad\n").unwrap();
    let ran = stop(&environment);
    assert!(ran.code == 2 && ran.stderr.contains("expected good"), "{ran:?}");
    fs::write(project.join("code"), "good again\n").unwrap();
    assert_eq!((stop(&environment).code, runs()), (0, 2));
    assert_eq!((stop(&environment).code, runs()), (0, 2), "they passed with these files");
}

#[test]
fn an_agent_that_cannot_fix_them_stops_nevertheless() {
    let environment = with_packs(&["tests-before-stop"]);
    edit_hook(
        &environment,
        "tests-before-stop",
        "command: ''\n    blocks: 3\n",
        "command: exit 1\n    blocks: 2\n",
    );
    let codes: Vec<i32> = (0..4).map(|_| stop(&environment).code).collect();
    assert_eq!(codes, [2, 2, 0, 0]);
}

#[test]
fn a_file_is_formatted_and_then_checked() {
    let environment = with_packs(&["format-on-write", "lint-on-write"]);
    let project = environment.project();
    write(&project.join("bin/upper"), "#!/bin/sh\ntr a-z A-Z\n", 0o755);
    let upper = format!("commands: {{txt: {}}}", project.join("bin/upper").display());
    edit_hook(&environment, "format-on-write", "commands: ''", &upper);
    edit_hook(
        &environment,
        "lint-on-write",
        "commands: ''",
        "commands: {txt: 'grep -v HELLO {file}'}",
    );
    edit_hook(&environment, "lint-on-write", "feedback: 'block'", "feedback: context");
    fs::write(project.join("a.txt"), "hello\n").unwrap();
    let written = |name: &str| {
        environment.event(&json!({
            "event_type": "after_tool", "session_id": "s", "tool_name": "WriteFile",
            "tool_input": {"path": name}, "tool_output": "ok",
        }))
    };
    let ran = written("a.txt");
    assert_eq!(fs::read_to_string(project.join("a.txt")).unwrap(), "HELLO\n");
    let context = ran.json()["additional_context"].as_str().unwrap().to_owned();
    assert!(context.contains("upper reformatted `a.txt`"), "{context}");
    assert!(!context.contains("grep found"), "what it prints counts only if it fails: {context}");
}
