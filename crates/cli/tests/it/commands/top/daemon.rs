//! `anyhook top` beside a daemon that answers, ends, hangs, or is not there.

use anyhook_testkit::{TestEnv, finish, wait_until};
use rustix::process::{Pid, Signal, kill_process};

use super::{Terminal, guarded};
use crate::commands::decision::{asked, hook, journaled, permission, waiting};

const NO_DAEMON: &str = "no daemon: states from the journal alone";

fn signal_daemon(environment: &TestEnv, signal: Signal) {
    let process = i32::try_from(environment.daemon().unwrap()).unwrap();
    kill_process(Pid::from_raw(process).unwrap(), signal).unwrap();
}

#[test]
fn a_permission_is_allowed_from_top() {
    let environment = waiting(120);
    let Some(terminal) = Terminal::open(&environment, 100, 30) else { return };
    terminal.start("USER=ann", "");
    terminal.wait_for(NO_DAEMON);
    assert!(environment.daemon().is_none(), "it starts none");

    let waits = hook(&environment, "claude-code", &permission(&environment, "touch f"));
    let id = asked(&environment);
    for text in ["1 waits for you (w)", "Waits for you 1", &id, "Shell touch f", "1 allow, 2 deny"]
    {
        terminal.wait_for(text);
    }
    terminal.wait_for("asks permission");
    terminal.wait_until_gone(NO_DAEMON);
    terminal.keys(&["w", "2"]);
    terminal.wait_for(&format!("deny {id}: Shell touch f?"));
    terminal.keys(&["1"]);
    terminal.wait_for(&format!("allow {id}: Shell touch f?"));
    terminal.keys(&["Enter"]);
    let reply = finish(waits);
    assert_eq!(reply.json()["hookSpecificOutput"]["decision"]["behavior"], "allow", "{reply:?}");
    terminal.wait_for(&format!("{id}: allow"));
    terminal.wait_for("nothing waits for you");
    wait_until("the decision to be journaled", || journaled(&environment).len() == 1);
    assert_eq!(journaled(&environment)[0]["by"], "ann in top");

    terminal.keys(&["Escape"]);
    terminal.wait_until_gone("nothing waits for you");
    terminal.keys(&["q"]);
    terminal.expect_restored();
}

#[test]
fn somebody_else_is_first() {
    let environment = waiting(120);
    let Some(terminal) = Terminal::open(&environment, 100, 30) else { return };
    let waits = hook(&environment, "claude-code", &permission(&environment, "touch f"));
    let id = asked(&environment);
    terminal.start("", "");
    terminal.wait_for(&id);
    terminal.keys(&["w", "1"]);
    terminal.wait_for(&format!("allow {id}: Shell touch f?"));
    environment.run(&["decision", "resolve", &id, "deny"]);
    terminal.wait_for(&format!("decision {id} is already made: deny, by "));
    terminal.keys(&["Enter"]);
    let reply = finish(waits);
    assert_eq!(reply.json()["hookSpecificOutput"]["decision"]["behavior"], "deny", "{reply:?}");
    terminal.keys(&["q"]);
    terminal.expect_restored();
}

#[test]
fn a_daemon_that_is_killed_is_missed_and_found_again() {
    let environment = waiting(120);
    // The hook process and the one that lists decisions would both start one otherwise.
    environment.run(&["daemon", "start"]);
    let Some(terminal) = Terminal::open(&environment, 100, 30) else { return };
    let waits = hook(&environment, "claude-code", &permission(&environment, "touch f"));
    let id = asked(&environment);
    terminal.start("", "");
    terminal.wait_for(&id);
    terminal.keys(&["w", "1"]);
    terminal.wait_for(&format!("allow {id}: Shell touch f?"));
    environment.kill_daemon();
    terminal.wait_for(NO_DAEMON);
    terminal.wait_for(&format!("decision {id} is not open any more"));
    terminal.keys(&["Escape"]);
    environment.shell("echo meanwhile");
    terminal.wait_for("Shell echo meanwhile");
    assert!(environment.daemon().is_none(), "it starts none");

    environment.run(&["daemon", "start"]);
    terminal.wait_for("Waits for you 1");
    terminal.wait_until_gone(NO_DAEMON);
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
    let environment = guarded();
    environment.run(&["daemon", "start"]);
    let Some(terminal) = Terminal::open(&environment, 100, 30) else { return };
    terminal.start("", "");
    signal_daemon(&environment, Signal::STOP);
    environment.shell("echo meanwhile");
    terminal.wait_for("Shell echo meanwhile");
    terminal.wait_for("the daemon does not answer: states from the journal alone");
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
