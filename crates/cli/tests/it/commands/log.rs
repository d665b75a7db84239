//! `anyhook log`.

use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::Stdio;

use anyhook_engine::journal::Journal;
use anyhook_model::{EventKind, Record, RecordId};
use anyhook_testkit::needs::MachineNeed;
use anyhook_testkit::{TestEnv, require, run, wait_until, write};
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use super::trust::at_a_terminal_with;
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

/// Returns the journal's open segment.
fn file(environment: &TestEnv) -> PathBuf {
    environment.segments().pop().unwrap()
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
    [DAY AND TIME]  [ID]  agent-hooks  project  session_start  –     –                  [TOOK]
    [DAY AND TIME]  [ID]  agent-hooks  project  before_agent   –     broken (1 failed)  [TOOK]  make it faster…
    [DAY AND TIME]  [ID]  agent-hooks  project  before_tool    –     –                  [TOOK]  Shell ls
    [DAY AND TIME]  [ID]  agent-hooks  project  before_tool    deny  guard              [TOOK]  Shell mkfs /dev/sda
    [DAY AND TIME]  [ID]  agent-hooks  project  before_tool    ask   asker              [TOOK]  Shell git push
    ");
}

#[test]
fn what_hooks_changed_and_added_is_told() {
    let environment = environment();
    environment.user_hook(
        "careful",
        "trigger: before_tool\nmatcher:\n  pattern: ^rm",
        r#"echo '{"modified_input": {"command": "rm -i build"}}'"#,
    );
    environment.user_hook("notes", "trigger: before_agent\nstdout: context", "echo 'be brief'");
    environment.shell("rm build");
    environment.event(&json!({"event_type": "before_agent", "prompt": "go"}));
    assert_run!(environment, environment.run(&["log"]), @"
    exit code: 0
    ----- stdout -----
    [DAY AND TIME]  [ID]  agent-hooks  project  before_tool   changed  careful  [TOOK]  Shell rm -i build
    [DAY AND TIME]  [ID]  agent-hooks  project  before_agent  context  notes    [TOOK]  go
    ");
    for (verdict, event) in [("changed", "before_tool"), ("context", "before_agent")] {
        let shown = environment.run(&["log", "--verdict", verdict]).stdout;
        assert!(shown.contains(event) && shown.lines().count() == 1, "{shown}");
    }
}

/// A journal with one record of 23:30 UTC.
fn late_in_the_evening() -> TestEnv {
    let environment = environment();
    let at = "2026-01-31T23:30:00Z".parse().unwrap();
    let record = Record::new(RecordId::from_text("7k2m9x4q"), at, "codex", EventKind::SessionStart);
    Journal::new(&environment.state()).append(vec![record]).unwrap();
    environment
}

#[test]
fn times_are_those_of_the_local_clock() {
    let environment = late_in_the_evening();
    let lines = |zone: &str, more: &[&str]| {
        let mut command = environment.command(&[&["log"], more].concat());
        command.env("TZ", zone);
        run(command, b"").stdout
    };
    // Two hours ahead of UTC, as POSIX writes it.
    assert!(lines("AAA-2", &[]).starts_with("2026-02-01 01:30:00  7k2m9x4q  codex"));
    assert!(lines("AAA-2", &["--utc"]).starts_with("2026-01-31 23:30:00  7k2m9x4q"));
    assert!(lines("", &[]).starts_with("2026-01-31 23:30:00"));
    assert!(lines("Nowhere/At-all", &[]).starts_with("2026-01-31 23:30:00"));
    // Days are days of that clock, too.
    for (zone, more, is_shown) in [
        ("AAA-2", &["--since", "2026-02-01"][..], true),
        ("AAA-2", &["--since", "2026-02-01T01:31"], false),
        ("AAA-2", &["--since", "2026-02-01", "--utc"], false),
        ("UTC0", &["--since", "2026-02-01"], false),
        ("AAA-2", &["--until", "2026-01-31T23:30:00Z"], true),
    ] {
        assert_eq!(lines(zone, more).contains("7k2m9x4q"), is_shown, "{zone} {more:?}");
    }
}

#[test]
fn a_time_zone_of_the_system() {
    let environment = late_in_the_evening();
    // A file of the system's form, which need not have any.
    let zones = environment.root().join("zones");
    let file = zones.join("Test/Zone");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, zone_file(7200)).unwrap();
    for zone in ["Test/Zone", ":Test/Zone", file.to_str().unwrap()] {
        let mut command = environment.command(&["log"]);
        command.env("TZ", zone).env("TZDIR", &zones);
        let shown = run(command, b"").stdout;
        assert!(shown.starts_with("2026-02-01 01:30:00"), "{zone}: {shown}");
    }
}

