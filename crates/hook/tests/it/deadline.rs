//! The answer arrives: by the deadline, whatever hangs, and by the exit code where it cannot be
//! written.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhook_testkit::{CommandRun, TestEnv, begin, finish, programs, run};
use rustix::fs::{OFlags, fcntl_setfl};
use serde_json::{Value, json};

use crate::{SMALL, environment};

/// Far more than a deadline of these tests, far less than for ever.
const LONG: Duration = Duration::from_secs(30);

const REFUSED: &str = "anyhook: no decision within the deadline; a hook with on_failure: block is installed, so this call is refused\n\
    hint: run `anyhook doctor` to find out what keeps anyhook from answering\n";
const PASSED: &str = "anyhook: no decision within the deadline, so this event proceeds without one\n\
    hint: run `anyhook doctor` to find out what keeps anyhook from answering\n";

fn unguarded() -> TestEnv {
    environment(&programs::alone(SMALL))
}

/// Makes an environment with a guard, which an event has met.
fn guarded() -> TestEnv {
    let environment = unguarded();
    environment.user_hook(
        "guard",
        "trigger: before_tool\non_failure: block\nmatcher:\n  pattern: mkfs",
        "cat > /dev/null; echo 'not here' >&2; exit 2",
    );
    let ran = claude(&environment, &["--deadline-ms", "20000"], &before_tool("ls"));
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{ran:?}");
    environment
}

fn before_tool(command: &str) -> Value {
    json!({
        "session_id": "s", "cwd": "/", "hook_event_name": "PreToolUse", "tool_name": "Bash",
        "tool_input": {"command": command}
    })
}

fn claude(environment: &TestEnv, more: &[&str], event: &Value) -> CommandRun {
    run(call(environment, more), event.to_string().as_bytes())
}

fn call(environment: &TestEnv, more: &[&str]) -> Command {
    environment.command(&[&["hook", "claude-code"], more].concat())
}

/// Returns a call below a shell that does something first, or to the streams.
fn below_a_shell(call: &Command, script: &str) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", script]).arg(call.get_program()).args(call.get_args()).env_clear();
    shell.current_dir(call.get_current_dir().unwrap());
    for (name, value) in call.get_envs() {
        shell.env(name, value.unwrap_or_default());
    }
    shell
}

#[test]
fn an_event_that_never_ends_is_refused_at_the_deadline() {
    for part in ["", &before_tool("mkfs").to_string()[..60]] {
        for (environment, code, words) in [
            (
                guarded(),
                2,
                "the event did not arrive in time (--deadline-ms); a hook with on_failure: block is installed, so calls it cannot check are denied\n",
            ),
            (unguarded(), 1, "anyhook: the event did not arrive in time (--deadline-ms)\n"),
        ] {
            let records = environment.journal().len();
            let mut command = call(&environment, &["--deadline-ms", "500"]);
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let began = Instant::now();
            let mut child = command.spawn().unwrap();
            // Held open until the end.
            let mut stdin = child.stdin.take().unwrap();
            stdin.write_all(part.as_bytes()).unwrap();
            let ran = finish(child);
            assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (code, "", words));
            assert!(began.elapsed() < LONG);
            let journal = environment.journal();
            assert_eq!(journal.len(), records + 1, "{journal:?}");
            assert_eq!(journal[records]["event"], "unreadable");
        }
    }
}

fn hanging(environment: &TestEnv, host: &str, event: &Value) -> CommandRun {
    let mut command = environment.command(&["hook", host, "--deadline-ms", "300"]);
    command.env("ANYHOOK_FAULT", "hook.hangs");
    let began = Instant::now();
    let ran = run(command, event.to_string().as_bytes());
    assert!(began.elapsed() < LONG);
    ran
}

#[cfg(debug_assertions)]
#[test]
fn an_engine_that_hangs_refuses_tool_calls_where_a_guard_is_installed() {
    let guarded = guarded();
    let event = before_tool("ls");
    let ran = hanging(&guarded, "claude-code", &event);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (2, "", REFUSED));
    let opencode = json!({
        "hook": "tool.execute.before", "directory": "/", "worktree": "/",
        "input": {"tool": "bash", "sessionID": "s", "callID": "1"},
        "output": {"args": {"command": "ls"}}
    });
    let ran = hanging(&guarded, "opencode", &opencode);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, REFUSED));
    let said = ran.json();
    let deny = said["deny"].as_str().unwrap();
    assert!(deny.contains("no decision within its deadline"), "{deny}");
}

