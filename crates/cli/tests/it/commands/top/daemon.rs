//! `anyhook top` beside a daemon that answers, ends, hangs, is of an older version, or is not there.

use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::thread;

use anyhook_testkit::needs::MachineNeed;
use anyhook_testkit::{TestEnv, finish, require, wait_until, write};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{Terminal, guarded};
use crate::commands::decision::{asked, hook, journaled, permission, waiting};
use crate::pipelines::World;

const NO_DAEMON: &str = "no daemon: states from the journal only";
const NO_DAEMON_SINCE: &str = "no daemon since 20";

fn signal_daemon(environment: &TestEnv, signal: Signal) {
    let process = i32::try_from(environment.daemon().unwrap()).unwrap();
    kill_process(Pid::from_raw(process).unwrap(), signal).unwrap();
}

#[test]
fn a_permission_is_allowed_from_top() {
    require!(MachineNeed::Program("tmux"));
    let environment = waiting(120);
    let terminal = Terminal::open(&environment, 100, 30);
    terminal.start("USER=ann", "");
    terminal.wait_for(NO_DAEMON);
    assert!(environment.daemon().is_none(), "it starts none");

    let waits = hook(&environment, "claude-code", &permission(&environment, "touch f"));
    let id = asked(&environment);
    for text in
        ["1 waiting for you (w)", "Waiting for you 1", &id, "Shell touch f", "1 allow, 2 deny"]
    {
        terminal.wait_for(text);
    }
    terminal.wait_for("prompting (permission)");
    terminal.wait_until_gone(NO_DAEMON);
    terminal.keys(&["w", "2"]);
    terminal.wait_for(&format!("deny {id}: Shell touch f?"));
    terminal.keys(&["1"]);
    terminal.wait_for(&format!("allow {id}: Shell touch f?"));
    terminal.keys(&["Enter"]);
    let reply = finish(waits);
    assert_eq!(reply.json()["hookSpecificOutput"]["decision"]["behavior"], "allow", "{reply:?}");
    terminal.wait_for(&format!("{id}: allow"));
    terminal.wait_for("nothing is waiting for you");
    wait_until("the decision to be journaled", || journaled(&environment).len() == 1);
    assert_eq!(journaled(&environment)[0]["by"], "ann in top");

    terminal.keys(&["Escape"]);
    terminal.wait_until_gone("nothing is waiting for you");
    terminal.keys(&["q"]);
    terminal.expect_restored();
}

#[test]
fn somebody_else_is_first() {
    require!(MachineNeed::Program("tmux"));
    let environment = waiting(120);
    let terminal = Terminal::open(&environment, 100, 30);
    let waits = hook(&environment, "claude-code", &permission(&environment, "touch f"));
    let id = asked(&environment);
    terminal.start("", "");
    terminal.wait_for(&id);
    terminal.keys(&["w", "1"]);
    terminal.wait_for(&format!("allow {id}: Shell touch f?"));
    environment.run(&["decision", "resolve", &id, "deny"]);
    terminal.wait_for(&format!("decision {id} was already made: deny, by "));
    terminal.keys(&["Enter"]);
    let reply = finish(waits);
    assert_eq!(reply.json()["hookSpecificOutput"]["decision"]["behavior"], "deny", "{reply:?}");
    terminal.keys(&["q"]);
    terminal.expect_restored();
}

#[test]
fn a_daemon_that_is_killed_is_missed_and_found_again() {
    require!(MachineNeed::Program("tmux"));
    let environment = waiting(120);
    // The hook process and the one that lists decisions would both start one otherwise.
    environment.run(&["daemon", "start"]);
    let terminal = Terminal::open(&environment, 100, 30);
    let waits = hook(&environment, "claude-code", &permission(&environment, "touch f"));
    let id = asked(&environment);
    terminal.start("", "");
    terminal.wait_for(&id);
    terminal.keys(&["w", "1"]);
    terminal.wait_for(&format!("allow {id}: Shell touch f?"));
    // The hook process that waits would bring it back.
    environment.kill_daemon_for_good();
    terminal.wait_for(NO_DAEMON_SINCE);
    terminal.wait_for(&format!("decision {id} is no longer open"));
    terminal.keys(&["Escape"]);
    environment.shell("echo meanwhile");
    terminal.wait_for("Shell echo meanwhile");
    assert!(environment.daemon().is_none(), "it starts none");

    environment.run(&["daemon", "start"]);
    terminal.wait_for("Waiting for you 1");
    terminal.wait_until_gone(NO_DAEMON_SINCE);
    terminal.keys(&["w", "2"]);
    terminal.wait_for(&format!("deny {id}: Shell touch f?"));
    terminal.keys(&["Enter"]);
    let reply = finish(waits);
    assert_eq!(reply.json()["hookSpecificOutput"]["decision"]["behavior"], "deny", "{reply:?}");
    terminal.keys(&["q"]);
    terminal.expect_restored();
}

#[test]
fn a_daemon_that_hangs_freezes_nothing() {
    require!(MachineNeed::Program("tmux"));
    let environment = guarded();
    environment.run(&["daemon", "start"]);
    let terminal = Terminal::open(&environment, 100, 30);
    terminal.start("", "");
    signal_daemon(&environment, Signal::STOP);
    environment.shell("echo meanwhile");
    terminal.wait_for("Shell echo meanwhile");
    terminal.wait_for("the daemon does not answer: states from the journal only");
    terminal.keys(&["?", "End"]);
    terminal.wait_for("Times are UTC");
    terminal.keys(&["q"]);
    terminal.wait_until_gone("Times are UTC");
    signal_daemon(&environment, Signal::CONT);
    terminal.wait_until_gone("the daemon does not answer");
    signal_daemon(&environment, Signal::STOP);
    terminal.wait_for("the daemon does not answer");
    terminal.keys(&["q"]);
    terminal.expect_restored();
    signal_daemon(&environment, Signal::CONT);
}

