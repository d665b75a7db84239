//! The packs whose hooks run in the background, and `context-on-start`.

use std::fs;
use std::time::Duration;

use anyhook_testkit::wait_within;
use serde_json::json;

use anyhook_testkit::git::make_repository;

use super::{edit_hook, with_packs};

const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn a_line_for_each_event() {
    let environment = with_packs(&["session-log"]);
    edit_hook(&environment, "session-log", "file: ''", "file: 'logs/{session}.md'");
    let log = environment.project().join("logs/s1.md");
    let read = || fs::read_to_string(&log).unwrap_or_default();
    environment.event(
        &json!({"event_type": "before_agent", "session_id": "s1", "prompt": "make it fast"}),
    );
    wait_within(PATIENCE, "the prompt's line", || read().contains("**prompt** make it fast\n"));
    environment.event(&json!({
        "event_type": "after_tool", "session_id": "s1", "tool_name": "Shell",
        "tool_input": {"command": "ls -la"}, "tool_output": "a",
    }));
    wait_within(PATIENCE, "the call's line", || read().contains("**tool** Shell: ls -la\n"));
    assert_eq!(read().lines().count(), 2);
}

#[test]
fn a_command_is_told_that_an_agent_waits() {
    let environment = with_packs(&["notify-when-waiting"]);
    edit_hook(&environment, "notify-when-waiting", "desktop: true", "desktop: false");
    edit_hook(
        &environment,
        "notify-when-waiting",
        "command: ''",
        "command: 'cat > told; mv told done.json'",
    );
    environment.event(&json!({
        "event_type": "permission_request", "session_id": "s", "tool_name": "Shell",
        "tool_input": {"command": "make deploy"},
    }));
    let told = environment.project().join("done.json");
    wait_within(PATIENCE, "the message", || told.exists());
    let told = fs::read_to_string(told).unwrap();
    assert!(
        told.contains("agent-hooks is waiting in project: wants to use Shell: make deploy"),
        "{told}"
    );
}

#[test]
fn a_session_starts_with_what_is_open() {
    let environment = with_packs(&["context-on-start"]);
    fs::write(environment.project().join("TODO.md"), "- [ ] release\n").unwrap();
    make_repository(&environment);
    fs::write(environment.project().join("new.txt"), "").unwrap();
    let ran = environment.event(&json!({"event_type": "session_start", "session_id": "s"}));
    let context = ran.json()["additional_context"].as_str().unwrap().to_owned();
    for part in ["Branch: main", "?? new.txt", " first\n", "TODO.md:\n- [ ] release"] {
        assert!(context.contains(part), "{part}: {context}");
    }
}