#[cfg(debug_assertions)]
#[test]
fn an_engine_that_hangs_holds_up_nobody_else() {
    let stop = json!({"session_id": "s", "cwd": "/", "hook_event_name": "Stop"});
    for (environment, event) in [(guarded(), stop.clone()), (unguarded(), before_tool("ls"))] {
        let ran = hanging(&environment, "claude-code", &event);
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", PASSED));
    }
}

/// A host that denies by a text gets exit 2 where the text does not get through.
#[test]
fn a_denial_that_cannot_be_written_is_an_exit_code() {
    let event = tempfile::NamedTempFile::new().unwrap();
    event.as_file().write_all(before_tool("mkfs").to_string().as_bytes()).unwrap();
    for host in ["claude-code", "codex"] {
        for streams in [">/dev/full", ">&-", ">/dev/null"] {
            let environment = guarded();
            let call = environment.command(&["hook", host]);
            let mut shell = below_a_shell(&call, &format!("exec \"$0\" \"$@\" {streams}"));
            shell.stdin(File::open(event.path()).unwrap()).stderr(Stdio::piped());
            let ran = finish(shell.spawn().unwrap());
            assert_eq!(ran.code, 2, "{host} {streams}: {ran:?}");
            assert!(ran.stderr.contains("not here"), "{host} {streams}: {ran:?}");
        }
    }
    // What is no denial needs no reader.
    let environment = guarded();
    let mut call = call(&environment, &[]);
    call.stdout(OpenOptions::new().write(true).open("/dev/full").unwrap());
    let ran = finish(begin(call, before_tool("ls").to_string().as_bytes()));
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test]
fn a_full_pipe_is_waited_for_until_the_deadline() {
    let environment = guarded();
    let (reader, mut writer) = io::pipe().unwrap();
    fcntl_setfl(writer.as_fd(), OFlags::NONBLOCK).unwrap();
    while writer.write(&[b' '; 4096]).is_ok() {}
    let mut command = call(&environment, &["--deadline-ms", "1000"]);
    command.stdin(Stdio::piped()).stdout(writer).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(before_tool("mkfs").to_string().as_bytes()).unwrap();
    let ran = finish(child);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("not here"), "{ran:?}");
    drop(reader);
}

#[test]
fn limits_of_the_system_take_no_guard_away() {
    let environment = guarded();
    let event = tempfile::NamedTempFile::new().unwrap();
    event.as_file().write_all(before_tool("mkfs").to_string().as_bytes()).unwrap();
    for limit in ["ulimit -f 0", "ulimit -n 4", "ulimit -n 5", "ulimit -n 6", "ulimit -n 8"] {
        let call = call(&environment, &["--deadline-ms", "20000"]);
        let mut shell = below_a_shell(&call, &format!("{limit}; exec \"$0\" \"$@\""));
        shell.stdin(File::open(event.path()).unwrap());
        let ran = finish(shell.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
        let denies = ran.code == 2 || ran.stdout.contains("\"deny\"");
        assert!(denies, "{limit}: {ran:?}");
    }
}

#[test]
fn a_working_directory_of_any_length_takes_linear_time() {
    let environment = guarded();
    for part in ["a/", "x", "/"] {
        let mut event = before_tool("mkfs");
        event["cwd"] = format!("/{}", part.repeat(2_000_000 / part.len())).into();
        let began = Instant::now();
        let ran = claude(&environment, &["--deadline-ms", "20000"], &event);
        assert!(ran.code == 0 && ran.stdout.contains("\"deny\""), "{part}: {ran:?}");
        assert!(began.elapsed() < Duration::from_secs(10), "{part}: {:?}", began.elapsed());
    }
}

/// The timer and its handler are ours alone.
#[test]
fn a_hook_has_signals_as_any_other_program_has() {
    let environment = unguarded();
    environment.user_hook(
        "signals",
        "trigger: before_tool",
        "cat > /dev/null; sh -c 'kill -ALRM $$; echo alive'; sh -c 'kill -XFSZ $$; echo alive'; exit 0",
    );
    let ran = claude(&environment, &["--deadline-ms", "20000"], &before_tool("ls"));
    assert_eq!(ran.code, 0, "{ran:?}");
    let runs = environment.journal()[0]["runs"].to_string();
    assert!(!runs.contains("alive"), "{runs}");
}
