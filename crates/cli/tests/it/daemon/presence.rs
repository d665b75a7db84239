//! A daemon that was killed comes back while agents or pipelines are under way, and one that a person
//! stopped does not.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhook_testkit::needs::{self, MachineNeed};
use anyhook_testkit::{CommandRun, TestEnv, require, run, wait_until, wait_within, write};
use serde_json::{Value, json};

use crate::environment;
use crate::pipelines::{World, wait};

/// Sends an event of Claude Code.
fn event(environment: &TestEnv, name: &str, session: &str) -> CommandRun {
    let payload = json!({
        "session_id": session, "cwd": environment.project(), "hook_event_name": name, "prompt": "x",
        "tool_name": "Bash", "tool_input": {"command": "ls"},
    });
    let ran = run(environment.command(&["hook", "claude-code"]), payload.to_string().as_bytes());
    assert_eq!(ran.code, 0, "{ran:?}");
    ran
}

/// An environment with a daemon that looks after one agent.
fn with_agent() -> TestEnv {
    let environment = environment();
    event(&environment, "UserPromptSubmit", "one");
    let agents = environment.run(&["agent", "list", "--json"]).json();
    assert_eq!(agents.as_array().unwrap().len(), 1, "{agents:#}");
    wait_until("the daemon to say that it has work", || under_way(&environment));
    environment
}

fn under_way(environment: &TestEnv) -> bool {
    environment.state().join("daemon/under-way.json").exists()
}

fn started_by(environment: &TestEnv) -> Value {
    let life = fs::read(environment.state().join("daemon/life.json")).unwrap();
    serde_json::from_slice::<Value>(&life).unwrap()["started_by"].clone()
}

fn wait_for_daemon(environment: &TestEnv) {
    wait_until("the daemon to come back", || environment.daemon().is_some());
}

#[test]
fn the_next_event_brings_it_back() {
    let environment = with_agent();
    environment.kill_daemon();
    let ran = event(&environment, "Stop", "one");
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", ""), "the reply is the same");
    wait_for_daemon(&environment);
    wait_until("it to say who started it", || started_by(&environment) == "hook");
    // The event is known: a command does not have to start anything.
    let process = environment.daemon();
    let agents = environment.run(&["agent", "list", "--json"]).json();
    assert_eq!(agents[0]["state"], "idle", "{agents:#}");
    assert_eq!(environment.daemon(), process);
}

#[test]
fn the_small_program_brings_it_back_too() {
    let small = std::path::Path::new(env!("CARGO_BIN_EXE_anyhook")).with_file_name("anyhook-hook");
    if !small.exists() {
        return needs::skip("the small program", "anyhook-hook: cargo build -p anyhook-hook");
    }
    let environment = with_agent();
    environment.kill_daemon();
    let original = environment.command(&["hook", "claude-code"]);
    let mut command = Command::new(&small);
    command.args(original.get_args()).current_dir(environment.project()).env_clear();
    for (name, value) in original.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    let payload = json!({"session_id": "one", "hook_event_name": "Stop"});
    assert_eq!(run(command, payload.to_string().as_bytes()).code, 0);
    wait_for_daemon(&environment);
}

