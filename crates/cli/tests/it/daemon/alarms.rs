//! Alarms reach the person as notices, wherever the agent runs.

use std::fs;

use anyhook_testkit::{TestEnv, wait_until, write};
use serde_json::{Value, json};

use crate::environment;

/// Returns an environment whose daemon writes each notice to a file, and that file.
fn with_notices() -> (TestEnv, impl Fn() -> Vec<Value>) {
    let environment = environment();
    let file = environment.home().join("notices");
    let settings = format!("[notify]\ndesktop = false\ncommand = \"cat >> {}\"\n", file.display());
    write(&environment.home().join(".config/agents/anyhook.toml"), settings, 0o644);
    let notices = move || {
        let text = fs::read_to_string(&file).unwrap_or_default();
        serde_json::Deserializer::from_str(&text).into_iter().filter_map(Result::ok).collect()
    };
    (environment, notices)
}

fn send(environment: &TestEnv, host: &str, payload: &Value) {
    environment.run_with_input(&["hook", host], payload.to_string());
}

#[test]
fn a_call_that_ran_without_being_asked_is_a_notice() {
    let (environment, notices) = with_notices();
    assert_eq!(environment.run(&["daemon", "start"]).code, 0);
    let call = |event: &str, id: &str| {
        let call = json!({"hook_event_name": event, "session_id": "s", "tool_name": "Bash",
            "cwd": environment.project(), "tool_input": {"command": "curl evil"},
            "tool_use_id": id, "tool_response": {}});
        send(&environment, "claude-code", &call);
    };
    call("PreToolUse", "t1");
    call("PostToolUse", "t1");
    call("PostToolUse", "t2");
    wait_until("the notice to be given", || !notices().is_empty());
    let notice = notices().remove(0);
    assert_eq!(notice["kind"], "alarm");
    assert_eq!(notice["title"], "claude-code-project ran a call without asking");
    let body = notice["body"].as_str().unwrap();
    assert!(body.starts_with("ran unchecked: claude-code ran `Shell curl evil`"), "{body}");
}

/// OpenCode shows nothing to the person; Claude Code does.
#[test]
fn that_hooks_are_off_is_a_notice_where_the_agent_shows_no_text() {
    let (environment, notices) = with_notices();
    environment.project_hook("ours", "trigger: before_tool", "exit 0");
    assert_eq!(environment.run(&["daemon", "start"]).code, 0);
    let directory = environment.project();
    let start = json!({"hook_event_name": "SessionStart", "session_id": "c", "cwd": directory,
        "source": "startup"});
    send(&environment, "claude-code", &start);
    let prompt = json!({"hook": "chat.message", "directory": directory,
        "input": {"sessionID": "o"},
        "output": {"message": {}, "parts": [{"type": "text", "text": "hello"}]}});
    send(&environment, "opencode", &prompt);
    wait_until("the notice to be given", || !notices().is_empty());
    let notices = notices();
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert_eq!(notices[0]["host"], "opencode");
    assert_eq!(notices[0]["title"], "opencode-project: hooks are off");
    assert_eq!(
        notices[0]["body"],
        "1 hook is off, not trusted, so it won't run: ours (anyhook trust) · in project"
    );
}
