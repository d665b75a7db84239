//! `anyhook daemon`: starts, ends, says how it is.

use std::fs;
use std::time::{Duration, Instant};

use anyhook_testkit::{run, wait_until, write};
use rustix::process::{Pid, Signal, kill_process};

use crate::environment;

#[test]
fn it_does_not_run() {
    let environment = environment();
    assert_run!(environment, environment.run(&["daemon", "status"]), @"
    exit code: 1
    ----- stdout -----
    the daemon does not run
    hint: anyhook daemon start
    ");
    assert_run!(environment, environment.run(&["daemon", "status", "--json"]), @"
    exit code: 1
    ----- stdout -----
    null
    ");
    assert_run!(environment, environment.run(&["daemon", "stop"]), @"
    exit code: 0
    ----- stdout -----
    the daemon does not run
    ");
    assert_run!(environment, environment.run(&["daemon", "logs"]), @"
    exit code: 1
    ----- stderr -----
    error: the daemon has never run
    hint: anyhook daemon start
    ");
}

#[test]
fn it_starts_once_and_ends_in_order() {
    let environment = environment();
    let started = environment.run(&["daemon", "start"]);
    assert_eq!(started.code, 0, "{started:?}");
    let process = environment.daemon().unwrap();
    assert_eq!(started.stdout, format!("the daemon runs (process {process})\n"));
    let again = environment.run(&["daemon", "start"]);
    assert_eq!(again.stdout, format!("the daemon runs already (process {process})\n"));
    let status = environment.run(&["daemon", "status"]);
    assert_eq!(status.code, 0, "{status:?}");
    assert!(
        status.stdout.starts_with(&format!("the daemon runs (process {process}, ")),
        "{status:?}"
    );
    let json = environment.run(&["daemon", "status", "--json"]).json();
    assert_eq!((json["pid"].as_u64(), json["agents"].as_u64()), (Some(process.into()), Some(0)));
    let stopped = environment.run(&["daemon", "stop"]);
    assert_eq!((stopped.code, stopped.stdout.as_str()), (0, "the daemon has ended\n"));
    wait_until("it to be gone", || environment.daemon().is_none());
    assert!(!environment.state().join("daemon/socket").exists());
    let logs = environment.run(&["daemon", "logs"]);
    assert!(
        logs.stdout.contains("the daemon runs") && logs.stdout.contains("the daemon ends"),
        "{logs:?}"
    );
    assert_eq!(environment.run(&["daemon", "logs", "-n", "1"]).stdout.lines().count(), 1);
}

#[test]
fn many_who_start_it_at_once_get_one() {
    let environment = environment();
    let started: Vec<_> = (0..8)
        .map(|_| anyhook_testkit::begin(environment.command(&["agent", "list"]), b""))
        .collect();
    for child in started {
        let ran = anyhook_testkit::finish(child);
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    let log = environment.run(&["daemon", "logs"]).stdout;
    assert_eq!(log.matches("the daemon runs").count(), 1, "{log}");
}

#[test]
fn it_keeps_what_it_knows() {
    let environment = environment();
    environment.run(&["emit", "agent:prompt", "--agent", "a", "--type", "question"]);
    let before = environment.run(&["agent", "list", "--json"]).stdout;
    assert!(before.contains("\"question\""), "{before}");
    environment.run(&["daemon", "stop"]);
    assert_eq!(environment.run(&["agent", "list", "--json"]).stdout, before);
    environment.kill_daemon();
    assert_eq!(environment.run(&["agent", "list", "--json"]).stdout, before);
}

#[test]
fn a_daemon_that_nobody_can_reach_ends() {
    let environment = environment();
    environment.run(&["daemon", "start"]);
    fs::remove_file(environment.state().join("daemon/socket")).unwrap();
    wait_until("it to end", || environment.daemon().is_none());
    assert_eq!(environment.run(&["agent", "list"]).code, 0, "another one comes");
}

#[test]
fn a_damaged_store_is_refused_with_a_way_back() {
    let environment = environment();
    for number in 0..5 {
        environment.run(&["emit", "agent:idle", "--agent", &format!("agent-{number}")]);
        environment.run(&["agent", "list"]);
    }
    environment.kill_daemon();
    let store = environment.state().join("daemon/store");
    let is_log = |path: &std::path::PathBuf| {
        fs::read_to_string(path).is_ok_and(|text| text.contains("agent-1"))
    };
    let log = fs::read_dir(&store).unwrap().map(|file| file.unwrap().path()).find(is_log).unwrap();
    let text = fs::read_to_string(&log).unwrap();
    write(&log, text.replacen("agent-1", "agent-X", 1), 0o600);
    let refused = environment.run(&["agent", "list"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    let started = environment.run(&["daemon", "start"]);
    assert_eq!(started.code, 1, "{started:?}");
    assert!(started.stderr.contains("checksum"), "{started:?}");
    assert!(started.stderr.contains("hint: `anyhook daemon start --repair`"), "{started:?}");
    assert_eq!(
        fs::read_to_string(&log).unwrap(),
        text.replacen("agent-1", "agent-X", 1),
        "untouched"
    );
    let repaired = environment.run(&["daemon", "start", "--repair"]);
    assert_eq!(repaired.code, 0, "{repaired:?}");
    assert!(repaired.stdout.starts_with("repaired: "), "{repaired:?}");
    // What was lost of the store is read from the journal again.
    let agents = environment.run(&["agent", "list", "--json"]).json();
    assert_eq!(agents.as_array().unwrap().len(), 5);
}

#[test]
fn a_path_too_long_for_a_socket() {
    let environment = environment();
    let long = environment.root().join("x".repeat(120));
    let mut command = environment.command(&["daemon", "start"]);
    command.env("XDG_STATE_HOME", &long);
    let ran = run(command, b"");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.contains("is too long for a socket's path"), "{ran:?}");
    assert!(
        ran.stderr.contains("hint: set XDG_STATE_HOME to a folder with a shorter path"),
        "{ran:?}"
    );
}

#[test]
fn a_folder_of_somebody_else() {
    let environment = environment();
    let folder = environment.state().join("daemon");
    fs::create_dir_all(&folder).unwrap();
    let status = std::process::Command::new("chown").arg("54321").arg(&folder).status().unwrap();
    assert!(status.success());
    let ran = environment.run(&["daemon", "start"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.contains("belongs to somebody else"), "{ran:?}");
}

#[test]
fn one_that_is_stopped_by_a_signal_is_named() {
    let environment = environment();
    environment.run(&["daemon", "start"]);
    let process = environment.daemon().unwrap();
    let signal = |signal| {
        let process = Pid::from_raw(i32::try_from(process).unwrap()).unwrap();
        kill_process(process, signal).unwrap();
    };
    signal(Signal::STOP);
    for command in [
        &["agent", "list"][..],
        &["decision", "list"],
        &["pipeline", "list", "--json"],
        &["daemon", "status"],
        &["daemon", "start"],
    ] {
        let began = Instant::now();
        let ran = environment.run(command);
        assert!(began.elapsed() < Duration::from_secs(8), "{command:?}: it waited");
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{command:?}: {ran:?}");
        let told = format!(
            "error: the daemon (process {process}) is stopped and does not answer\nhint: kill -CONT {process}\n"
        );
        assert_eq!(ran.stderr, told, "{command:?}");
    }
    let doctor = environment.run(&["doctor"]).stdout;
    assert!(doctor.contains("is stopped and does not answer"), "{doctor}");
    signal(Signal::CONT);
    assert_eq!(environment.run(&["agent", "list"]).code, 0);
}
