//! `anyhook hook HOST`.

use serde_json::{Value, json};

use crate::environment;

#[test]
fn nobody_has_an_opinion() {
    let environment = environment();
    assert_run!(environment, environment.shell("ls"), @"
    exit code: 0
    ----- stdout -----
    {}
    ");
}

#[test]
fn a_block() {
    let environment = environment();
    environment.user_hook("guard", "trigger: before_tool", "echo 'not here' >&2; exit 2");
    assert_run!(environment, environment.shell("ls"), @r#"
    exit code: 2
    ----- stdout -----
    {"decision": "deny", "reason": "not here", "id": "[ID]"}

    ----- stderr -----
    not here
    (anyhook log show [ID])
    "#);
}

#[test]
fn a_question() {
    let environment = environment();
    environment.user_hook(
        "guard",
        "trigger: before_tool",
        r#"echo '{"decision": "ask", "reason": "sure?"}'"#,
    );
    assert_run!(environment, environment.shell("ls"), @r#"
    exit code: 0
    ----- stdout -----
    {"decision": "ask", "reason": "sure?", "id": "[ID]"}
    "#);
}

#[test]
fn a_changed_input_and_a_context() {
    let environment = environment();
    environment.user_hook(
        "changer",
        "trigger: before_tool",
        r#"echo '{"decision": "allow", "modified_input": {"command": "ls -l"}, "additional_context": "mind the gap"}'"#,
    );
    assert_run!(environment, environment.shell("ls"), @r#"
    exit code: 0
    ----- stdout -----
    {"decision": "allow", "modified_input": {"command": "ls -l"}, "additional_context": "mind the gap", "id": "[ID]"}
    "#);
}

#[test]
fn a_failure_that_must_not_be_passed_by() {
    let environment = environment();
    environment.user_hook(
        "guard",
        "trigger: before_tool\non_failure: block",
        "echo 'cannot reach the policy' >&2; exit 7",
    );
    assert_run!(environment, environment.shell("ls"), @r#"
    exit code: 2
    ----- stdout -----
    {"decision": "deny", "reason": "hook guard failed, and it blocks on failure (on_failure: block): exit 7: cannot reach the policy", "id": "[ID]"}

    ----- stderr -----
    hook guard failed, and it blocks on failure (on_failure: block): exit 7: cannot reach the policy
    (anyhook log show [ID])
    "#);
}

#[test]
fn a_capped_stop() {
    let environment = environment();
    anyhook_testkit::write(
        &environment.home().join(".config/agents/anyhook.toml"),
        "stop_cap = 1\n",
        0o644,
    );
    environment.user_hook("gate", "trigger: before_stop", "echo 'tests fail' >&2; exit 2");
    let stop = json!({"event_type": "before_stop", "session_id": "s"});
    assert_eq!(environment.event(&stop).code, 2);
    assert_run!(environment, environment.event(&stop), @"
    exit code: 0
    ----- stdout -----
    {}

    ----- stderr -----
    anyhook: allowed to stop although gate blocks it: 1 stops were already blocked in this turn (stop_cap in anyhook.toml). Its reason: tests fail
    ");
}

#[test]
fn a_deadline() {
    let environment = environment();
    environment.user_hook("slow", "trigger: before_tool\non_failure: block", "sleep 60");
    let event = r#"{"event_type": "before_tool"}"#;
    for arguments in [
        &["hook", "agent-hooks", "--deadline-ms", "200"][..],
        &["hook", "--deadline-ms", "200", "agent-hooks"],
        &["hook", "agent-hooks", "--deadline-ms=200"],
    ] {
        let ran = environment.run_with_input(arguments, event);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.stderr.contains("timed out after "), "{ran:?}");
    }
    let ran = environment.run_with_input(&["hook", "agent-hooks", "--deadline-ms", "0"], event);
    assert_eq!(ran.code, 2, "{ran:?}");
    // The deadline passes while the event is read, or before the hook is started.
    let is_one_of_both = ran.stderr.starts_with("anyhook: the event did not arrive in time")
        || ran.stderr.contains("not started: the caller's deadline has passed");
    assert!(is_one_of_both, "{ran:?}");
    let reply: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(reply["decision"], "deny", "{ran:?}");
}

#[test]
fn no_event() {
    let environment = environment();
    let ran = environment.run_with_input(&["hook", "agent-hooks"], "");
    assert_run!(environment, ran, @"
    exit code: 65
    ----- stderr -----
    anyhook: the event is not JSON: EOF while parsing a value at line 1 column 0
    hint: send one event as a JSON object on stdin
    ");
}

#[test]
fn an_event_that_is_not_json() {
    let environment = environment();
    let ran = environment.run_with_input(&["hook", "agent-hooks"], "{\"event_type\": before}");
    assert_run!(environment, ran, @"
    exit code: 65
    ----- stderr -----
    anyhook: the event is not JSON: expected value at line 1 column 16
    hint: send one event as a JSON object on stdin
    ");
}

#[test]
fn an_event_that_is_no_object() {
    let environment = environment();
    let ran = environment.run_with_input(&["hook", "agent-hooks"], "[1, 2]");
    assert_run!(environment, ran, @"
    exit code: 65
    ----- stderr -----
    anyhook: the event must be a JSON object, not an array
    hint: send one event as a JSON object on stdin
    ");
}

#[test]
fn an_event_without_a_type() {
    let environment = environment();
    let ran = environment.run_with_input(&["hook", "agent-hooks"], "{}");
    assert_run!(environment, ran, @r#"
    exit code: 65
    ----- stderr -----
    anyhook: the event has no `event_type`
    hint: name the event, for example {"event_type": "before_tool"}
    "#);
}

#[test]
fn an_event_with_a_type_that_is_no_text() {
    let environment = environment();
    let ran = environment.run_with_input(&["hook", "agent-hooks"], r#"{"event_type": 7}"#);
    assert_run!(environment, ran, @r#"
    exit code: 65
    ----- stderr -----
    anyhook: `event_type` must be a string, not a number
    hint: name the event, for example {"event_type": "before_tool"}
    "#);
}

#[test]
fn an_unknown_host() {
    let environment = environment();
    assert_run!(environment, environment.run(&["hook", "vim"]), @"
    exit code: 64
    ----- stderr -----
    error: unknown host `vim`
    hint: supported: [AGENTS]
    ");
}

#[test]
fn no_host() {
    let environment = environment();
    assert_run!(environment, environment.run(&["hook"]), @"
    exit code: 64
    ----- stderr -----
    error: the following required arguments were not provided:
      <HOST>

    Usage: anyhook hook <HOST>
    hint: anyhook hook --help
    ");
}

#[test]
fn a_deadline_that_is_no_number() {
    let environment = environment();
    let ran = environment.run(&["hook", "agent-hooks", "--deadline-ms", "soon"]);
    assert_run!(environment, ran, @"
    exit code: 64
    ----- stderr -----
    error: invalid value 'soon' for '--deadline-ms <N>': invalid digit found in string
    hint: anyhook hook --help
    ");
}

#[test]
fn two_hosts() {
    let environment = environment();
    let ran = environment.run(&["hook", "agent-hooks", "agent-hooks"]);
    assert_eq!(ran.code, 64, "{ran:?}");
}

#[test]
fn help() {
    let environment = environment();
    assert_run!(environment, environment.run(&["hook", "--help"]));
}
