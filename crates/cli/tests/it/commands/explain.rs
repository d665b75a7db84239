//! `anyhook explain`.

use super::list::zoo;
use crate::environment;

const SHELL: [&str; 6] =
    ["explain", "before_tool", "--tool", "Shell", "--input", r#"{"command": "ls"}"#];

#[test]
fn every_reason_to_be_left_out() {
    let environment = zoo();
    assert_run!(environment, environment.run(&SHELL));
}

#[test]
fn every_reason_to_be_left_out_as_json() {
    let environment = zoo();
    assert_run!(environment, environment.run(&[&SHELL[..], &["--json"]].concat()));
}

#[test]
fn a_stop() {
    let environment = zoo();
    assert_run!(environment, environment.run(&["explain", "pre-agent-turn-stop"]));
}

#[test]
fn another_host_and_tool() {
    let environment = zoo();
    let ran = environment.run(&["explain", "before_tool", "--tool", "Read", "--host", "codex"]);
    assert_run!(environment, ran);
}

#[test]
fn nothing_is_run_or_written() {
    let environment = environment();
    environment.user_hook("guard", "trigger: before_tool", "touch ran");
    assert_eq!(environment.run(&SHELL).code, 0);
    assert!(!environment.project().join("ran").exists());
    assert!(!environment.state().exists());
}

#[test]
fn nobody_is_there() {
    let environment = environment();
    assert_run!(environment, environment.run(&["explain", "session_start"]), @"
    exit code: 0
    ----- stdout -----
    session_start · project ~/project
    no hooks would run
    ");
}

#[test]
fn nobody_is_there_as_json() {
    let environment = environment();
    assert_run!(environment, environment.run(&["explain", "session_start", "--json"]), @r#"
    exit code: 0
    ----- stdout -----
    {
      "event": "session_start",
      "project": "[ROOT]/home/project",
      "hooks": []
    }
    "#);
}

#[test]
fn outside_of_a_project() {
    let environment = environment();
    let ran = environment.run(&["explain", "session_start", "--work-dir", "/"]);
    assert_run!(environment, ran, @"
    exit code: 0
    ----- stdout -----
    session_start · no project
    no hooks would run
    ");
}

#[test]
fn an_unknown_event() {
    let environment = environment();
    assert_run!(environment, environment.run(&["explain", "Stopp"]), @"
    exit code: 64
    ----- stderr -----
    error: unknown event `Stopp`
    hint: did you mean `Stop`?
    ");
}

#[test]
fn help() {
    let environment = environment();
    assert_run!(environment, environment.run(&["explain", "--help"]));
}
