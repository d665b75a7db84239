//! The small program and `anyhook hook` are one function: what they print, how they end and what
//! they journal is the same.

use std::fs;
use std::path::Path;

use anyhook_testkit::{CommandRun, TestEnv, begin, finish, wait_until, write};
use serde_json::{Value, json};

use crate::{both, environment};

/// Hooks that say most of what a hook can say.
const HOOKS: [(&str, &str, &str); 7] = [
    ("denies", "trigger: before_tool\nmatcher:\n  pattern: \\brm\\b", "echo no >&2; exit 2"),
    (
        "changes",
        "trigger: before_tool\npriority: 900\nmatcher:\n  pattern: npm",
        r#"echo '{"modified_input": {"command": "pnpm ü 1.50"}, "additional_context": "pnpm"}'"#,
    ),
    (
        "asks",
        "trigger: before_tool\nmatcher:\n  pattern: git push",
        r#"echo '{"decision": "ask", "reason": "it is public"}'"#,
    ),
    ("fails", "trigger: [before_tool, session_start]\npriority: 1", "exit 3"),
    ("gate", "trigger: before_stop", "echo 'tests fail' >&2; exit 2"),
    (
        "tells",
        "trigger: [before_agent, session_start]\nstdout: context",
        r#"echo "$ANYHOOK_BIN at $ANYHOOK_EVENT""#,
    ),
    ("ends", "trigger: session_end", "cat > \"$HOME/end.json\""),
];

/// The same world for each program; none says that the test is skipped.
fn worlds() -> Option<[TestEnv; 2]> {
    let folder = both()?;
    Some(["anyhook", "anyhook-hook"].map(|name| {
        let environment = environment(&folder.join(name));
        for (name, matter, script) in HOOKS {
            environment.user_hook(name, matter, script);
        }
        environment
    }))
}

/// Sends the same to both, one after the other, and compares all that comes of it.
fn compare(worlds: &[TestEnv; 2], calls: &[(&[&str], String)]) {
    let [whole, small] = worlds.each_ref().map(|environment| {
        let answer = |(arguments, payload): &(&[&str], String)| {
            // A payload may name the project.
            let payload = payload.replace("[ROOT]", &environment.root().to_string_lossy());
            let CommandRun { code, stdout, stderr } =
                environment.run_with_input(arguments, payload);
            json!([arguments, code, stdout, stderr]).to_string()
        };
        let answers: Vec<String> = calls.iter().map(answer).collect();
        environment.comparable(&answers.join("\n"))
    });
    for (whole, small) in whole.lines().zip(small.lines()) {
        assert_eq!(small, whole);
    }
    assert_eq!(small.lines().count(), calls.len());
    let [whole, small] = worlds.each_ref().map(|environment| environment.comparable_journal(&[]));
    assert!(!whole.is_empty());
    assert_eq!(small, whole);
}

#[test]
fn events_of_the_open_format() {
    let Some(worlds) = worlds() else { return };
    let shell = |command: &str| {
        json!({"event_type": "before_tool", "session_id": "s", "tool_name": "Shell",
            "tool_input": {"command": command}, "cwd": "[ROOT]/home/project"})
    };
    let mut events: Vec<Value> =
        ["ls", "rm x", "npm i", "npm i && rm x", "git push"].map(shell).into();
    for kind in ["session_start", "before_agent", "before_stop", "session_end", "never_heard_of"] {
        events.push(json!({"event_type": kind, "extra": 1.50}));
    }
    let mut calls: Vec<(&[&str], String)> = Vec::new();
    for event in events {
        calls.push((&["hook", "agent-hooks"], event.to_string()));
    }
    for strange in ["", "no JSON", "[]", r#"{"event_type": 7}"#, "{\"a\": \"\u{0}\"}"] {
        calls.push((&["hook", "agent-hooks", "--deadline-ms=5000"], strange.to_owned()));
    }
    compare(&worlds, &calls);
}