#[test]
fn a_signal_of_an_agent_brings_it_back() {
    let environment = with_agent();
    environment.kill_daemon();
    let ran = environment.run(&["emit", "agent:idle", "--agent", "claude-code:one"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    wait_for_daemon(&environment);
}

/// Tool calls are many and their cost is waited for, so only those of an agent that the daemon itself
/// started look for it.
#[test]
fn of_tool_calls_only_those_of_a_pipelines_agent_look_for_it() {
    let environment = with_agent();
    environment.kill_daemon();
    event(&environment, "PreToolUse", "one");
    assert!(!environment.state().join("daemon/revived").exists());
    let payload = json!({
        "session_id": "one", "hook_event_name": "PreToolUse",
        "tool_name": "Bash", "tool_input": {"command": "ls"},
    });
    let mut command = environment.command(&["hook", "claude-code"]);
    command.env("ANYHOOK_AGENT_ID", "pipeline.step.1");
    assert_eq!(run(command, payload.to_string().as_bytes()).code, 0);
    wait_for_daemon(&environment);
}

#[test]
fn one_that_a_person_stopped_stays_stopped() {
    let environment = with_agent();
    assert_eq!(environment.run(&["daemon", "stop"]).code, 0);
    for name in ["UserPromptSubmit", "Stop", "SessionStart"] {
        event(&environment, name, "one");
    }
    environment.run(&["emit", "agent:idle", "--agent", "claude-code:one"]);
    assert!(!environment.state().join("daemon/revived").exists(), "no attempt was made");
    assert_eq!(environment.daemon(), None);
    // Also if it was dead before the person said so.
    environment.run(&["daemon", "start"]);
    environment.kill_daemon();
    assert_eq!(environment.run(&["daemon", "stop"]).stdout, "daemon not running\n");
    event(&environment, "Stop", "one");
    assert!(!environment.state().join("daemon/revived").exists(), "no attempt was made");
    // Any command that needs it starts it, and clears the intention.
    assert_eq!(environment.run(&["agent", "list"]).code, 0);
    assert!(!environment.state().join("daemon/stopped").exists());
    environment.kill_daemon();
    event(&environment, "Stop", "one");
    wait_for_daemon(&environment);
}

#[test]
fn a_person_is_not_asked_through_a_daemon_that_a_person_stopped() {
    let environment = crate::commands::decision::waiting(60);
    environment.run(&["daemon", "start"]);
    environment.run(&["daemon", "stop"]);
    let ran = event(&environment, "PermissionRequest", "one");
    assert_eq!(ran.stdout, "", "the agent's own dialog stands: {ran:?}");
    assert_eq!(environment.daemon(), None);
}

#[test]
fn a_hook_process_that_waits_for_a_person_brings_it_back() {
    let environment = crate::commands::decision::waiting(60);
    environment.run(&["daemon", "start"]);
    let payload = json!({
        "session_id": "one", "cwd": environment.project(), "hook_event_name": "PermissionRequest",
        "tool_name": "Bash", "tool_input": {"command": "ls"},
    });
    let waits = anyhook_testkit::begin(
        environment.command(&["hook", "claude-code"]),
        payload.to_string().as_bytes(),
    );
    let id = crate::commands::decision::asked(&environment);
    wait_until("the daemon to say that it has work", || under_way(&environment));
    environment.kill_daemon();
    wait_for_daemon(&environment);
    wait_until("the answer to be taken", || {
        environment.run(&["decision", "resolve", &id, "allow"]).code == 0
    });
    let reply = anyhook_testkit::finish(waits).json();
    assert_eq!(reply["hookSpecificOutput"]["decision"]["behavior"], "allow", "{reply:#}");
}

#[test]
fn without_work_it_is_not_brought_back() {
    let environment = environment();
    environment.run(&["daemon", "start"]);
    event(&environment, "UserPromptSubmit", "one");
    wait_until("the daemon to say that it has work", || under_way(&environment));
    event(&environment, "SessionEnd", "one");
    wait_until("the daemon to say that it has none", || !under_way(&environment));
    environment.kill_daemon();
    event(&environment, "SessionStart", "two");
    assert!(!environment.state().join("daemon/revived").exists(), "no attempt was made");
    assert_eq!(environment.daemon(), None);
}

/// A daemon that ends at once is not started over and over.
#[test]
fn one_that_cannot_live_is_not_started_at_every_event() {
    let environment = with_agent();
    // Damage at the end would be taken for an entry that was not finished.
    for name in ["two", "three"] {
        environment.run(&["emit", "agent:idle", "--agent", name]);
        environment.run(&["agent", "list"]);
    }
    environment.kill_daemon();
    let store = environment.state().join("daemon/store");
    for file in fs::read_dir(&store).unwrap().map(|file| file.unwrap().path()) {
        let text = fs::read_to_string(&file).unwrap();
        write(&file, text.replacen("claude-code", "claude-edoc", 1), 0o600);
    }
    let tries = || {
        let log = fs::read_to_string(environment.state().join("daemon/daemon.log")).unwrap();
        log.matches("ERROR").count()
    };
    event(&environment, "Stop", "one");
    wait_until("it to be tried", || tries() == 1);
    let began = std::time::Instant::now();
    for _ in 0..10 {
        event(&environment, "Stop", "one");
    }
    let most = 1 + usize::try_from(began.elapsed().as_secs()).unwrap() + 1;
    assert!(tries() <= most, "{} times", tries());
}

#[test]
fn the_host_does_not_wait_for_it() {
    let environment = with_agent();
    environment.kill_daemon();
    let payload = json!({"session_id": "one", "hook_event_name": "Stop"});
    // A host reads to the end of both streams: a process that inherited them would keep it waiting.
    let mut command = environment.command(&["hook", "claude-code"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ran = run(command, payload.to_string().as_bytes());
    assert_eq!(ran.code, 0, "{ran:?}");
    wait_for_daemon(&environment);
    let process = environment.daemon().unwrap();
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let session = stat.rsplit_once(") ").unwrap().1.split(' ').nth(3).unwrap().to_owned();
    assert_eq!(session, process.to_string(), "it is out of the host's session");
}

#[test]
fn a_pipeline_finishes_although_the_daemon_was_killed() {
    let world = World::new(
        r#"
pipeline "steps" {
  step "a" {
    run     = "echo a >> ran; while ! [ -e go ]; do sleep 0.05; done"
    on_done = { step = "b" }
  }

  step "b" {
    run     = { agent = "worker" }
    on_done = { step = "c" }
  }

  step "c" {
    run = "echo c >> ran"
  }
}

agent "worker" {
  run = "./worker"
}
"#,
    );
    // The end of the agent's process is told by its keeper alone.
    world.agent(
        "worker",
        "anyhook emit agent:signal complete; while ! [ -e on ]; do sleep 0.05; done",
    );
    let environment = &world.environment;
    let id = world.begin("steps");
    let project = environment.project();
    let ran = || fs::read_to_string(project.join("ran")).unwrap_or_default();
    wait("the first step", || ran() == "a\n");
    environment.kill_daemon();
    write(&project.join("go"), "", 0o644);
    // No further command from here on: the end of the step's command brings the daemon back.
    wait_within(Duration::from_secs(60), "the last step", || {
        write(&project.join("on"), "", 0o644);
        ran() == "a\nc\n"
    });
    assert_eq!(started_by(environment), "keeper");
    world.wait_phase(&id, "completed");
}

#[test]
fn the_end_of_an_agents_session_brings_it_back() {
    let runbook = r#"
pipeline "one" {
  step "a" {
    run     = { agent = "worker" }
    on_done = { step = "b" }
  }

  step "b" {
    run = "echo b >> ran"
  }
}

agent "worker" {
  run     = "./worker"
  on_dead = "done"
}
"#;
    let world = World::new(runbook);
    world.agent("worker", "say began; while ! [ -e go ]; do sleep 0.05; done");
    let environment = &world.environment;
    world.begin("one");
    wait("the agent", || world.said() == ["began"]);
    environment.kill_daemon();
    write(&environment.project().join("go"), "", 0o644);
    let ran = environment.project().join("ran");
    wait("the last step", || fs::read_to_string(&ran).is_ok_and(|ran| ran == "b\n"));
    assert_eq!(started_by(environment), "keeper");
}

/// What an ordinary event costs must not depend on the daemon.
#[test]
fn a_tool_call_does_not_look_for_it() {
    require!(MachineNeed::Program("strace"));
    let environment = environment();
    let looks = |name: &str| {
        let report = environment.root().join("calls");
        let original = environment.command(&["hook", "claude-code"]);
        let mut traced = Command::new("strace");
        traced.args(["-f", "-o"]).arg(&report).arg(original.get_program());
        traced.args(original.get_args()).current_dir(environment.project()).env_clear();
        for (name, value) in original.get_envs() {
            traced.env(name, value.unwrap_or_default());
        }
        let payload = json!({
            "session_id": "one", "hook_event_name": name,
            "tool_name": "Bash", "tool_input": {"command": "ls"},
        });
        assert_eq!(run(traced, payload.to_string().as_bytes()).code, 0);
        let report = fs::read_to_string(report).unwrap();
        let calls: Vec<&str> =
            report.lines().filter(|line| line.contains("/anyhook/daemon")).collect();
        calls.iter().map(|&call| call.to_owned()).collect::<Vec<_>>()
    };
    for name in ["PreToolUse", "PostToolUse"] {
        assert_eq!(looks(name), [] as [&str; 0], "{name}");
    }
    let calls = looks("UserPromptSubmit");
    assert!(calls.len() == 1 && calls[0].contains("under-way.json"), "{calls:#?}");
}
