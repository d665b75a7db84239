//! `anyhook verify`: whole, or the first broken record; and denied calls that ran.

use std::fs::{self, OpenOptions};
use std::io::Write;

use anyhook_testkit::needs::MachineNeed;
use anyhook_testkit::{TestEnv, require, run, wait_until, write};
use serde_json::{Value, json};

use crate::{environment, guarded, namespace};

/// Sends a tool event of a call.
fn tool(environment: &TestEnv, event: &str, session: &str, call: Option<&str>, command: &str) {
    let mut event = json!({
        "event_type": event, "session_id": session, "tool_name": "Shell",
        "tool_input": {"command": command},
    });
    if let Some(call) = call {
        event["tool_use_id"] = call.into();
    }
    environment.event(&event);
}

#[test]
fn nothing_yet() {
    let environment = environment();
    assert_run!(environment, environment.run(&["verify"]), @"
    exit code: 0
    ----- stdout -----
    journal intact: 0 records, 0 segments, 0 sealed
    ");
}

#[test]
fn whole() {
    let environment = guarded();
    environment.shell("ls");
    environment.shell("mkfs /dev/sda");
    assert_run!(environment, environment.run(&["verify"]), @"
    exit code: 0
    ----- stdout -----
    journal intact: 2 records, 1 segment, 0 sealed
    ");
}

#[test]
fn the_first_broken_record() {
    let environment = guarded();
    for command in ["one", "two", "three", "four"] {
        environment.shell(command);
    }
    let file = environment.segments().remove(0);
    let text = fs::read_to_string(&file).unwrap();
    write(&file, text.replace("two", "TWO").replace("four", "FOUR"), 0o600);
    let ran = environment.run(&["verify"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    // Each record has an empty line before it.
    let second = text[..text.find("two").unwrap()].rfind('\n').unwrap() + 1;
    let expected = format!("broken: 00000001.jsonl:4 (byte {second}): its checksum differs\n");
    assert!(ran.stdout.starts_with(&expected), "{ran:?}");
    assert!(ran.stdout.contains("  also: 00000001.jsonl:8"), "{ran:?}");
    let log = environment.run(&["log"]);
    assert_eq!(log.stdout.lines().count(), 2, "what is whole is shown: {log:?}");
    assert!(log.stderr.contains("2 damaged lines"), "{log:?}");
}

#[test]
fn a_torn_line_is_no_fault() {
    let environment = guarded();
    environment.shell("ls");
    let file = environment.segments().remove(0);
    OpenOptions::new()
        .append(true)
        .open(&file)
        .unwrap()
        .write_all(b"{\"v\":2,\"id\":\"ha")
        .unwrap();
    environment.shell("ls");
    assert_run!(environment, environment.run(&["verify"]), @"
    exit code: 0
    ----- stdout -----
    journal intact: 2 records, 1 segment, 0 sealed
      · 1 line ends early: a writer was stopped, no complete record is lost
    ");
}

/// A disk that fills up in the middle of a record: what was whole stays, and it goes on afterwards.
#[test]
fn a_disk_that_fills_up() {
    require!(MachineNeed::Mounts);
    let environment = guarded();
    fs::create_dir_all(environment.state()).unwrap();
    let state = environment.state();
    let program = env!("CARGO_BIN_EXE_anyhook");
    let event = json!({"event_type": "before_agent", "prompt": "x".repeat(3000)}).to_string();
    let script = format!(
        "mount -t tmpfs -o size=64k none '{0}'\n\
         for number in $(seq 30); do echo '{event}' | '{program}' hook agent-hooks; done\n\
         '{program}' doctor | grep 'cannot be written'\n\
         head -c 20000 '{0}/journal/00000001.jsonl' > /dev/null; rm '{0}/journal/long' -rf\n\
         '{program}' log -n 1 > /dev/null || exit 3\n",
        state.display()
    );
    let ran = run(namespace::command(&environment, &script, &["verify"]), b"");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("the journal cannot be written"), "{ran:?}");
    assert!(ran.stdout.contains("cannot be written"), "doctor says it: {ran:?}");
    assert!(ran.stdout.contains("journal intact: "), "{ran:?}");
}

#[test]
fn as_json() {
    let environment = guarded();
    environment.shell("ls");
    assert_run!(environment, environment.run(&["verify", "--json"]), @r#"
    exit code: 0
    ----- stdout -----
    {
      "whole": true,
      "segments": 1,
      "sealed": 0,
      "dropped": 0,
      "records": 1,
      "unchecked": 0,
      "torn": 0,
      "redacted": 0,
      "broken": [],
      "denied_but_ran": [],
      "indexes": []
    }
    "#);
}

#[test]
fn a_denied_call_that_ran() {
    let environment = guarded();
    tool(&environment, "before_tool", "s", Some("t1"), "mkfs /dev/sda");
    tool(&environment, "before_tool", "s", Some("t2"), "ls");
    tool(&environment, "after_tool", "s", Some("t2"), "ls");
    assert_eq!(environment.run(&["verify"]).code, 0);
    let ran = environment.event(&json!({
        "event_type": "after_tool", "session_id": "s", "tool_name": "Shell",
        "tool_use_id": "t1", "tool_input": {"command": "mkfs /dev/sda"},
    }));
    let words = "denied but ran: agent-hooks ran `Shell mkfs /dev/sda` despite the denial";
    assert!(ran.stderr.contains(words), "at once: {ran:?}");
    assert_run!(environment, environment.run(&["verify"]), @"
    exit code: 1
    ----- stdout -----
    journal intact: 4 records, 1 segment, 0 sealed
    ALARM denied but ran: agent-hooks ran `Shell mkfs /dev/sda` despite the denial (anyhook log show [ID])
    hint: the agent ignored the denial: run anyhook doctor, and check the agent's version
    ");

    let doctor = environment.run(&["doctor"]);
    assert_eq!(doctor.code, 1, "{doctor:?}");
    assert!(doctor.stdout.contains(&format!("✗ {words}")), "{doctor:?}");
    let log = environment.run(&["log", "-n", "1"]).stdout;
    assert!(log.contains("ALARM"), "{log}");
    let id = environment.journal().pop().unwrap()["id"].as_str().unwrap().to_owned();
    let show = environment.run(&["log", "show", &id]).stdout;
    assert!(show.contains("ALARM    denied, but it ran anyway"), "{show}");

    let start = || environment.event(&json!({"event_type": "session_start", "session_id": "new"}));
    assert!(start().stderr.contains(words), "at the next session start");
    assert!(!start().stderr.contains(words), "once");
}

/// In the agent's own words, where it has some for a person.
#[test]
fn the_next_session_of_claude_code_begins_with_the_alarm() {
    let environment = guarded();
    let send =
        |event: Value| environment.run_with_input(&["hook", "claude-code"], event.to_string());
    let call = |name: &str| {
        json!({"hook_event_name": name, "session_id": "s", "cwd": environment.project(),
               "tool_name": "Bash", "tool_input": {"command": "mkfs"}, "tool_use_id": "t1",
               "tool_response": {}})
    };
    assert!(send(call("PreToolUse")).stdout.contains("deny"));
    assert!(send(call("PostToolUse")).stdout.contains("denied but ran"));
    let start =
        send(json!({"hook_event_name": "SessionStart", "session_id": "n", "source": "startup"}));
    let message = start.json()["systemMessage"].as_str().unwrap().to_owned();
    assert!(message.contains("denied but ran: claude-code ran `Shell mkfs`"), "{message}");
}

#[test]
fn a_call_without_an_id_is_known_by_its_input() {
    let environment = guarded();
    tool(&environment, "before_tool", "s", None, "mkfs a");
    tool(&environment, "after_tool", "other", None, "mkfs a");
    tool(&environment, "after_tool", "s", None, "mkfs b");
    assert_eq!(environment.run(&["verify"]).code, 0, "other sessions, other calls");
    tool(&environment, "after_tool", "s", None, "mkfs a");
    assert_eq!(environment.run(&["verify"]).code, 1);

    let environment = guarded();
    tool(&environment, "before_tool", "s", None, "mkfs a");
    fs::remove_dir_all(environment.user_hooks().join("guard")).unwrap();
    tool(&environment, "before_tool", "s", None, "mkfs a");
    tool(&environment, "after_tool", "s", None, "mkfs a");
    assert_eq!(environment.run(&["verify"]).code, 0, "let through the second time");
    assert_eq!(environment.journal()[2]["denied_by"], Value::Null);
}

/// Segments are closed on the hook path, and sealed beside it.
#[test]
fn closed_segments_are_sealed_by_themselves() {
    let environment = guarded();
    write(
        &environment.home().join(".config/agents/anyhook.toml"),
        "[journal]\nsegment_kib = 2\n",
        0o644,
    );
    for _ in 0..12 {
        environment.shell("ls");
    }
    let closed = environment.segments().len() - 1;
    assert!(closed > 1, "{closed}");
    let sealed = || environment.run(&["verify", "--json"]).json()["sealed"].clone();
    wait_until("every closed segment is sealed, but perhaps the last", || {
        sealed().as_u64().unwrap() + 1 >= closed as u64
    });
    let first = environment.segments().remove(0);
    let text = fs::read_to_string(&first).unwrap();
    let (_, rest) = text.split_once("\n\n").unwrap();
    write(&first, rest, 0o600);
    let ran = environment.run(&["verify"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stdout.contains("00000001.jsonl: it differs from what was sealed"), "{ran:?}");
}

#[test]
fn without_a_home() {
    require!(MachineNeed::Users);
    let environment = environment();
    let command = environment.command_without_home(&["verify"]);
    let ran = run(command, b"");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.contains("hint: set HOME"), "{ran:?}");
}

#[test]
fn help() {
    let environment = environment();
    assert_run!(environment, environment.run(&["verify", "--help"]), @"
    exit code: 0
    ----- stdout -----
    Verify the journal, that no denied call ran, and the hook indexes; exit 1 on problems

    Usage: anyhook verify [OPTIONS]

    Options:
          --json          Print as JSON
          --color <WHEN>  When to use colors; auto: on a terminal, unless `NO_COLOR` is set [default:
                          auto] [possible values: auto, always, never]
      -h, --help          Print help

    Example: anyhook verify
    ");
}
