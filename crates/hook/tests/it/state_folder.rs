//! What lies in the state folder: for its owner alone, and nothing there can hang us, lead us
//! elsewhere, or change a verdict.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhook_testkit::{CommandRun, TestEnv, begin, finish, programs, wait_within};
use serde_json::json;

use crate::{SMALL, environment};

/// Far more than an answer takes, far less than for ever.
const LIMIT: Duration = Duration::from_secs(30);

/// Makes an environment with a guard, in which every file of a session was written.
fn with_state() -> TestEnv {
    let environment = environment(&programs::alone(SMALL));
    environment.user_hook(
        "guard",
        "trigger: before_tool\non_failure: block\nmatcher:\n  pattern: mkfs",
        "echo 'not here' >&2; exit 2",
    );
    environment.user_hook("gate", "trigger: before_stop", "echo 'not yet' >&2; exit 2");
    for event in ["session_start", "before_agent", "before_stop"] {
        send(&environment, &json!({"event_type": event, "session_id": "s"}));
    }
    assert_eq!(call(&environment, "before_tool", "mkfs").code, 2);
    call(&environment, "before_tool", "ls");
    // A call that ran although it was denied is an alarm.
    call(&environment, "after_tool", "mkfs");
    environment
}

fn call(environment: &TestEnv, event: &str, command: &str) -> CommandRun {
    send(
        environment,
        &json!({
            "event_type": event, "session_id": "s", "tool_name": "Shell",
            "tool_input": {"command": command}
        }),
    )
}

/// Sends an event; an answer that does not come in time fails the test.
fn send(environment: &TestEnv, event: &serde_json::Value) -> CommandRun {
    let command = environment.command(&["hook", "agent-hooks"]);
    let mut child = begin(command, event.to_string().as_bytes());
    let mut ended = false;
    wait_within(LIMIT, "the answer", || {
        ended = ended || child.try_wait().unwrap().is_some();
        ended
    });
    finish(child)
}

/// Returns all files and folders below a folder.
fn below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        // What is in a copy is read-only.
        if path.is_dir() && !folder.ends_with("trust/copies") {
            found.extend(below(&path));
        }
        found.push(path);
    }
    found.sort();
    found
}

/// Returns the files of the state folder by their paths in it, as they would be named in a manual.
fn files(state: &Path) -> Vec<PathBuf> {
    let found = below(state).into_iter().filter(|path| !path.is_dir());
    found.map(|path| path.strip_prefix(state).unwrap().to_owned()).collect()
}

#[test]
fn it_is_for_its_owner_alone() {
    let environment = with_state();
    let state = environment.state();
    let names = files(&state);
    for name in ["root", "start", "calls", "stops", "blocks", "denied", "turn", "guards"] {
        assert!(names.iter().any(|path| path.ends_with(name)), "{name}: {names:?}");
    }
    assert!(names.iter().any(|path| path.ends_with("alarms.jsonl")), "{names:?}");
    let paths = below(&state).into_iter().filter(|path| !path.is_symlink());
    for path in paths.chain([state.clone()]) {
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        let expected = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode, expected, "{}", path.display());
    }
}

#[test]
fn nothing_in_the_place_of_a_file_hangs_us_or_leads_elsewhere() {
    let names = files(&with_state().state());
    for kind in ["pipe", "dangling link", "link", "folder"] {
        // All of them at once in one environment, each file by itself in the others.
        for index in 0..=names.len() {
            let environment = with_state();
            let state = environment.state();
            let elsewhere = environment.root().join("elsewhere");
            fs::write(&elsewhere, "untouched").unwrap();
            let files = files(&state);
            let replaced =
                files.iter().enumerate().filter(|(at, _)| index == names.len() || *at == index);
            for (_, name) in replaced {
                let path = state.join(name);
                fs::remove_file(&path).unwrap();
                match kind {
                    "pipe" => {
                        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
                    }
                    "dangling link" => symlink(environment.root().join("created"), &path).unwrap(),
                    "link" => symlink(&elsewhere, &path).unwrap(),
                    _ => fs::create_dir(&path).unwrap(),
                }
            }
            let what = files.get(index).map_or("all".into(), |name| name.display().to_string());
            for command in ["mkfs", "ls"] {
                let ran = call(&environment, "before_tool", command);
                let expected = if command == "mkfs" { 2 } else { 0 };
                assert_eq!(ran.code, expected, "{kind} {what}: {ran:?}");
                call(&environment, "after_tool", command);
            }
            for event in ["session_start", "before_agent", "before_stop", "session_end"] {
                send(&environment, &json!({"event_type": event, "session_id": "s"}));
            }
            assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "untouched", "{kind} {what}");
            assert!(!environment.root().join("created").exists(), "{kind} {what}");
        }
    }
}

/// What was not remembered is said, not passed over.
#[test]
fn a_pipe_in_the_place_of_a_sessions_file_is_told() {
    for name in ["root", "calls"] {
        let environment = with_state();
        let state = environment.state();
        let file = files(&state).into_iter().find(|path| path.ends_with(name)).unwrap();
        fs::remove_file(state.join(&file)).unwrap();
        assert!(Command::new("mkfifo").arg(state.join(&file)).status().unwrap().success());
        let ran = call(&environment, "before_tool", "ls");
        let expected = format!(
            "cannot save session state: `{}`: it is not a regular file",
            state.join(&file).display()
        );
        assert!(ran.stderr.contains(&expected), "{ran:?}");
    }
}