/// Returns a file of a zone that is always so many seconds ahead of UTC (RFC 9636, version 1).
fn zone_file(ahead: i32) -> Vec<u8> {
    let mut file = b"TZif\0".to_vec();
    file.extend([0; 15]);
    // Of leap seconds and transitions none, of types one, of abbreviations four bytes.
    for count in [0_u32, 0, 0, 0, 1, 4] {
        file.extend(count.to_be_bytes());
    }
    file.extend(ahead.to_be_bytes());
    file.extend([0, 0]);
    file.extend(b"AAA\0");
    file
}

#[test]
fn on_a_terminal_lines_are_cut_not_wrapped() {
    require!(MachineNeed::Terminals);
    let environment = busy();
    environment.shell(&format!("echo {}", "long ".repeat(40)));
    for width in [40, 60, 80, 120] {
        let columns = width.to_string();
        let variables = [("COLUMNS", columns.as_str())];
        let shown = at_a_terminal_with(&environment, &variables, &["log"], "").stdout;
        assert_eq!(shown.lines().count(), 6, "{shown}");
        for line in shown.lines() {
            assert!(line.width() <= width, "{width}: {line}");
        }
        assert!(shown.lines().last().unwrap().contains("Shell echo"), "{width}: {shown}");
        assert_eq!(shown.contains("agent-hooks"), width >= 60, "{width}: {shown}");
    }
    let piped = environment.run(&["log"]).stdout;
    assert!(piped.contains(&"long ".repeat(40)), "{piped}");
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
        (&["--session", "on"], 4),
        (&["--host", "agent-hooks"], 5),
        (&["--host", "codex"], 0),
        (&["--tool", "Shell"], 3),
        (&["--tool", "ReadFile"], 0),
        (&["--text", "MKFS"], 1),
        (&["--text", "no table"], 1),
        (&["--text", "nowhere"], 0),
        (&["--since", "1h"], 5),
        (&["--since", "2100-01-01"], 0),
        (&["--until", "1h"], 0),
        (&["--until", "2100-01-01", "--since", "2026-01-01T00:00:00Z"], 5),
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
    assert!(log.contains("  async  e-aside"), "{log}");
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
    let journal = Journal::new(&environment.state());
    for id in ["zzzz0000", "zzzz1111", "zzzz1112"] {
        let id = RecordId::from_text(id);
        let record = Record::new(id, anyhook_engine::now(), "codex", EventKind::SessionStart);
        journal.append(vec![record]).unwrap();
    }
    assert_run!(environment, environment.run(&["log", "show", "zzzz"]), @"
    exit code: 65
    ----- stderr -----
    error: `zzzz` matches 3 ids
    hint: type more of the id
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
    assert_eq!(ran.code, 64, "{ran:?}");
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
    [DAY AND TIME]  [ID]  agent-hooks  project  before_tool  ask  asker  [TOOK]  Shell git push

    ----- stderr -----
    warning: 3 damaged lines in the journal skipped (run anyhook verify)
    ");
    environment.shell("echo after the crash");
    // Only what has to be read is: they are before the last record.
    let ran = environment.run(&["log", "-n", "1"]);
    assert!(ran.stdout.contains("echo after the crash"), "{ran:?}");
    assert_eq!(ran.stderr, "", "{ran:?}");
    let ran = environment.run(&["log", "-n", "2"]);
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
    warning: 1 damaged line in the journal skipped (run anyhook verify)
    ");
}

/// Files of former days come first; what is no journal is left alone.
#[test]
fn several_days() {
    let environment = busy();
    let today = file(&environment);
    let text = fs::read_to_string(&today).unwrap();
    let old = text.lines().nth(1).unwrap().replace("session_start", "session_end");
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
    error: cannot access `[ROOT]/home/.local/state/anyhook/journal`: Not a directory
    hint: check the folder's permissions and free disk space
    ");
}

#[test]
fn an_unknown_verdict() {
    let environment = environment();
    assert_run!(environment, environment.run(&["log", "--verdict", "maybe"]), @"
    exit code: 64
    ----- stderr -----
    error: invalid value 'maybe' for '--verdict <WORD>'
      [possible values: deny, ask, allow, none, capped, failed, changed, context]
    hint: anyhook log --help
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
    require!(MachineNeed::Users);
    let environment = environment();
    let command = environment.command_without_home(&["log"]);
    assert_run!(environment, run(command, b""), @"
    exit code: 1
    ----- stderr -----
    error: no state folder, so there is no journal
    hint: set HOME
    ");
}

#[test]
fn help() {
    let environment = environment();
    assert_run!(environment, environment.run(&["log", "--help"]));
    assert_run!(environment, environment.run(&["log", "show", "--help"]));
}

/// Payload, plan, output, the chain of input changes, verdict, reply.
#[test]
fn show_the_whole_trace() {
    let environment = environment();
    environment.user_hook(
        "careful",
        "trigger: before_tool\npriority: 900",
        r#"echo '{"modified_input": {"command": "rm -i build", "timeout": 5}, "log": "made it ask"}'"#,
    );
    environment.user_hook(
        "here",
        "trigger: before_tool\npriority: 800",
        r#"echo '{"modified_input": {"command": "rm -i ./build"}, "additional_context": "be careful"}'"#,
    );
    environment.user_hook("watcher", "trigger: before_tool\nmode: shadow", "exit 2");
    let payload = json!({
        "hook_event_name": "PreToolUse", "session_id": "s", "cwd": environment.project(),
        "tool_name": "Bash", "tool_input": {"command": "rm build"}, "tool_use_id": "t1",
    });
    let ran = environment.run_with_input(&["hook", "claude-code"], payload.to_string());
    assert_eq!(ran.code, 0, "{ran:?}");
    let id = ids(&environment).remove(0);
    assert_run!(environment, environment.run(&["log", "show", &id]));
}

/// A payload that is several events is shown with each of them.
#[test]
fn show_one_event_of_several() {
    let environment = environment();
    let stop = json!({"hook_event_name": "Stop", "session_id": "s", "cwd": environment.project()});
    environment.run_with_input(&["hook", "claude-code"], stop.to_string());
    let ids = ids(&environment);
    assert_eq!(ids.len(), 3);
    for id in &ids {
        let shown = environment.run(&["log", "show", id]).stdout;
        assert!(shown.contains("\"hook_event_name\": \"Stop\""), "{shown}");
        assert!(shown.contains("reply:   exit 0"), "{shown}");
    }
    let journal = environment.journal();
    assert_eq!(journal[1]["with"], journal[0]["id"]);
    assert!(journal[0]["payload"].is_object() && journal[1]["payload"].is_null());
}

/// What is too long for a line is in a file of its own, and is shown.
#[test]
fn show_what_is_long() {
    let environment = environment();
    environment.user_hook("chatty", "trigger: before_tool", "seq 1 20000");
    environment.shell("ls");
    let record = environment.journal().remove(0);
    assert_eq!(record["long"][0]["at"], "/runs/0/stdout", "{record}");
    assert!(record["runs"][0]["stdout"].as_str().unwrap().len() < 5000);
    let id = record["id"].as_str().unwrap();
    let json = environment.run(&["log", "show", id, "--json"]).json();
    assert!(json["runs"][0]["stdout"].as_str().unwrap().ends_with("19999\n20000\n"));
    let found = environment.run(&["log", "--text", "19998"]).stdout;
    assert!(found.contains(id), "long texts are looked into: {found}");
    let shown = environment.run(&["log", "show", id]).stdout;
    assert!(shown.contains("│ 60") && shown.contains("more lines (--json)"), "{shown}");
    fs::remove_dir_all(environment.state().join("journal/long")).unwrap();
    let shown = environment.run(&["log", "show", id]);
    assert_eq!(shown.code, 0, "{shown:?}");
    assert!(shown.stdout.contains("missing  the text of /runs/0/stdout"), "{shown:?}");
}

#[test]
fn secrets_are_taken_out() {
    let environment = environment();
    environment.user_hook("echo", "trigger: before_tool", "cat");
    let token = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    let ran =
        environment.shell(&format!("curl -H 'X-Token: {token}' https://u:hunter22@example.com"));
    assert_eq!(ran.code, 0, "{ran:?}");
    let found = std::process::Command::new("grep")
        .args(["-r", "-e", &token, "-e", "hunter22"])
        .arg(environment.state())
        .output()
        .unwrap();
    assert!(found.stdout.is_empty(), "{found:?}");
    let record = environment.journal().remove(0);
    assert_eq!(record["redacted"].as_array().unwrap().len(), 2, "{record}");
    let shown = environment.run(&["log", "show", record["id"].as_str().unwrap()]).stdout;
    assert!(shown.contains("redacted "), "{shown}");
}

/// A reader that comes again gets what it has not read.
#[test]
fn resume() {
    let environment = busy();
    let read = || environment.run(&["log", "--resume", "shipper", "--json"]).stdout.lines().count();
    assert_eq!(read(), 5);
    assert_eq!(read(), 0);
    environment.shell("ls");
    environment.shell("ls -l");
    assert_eq!(read(), 2);
    assert_eq!(environment.run(&["log", "-n", "0"]).stdout.lines().count(), 7);
    for name in ["", "../x", ".x", "a/b"] {
        let ran = environment.run(&["log", "--resume", name]);
        assert_eq!(ran.code, 64, "{ran:?}");
    }
}

/// What a reader has not read is kept, however old it is; doctor says who holds it.
#[test]
fn nothing_is_dropped_that_was_not_read() {
    let environment = environment();
    let settings = "[journal]\nsegment_kib = 1\nkeep_mib = 0\n";
    write(&environment.home().join(".config/agents/anyhook.toml"), settings, 0o644);
    environment.run(&["log", "--resume", "shipper"]);
    for number in 0..10 {
        environment.shell(&format!("echo {number}"));
    }
    let read = environment.run(&["log", "--resume", "shipper", "--json"]).stdout;
    assert_eq!(read.lines().count(), 10, "{read}");
    wait_until("what was read is dropped", || {
        environment.shell("ls");
        environment.run(&["log", "--resume", "shipper"]);
        environment.segments().len() < 5
    });
    assert_eq!(environment.run(&["verify"]).code, 0);
    let follower = environment.state().join("journal/followers/shipper");
    let text = fs::read_to_string(&follower).unwrap();
    let mut bookmark: Value = serde_json::from_str(&text).unwrap();
    bookmark["at"] = "2026-01-01T00:00:00Z".into();
    fs::write(&follower, bookmark.to_string()).unwrap();
    for _ in 0..3 {
        environment.shell("ls");
    }
    let doctor = environment.run(&["doctor"]);
    assert_eq!(doctor.code, 1, "{doctor:?}");
    assert!(doctor.stdout.contains("the reader `shipper` has not advanced for days"), "{doctor:?}");
}

/// A journal of the first form is read on.
#[test]
fn the_first_form() {
    let environment = environment();
    let old = r#"{"v":1,"id":"0ldrec0d","at":"2026-01-01T00:00:00Z","host":"codex","event":"before_tool","work_dir":"/","tool":"Shell","about":"ls","other_events":0,"verdict":{},"took_us":1500}"#;
    write(&environment.state().join("journal/2026-01-01.jsonl"), format!("{old}\n"), 0o644);
    environment.shell("ls -l");
    assert_run!(environment, environment.run(&["log"]), @"
    exit code: 0
    ----- stdout -----
    2026-01-01 00:00:00  0ldrec0d  codex                 before_tool  –  –  [TOOK]  Shell ls
    [DAY AND TIME]  [ID]  agent-hooks  project  before_tool  –  –  [TOOK]  Shell ls -l
    ");
    let shown = environment.run(&["log", "show", "0ldr"]).stdout;
    assert!(shown.contains("record   0ldrec0d"), "{shown}");
    assert_run!(environment, environment.run(&["verify"]), @"
    exit code: 0
    ----- stdout -----
    journal intact: 2 records, 2 segments, 0 sealed
      · 1 record is in format 1, which has no checksums
    ");
}