#[test]
fn recorded_payloads_of_every_agent() {
    let hosts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../hosts/src");
    for (host, folder) in [
        ("claude-code", "claude_code"),
        ("codex", "codex"),
        ("gemini-cli", "gemini_cli"),
        ("opencode", "opencode"),
    ] {
        let Some(worlds) = worlds() else { return };
        let mut files: Vec<_> = fs::read_dir(hosts.join(folder).join("fixtures"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
            .collect();
        files.sort();
        assert!(files.len() > 10, "{host}");
        let arguments = ["hook", host, "--deadline-ms", "60000"];
        let call = |file| (&arguments[..], fs::read_to_string(file).unwrap());
        compare(&worlds, &files.into_iter().map(call).collect::<Vec<_>>());
    }
}

/// What the small program does not do itself, it has the other one do.
#[test]
fn everything_else_is_handed_over() {
    let Some(worlds) = worlds() else { return };
    let unusual: [&[&str]; 9] = [
        &["--version"],
        &["--help"],
        &["hook", "--help"],
        &["hook", "nobody"],
        &["hook"],
        &["hook", "codex", "--deadline-ms", "x"],
        &["list", "--json"],
        &["no-such-command"],
        &[],
    ];
    let mut calls: Vec<(&[&str], String)> =
        unusual.into_iter().map(|arguments| (arguments, String::new())).collect();
    // An unusual way to say the usual thing.
    let payload = r#"{"event_type": "before_tool", "tool_input": {"command": "rm x"}}"#;
    calls.push((&["--color", "never", "hook", "agent-hooks"], payload.to_owned()));
    compare(&worlds, &calls);
}

/// Hooks that run aside are looked after, by the whole program.
#[test]
fn hooks_that_run_aside() {
    let Some(worlds) = worlds() else { return };
    for environment in &worlds {
        let script = "echo \"$ANYHOOK_BIN\" > \"$HOME/aside\"; echo done >&2";
        environment.user_hook("aside", "trigger: after_tool\nasync: true", script);
    }
    let event = json!({"event_type": "after_tool", "session_id": "s", "tool_name": "Shell"});
    for environment in &worlds {
        let ran = environment.event(&event);
        assert_eq!((ran.code, ran.stdout.trim()), (0, "{}"), "{ran:?}");
        wait_until("the record of the hook aside", || environment.journal().len() == 2);
        let named = fs::read_to_string(environment.home().join("aside")).unwrap();
        assert!(named.trim_end().ends_with("/anyhook"), "{named}");
    }
    let [whole, small] = worlds.each_ref().map(|environment| environment.comparable_journal(&[]));
    assert_eq!(small, whole);
}

/// A person can be asked: the daemon is started, and is the whole program.
#[test]
fn a_person_is_asked_through_the_daemon() {
    let Some(worlds) = worlds() else { return };
    for environment in &worlds {
        let settings = "[decisions]\nwait = [\"permission\"]\nwait_seconds = 60\n";
        write(&environment.home().join(".config/agents/anyhook.toml"), settings, 0o644);
        let payload = json!({
            "session_id": "s", "cwd": environment.project(), "tool_name": "Bash",
            "hook_event_name": "PermissionRequest", "tool_input": {"command": "touch f"},
        });
        let hook = environment.command(&["hook", "claude-code", "--deadline-ms", "60000"]);
        let waits = begin(hook, payload.to_string().as_bytes());
        let mut id = String::new();
        wait_until("a decision to be open", || {
            let open = environment.run(&["decision", "list", "--json"]).json();
            id = open[0]["inquiry"]["id"].as_str().unwrap_or_default().to_owned();
            !id.is_empty()
        });
        let resolved = environment.run(&["decision", "resolve", &id, "1"]);
        assert_eq!(resolved.code, 0, "{resolved:?}");
        let reply = finish(waits);
        assert_eq!(
            reply.json()["hookSpecificOutput"]["decision"]["behavior"],
            "allow",
            "{reply:?}"
        );
    }
}
