//! Claude Code on a screen, with hooks of its own, without anyhook.

use std::fs;
use std::path::Path;

use anyhook_testkit::agents::{AGENT_PATIENCE, Agent, AgentSandbox};
use anyhook_testkit::model_server::{ModelTurn, tells};
use anyhook_testkit::{wait_within, write};
use serde_json::{Value, json};

/// Makes Claude Code call a script at events.
fn hook(bed: &AgentSandbox, events: &[&str], script: &str) {
    let program = bed.home().join("hook");
    write(&program, format!("#!/bin/sh\n{script}\n"), 0o755);
    let mut hooks = json!({});
    for event in events {
        hooks[event] = json!([{"hooks": [{"type": "command", "command": program}]}]);
    }
    let settings = bed.home().join(".claude/settings.json");
    write(&settings, json!({"hooks": hooks}).to_string(), 0o644);
}

fn is_alive(process: &str) -> bool {
    // What nobody has waited for yet is over all the same.
    let stat = fs::read_to_string(Path::new("/proc").join(process).join("stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn asks_and_is_answered() {
    let Some(bed) = AgentSandbox::new(Agent::ClaudeCode) else { return };
    hook(
        &bed,
        &["PermissionRequest", "Stop"],
        r#"cat >>"$HOME/payloads"; echo "$CLAUDE_PID" >"$HOME/pid""#,
    );
    let script = [bed.shell_tool("echo yes > asked.txt"), ModelTurn::text("that was all")];
    let Some(screen) = bed.open(script) else { return };
    screen.submit("do it");
    screen.wait_for("Do you want to proceed?");
    let asked = bed.project().join("asked.txt");
    assert!(!asked.exists());
    screen.press_until("Enter", "the answer", |text| !text.contains("Do you want to proceed?"));
    screen.wait_for("that was all");
    assert_eq!(fs::read_to_string(asked).unwrap(), "yes\n");

    let payloads = || -> Vec<Value> {
        let text = fs::read_to_string(bed.home().join("payloads")).unwrap();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    };
    wait_within(AGENT_PATIENCE, "the stop", || payloads().len() == 2);
    let events: Vec<Value> =
        payloads().iter().map(|payload| payload["hook_event_name"].clone()).collect();
    assert_eq!(events, ["PermissionRequest", "Stop"]);
    let process = fs::read_to_string(bed.home().join("pid")).unwrap();
    assert_eq!(process.trim(), screen.process().to_string(), "seen with the machine's own number");

    let model = screen.model();
    assert_eq!(model.requests().len(), 2);
    assert!(tells(&model.requests()[0], "do it"));
    assert!(model.sent_at(0).unwrap() < model.sent_at(1).unwrap());
    assert_eq!(model.sent_at(2), None);

    assert_eq!(screen.exit_code(), None);
    screen.submit("/exit");
    wait_within(AGENT_PATIENCE, "the end", || screen.exit_code() == Some(0));
}

#[test]
fn nothing_outlives_a_screen() {
    let Some(bed) = AgentSandbox::new(Agent::ClaudeCode) else { return };
    // One process that hides in a session of its own, and one that ignores every polite word.
    hook(
        &bed,
        &["SessionStart"],
        "setsid sh -c 'echo $$ >>\"$HOME/pids\"; exec sleep 1000' >/dev/null 2>&1 </dev/null &\n\
         sh -c 'trap \"\" TERM HUP INT; echo $$ >>\"$HOME/pids\"; while :; do sleep 1; done' \
         >/dev/null 2>&1 </dev/null &",
    );
    let Some(screen) = bed.open([]) else { return };
    let pids = || -> Vec<String> {
        let text = fs::read_to_string(bed.home().join("pids")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    };
    wait_within(AGENT_PATIENCE, "both processes", || pids().len() == 2);
    let agent = screen.process().to_string();
    let all: Vec<String> = pids().into_iter().chain([agent]).collect();
    assert!(all.iter().all(|process| is_alive(process)));
    screen.close();
    let left: Vec<&String> = all.iter().filter(|process| is_alive(process)).collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(bed.open([]).is_some(), "another one can be opened");
}
