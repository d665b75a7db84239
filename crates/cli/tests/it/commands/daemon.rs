//! `anyhook daemon`: starts, ends, says how it is.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhook_testkit::{CommandRun, TestEnv, run, wait_until, write};
use rustix::process::{Pid, Signal, kill_process};

use crate::environment;

#[test]
fn it_does_not_run() {
    let environment = environment();
    assert_run!(environment, environment.run(&["daemon", "status"]), @"
    exit code: 1
    ----- stdout -----
    daemon not running
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
    daemon not running
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
    assert_eq!(started.stdout, format!("daemon running (pid {process})\n"));
    let again = environment.run(&["daemon", "start"]);
    assert_eq!(again.stdout, format!("daemon already running (pid {process})\n"));
    let status = environment.run(&["daemon", "status"]);
    assert_eq!(status.code, 0, "{status:?}");
    assert!(status.stdout.starts_with(&format!("daemon running (pid {process}, ")), "{status:?}");
    let json = environment.run(&["daemon", "status", "--json"]).json();
    assert_eq!((json["pid"].as_u64(), json["agents"].as_u64()), (Some(process.into()), Some(0)));
    let stopped = environment.run(&["daemon", "stop"]);
    assert_eq!((stopped.code, stopped.stdout.as_str()), (0, "daemon stopped\n"));
    wait_until("it to be gone", || environment.daemon().is_none());
    assert!(!environment.state().join("daemon/socket").exists());
    let logs = environment.run(&["daemon", "logs"]);
    assert!(
        logs.stdout.contains("the daemon is running")
            && logs.stdout.contains("the daemon is stopping"),
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
    assert_eq!(log.matches("the daemon is running").count(), 1, "{log}");
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
    let is_log =
        |path: &PathBuf| fs::read_to_string(path).is_ok_and(|text| text.contains("agent-1"));
    let log = fs::read_dir(&store).unwrap().map(|file| file.unwrap().path()).find(is_log).unwrap();
    let text = fs::read_to_string(&log).unwrap();
    write(&log, text.replacen("agent-1", "agent-X", 1), 0o600);
    let refused = environment.run(&["agent", "list"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    let started = environment.run(&["daemon", "start"]);
    assert_eq!(started.code, 1, "{started:?}");
    assert!(started.stderr.contains("checksum"), "{started:?}");
    assert!(started.stderr.contains("hint: run `anyhook daemon start --repair`"), "{started:?}");
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
    assert!(ran.stderr.contains("is too long for a socket path"), "{ran:?}");
    assert!(ran.stderr.contains("hint: set XDG_STATE_HOME to a shorter path"), "{ran:?}");
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
    assert!(ran.stderr.contains("belongs to another user"), "{ran:?}");
}

#[test]
fn when_it_was_down_is_told() {
    let environment = environment();
    environment.run(&["emit", "agent:idle", "--agent", "a"]);
    let first = environment.run(&["agent", "list"]);
    assert_eq!(first.stderr, "", "there was none before");
    let under_way = environment.state().join("daemon/under-way.json");
    wait_until("the daemon to say that it has work", || under_way.exists());
    environment.kill_daemon();
    let status = environment.run(&["daemon", "status"]);
    assert!(
        status.stdout.contains("\nit was killed or crashed, and was last seen at 20"),
        "{status:?}"
    );
    assert!(status.stdout.contains(" ago\nhint: "), "{status:?}");
    let status = environment.run(&["daemon", "status", "--json"]);
    assert_eq!((status.code, status.stdout.as_str()), (1, "null\n"));
    assert!(
        status.stderr.starts_with("note: it was killed or crashed, and was last seen at 20"),
        "{status:?}"
    );
    let doctor = environment.run(&["doctor"]).stdout;
    assert!(doctor.contains("the daemon is needed but not running: it was killed"), "{doctor}");
    for command in [
        &["agent", "list"][..],
        &["agent", "list", "--json"],
        &["agent", "show", "a"],
        &["decision", "list"],
        &["decision", "list", "--json"],
        &["pipeline", "list"],
        &["pipeline", "list", "--json"],
    ] {
        environment.kill_daemon();
        let ran = environment.run(command);
        assert_eq!(ran.code, 0, "{command:?}: {ran:?}");
        assert!(ran.stderr.starts_with("note: the daemon was down for "), "{ran:?}");
        let end = ": it was killed or crashed, and this command restarted it\n";
        assert!(ran.stderr.ends_with(end), "{command:?}: {ran:?}");
        // It is told once, and not of a moment.
        assert_eq!(environment.run(command).stderr, "", "{command:?}");
    }
    environment.kill_daemon();
    let shown = environment.run(&["agent", "show", "a", "--json"]);
    assert_eq!(
        (shown.stderr.as_str(), &shown.json()["daemon_down"]["cause"]),
        ("", &"killed".into())
    );
    let status = environment.run(&["daemon", "status", "--json"]).json();
    assert_eq!(
        (&status["started_by"], &status["down"]["cause"]),
        (&"command".into(), &"killed".into())
    );
    let status = environment.run(&["daemon", "status"]).stdout;
    assert!(
        status.contains("was down") && status.contains("and a command restarted it"),
        "{status}"
    );
    let doctor = environment.run(&["doctor"]).stdout;
    assert!(doctor.contains("the daemon was down for "), "{doctor}");
    environment.run(&["daemon", "stop"]);
    let status = environment.run(&["daemon", "status"]).stdout;
    assert!(status.contains("\nit was stopped at 20"), "{status}");
    let ran = environment.run(&["agent", "list"]);
    assert_eq!(ran.stderr, "", "someone has just stopped it: {ran:?}");
}

#[test]
fn a_long_downtime_is_told_by_later_commands_too() {
    let environment = environment();
    environment.run(&["emit", "agent:idle", "--agent", "a"]);
    environment.run(&["agent", "list"]);
    let folder = environment.state().join("daemon");
    wait_until("the daemon to say that it has work", || folder.join("under-way.json").exists());
    environment.kill_daemon();
    // As if it had been killed an hour ago.
    let hour_ago = std::time::SystemTime::now() - Duration::from_secs(3600);
    let files = fs::read_dir(folder.join("store")).unwrap().map(|file| file.unwrap().path());
    for file in files.chain([folder.join("life.json")]) {
        fs::File::options().append(true).open(file).unwrap().set_modified(hour_ago).unwrap();
    }
    environment.run(&["emit", "agent:idle", "--agent", "a"]);
    wait_until("it to come back", || environment.daemon().is_some());
    wait_until("it to answer", || environment.run(&["daemon", "status"]).code == 0);
    for command in [&["agent", "list"][..], &["pipeline", "list", "--json"]] {
        let ran = environment.run(command);
        assert!(ran.stderr.contains(" was down for 60m, from 20"), "{ran:?}");
        assert!(ran.stderr.ends_with(", and an agent's event restarted it\n"), "{ran:?}");
    }
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

fn unit(environment: &TestEnv) -> PathBuf {
    environment.home().join(".config/systemd/user/anyhook.service")
}

/// Puts a `systemctl` first in `PATH` that writes down how it is called.
fn with_systemctl(environment: &TestEnv, arguments: &[&str], script: &str) -> CommandRun {
    let programs = environment.root().join("programs");
    let text = format!("#!/bin/sh\necho \"$*\" >> '{}/called'\n{script}\n", programs.display());
    write(&programs.join("systemctl"), text, 0o755);
    let mut command = environment.command(arguments);
    command.env("PATH", format!("{}:/usr/bin:/bin", programs.display()));
    run(command, b"")
}

#[test]
fn the_unit_is_shown_and_nothing_is_written() {
    let environment = environment();
    let mut command = environment.command(&["daemon", "install", "--print"]);
    command.env("PATH", "/usr/bin:/bin");
    assert_run!(environment, run(command, b""), @r#"
    exit code: 0
    ----- stdout -----
    # Written by `anyhook daemon install`; `anyhook daemon uninstall` removes it.
    [Unit]
    Description=anyhook: tracks agents and runs pipelines

    [Service]
    Type=exec
    ExecStart="[ROOT]/home/.local/share/anyhook/bin/anyhook" daemon start --foreground
    Environment="PATH=/usr/bin:/bin"
    Restart=on-failure
    # Pipelines' commands and agents' sessions outlive the daemon.
    KillMode=process

    [Install]
    WantedBy=default.target
    "#);
    assert!(!environment.home().join(".config").exists());
}

#[test]
fn it_is_installed_and_uninstalled() {
    let environment = environment();
    environment.run(&["daemon", "start"]);
    let installed = with_systemctl(&environment, &["daemon", "install"], "");
    assert_run!(environment, installed, @"
    exit code: 0
    ----- stdout -----
    wrote ~/.config/systemd/user/anyhook.service
    enabled (systemctl --user daemon-reload && systemctl --user enable --now anyhook.service)
    hint: run `loginctl enable-linger` to keep it running without a login
    ");
    let text = fs::read_to_string(unit(&environment)).unwrap();
    assert!(text.starts_with("# Written by `anyhook daemon install`"), "{text}");
    assert_eq!(environment.daemon(), None, "the service takes its place");
    assert!(!environment.state().join("daemon/stopped").exists(), "it is not meant to stay down");
    assert_run!(environment, with_systemctl(&environment, &["daemon", "install"], ""), @"
    exit code: 0
    ----- stdout -----
    ~/.config/systemd/user/anyhook.service is up to date
    enabled (systemctl --user daemon-reload && systemctl --user enable --now anyhook.service)
    hint: run `loginctl enable-linger` to keep it running without a login
    ");
    assert_run!(environment, with_systemctl(&environment, &["daemon", "uninstall"], ""), @"
    exit code: 0
    ----- stdout -----
    disabled (systemctl --user disable --now anyhook.service)
    removed ~/.config/systemd/user/anyhook.service
    ");
    assert!(!unit(&environment).exists());
    assert_run!(environment, with_systemctl(&environment, &["daemon", "uninstall"], ""), @"
    exit code: 0
    ----- stdout -----
    there is no ~/.config/systemd/user/anyhook.service
    ");
    let called = fs::read_to_string(environment.root().join("programs/called")).unwrap();
    let enabled = "--user daemon-reload\n--user enable --now anyhook.service\n";
    let disabled = "--user disable --now anyhook.service\n--user daemon-reload\n";
    assert_eq!(called, format!("{enabled}{enabled}{disabled}"));
}

#[test]
fn without_a_service_manager_the_unit_is_written_and_the_rest_is_told() {
    let environment = environment();
    let script = "echo 'Failed to connect to bus' >&2; exit 1";
    assert_run!(environment, with_systemctl(&environment, &["daemon", "install"], script), @"
    exit code: 1
    ----- stdout -----
    wrote ~/.config/systemd/user/anyhook.service

    ----- stderr -----
    error: written, but could not be enabled: `systemctl --user daemon-reload`: Failed to connect to bus
    hint: systemctl --user daemon-reload && systemctl --user enable --now anyhook.service
    ");
    assert!(unit(&environment).exists());
    assert_run!(environment, with_systemctl(&environment, &["daemon", "uninstall"], script), @"
    exit code: 0
    ----- stdout -----
    could not be disabled: `systemctl --user disable --now anyhook.service`: Failed to connect to bus
    removed ~/.config/systemd/user/anyhook.service
    ");
    assert!(!unit(&environment).exists());
    let mut command = environment.command(&["daemon", "install"]);
    command.env("PATH", environment.root().join("nothing"));
    let ran = run(command, b"");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.contains("No such file or directory"), "{ran:?}");
}

#[test]
fn a_unit_that_is_not_ours_is_left_alone() {
    let environment = environment();
    let text = "[Service]\nExecStart=/bin/true\n";
    write(&unit(&environment), text, 0o644);
    assert_run!(environment, environment.run(&["daemon", "install"]), @"
    exit code: 1
    ----- stderr -----
    error: `~/.config/systemd/user/anyhook.service` exists and was not written by anyhook
    hint: move it out of the way; `anyhook daemon install --print` shows what would be written
    ");
    assert_run!(environment, environment.run(&["daemon", "uninstall"]), @"
    exit code: 1
    ----- stderr -----
    error: `~/.config/systemd/user/anyhook.service` was not written by anyhook
    hint: remove it yourself if you don't need it
    ");
    assert_eq!(fs::read_to_string(unit(&environment)).unwrap(), text);
}

#[test]
fn it_runs_in_the_foreground_for_a_service_manager() {
    let environment = environment();
    environment.run(&["daemon", "start"]);
    let again = environment.run(&["daemon", "start", "--foreground"]);
    assert!(again.code == 0 && again.stdout.starts_with("daemon already running"), "{again:?}");
    environment.run(&["daemon", "stop"]);
    let mut command = environment.command(&["daemon", "start", "--foreground"]);
    let mut service = command.spawn().unwrap();
    wait_until("it to run", || environment.daemon() == Some(service.id()));
    wait_until("it to answer", || environment.run(&["daemon", "status"]).code == 0);
    let status = environment.run(&["daemon", "status", "--json"]).json();
    assert_eq!(status["started_by"], "service", "{status:#}");
    assert!(!environment.state().join("daemon/stopped").exists(), "it is to run");
    let process = Pid::from_raw(i32::try_from(service.id()).unwrap()).unwrap();
    kill_process(process, Signal::TERM).unwrap();
    assert!(service.wait().unwrap().success(), "it ends in order");
}
