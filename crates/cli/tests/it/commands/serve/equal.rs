//! The same verdicts as `anyhook hook`, in the same order of events.

use std::fs;
use std::path::Path;

use anyhook_testkit::TestEnv;
use serde_json::{Value, json};

use super::server::{Server, shell};
use crate::environment;

/// Hooks that say everything a hook can say.
fn talkative() -> TestEnv {
    let environment = environment();
    for (name, matter, script) in [
        ("denies", "trigger: before_tool\nmatcher:\n  pattern: \\brm\\b", "echo no >&2; exit 2"),
        (
            "changes",
            "trigger: before_tool\npriority: 900\nmatcher:\n  pattern: npm",
            r#"echo '{"modified_input": {"command": "pnpm ü 1.50"}, "additional_context": "we use pnpm"}'"#,
        ),
        (
            "asks",
            "trigger: before_tool\nmatcher:\n  pattern: git push",
            r#"echo '{"decision": "ask", "reason": "it is public"}'"#,
        ),
        (
            "allows",
            "trigger: before_tool\nmatcher:\n  pattern: git status",
            r#"echo '{"decision": "allow"}'"#,
        ),
        ("fails", "trigger: [before_tool, session_start]\npriority: 1", "exit 3"),
        (
            "fails-closed",
            "trigger: before_tool\non_failure: block\nmatcher:\n  pattern: curl",
            "exit 4",
        ),
        ("hangs", "trigger: before_tool\ntimeout: 100\nmatcher:\n  pattern: hang", "sleep 100"),
        ("gate", "trigger: before_stop", "echo 'tests fail' >&2; exit 2"),
        (
            "tells",
            "trigger: [before_agent, session_start]\nstdout: context",
            "echo 'the branch is main'",
        ),
        ("ends", "trigger: session_end", "cat > \"$HOME/end.json\""),
    ] {
        environment.user_hook(name, matter, script);
    }
    environment
}

/// What the journal has to say, but for the agent's process, which only a hook process knows.
fn records(environment: &TestEnv) -> Vec<Value> {
    environment.comparable_journal(&["process"])
}

#[test]
fn events_of_the_open_format() {
    let mut events: Vec<Value> =
        ["ls", "rm x", "npm i", "npm i && rm x", "git push", "git status", "curl x", "hang"]
            .map(shell)
            .into();
    for kind in [
        "session_start",
        "before_agent",
        "before_stop",
        "after_stop",
        "pre-session",
        "pre-tool-call",
        "post-tool-call",
        "session_end",
        "never_heard_of",
    ] {
        events.push(json!({"event_type": kind, "extra": 1.50}));
    }
    // A session with more blocked stops than are allowed.
    for step in 0..12 {
        let kind = if step % 2 == 0 { "before_tool" } else { "before_stop" };
        events.push(json!({"event_type": kind, "session_id": "s", "tool_name": "Read"}));
    }
    let mut texts: Vec<String> = events.iter().map(Value::to_string).collect();
    texts.push(format!(
        r#"{{"event_type": "before_tool", "tool_name": "Shell", "tool_input": {}"rm"{}}}"#,
        "[".repeat(500),
        "]".repeat(500)
    ));
    texts.push(r#"{"event_type": "before_tool", "tool_input": {"command": "rm \ud800"}}"#.into());
    texts.push(
        r#"{"event_type": "before_tool", "tool_input": {"a": "rm"}, "tool_input": {"a": 1}}"#
            .into(),
    );

    let (one, other) = (talkative(), talkative());
    let mut server = Server::start(&other, &[]);
    for text in texts {
        let ran = one.run_with_input(&["hook", "agent-hooks"], &text);
        server.send_text(&format!("{{\"id\": 1, \"event\": {text}}}"));
        let answer = server.next();
        let printed = one.comparable(ran.stdout.trim_end());
        // Keys in the same order, numbers to the digit: the same text but for blanks.
        let printed: Value = serde_json::from_str(&printed).unwrap();
        assert_eq!(
            other.comparable(&answer["verdict"].to_string()),
            printed.to_string(),
            "{text:.200}"
        );
        for message in answer["messages"].as_array().into_iter().flatten() {
            let message = other.comparable(message.as_str().unwrap());
            assert!(one.comparable(&ran.stderr).contains(&message), "{message}: {ran:?}");
        }
        let said = ran.stderr.lines().filter(|line| line.starts_with("anyhook: ")).count();
        assert_eq!(answer["messages"].as_array().map_or(0, Vec::len), said, "{ran:?} {answer}");
    }
    server.finish();
    assert_eq!(records(&other), records(&one));
}

#[test]
fn recorded_payloads_of_every_agent() {
    let hosts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../hosts/src");
    let mut count = 0;
    for (host, folder) in [
        ("claude-code", "claude_code"),
        ("codex", "codex"),
        ("gemini-cli", "gemini_cli"),
        ("opencode", "opencode"),
    ] {
        let (one, other) = (talkative(), talkative());
        let mut server = Server::start(&other, &[]);
        let mut files: Vec<_> = fs::read_dir(hosts.join(folder).join("fixtures"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|end| end == "json"))
            .collect();
        files.sort();
        for file in files {
            let payload = fs::read_to_string(&file).unwrap();
            let ran = one.run_with_input(&["hook", host], &payload);
            let answer = server.ask(&json!({"id": 1, "host": host, "payload": payload}));
            let text = |name: &str| other.comparable(answer["reply"][name].as_str().unwrap());
            assert_eq!(text("stdout"), one.comparable(&ran.stdout), "{}", file.display());
            assert_eq!(text("stderr"), one.comparable(&ran.stderr), "{}", file.display());
            assert_eq!(answer["reply"]["exit_code"], ran.code, "{}", file.display());
            count += 1;
        }
        server.finish();
        assert_eq!(records(&other), records(&one), "{host}");
    }
    assert!(count > 100, "{count}");
}
