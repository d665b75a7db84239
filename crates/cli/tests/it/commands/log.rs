//! `anyhook log`.

use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::Stdio;

use anyhook_testkit::{TestEnv, run, wait_until, write};
use serde_json::{Value, json};

use crate::environment;

/// A few dispatches of every kind.
fn busy() -> TestEnv {
    let environment = environment();
    environment.user_hook(
        "guard",
        "trigger: before_tool\nmatcher:\n  pattern: mkfs",
        "echo 'not here' >&2; exit 2",
    );
    environment.user_hook(
        "asker",
        "trigger: before_tool\nmatcher:\n  pattern: push",
        r#"echo '{"decision": "ask", "reason": "sure?"}'"#,
    );
    environment.user_hook("broken", "trigger: before_agent", "echo 'no table' >&2; exit 1");
    let send = |event: Value| environment.event(&event);
    let shell = |command: &str, session: &str| {
        send(
            json!({"event_type": "before_tool", "session_id": session, "tool_name": "Shell", "tool_input": {"command": command}}),
        )
    };
    send(json!({"event_type": "session_start", "session_id": "one"}));
    send(
        json!({"event_type": "before_agent", "session_id": "one", "prompt": "make it faster\nand smaller"}),
    );
    assert_eq!(shell("ls", "one").code, 0);
    assert_eq!(shell("mkfs /dev/sda", "one").code, 2);
    assert_eq!(shell("git push", "two").code, 0);
    environment
}

/// Returns the journal's file of today.
fn file(environment: &TestEnv) -> PathBuf {
    fs::read_dir(environment.state().join("journal")).unwrap().flatten().next().unwrap().path()
}

