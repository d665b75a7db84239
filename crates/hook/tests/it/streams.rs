//! Standard streams that are closed, or that nobody reads: the program has a beginning of its own,
//! which sees to them.

use std::fs::File;
use std::io::{self, Write};
use std::process::{Command, Stdio};

use anyhook_testkit::{TestEnv, programs};

use crate::{SMALL, environment};

const MKFS: &str = r#"{"event_type": "before_tool", "tool_name": "Shell", "tool_input": {"command": "mkfs /dev/sda"}}"#;

fn guarded() -> TestEnv {
    let environment = environment(&programs::alone(SMALL));
    environment.user_hook(
        "guard",
        "trigger: before_tool\nmatcher:\n  pattern: mkfs",
        "cat > /dev/null; echo 'not here' >&2; exit 2",
    );
    environment
}

/// Returns the call below a shell that first does something to the streams.
fn below_a_shell(environment: &TestEnv, streams: &str) -> Command {
    let call = environment.command(&["hook", "agent-hooks"]);
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &format!("exec \"$0\" \"$@\" {streams}")]).arg(call.get_program());
    shell.args(call.get_args()).env_clear().current_dir(environment.project());
    for (name, value) in call.get_envs() {
        shell.env(name, value.unwrap_or_default());
    }
    shell
}

/// Nothing is written into a file of ours that got the number of a standard stream.
#[test]
fn closed_streams_change_no_verdict_and_no_file() {
    let event = tempfile::NamedTempFile::new().unwrap();
    event.as_file().write_all(MKFS.as_bytes()).unwrap();
    for streams in [">&-", "2>&-", ">&- 2>&-"] {
        let environment = guarded();
        let mut command = below_a_shell(&environment, streams);
        command.stdin(File::open(event.path()).unwrap());
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
        assert_eq!(status.code(), Some(2), "{streams}");
        // Every line of the journal is a record: the reply stands in none.
        assert_eq!(environment.journal().len(), 1, "{streams}");
    }
    let environment = guarded();
    let mut command = below_a_shell(&environment, "<&-");
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    assert_eq!(status.code(), Some(65), "no event at all");
}

#[test]
fn a_host_that_no_longer_reads_gets_the_exit_code() {
    let environment = guarded();
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let mut command = environment.command(&["hook", "agent-hooks"]);
    command.stdin(Stdio::piped()).stdout(writer.try_clone().unwrap()).stderr(writer);
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(MKFS.as_bytes()).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(2));
}

/// A script that reads nothing is no failure of ours, and gets signals as any other program does.
#[test]
fn a_script_may_close_its_input_and_die_of_a_closed_pipe() {
    let environment = environment(&programs::alone(SMALL));
    environment.user_hook(
        "deaf",
        "trigger: before_tool",
        "exec <&-\nsh -c 'kill -PIPE $$; echo alive'\nexit 0",
    );
    let ran = environment.shell(&"x".repeat(200_000));
    assert_eq!(ran.code, 0, "{ran:?}");
    let runs = environment.journal()[0]["runs"].to_string();
    assert!(!runs.contains("alive"), "{runs}");
}
