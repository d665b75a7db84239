//! How it ends.

use std::fs;
use std::io::Read;

use anyhook_testkit::wait_until;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::server::{Gate, Server, shell};
use crate::environment;

const WAITS: (&str, &str) = (
    "trigger: before_tool\ntimeout: 600000\nmatcher:\n  pattern: wait",
    "echo x >> \"$HOME/started\"; : < \"$HOME/gate\"; echo 'it was open' >&2; exit 2",
);

fn signal(process: u32, signal: Signal) {
    kill_process(Pid::from_raw(process.try_into().unwrap()).unwrap(), signal).unwrap();
}

#[test]
fn the_end_of_input_waits_for_what_is_in_flight() {
    let environment = environment();
    let gate = Gate::new(&environment);
    environment.user_hook("waits", WAITS.0, WAITS.1);
    let mut server = Server::start(&environment, &["--jobs", "2"]);
    for id in 0..10 {
        server.send(&json!({"id": id, "event": shell("wait")}));
    }
    drop(server.take_stdin());
    wait_until("two run", || {
        fs::read(environment.home().join("started")).is_ok_and(|text| text.len() == 4)
    });
    let _open = gate.open();
    let answers = server.wait();
    assert_eq!(answers.len(), 10);
    assert!(answers.iter().all(|answer| answer["verdict"]["decision"] == "deny"), "{answers:?}");
}

#[test]
fn told_to_end_it_answers_what_is_in_flight() {
    for word in [Signal::TERM, Signal::INT] {
        let environment = environment();
        let gate = Gate::new(&environment);
        environment.user_hook("waits", WAITS.0, WAITS.1);
        let mut server = Server::start(&environment, &[]);
        server.send(&json!({"id": 1, "event": shell("wait")}));
        wait_until("it runs", || environment.home().join("started").exists());
        signal(server.child.id(), word);
        let _open = gate.open();
        let answers = server.wait();
        assert_eq!(answers.len(), 1, "{word:?}");
        assert_eq!(answers[0]["verdict"]["decision"], "deny");
        assert_eq!(environment.journal().len(), 1);
    }
}

#[test]
fn told_to_end_it_does_not_wait_for_ever() {
    let environment = environment();
    let gate = Gate::new(&environment);
    environment.user_hook("waits", WAITS.0, WAITS.1);
    let mut server = Server::start(&environment, &[]);
    server.send(&json!({"id": 1, "event": shell("wait")}));
    wait_until("it runs", || environment.home().join("started").exists());
    signal(server.child.id(), Signal::TERM);
    assert!(server.wait().is_empty());
    // What the hook does has its end, too.
    drop(gate.open());
}

/// What nobody waits for any more keeps the program for a moment, not for as long as it likes.
#[test]
fn the_end_of_input_does_not_wait_for_what_was_given_up() {
    let environment = environment();
    let gate = Gate::new(&environment);
    environment.user_hook("waits", WAITS.0, WAITS.1);
    let mut server = Server::start(&environment, &[]);
    server.send(&json!({"id": 1, "event": shell("wait")}));
    wait_until("it runs", || environment.home().join("started").exists());
    assert_eq!(server.ask(&json!({"cancel": 1}))["cancelled"], true);
    drop(server.take_stdin());
    assert!(server.wait().is_empty());
    drop(gate.open());
}

#[test]
fn when_nobody_listens_it_ends() {
    let environment = environment();
    // While there is nothing to write.
    let (mut child, _stdin, mut stdout) = Server::start_unread(&environment);
    let mut hello = [0; 10];
    stdout.read_exact(&mut hello).unwrap();
    drop(stdout);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    // Before the first line.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = environment.command(&["serve", "--stdio"]);
    let mut child = command.stdin(std::process::Stdio::piped()).stdout(writer).spawn().unwrap();
    let _stdin = child.stdin.take();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_caller_that_reads_late_gets_everything() {
    let environment = environment();
    environment.user_hook(
        "talks",
        "trigger: before_agent",
        r#"printf '{"additional_context": "%s"}' "$(head -c 30000 /dev/zero | tr '\0' x)""#,
    );
    let (mut child, mut stdin, mut stdout) = Server::start_unread(&environment);
    for id in 0..50 {
        use std::io::Write;
        let request = json!({"id": id, "event": {"event_type": "before_agent"}});
        writeln!(stdin, "{request}").unwrap();
    }
    drop(stdin);
    wait_until("it cannot write more", || !environment.journal().is_empty());
    let mut text = String::new();
    stdout.read_to_string(&mut text).unwrap();
    assert_eq!(text.lines().count(), 51);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
