//! kill -9 at every point: nothing is lost and nothing is done twice.

use std::fs;

use anyhook_daemon::failpoints::POINTS;
use anyhook_testkit::{TestEnv, begin, finish, kill, kill_tests, run, wait_until, write};
use serde_json::{Value, json};

use crate::environment;

/// Points that this story comes by; the others are visited by the store's own tests.
const ON_THE_WAY: [&str; 4] = ["start.", "core.", "runner.", "store.append."];

/// Points of pipelines, which have a story of their own.
const OF_PIPELINES: [&str; 3] = ["core.pipeline.", "core.job.", "core.types"];

/// An environment where decisions wait, and a program of the person writes down every notice.
fn world() -> TestEnv {
    let environment = environment();
    let notices = environment.root().join("notices");
    let settings = format!(
        "[decisions]\nwait = [\"permission\"]\nwait_seconds = 120\n[notify]\non = [\"decision\"]\ndesktop = false\ncommand = \"echo $ANYHOOK_NOTICE_DECISION >> {}\"\n",
        notices.display()
    );
    write(&environment.home().join(".config/agents/anyhook.toml"), settings, 0o644);
    environment
}

fn payload(environment: &TestEnv, event: &str) -> String {
    json!({
        "session_id": "s", "cwd": environment.project(), "hook_event_name": event, "prompt": "x",
        "tool_name": "Bash", "tool_input": {"command": "touch f"},
    })
    .to_string()
}

fn resolved(environment: &TestEnv) -> Vec<Value> {
    let all = environment.journal();
    all.into_iter().filter(|record| record["event"] == "decision:resolved").collect()
}

kill_tests! {
    story:
    start_store_opened = "start.store.opened" [first 1];
    start_resumed = "start.resumed" [first 1];
    core_journal_read = "core.journal.read" [first 1, second 2];
    core_journal_remembered = "core.journal.remembered" [first 1, second 2];
    core_stored = "core.stored" [first 1, second 2];
    core_acted = "core.acted" [first 1, second 2];
    runner_notify_begun = "runner.notify.begun" [first 1];
    runner_notify_launched = "runner.notify.launched" [first 1];
    runner_journal_begun = "runner.journal.begun" [first 1];
    runner_journal_written = "runner.journal.written" [first 1];
    store_append_begun = "store.append.begun" [first 1, second 2];
    store_append_half = "store.append.half" [first 1, second 2];
    store_append_written = "store.append.written" [first 1, second 2];
    store_append_synced = "store.append.synced" [first 1, second 2];
}

/// How often a run of the story comes by a point, as far as the tests go.
fn times(point: &str) -> u32 {
    let is_one_of = |prefixes: &[&str]| prefixes.iter().any(|prefix| point.starts_with(prefix));
    if !is_one_of(&ON_THE_WAY) || is_one_of(&OF_PIPELINES) {
        return 0;
    }
    // A daemon starts once, and there is one notice and one decision.
    if is_one_of(&["core.", "store."]) { 2 } else { 1 }
}

#[test]
fn every_point_has_its_tests() {
    kill::assert_complete(TESTED, POINTS, times);
}

fn story(point: &str, time: u32) {
    let environment = world();
    let told = format!("{point}, time {time}");
    run(
        environment.command(&["hook", "claude-code"]),
        payload(&environment, "UserPromptSubmit").as_bytes(),
    );
    // What follows from an event is part of it: this makes a decision of its own.
    environment.run(&[
        "emit",
        "agent:signal",
        "--agent",
        "helper",
        "escalate",
        "--message",
        "look",
    ]);
    let mut start = environment.command(&["daemon", "start"]);
    start.env("ANYHOOK_FAULT", format!("{point}:{time}"));
    run(start, b"");
    let first = environment.daemon();
    let waits = begin(
        environment.command(&["hook", "claude-code"]),
        payload(&environment, "PermissionRequest").as_bytes(),
    );
    let decisions = || -> Vec<Value> {
        let ran = environment.run(&["decision", "list", "--json"]);
        if ran.code == 0 { ran.json().as_array().unwrap().clone() } else { Vec::new() }
    };
    let open = || -> Vec<Value> {
        let is_permission = |decision: &Value| decision["inquiry"]["kind"] == "permission";
        decisions().into_iter().filter(is_permission).collect()
    };
    wait_until(&format!("{told}: a decision to be open"), || open().len() == 1);
    let id = open().first().map(|decision| decision["inquiry"]["id"].as_str().unwrap().to_owned());
    let id = id.unwrap_or_else(|| {
        wait_until(&format!("{told}: the decision to be known again"), || open().len() == 1);
        open()[0]["inquiry"]["id"].as_str().unwrap().to_owned()
    });
    wait_until(&format!("{told}: the decision to be made"), || {
        let ran = environment.run(&["decision", "resolve", &id, "allow"]);
        ran.code == 0 || ran.stderr.contains("already made: allow")
    });
    let reply = finish(waits);
    assert_eq!(
        reply.json()["hookSpecificOutput"]["decision"]["behavior"],
        "allow",
        "{told}: {reply:?}"
    );
    // The journal has it, and the loop has seen that, so that nothing is left to do.
    let state = || environment.run(&["agent", "list", "--json"]).stdout;
    wait_until(&format!("{told}: the decision to be journaled"), || {
        state();
        !resolved(&environment).is_empty()
    });
    let notices = || fs::read_to_string(environment.root().join("notices")).unwrap_or_default();
    wait_until(&format!("{told}: the notice to be given"), || !notices().is_empty());
    assert!(state().contains("\"working\""), "{told}: {}", state());
    // Whatever is still under way would be done by the next one as well.
    environment.run(&["daemon", "stop"]);
    state();
    environment.run(&["daemon", "stop"]);
    let escalated = decisions();
    assert_eq!(escalated.len(), 1, "{told}: the other decision is still open");
    let other = escalated[0]["inquiry"]["id"].as_str().unwrap().to_owned();
    let mut expected = [id.as_str(), other.as_str()];
    expected.sort_unstable();
    wait_until(&format!("{told}: both notices"), || notices().lines().count() >= 2);
    let text = notices();
    let mut given: Vec<&str> = text.lines().collect();
    given.sort_unstable();
    assert_eq!(given, expected, "{told}: one notice each");
    environment.run(&["daemon", "stop"]);
    assert_eq!(resolved(&environment).len(), 1, "{told}: one line in the journal");
    let records = environment.journal();
    let agents = records.iter().filter(|record| record["host"] == "claude-code").count();
    assert_eq!(agents, 2, "{told}");
    let all: Vec<String> = fs::read_dir(environment.state().join("daemon/store"))
        .unwrap()
        .map(|file| file.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name.contains("damaged"))
        .collect();
    assert!(all.is_empty() || point.starts_with("store."), "{told}: {all:?}");
    let log = environment.run(&["daemon", "logs"]).stdout;
    let lives = log.matches("the daemon is running").count();
    let ends = log.matches("the daemon is stopping").count();
    assert!(first.is_none() || lives > ends, "{told}: the point was not come by: {log}");
}