fn ids(environment: &TestEnv) -> Vec<String> {
    environment.journal().iter().map(|record| record["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_line_a_dispatch() {
    let environment = busy();
    assert_run!(environment, environment.run(&["log"]), @"
    exit code: 0
    ----- stdout -----
    [DAY AND TIME]  [ID]  session_start  none  –                  [TOOK]
    [DAY AND TIME]  [ID]  before_agent   none  broken (1 failed)  [TOOK]  make it faster…
    [DAY AND TIME]  [ID]  before_tool    none  –                  [TOOK]  Shell ls
    [DAY AND TIME]  [ID]  before_tool    deny  guard              [TOOK]  Shell mkfs /dev/sda
    [DAY AND TIME]  [ID]  before_tool    ask   asker              [TOOK]  Shell git push
    ");
}

#[test]
fn a_json_line_a_dispatch() {
    let environment = busy();
    let ran = environment.run(&["log", "--json"]);
    let lines: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines, environment.journal());
}

#[test]
fn filters() {
    let environment = busy();
    let lines = |arguments: &[&str]| {
        let ran = environment.run(&[&["log"][..], arguments].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.stdout.lines().filter(|line| *line != "no records").count()
    };
    for (arguments, count) in [
        (&[][..], 5),
        (&["--hook", "guard"], 1),
        (&["--hook", "nobody"], 0),
        (&["--event", "before_tool"], 3),
        (&["--event", "pre-tool-call"], 3),
        (&["--session", "one"], 4),
        (&["--session", "two", "--event", "before_tool"], 1),
        (&["--session", "three"], 0),
        (&["--verdict", "deny"], 1),
        (&["--verdict", "block"], 1),
        (&["--verdict", "ask"], 1),
        (&["--verdict", "allow"], 0),
        (&["--verdict", "none"], 3),
        (&["--verdict", "capped"], 0),
        (&["--verdict", "failed"], 1),
        (&["-n", "2"], 2),
        (&["-n", "0"], 5),
        (&["--lines", "1", "--session", "one"], 1),
    ] {
        assert_eq!(lines(arguments), count, "{arguments:?}");
    }
    let last = environment.run(&["log", "-n", "1"]).stdout;
    assert!(last.contains("git push"), "the last ones are shown: {last}");
}

#[test]
fn no_records() {
    let environment = environment();
    assert_run!(environment, environment.run(&["log"]), @"
    exit code: 0
    ----- stdout -----
    no records
    ");
    assert_run!(environment, environment.run(&["log", "--json"]), @"exit code: 0");
    let environment = busy();
    assert_run!(environment, environment.run(&["log", "--verdict", "allow"]), @"
    exit code: 0
    ----- stdout -----
    no records
    ");
}

#[test]
fn follow() {
    let environment = busy();
    for (arguments, told) in [
        (&["log", "-f", "-n", "1", "--verdict", "deny"][..], "mkfs /dev/sda"),
        (&["log", "--follow", "--json", "-n", "1", "--verdict", "deny"], "\"decision\": \"deny\""),
    ] {
        let mut command = environment.command(arguments);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.next().unwrap().unwrap().contains(told));
        environment.shell("ls");
        environment.shell("mkfs /dev/sdb");
        let line = lines.next().unwrap().unwrap();
        assert!(line.contains("mkfs /dev/sdb"), "{line}");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

/// Following begins before there is a journal.
#[test]
fn follow_from_nothing() {
    let environment = environment();
    let mut command = environment.command(&["log", "-f"]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    environment.shell("echo first");
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("echo first"));
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Whoever follows and goes away is not followed for ever.
#[test]
fn follow_ends_when_nobody_reads() {
    let environment = busy();
    let mut command = environment.command(&["log", "-f"]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut status = None;
    wait_until("the end of `log -f`", || {
        environment.shell("ls");
        status = child.try_wait().unwrap();
        status.is_some()
    });
    assert_eq!(status.unwrap().code(), Some(0));
}

/// A dispatch with all that can be shown.
fn rich() -> TestEnv {
    let environment = environment();
    let say = |name: &str, matter: &str, script: &str| {
        environment.user_hook(name, &format!("trigger: before_tool\n{matter}"), script);
    };
    say(
        "a-changer",
        "priority: 900",
        r#"echo 'thinking'; echo '{"modified_input": {"command": "pnpm install"}, "additional_context": "frozen", "log": "changed npm"}'"#,
    );
    say("b-watcher", "priority: 800\nmode: shadow", "echo 'would block' >&2; exit 2");
    say("c-broken", "priority: 700", "echo 'no such table' >&2; exit 1");
    say("d-slow", "priority: 600\ntimeout: 100", "sleep 60");
    say("e-aside", "priority: 500\nasync: true", "echo done aside");
    say("f-reader", "priority: 400\nmatcher:\n  tool: Read", "exit 0");
    say("g-odd", "priority: 300", r#"echo '{"decision": "deny", "reason": 7}'"#);
    say("h-never", "priority: 200", "exit 0");
    environment.user_hook("gate", "trigger: before_stop", "exit 0");
    environment.user_hook("useless", "trigger: never", "exit 0");
    environment.project_hook("stranger", "trigger: before_tool", "exit 0");
    let ran = environment.event(&json!({
        "event_type": "before_tool", "session_id": "one", "tool_name": "Shell",
        "tool_input": {"command": "npm install"},
    }));
    assert_eq!(ran.code, 2, "{ran:?}");
    wait_until("the outcome of the hook that ran aside", || environment.journal().len() == 2);
    environment
}

#[test]
fn show() {
    let environment = rich();
    let id = environment.journal().iter().find(|record| record["of"].is_null()).unwrap()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_run!(environment, environment.run(&["log", "show", &id]));
}

#[test]
fn show_what_ran_aside() {
    let environment = rich();
    let record = environment.journal().into_iter().find(|record| !record["of"].is_null()).unwrap();
    let ran = environment.run(&["log", "show", record["id"].as_str().unwrap()]);
    assert_run!(environment, ran, @"
    exit code: 0
    ----- stdout -----
    record   [ID]
    of       [ID]
    at       [TIME]
    event    before_tool
    host     agent-hooks
    session  one
    work dir [ROOT]/home/project
    project  [ROOT]/home/project
    tool     Shell
    about    pnpm install
    took     [TOOK]

      1. e-aside  no opinion
         exit 0, [TOOK] · [ROOT]/home/.config/agents/hooks/e-aside
         stdout  │ done aside
    ");
    // It reports when it is done, before or after the dispatch itself.
    let log = environment.run(&["log", "--hook", "e-aside"]).stdout;
    assert_eq!(log.lines().count(), 2, "{log}");
    assert!(log.contains("  aside  e-aside"), "{log}");
}

#[test]
fn show_as_json() {
    let environment = busy();
    let id = ids(&environment).remove(3);
    let ran = environment.run(&["log", "show", &id, "--json"]);
    assert_eq!(ran.json(), environment.journal()[3]);
    assert_run!(environment, ran);
}

#[test]
fn show_by_the_beginning_of_an_id() {
    let environment = busy();
    let id = ids(&environment).remove(3);
    for length in 6..8 {
        let ran = environment.run(&["log", "show", &id[..length]]);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(ran.stdout.contains(&id), "{ran:?}");
    }
}

#[test]
fn show_an_ambiguous_id() {
    let environment = busy();
    let path = file(&environment);
    let text = fs::read_to_string(&path).unwrap();
    let ids = ids(&environment);
    write(
        &path,
        text.replace(&ids[0], "zzzz0000").replace(&ids[1], "zzzz1111").replace(&ids[2], "zzzz1112"),
        0o644,
    );
    assert_run!(environment, environment.run(&["log", "show", "zzzz"]), @"
    exit code: 65
    ----- stderr -----
    error: `zzzz` begins 3 ids
    hint: give more letters
    ");
    assert_eq!(environment.run(&["log", "show", "zzzz0"]).code, 0);
}

/// An id that is given in full is meant, even if it begins another.
#[test]
fn show_an_unknown_id() {
    let environment = busy();
    assert_run!(environment, environment.run(&["log", "show", "iiii"]), @"
    exit code: 65
    ----- stderr -----
    error: no record `iiii`
    hint: `anyhook log` shows the ids
    ");
}

#[test]
fn show_nothing() {
    let environment = busy();
    let ran = environment.run(&["log", "show"]);
    assert_eq!(ran.code, 64, "{ran:?}");
    let ran = environment.run(&["log", "show", ""]);
    assert_eq!(ran.code, 65, "{ran:?}");
}

#[test]
fn damaged_lines_are_passed_over() {
    let environment = busy();
    let path = file(&environment);
    let mut journal = OpenOptions::new().append(true).open(&path).unwrap();
    journal.write_all(b"{\"v\": 1, torn\n\xff\xfe\n\n[]\n{\"v\": 1, \"id\": \"half").unwrap();
    assert_run!(environment, environment.run(&["log", "-n", "1"]), @"
    exit code: 0
    ----- stdout -----
    [DAY AND TIME]  [ID]  before_tool  ask  asker  [TOOK]  Shell git push

    ----- stderr -----
    warning: 3 damaged lines of the journal passed over
    ");
    environment.shell("echo after the crash");
    let ran = environment.run(&["log", "-n", "1"]);
    assert!(ran.stdout.contains("echo after the crash"), "{ran:?}");
    assert!(ran.stderr.contains("4 damaged lines"), "{ran:?}");
    let json = environment.run(&["log", "--json", "-n", "0"]);
    assert_eq!(json.stdout.lines().count(), 6);
}

#[test]
fn one_damaged_line() {
    let environment = busy();
    let mut journal = OpenOptions::new().append(true).open(file(&environment)).unwrap();
    journal.write_all(b"torn\n").unwrap();
    let ran = environment.run(&["log", "--verdict", "allow"]);
    assert_run!(environment, ran, @"
    exit code: 0
    ----- stdout -----
    no records

    ----- stderr -----
    warning: 1 damaged line of the journal passed over
    ");
}

/// Files of former days come first; what is no journal is left alone.
#[test]
fn several_days() {
    let environment = busy();
    let today = file(&environment);
    let text = fs::read_to_string(&today).unwrap();
    let old = text.lines().next().unwrap().replace("session_start", "session_end");
    write(&today.with_file_name("2020-01-01.jsonl"), format!("{old}\n"), 0o644);
    write(&today.with_file_name("notes.txt"), "mine\n", 0o644);
    let ran = environment.run(&["log"]);
    assert_eq!(ran.stdout.lines().count(), 6, "{ran:?}");
    assert!(ran.stdout.lines().next().unwrap().contains("session_end"), "{ran:?}");
}

#[test]
fn a_journal_that_cannot_be_read() {
    let environment = environment();
    write(&environment.state().join("journal"), "a file", 0o644);
    assert_run!(environment, environment.run(&["log"]), @"
    exit code: 1
    ----- stderr -----
    error: `[ROOT]/home/.local/state/anyhook/journal` cannot be used: Not a directory (os error 20)
    hint: look at the folder's rights, and whether the disk is full
    ");
}

#[test]
fn an_unknown_verdict() {
    let environment = environment();
    assert_run!(environment, environment.run(&["log", "--verdict", "maybe"]), @"
    exit code: 64
    ----- stderr -----
    error: invalid value 'maybe' for '--verdict <WORD>'
      [possible values: deny, ask, allow, none, capped, failed]
    hint: --help says more
    ");
}

/// A slip of the pen must not look like an empty journal.
#[test]
fn an_unknown_event() {
    let environment = busy();
    assert_run!(environment, environment.run(&["log", "--event", "befor_tool"]), @"
    exit code: 0
    ----- stdout -----
    no records
    hint: did you mean `--event before_tool`?
    ");
}

#[test]
fn no_home() {
    let environment = environment();
    let Some(command) = environment.command_without_home(&["log"]) else { return };
    assert_run!(environment, run(command, b""), @"
    exit code: 1
    ----- stderr -----
    error: there is no state folder, so no journal
    hint: set HOME
    ");
}

#[test]
fn help() {
    let environment = environment();
    assert_run!(environment, environment.run(&["log", "--help"]));
    assert_run!(environment, environment.run(&["log", "show", "--help"]));
}
