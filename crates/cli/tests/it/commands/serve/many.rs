//! Many requests at once.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::fd::AsFd;

use anyhook_testkit::{TestEnv, wait_until};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::{Value, json};

use super::server::{Gate, Server, shell};
use crate::environment;

/// Notes that it runs, waits at the gate, and blocks.
const WAITS: (&str, &str) = (
    "trigger: before_tool\ntimeout: 600000\nmatcher:\n  pattern: wait",
    "echo x >> \"$HOME/started\"; : < \"$HOME/gate\"; echo 'it was open' >&2; exit 2",
);

fn started(environment: &TestEnv) -> usize {
    fs::read(environment.home().join("started")).map_or(0, |text| text.len() / 2)
}

fn by_id(answers: impl IntoIterator<Item = Value>) -> BTreeMap<u64, Value> {
    answers.into_iter().map(|answer| (answer["id"].as_u64().unwrap(), answer)).collect()
}

#[test]
fn answers_come_as_they_are_ready() {
    let environment = environment();
    let gate = Gate::new(&environment);
    environment.user_hook("waits", WAITS.0, WAITS.1);
    let mut server = Server::start(&environment, &["--jobs", "2"]);
    server.send(&json!({"id": "slow", "event": shell("wait")}));
    assert_eq!(server.ask(&json!({"id": "quick", "event": shell("ls")}))["id"], "quick");
    let _open = gate.open();
    assert_eq!(server.next()["id"], "slow");
    server.finish();
}

#[test]
fn two_hundred_at_once_each_with_its_record() {
    let environment = environment();
    let gate = Gate::new(&environment);
    environment.user_hook("waits", WAITS.0, WAITS.1);
    let mut server = Server::start(&environment, &["--jobs", "200"]);
    for id in 0..200 {
        let mut event = shell(&format!("wait {id}"));
        event["session_id"] = format!("s{}", id % 7).into();
        server.send(&json!({"id": id, "event": event}));
    }
    // All of them run, and none is done.
    for part in 1..=10 {
        wait_until("more of them run", || started(&environment) >= part * 20);
    }
    assert_eq!(server.at_hand(), None);
    let _open = gate.open();
    let answers = by_id((0..200).map(|_| server.next()));
    assert_eq!(answers.len(), 200);
    server.finish();

    let records = environment.journal();
    assert_eq!(records.len(), 200);
    let abouts: BTreeMap<&str, &str> = records
        .iter()
        .map(|record| (record["id"].as_str().unwrap(), record["about"].as_str().unwrap()))
        .collect();
    for (id, answer) in answers {
        let record = answer["verdict"]["id"].as_str().unwrap();
        assert_eq!(abouts[record], format!("wait {id}"), "its own verdict");
    }
    assert_eq!(environment.run(&["verify"]).code, 0);
}

#[test]
fn whoever_gives_up_is_told_at_once() {
    let environment = environment();
    let gate = Gate::new(&environment);
    environment.user_hook("waits", WAITS.0, WAITS.1);
    let mut server = Server::start(&environment, &["--jobs", "1"]);
    server.send(&json!({"id": 1, "event": shell("wait")}));
    wait_until("the first runs", || started(&environment) == 1);
    server.send(&json!({"id": 2, "event": shell("ls")}));
    for id in [2, 1] {
        let answer = server.ask(&json!({"cancel": id}));
        assert_eq!(answer, json!({"id": id, "cancelled": true}));
    }
    // Nobody is told of what is not in flight; and an id can be used again.
    server.send(&json!({"cancel": 1}));
    server.send(&json!({"cancel": "never"}));
    server.send(&json!({"id": 1, "event": shell("pwd")}));
    let _open = gate.open();
    assert_eq!(server.next(), json!({"id": 1, "verdict": {}}));
    assert_eq!(server.finish(), [] as [Value; 0]);
    // What had begun went on to its end; what had not did not begin.
    let abouts: Vec<Value> =
        environment.journal().iter().map(|record| record["about"].clone()).collect();
    assert_eq!(abouts, ["wait", "pwd"]);
}

#[test]
fn an_id_in_flight_is_not_taken_twice() {
    let environment = environment();
    let gate = Gate::new(&environment);
    environment.user_hook("waits", WAITS.0, WAITS.1);
    let mut server = Server::start(&environment, &[]);
    server.send(&json!({"id": 1, "event": shell("wait")}));
    let answer = server.ask(&json!({"id": 1, "event": shell("ls")}));
    assert_eq!(answer["error"]["code"], "duplicate_id");
    assert_eq!(server.ask(&json!({"id": "1", "event": shell("ls")}))["verdict"], json!({}));
    let _open = gate.open();
    assert_eq!(server.next()["verdict"]["decision"], "deny");
    assert_eq!(server.ask(&json!({"id": 1, "event": shell("ls")}))["verdict"], json!({}));
    server.finish();
}

