//! `anyhook watch`: what happens, in order and each once, whatever becomes of the daemon.

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhook_testkit::{TestEnv, wait_until};
use serde_json::{Value, json};

use crate::environment;

/// A `watch` that runs.
struct Watching {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Watching {
    fn begin(environment: &TestEnv, arguments: &[&str]) -> Self {
        let mut command = environment.command(&[&["watch"], arguments].concat());
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line
    }

    fn json(&mut self) -> Value {
        let line = self.line();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Returns the next types with their agents.
    fn types(&mut self, count: usize) -> Vec<String> {
        let name = |told: Value| {
            format!("{} {}", told["type"].as_str().unwrap(), told["agent"].as_str().unwrap())
        };
        (0..count).map(|_| name(self.json())).collect()
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn says(environment: &TestEnv, agent: &str, kind: &str) {
    let ran = environment.run(&["emit", "agent:signal", "--agent", agent, kind]);
    assert_eq!(ran.code, 0, "{ran:?}");
}

fn stops(environment: &TestEnv, session: &str) {
    let payload = json!({
        "session_id": session, "cwd": environment.project(), "hook_event_name": "Stop",
    });
    let ran = environment.run_with_input(&["hook", "claude-code"], payload.to_string());
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test]
fn each_event_is_a_line() {
    let environment = environment();
    environment.run(&["daemon", "start"]);
    let mut watching = Watching::begin(&environment, &["--after", "0"]);
    says(&environment, "mine", "escalate");
    let (signal, decision) = (watching.line(), watching.line());
    assert!(signal.contains("  mine  ") && signal.ends_with("asks for a person\n"), "{signal}");
    assert!(
        decision.ends_with(": the agent asks for help (1 done, 2 dismiss)\n"),
        "what follows from an event is told, too: {decision}"
    );
}

#[test]
fn json_lines_fit_the_schema_and_the_filters() {
    let environment = environment();
    environment.run(&["daemon", "start"]);
    says(&environment, "mine", "escalate");
    says(&environment, "other", "continue");
    stops(&environment, "s");
    let of = |arguments: &[&str], count: usize| {
        let all = [&["--json", "--after", "0"], arguments].concat();
        Watching::begin(&environment, &all).types(count)
    };
    let all = ["agent:signal mine", "decision:created mine", "agent:signal other"];
    assert_eq!(of(&[], 3), all);
    assert_eq!(of(&["--type", "decision:*"], 1), ["decision:created mine"]);
    assert_eq!(of(&["--type", "agent:idle,decision:created"], 2)[1], "agent:idle claude-code:s");
    assert_eq!(of(&["--agent", "oth"], 1), ["agent:signal other"]);
    assert_eq!(of(&["--agent", "*code:s"], 1), ["agent:idle claude-code:s"]);
    assert_eq!(of(&["--host", "claude-code"], 1), ["agent:idle claude-code:s"]);
    assert_eq!(of(&["--project", "project"], 1), ["agent:idle claude-code:s"]);

    let schema: Value =
        serde_json::from_str(&environment.run(&["schema", "happening"]).stdout).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    let mut watching = Watching::begin(&environment, &["--json", "--since", "10m"]);
    for number in 0..4 {
        let line = watching.json();
        assert!(line["sequence"].is_u64() && line["heard"].is_string(), "{line}");
        let errors: Vec<String> = schema.iter_errors(&line).map(|one| one.to_string()).collect();
        assert_eq!(errors, [""; 0], "line {number}: {line}");
    }
}

#[test]
fn a_restart_of_the_daemon_loses_and_repeats_nothing() {
    let environment = environment();
    environment.run(&["daemon", "start"]);
    let mut watching = Watching::begin(&environment, &["--json", "--after", "0"]);
    says(&environment, "a", "escalate");
    assert_eq!(watching.types(2), ["agent:signal a", "decision:created a"]);
    // Killed, with something that happens while it is away.
    environment.kill_daemon();
    says(&environment, "b", "escalate");
    environment.run(&["daemon", "start"]);
    assert_eq!(watching.types(2), ["agent:signal b", "decision:created b"]);
    // Ended in order, which keeps a snapshot and removes the log before it.
    says(&environment, "c", "escalate");
    environment.run(&["daemon", "stop"]);
    says(&environment, "d", "continue");
    environment.run(&["daemon", "start"]);
    let next = ["agent:signal c", "decision:created c", "agent:signal d"];
    assert_eq!(watching.types(3), next);
    // Whoever comes later is told the same.
    let mut again = Watching::begin(&environment, &["--json", "--after", "0"]);
    assert_eq!(again.types(7)[4..], next);
}

#[test]
fn it_ends_with_whoever_reads_it() {
    let environment = environment();
    environment.run(&["daemon", "start"]);
    says(&environment, "mine", "continue");
    let mut command = environment.command(&["watch", "--after", "0"]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    lines.read_line(&mut String::new()).unwrap();
    drop(lines);
    // Nothing more happens: it sees for itself that nobody reads.
    wait_until("it to end", || child.try_wait().unwrap().is_some());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn it_ends_by_the_signal_with_whole_lines() {
    let environment = environment();
    environment.run(&["daemon", "start"]);
    says(&environment, "mine", "continue");
    let mut watching = Watching::begin(&environment, &["--json", "--after", "0"]);
    assert_eq!(watching.types(1), ["agent:signal mine"]);
    let kill = Command::new("kill").args(["-INT", &watching.child.id().to_string()]).status();
    assert!(kill.unwrap().success());
    assert_eq!(watching.line(), "");
    assert_eq!(watching.child.wait().unwrap().signal(), Some(2));
}

#[test]
fn numbers_that_are_not_there_yet() {
    let environment = environment();
    assert_run!(environment, environment.run(&["watch", "--after", "999"]), @"
    exit code: 65
    ----- stderr -----
    error: there is no event 999 yet: the last one is 0
    hint: omit --after to start with the next one
    ");
    assert_eq!(environment.run(&["watch", "--type", ""]).code, 64);
    assert_eq!(environment.run(&["watch", "--since", "soon"]).code, 64);
}
