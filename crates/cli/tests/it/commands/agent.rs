//! `anyhook agent`: what every agent does, known by its events and its process.

use std::process::{Command, Stdio};

use anyhook_testkit::{TestEnv, wait_until};
use serde_json::{Value, json};

use crate::environment;

/// Sends an event of Claude Code.
fn claude(environment: &TestEnv, session: &str, event: &str, more: &Value) {
    let mut payload = json!({
        "session_id": session, "cwd": environment.project(), "hook_event_name": event,
        "transcript_path": "/t.jsonl",
    });
    payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let ran = environment.run_with_input(&["hook", "claude-code"], payload.to_string());
    assert_eq!(ran.code, 0, "{ran:?}");
}

fn state(environment: &TestEnv, id: &str) -> String {
    let ran = environment.run(&["agent", "show", id, "--json"]);
    if ran.code != 0 {
        return ran.stderr;
    }
    let agent = ran.json();
    let detail = agent["prompt_type"].as_str().or(agent["failure"].as_str()).unwrap_or("");
    format!("{} {detail} {}", agent["state"].as_str().unwrap(), agent["source"].as_str().unwrap())
}

#[test]
fn no_agents() {
    let environment = environment();
    assert_run!(environment, environment.run(&["agent", "list"]), @"
    exit code: 0
    ----- stdout -----
    no active agents (use --all to include finished ones)
    ");
    assert_run!(environment, environment.run(&["agent", "list", "--json"]), @"
    exit code: 0
    ----- stdout -----
    []
    ");
}

#[test]
fn every_native_event_tells() {
    let environment = environment();
    let bash = json!({"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": "t1"});
    let question = json!({"tool_name": "AskUserQuestion", "tool_input": {"questions": []}});
    for (event, more, expected) in [
        ("SessionStart", json!({"source": "startup"}), "idle  hook"),
        ("UserPromptSubmit", json!({"prompt": "hi"}), "working  hook"),
        ("PreToolUse", bash.clone(), "working  hook"),
        ("PermissionRequest", bash.clone(), "prompting permission hook"),
        ("PostToolUse", bash.clone(), "working  hook"),
        ("PreToolUse", question.clone(), "prompting question hook"),
        ("PermissionRequest", question.clone(), "prompting question hook"),
        ("PostToolUse", question, "working  hook"),
        (
            "PreToolUse",
            json!({"tool_name": "ExitPlanMode", "tool_input": {}}),
            "prompting plan_approval hook",
        ),
        ("UserPromptSubmit", json!({"prompt": "go"}), "working  hook"),
        ("StopFailure", json!({"error": "rate_limit"}), "failed rate_limited hook"),
        ("UserPromptSubmit", json!({"prompt": "again"}), "working  hook"),
        (
            "Notification",
            json!({"notification_type": "permission_prompt", "message": "m"}),
            "prompting permission notification",
        ),
        ("Stop", json!({}), "idle  hook"),
        ("Notification", json!({"notification_type": "idle_prompt", "message": "m"}), "idle  hook"),
        ("SessionEnd", json!({"reason": "other"}), "exited  hook"),
    ] {
        claude(&environment, "s1", event, &more);
        assert_eq!(state(&environment, "claude-code:s1"), expected, "after {event}");
    }
}

#[test]
fn those_that_wait_come_first() {
    let environment = environment();
    claude(&environment, "works", "UserPromptSubmit", &json!({"prompt": "hi"}));
    claude(&environment, "rests", "Stop", &json!({}));
    claude(
        &environment,
        "asks",
        "PermissionRequest",
        &json!({"tool_name": "Bash", "tool_input": {"command": "rm x"}}),
    );
    claude(&environment, "over", "SessionEnd", &json!({"reason": "other"}));
    let shown = |arguments: &[&str]| {
        let text = environment.run(arguments).stdout;
        text.lines()
            .skip(1)
            .map(|line| line.split_whitespace().take(2).collect::<Vec<_>>().join(" "))
            .collect::<Vec<_>>()
    };
    let live = [
        "claude-code-project-3 prompting",
        "claude-code-project-2 idle",
        "claude-code-project working",
    ];
    assert_eq!(shown(&["agent", "list"]), live);
    assert_eq!(shown(&["agent", "list", "--all"])[3], "claude-code-project-4 exited");
}

#[test]
fn one_agent() {
    let environment = environment();
    claude(&environment, "5f3c", "UserPromptSubmit", &json!({"prompt": "hi"}));
    claude(&environment, "5f77", "UserPromptSubmit", &json!({"prompt": "hi"}));
    let shown = environment.run(&["agent", "show", "5f3"]);
    assert!(
        shown.stdout.starts_with(
            "claude-code-project\nid         claude-code:5f3c\nstate      working\nsource     hook\n"
        ),
        "{shown:?}"
    );
    assert_run!(environment, environment.run(&["agent", "show", "5f"]), @"
    exit code: 65
    ----- stderr -----
    error: `5f` matches several agents: claude-code-project (claude-code:5f3c), claude-code-project-2 (claude-code:5f77)
    hint: type more of the name or id
    ");
    assert_run!(environment, environment.run(&["agent", "show", "nobody"]), @"
    exit code: 65
    ----- stderr -----
    error: there is no agent `nobody`
    hint: anyhook agent list --all
    ");
}

#[test]
fn an_agent_has_the_id_it_was_started_with() {
    let environment = environment();
    let payload = json!({"session_id": "s", "cwd": "/", "hook_event_name": "Stop"});
    let mut command = environment.command(&["hook", "claude-code"]);
    command.env("ANYHOOK_AGENT_ID", "reviewer-1");
    anyhook_testkit::run(command, payload.to_string().as_bytes());
    assert_eq!(state(&environment, "reviewer-1"), "idle  hook");
}

/// A process that is an agent, by its name: it calls its hook and lives on.
fn fake_agent(environment: &TestEnv, payload: &Value) -> std::process::Child {
    let code = r"
import subprocess, sys, time
subprocess.run(sys.argv[1:3] + ['claude-code'], input=sys.argv[3], text=True, check=True)
print('ready', flush=True)
time.sleep(1000)
";
    let hook = environment.command(&["hook", "claude-code"]);
    let claude = environment.root().join("claude");
    let _ = std::os::unix::fs::symlink("/usr/bin/python3", &claude);
    let mut command = Command::new(&claude);
    command.args(["-c", code]).arg(hook.get_program()).arg("hook").arg(payload.to_string());
    command.env_clear().current_dir(environment.project());
    command.envs(hook.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(
        &mut std::io::BufReader::new(child.stdout.as_mut().unwrap()),
        &mut line,
    )
    .unwrap();
    assert_eq!(line, "ready\n");
    child
}

#[test]
fn an_agent_whose_process_dies_is_gone_at_once() {
    let environment = environment();
    let payload = |session: &str| {
        json!({
            "session_id": session, "cwd": environment.project(),
            "hook_event_name": "UserPromptSubmit", "prompt": "hi",
        })
    };
    environment.run(&["daemon", "start"]);
    let mut one = fake_agent(&environment, &payload("one"));
    let mut other = fake_agent(&environment, &payload("other"));
    assert_eq!(state(&environment, "claude-code:one"), "working  hook");
    let shown = environment.run(&["agent", "show", "claude-code:one", "--json"]).json();
    assert_eq!(shown["process"]["pid"], one.id());
    one.kill().unwrap();
    one.wait().unwrap();
    wait_until("it to be gone", || state(&environment, "claude-code:one") == "gone  process");
    assert_eq!(state(&environment, "claude-code:other"), "working  hook");

    // One that dies while the daemon is away is found gone when it comes back.
    environment.kill_daemon();
    other.kill().unwrap();
    other.wait().unwrap();
    wait_until("it to be gone", || state(&environment, "claude-code:other") == "gone  process");
}

#[test]
fn an_agent_that_ends_in_order_is_not_gone() {
    let environment = environment();
    environment.run(&["daemon", "start"]);
    let payload = json!({"session_id": "s", "cwd": "/", "hook_event_name": "UserPromptSubmit", "prompt": "x"});
    let mut agent = fake_agent(&environment, &payload);
    claude(&environment, "s", "SessionEnd", &json!({"reason": "other"}));
    agent.kill().unwrap();
    agent.wait().unwrap();
    // Whatever comes through the same way afterwards has come, so this has, too.
    let mut next = fake_agent(
        &environment,
        &json!({"session_id": "t", "cwd": "/", "hook_event_name": "UserPromptSubmit", "prompt": "x"}),
    );
    next.kill().unwrap();
    next.wait().unwrap();
    wait_until("the next to be gone", || state(&environment, "claude-code:t") == "gone  process");
    assert_eq!(state(&environment, "claude-code:s"), "exited  hook");
}

/// A line of Claude Code's transcript.
fn line(kind: &str, at: &str, message: &Value) -> String {
    let line = json!({
        "type": kind, "timestamp": at, "sessionId": "s", "cwd": "/p", "message": message,
        "isSidechain": false, "uuid": at,
    });
    format!("{line}\n")
}

#[test]
fn an_agent_that_is_not_wired_in_is_known_by_its_log() {
    let environment = environment();
    let log = environment.home().join(".claude/projects/-p/s.jsonl");
    let prompt = line("user", "2026-01-01T00:00:01Z", &json!({"role": "user", "content": "hi"}));
    anyhook_testkit::write(&log, &prompt, 0o600);
    environment.run(&["daemon", "start"]);
    let is = |expected: &str| state(&environment, "claude-code:s") == expected;
    wait_until("it to be seen at work", || is("working  log"));
    let answer = json!({"role": "assistant", "model": "m", "stop_reason": "end_turn", "content": [{"type": "text", "text": "done"}]});
    let text = prompt + &line("assistant", "2026-01-01T00:00:02Z", &answer);
    anyhook_testkit::write(&log, text, 0o600);
    wait_until("it to be seen idle", || is("idle  log"));
    let shown = environment.run(&["agent", "show", "s", "--json"]).json();
    assert_eq!(shown["log"], log.to_str().unwrap());
    // What was read is not told again by the next daemon.
    environment.kill_daemon();
    let events = || environment.run(&["daemon", "status", "--json"]).json()["events"].as_u64();
    let before = events();
    environment.run(&["daemon", "stop"]);
    assert_eq!(events(), before);
    assert!(is("idle  log"));
}

#[test]
fn a_person_who_says_no_leaves_an_agent_idle() {
    let environment = environment();
    environment.run(&["daemon", "start"]);
    let log = environment.home().join(".claude/projects/-p/s.jsonl");
    let prompt = line("user", "2026-01-01T00:00:01Z", &json!({"role": "user", "content": "hi"}));
    anyhook_testkit::write(&log, &prompt, 0o600);
    wait_until("it to be seen at work", || state(&environment, "claude-code:s") == "working  log");
    let call = json!({"tool_name": "Bash", "tool_input": {"command": "rm x"}});
    claude(&environment, "s", "PermissionRequest", &call);
    assert_eq!(state(&environment, "claude-code:s"), "prompting permission hook");
    let no = json!({"role": "user", "content": [{"type": "text", "text": "[Request interrupted by user for tool use]"}]});
    let text = prompt + &line("user", "2099-01-01T00:00:02Z", &no);
    anyhook_testkit::write(&log, text, 0o600);
    wait_until("it to be seen idle", || state(&environment, "claude-code:s") == "idle  log");
}

#[test]
fn a_log_tells_of_the_agent_by_the_id_it_was_given() {
    let environment = environment();
    let payload = json!({"session_id": "s", "cwd": "/", "hook_event_name": "UserPromptSubmit", "prompt": "x"});
    let mut command = environment.command(&["hook", "claude-code"]);
    command.env("ANYHOOK_AGENT_ID", "mine");
    anyhook_testkit::run(command, payload.to_string().as_bytes());
    environment.run(&["daemon", "start"]);
    let log = environment.home().join(".claude/projects/-p/s.jsonl");
    let over = json!({
        "type": "system", "subtype": "turn_duration", "timestamp": "2099-01-01T00:00:02Z",
        "sessionId": "s", "cwd": "/p", "durationMs": 5,
    });
    anyhook_testkit::write(
        &log,
        format!(
            "{over}
"
        ),
        0o600,
    );
    wait_until("it to be seen idle", || state(&environment, "mine") == "idle  log");
    assert_eq!(environment.run(&["agent", "list", "--json"]).json().as_array().unwrap().len(), 1);
}

fn names(environment: &TestEnv, arguments: &[&str]) -> Vec<String> {
    let listed = environment.run(&[&["agent", "list", "--json"], arguments].concat()).json();
    let name = |agent: &Value| agent["name"].as_str().map(str::to_owned);
    listed.as_array().unwrap().iter().filter_map(name).collect()
}

#[test]
fn agents_have_names_that_can_be_changed() {
    let environment = environment();
    for session in ["one", "two"] {
        claude(&environment, session, "UserPromptSubmit", &json!({"prompt": "hi"}));
    }
    assert_eq!(names(&environment, &[]), ["claude-code-project", "claude-code-project-2"]);
    let renamed = environment.run(&["agent", "rename", "claude-code-project-2", "parser"]);
    assert_eq!(renamed.stdout, "claude-code:two is now called parser\n", "{renamed:?}");
    // The name is kept, and means the agent wherever its id does.
    environment.kill_daemon();
    let shown = environment.run(&["agent", "show", "par"]);
    assert!(shown.stdout.starts_with("parser\nid         claude-code:two\n"), "{shown:?}");
    assert!(environment.run(&["agent", "list"]).stdout.contains("parser  "));
    assert_run!(environment, environment.run(&["agent", "rename", "claude", "x"]), @"
    exit code: 65
    ----- stderr -----
    error: `claude` matches several agents: claude-code-project (claude-code:one), parser (claude-code:two)
    hint: anyhook agent list --all
    ");
    assert_run!(environment, environment.run(&["agent", "rename", "one", "parser"]), @"
    exit code: 65
    ----- stderr -----
    error: another agent is already named `parser`: claude-code:two
    hint: choose another name
    ");
    assert_run!(environment, environment.run(&["agent", "rename", "one", "a b"]), @"
    exit code: 65
    ----- stderr -----
    error: `a b` is not a valid name: use letters, digits, `-`, `_` and `.`, start with a letter or digit, and use at most 60 characters
    hint: anyhook agent rename ID parser-work
    ");
    let peek = environment.run(&["agent", "peek", "parser"]);
    assert!(peek.stderr.contains("agent `parser` has no session here"), "{peek:?}");
}

#[test]
fn scripts_can_ask_whether_somebody_waits() {
    let environment = environment();
    claude(&environment, "works", "UserPromptSubmit", &json!({"prompt": "hi"}));
    let code = |arguments: &[&str]| {
        environment.run(&[&["agent", "list", "--exit-code"], arguments].concat()).code
    };
    assert_eq!(code(&["--state", "prompting,idle"]), 3);
    assert_eq!(code(&["--state", "working", "--host", "claude-code", "--project", "project"]), 0);
    assert_eq!(code(&["--host", "codex"]), 3);
    assert_eq!(code(&["--project", "elsewhere"]), 3);
    claude(&environment, "rests", "Stop", &json!({}));
    assert_eq!(code(&["--state", "prompting,idle"]), 0);
    assert_eq!(environment.run(&["agent", "list", "--state", "asleep"]).code, 64);
    assert_eq!(environment.run(&["decision", "list", "--exit-code"]).code, 3);
}

#[test]
fn a_list_that_is_watched_is_printed_on_every_change() {
    let environment = environment();
    environment.run(&["daemon", "start"]);
    let mut command = environment.command(&["agent", "list", "--watch", "--json"]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut next = || {
        let mut line = String::new();
        std::io::BufRead::read_line(&mut lines, &mut line).unwrap();
        let agents: Value = serde_json::from_str(&line).unwrap();
        let state = |agent: &Value| agent["state"].as_str().unwrap().to_owned();
        agents.as_array().unwrap().iter().map(state).collect::<Vec<_>>()
    };
    assert_eq!(next(), [""; 0]);
    claude(&environment, "s", "UserPromptSubmit", &json!({"prompt": "hi"}));
    assert_eq!(next(), ["working"]);
    // The same again is no change.
    claude(&environment, "s", "UserPromptSubmit", &json!({"prompt": "hi"}));
    claude(&environment, "s", "Stop", &json!({}));
    assert_eq!(next(), ["idle"]);
    environment.kill_daemon();
    environment.run(&["daemon", "start"]);
    claude(&environment, "s", "SessionEnd", &json!({"reason": "other"}));
    assert_eq!(next(), [""; 0]);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn tokens_and_turns_are_what_the_transcript_tells() {
    let environment = environment();
    environment.run(&["daemon", "start"]);
    let log = environment.home().join(".claude/projects/-p/s.jsonl");
    let usage = json!({"input_tokens": 1200, "output_tokens": 30, "cache_read_input_tokens": 5});
    let answer = json!({
        "id": "m1", "role": "assistant", "model": "m", "stop_reason": "end_turn", "usage": usage,
        "content": [{"type": "text", "text": "done"}],
    });
    let text = line("user", "2026-01-01T00:00:01Z", &json!({"role": "user", "content": "hi"}))
        + &line("assistant", "2026-01-01T00:00:02Z", &answer)
        + &line("assistant", "2026-01-01T00:00:03Z", &answer);
    anyhook_testkit::write(&log, text, 0o600);
    wait_until("it to be known", || environment.run(&["agent", "show", "s"]).code == 0);
    let shown = environment.run(&["agent", "show", "s"]);
    assert!(
        shown.stdout.ends_with("turns      1\ntokens     1,200 in, 30 out, 5 from the cache\n"),
        "{shown:?}"
    );
    let told = environment.run(&["agent", "show", "s", "--json"]).json();
    let expected =
        json!({"turns": 1, "input_tokens": 1200, "output_tokens": 30, "cache_read_tokens": 5});
    assert_eq!(told["usage"], expected);
}