#[test]
fn a_pipeline_is_seen_its_question_answered_and_its_end_shown() {
    require!(MachineNeed::Program("tmux"));
    let world = World::new(
        r#"
pipeline "release" {
  vars = { version = "1.2" }

  step "build" {
    run     = "while ! [ -e go ]; do sleep 0.05; done"
    on_done = { step = "review" }
  }

  step "review" {
    run     = { agent = "reviewer" }
    on_done = { step = "publish" }
  }

  step "publish" {
    run = "echo published > published"
  }
}

agent "reviewer" {
  run = "./reviewer"
}
"#,
    );
    world.agent(
        "reviewer",
        "anyhook emit agent:signal escalate --message 'is the name right?'; read -r line",
    );
    let environment = &world.environment;
    let terminal = Terminal::open(environment, 120, 34);
    terminal.start("USER=ann", "");
    let id = world.begin("release");
    for text in ["· 1 pipeline ·", "Pipelines 1", &id, "release-1.2", "running", "build   >.."] {
        terminal.wait_for(text);
    }
    terminal.keys(&["l", "Enter"]);
    for text in [&format!("pipeline {id}"), "var.version 1.2", ">  build", ".  publish"] {
        terminal.wait_for(text);
    }
    terminal.keys(&["Escape"]);
    terminal.wait_for("Pipelines 1");

    write(&environment.project().join("go"), "", 0o644);
    let decision = world.wait_decision(&id);
    let decision = decision["id"].as_str().unwrap();
    for text in
        ["1 pipeline, 1 waiting", "+?.", &format!("decision {decision}: is the name right?")]
    {
        terminal.wait_for(text);
    }
    terminal.keys(&["Enter"]);
    terminal.wait_for(&format!("anyhook decision resolve {decision} done"));
    terminal.keys(&["Escape"]);
    terminal.wait_for("Pipelines 1");
    let options = world.run(&["decision", "show", decision, "--json"]).json();
    let options = options["inquiry"]["options"].as_array().unwrap().clone();
    let number = options.iter().position(|option| option["name"] == "done").unwrap() + 1;
    terminal.keys(&["w", &number.to_string()]);
    terminal.wait_for(&format!("done {decision}: is the name right?"));
    terminal.keys(&["Enter"]);
    terminal.wait_for(&format!("{decision}: done"));
    world.wait_phase(&id, "completed");
    assert!(environment.project().join("published").exists());
    for text in ["release-1.2", "completed", "+++"] {
        terminal.wait_for(text);
    }
    terminal.wait_until_gone("1 pipeline");
    terminal.keys(&["q"]);
    terminal.expect_restored();
}

/// Reads a frame; none at the end.
fn receive(stream: &mut impl Read) -> Option<Value> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).ok()?;
    let mut body = vec![0; usize::try_from(u32::from_be_bytes(length)).unwrap()];
    stream.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}

fn send(stream: &mut impl Write, value: &Value) {
    let body = serde_json::to_vec(value).unwrap();
    let length = u32::try_from(body.len()).unwrap().to_be_bytes();
    // Whoever asked may be gone by now.
    let _ = stream.write_all(&[&length[..], &body].concat());
}

/// A daemon that answers as those did that knew nothing of pipelines.
fn older_daemon(environment: &TestEnv) {
    let socket = environment.state().join("daemon/socket");
    std::fs::create_dir_all(socket.parent().unwrap()).unwrap();
    let listener = UnixListener::bind(socket).unwrap();
    let status = json!({"pid": 1, "version": "0.0.9", "since": "2026-01-01T00:00:00Z",
        "agents": 1, "decisions": 0, "events": 7, "store_bytes": 0, "journal": null, "logs": [],
        "notes": []});
    let agent = json!({"id": "codex:old-one", "state": "idle", "source": "hook",
        "since": "2026-01-01T00:00:00Z", "seen": "2026-01-01T00:00:00Z", "host": "codex",
        "session": "old-one", "work_dir": null, "project": null});
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let Some(hello) = receive(&mut stream) else { continue };
            send(&mut stream, &json!({"protocol": hello["protocol"], "anyhook": "0.0.9"}));
            while let Some(request) = receive(&mut stream) {
                let answer = match request.as_str() {
                    Some("status") => json!({"status": status}),
                    Some("agents") => json!({"agents": [agent]}),
                    Some("decisions") => json!({"decisions": []}),
                    _ => json!({"refused": {"code": "bad_request",
                        "message": "unknown variant `pipelines`"}}),
                };
                send(&mut stream, &answer);
            }
        }
    });
}

#[test]
fn a_daemon_that_knows_no_pipelines_tells_the_rest() {
    require!(MachineNeed::Program("tmux"));
    let environment = guarded();
    older_daemon(&environment);
    let terminal = Terminal::open(&environment, 100, 30);
    terminal.start("", "");
    terminal.wait_for("old-one");
    terminal.wait_for("idle");
    terminal.keys(&["l"]);
    terminal.wait_for("no pipeline is running");
    terminal.keys(&["Escape"]);
    terminal.wait_until_gone("no pipeline is running");
    terminal.keys(&["q"]);
    terminal.expect_restored();
}