#[test]
fn reading_stops_when_too_much_waits_and_nothing_is_lost() {
    // What may be in flight, in the pipe and in the reader's hands.
    for (filling, lines, most) in [(1_000, 2_000, 1 + 256 + 2 + 128), (10_000_000, 20, 13 + 2)] {
        let environment = environment();
        let gate = Gate::new(&environment);
        environment.user_hook("waits", WAITS.0, WAITS.1);
        let mut server = Server::start(&environment, &["--jobs", "1"]);
        server.send(&json!({"id": 0, "event": shell("wait")}));
        wait_until("the first runs", || started(&environment) == 1);
        let mut stdin = server.take_stdin();
        let flags = rustix::fs::fcntl_getfl(&stdin).unwrap();
        rustix::fs::fcntl_setfl(&stdin, flags | rustix::fs::OFlags::NONBLOCK).unwrap();
        let fill = "x".repeat(filling);
        // Quick to answer: it is the reading that is looked at.
        let request = |id: usize| json!({"id": id, "host": "emacs", "payload": fill}).to_string();
        let mut rest = Vec::new();
        let mut sent = 0;
        let is_writable = |stdin: &std::process::ChildStdin| {
            let half_a_second = Timespec { tv_sec: 0, tv_nsec: 500_000_000 };
            poll(&mut [PollFd::new(&stdin.as_fd(), PollFlags::OUT)], Some(&half_a_second)).unwrap()
                == 1
        };
        while is_writable(&stdin) {
            if rest.is_empty() {
                assert!(sent < lines, "it read everything");
                sent += 1;
                rest = request(sent).into_bytes();
                rest.push(b'\n');
            }
            if let Ok(length) = stdin.write(&rest) {
                rest.drain(..length);
            }
        }
        assert!(sent <= most, "{sent}");
        let _open = gate.open();
        rustix::fs::fcntl_setfl(&stdin, flags).unwrap();
        let answers = std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut stdin = stdin;
                stdin.write_all(&rest).unwrap();
                for id in sent + 1..=lines {
                    writeln!(stdin, "{}", request(id)).unwrap();
                }
            });
            server.wait()
        });
        assert_eq!(by_id(answers).len(), lines + 1);
    }
}

/// Returns the processes that carry a text in their environment.
fn carrying(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        if environment.split(|byte| *byte == 0).any(|variable| variable == text.as_bytes()) {
            found.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    found
}

#[test]
fn a_hook_that_is_ended_takes_no_other_with_it() {
    let environment = environment();
    let marker = format!("ANYHOOK_TEST_PLACE={}", environment.root().display());
    // One leaves its process group and will not hear; the other takes its time, and children too.
    environment.user_hook(
        "hangs",
        "trigger: before_tool\ntimeout: 300\nmatcher:\n  pattern: hang",
        &format!("export '{marker}'; setsid sh -c 'trap \"\" TERM; sleep 1000' & sleep 1000"),
    );
    environment.user_hook(
        "works",
        "trigger: before_tool\ntimeout: 600000\non_failure: block\nmatcher:\n  pattern: work",
        "setsid sh -c 'sleep 1; echo done by a child >&2' & sleep 1; wait; exit 2",
    );
    let mut server = Server::start(&environment, &["--jobs", "20"]);
    for id in 0..60 {
        let command = if id % 2 == 0 { "hang" } else { "work" };
        server.send(&json!({"id": id, "event": shell(command)}));
    }
    let answers = by_id((0..60).map(|_| server.next()));
    for (id, answer) in answers {
        if id % 2 == 0 {
            assert_eq!(answer["verdict"], json!({}), "{answer}");
        } else {
            assert_eq!(answer["verdict"]["reason"], "done by a child", "{answer}");
        }
    }
    wait_until("nobody is left", || carrying(&marker).is_empty());
    server.finish();
    let ended = environment
        .journal()
        .iter()
        .filter(|record| record["runs"][0]["outcome"]["timed_out"].is_number())
        .count();
    assert_eq!(ended, 30);
}

/// Counts the children of a process that have ended and that nobody has taken leave of.
fn zombies(process: u32) -> usize {
    let parent = format!(" Z {process} ");
    fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok())
        .filter(|stat| stat.contains(&parent))
        .count()
}

#[test]
fn hooks_that_run_aside_are_journaled_and_leave_nothing_behind() {
    let environment = environment();
    environment.user_hook("aside", "trigger: before_tool\nasync: true", "cat > /dev/null");
    let mut server = Server::start(&environment, &[]);
    for id in 0..20 {
        assert_eq!(server.ask(&json!({"id": id, "event": shell("ls")}))["verdict"], json!({}));
    }
    wait_until("all are journaled", || environment.journal().len() == 40);
    let process = server.child.id();
    wait_until("the table is clean", || {
        server.ask(&json!({"id": 1, "event": {"event_type": "after_tool"}}));
        zombies(process) == 0
    });
    server.finish();
}
