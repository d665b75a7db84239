//! `anyhook run`.

use anyhook_testkit::needs::MachineNeed;
use anyhook_testkit::{TestEnv, require, write};
use serde_json::json;

use super::trust::at_a_terminal;
use crate::environment;

const SHELL: [&str; 6] =
    ["run", "before_tool", "--tool", "Shell", "--input", r#"{"command": "npm install"}"#];

/// A hook for every thing a hook can say.
fn choir() -> TestEnv {
    let environment = environment();
    let say = |name: &str, matter: &str, script: &str| {
        environment.user_hook(name, &format!("trigger: before_tool\n{matter}"), script);
    };
    say("a-changer", "priority: 900", r#"echo '{"modified_input": {"command": "pnpm install"}}'"#);
    say("b-notes", "priority: 800\nstdout: context", "echo 'the lock file is frozen'");
    say("c-watcher", "priority: 700\nmode: shadow", "echo 'would block' >&2; exit 2");
    say("d-broken", "priority: 600", "echo 'no such table' >&2; exit 1");
    say("e-silent", "priority: 500", "exit 0");
    say("f-aside", "priority: 400\nasync: true", "exit 0");
    say("g-asks", "priority: 300", r#"echo '{"decision": "ask", "reason": "is it time?"}'"#);
    environment
}

#[test]
fn all_that_hooks_can_say() {
    let environment = choir();
    assert_run!(environment, environment.run(&SHELL));
}

#[test]
fn all_that_hooks_can_say_as_json() {
    let environment = choir();
    let ran = environment.run(&[&SHELL[..], &["--json"]].concat());
    assert_run!(environment, ran);
}

#[test]
fn a_block() {
    let environment = environment();
    environment.user_hook("guard", "trigger: before_tool", "echo 'not here' >&2; exit 2");
    environment.user_hook("later", "trigger: before_tool\npriority: 1", "exit 0");
    assert_run!(environment, environment.run(&SHELL), @"
    exit code: 2
    ----- stdout -----
        guard  deny  [TOOK]
    blocked by guard: not here
    details: anyhook log show [ID]
    ");
}

#[test]
fn a_block_as_json() {
    let environment = environment();
    environment.user_hook("guard", "trigger: before_tool", "echo 'not here' >&2; exit 2");
    assert_run!(environment, environment.run(&[&SHELL[..], &["--json"]].concat()), @r#"
    exit code: 2
    ----- stdout -----
    {
      "id": "[ID]",
      "decision": "deny",
      "reason": "not here",
      "by": "guard"
    }
    "#);
}

#[test]
fn a_grant() {
    let environment = environment();
    environment.user_hook(
        "yes",
        "trigger: permission_request",
        r#"echo '{"decision": "allow", "reason": "it only reads"}'"#,
    );
    let ran = environment.run(&["run", "permission_request", "--tool", "ReadFile"]);
    assert_run!(environment, ran, @"
    exit code: 0
    ----- stdout -----
        yes  allow  [TOOK]
    allowed by yes: it only reads
    details: anyhook log show [ID]
    ");
}

#[test]
fn nobody_is_there() {
    let environment = environment();
    assert_run!(environment, environment.run(&["run", "session_start"]), @"
    exit code: 0
    ----- stdout -----
    allowed: no hook runs at session_start
    details: anyhook log show [ID]
    ");
}

#[test]
fn nobody_is_there_as_json() {
    let environment = environment();
    assert_run!(environment, environment.run(&["run", "session_start", "--json"]), @r#"
    exit code: 0
    ----- stdout -----
    {
      "id": "[ID]"
    }
    "#);
}

#[test]
fn a_capped_stop() {
    let environment = environment();
    environment.user_hook("gate", "trigger: before_stop", "echo 'tests fail' >&2; exit 2");
    let toml = environment.home().join(".config/agents/anyhook.toml");
    write(&toml, "stop_cap = 1\n", 0o644);
    let stop = || {
        environment
            .run_with_input(&["run", "before_stop", "--payload", "-"], r#"{"session_id": "s"}"#)
    };
    assert_eq!(stop().code, 2);
    assert_run!(environment, stop(), @"
    exit code: 0
    ----- stdout -----
        gate  deny: tests fail  [TOOK]
    allowed (capped)
    warning: allowed to stop although gate blocks it: 1 stops were already blocked in this turn (stop_cap in anyhook.toml). Its reason: tests fail
    details: anyhook log show [ID]
    ");
}

#[test]
fn nobody_matches() {
    let environment = environment();
    environment.user_hook("guard", "trigger: before_tool\nmatcher:\n  pattern: mkfs", "exit 2");
    assert_run!(environment, environment.run(&SHELL), @"
    exit code: 0
    ----- stdout -----
    allowed: no hook matched (1 at before_tool did not: anyhook explain before_tool …)
    details: anyhook log show [ID]
    ");
}

#[test]
fn a_failure_is_shown_with_its_cause_in_full() {
    let environment = environment();
    let script = environment.user_hook("guard", "trigger: before_tool", "").join("scripts/run");
    for (text, why) in [
        (
            "#!/bin/sh\r\nexit 2\r\n",
            "it has Windows line endings, so the system looks for an interpreter named `/bin/sh\\r`",
        ),
        ("#!/no/such/interpreter\n", "its interpreter `/no/such/interpreter` was not found"),
    ] {
        write(&script, text, 0o755);
        let ran = environment.run(&SHELL);
        let words = format!("failed: not started: {why}: {}", script.display());
        assert!(ran.stdout.contains(&words), "{ran:?}");
    }
}

#[test]
fn a_deadline() {
    let environment = environment();
    environment.user_hook("slow", "trigger: before_tool", "sleep 60");
    let ran = environment.run(&[&SHELL[..], &["--deadline-ms", "0"]].concat());
    assert_run!(environment, ran, @"
    exit code: 0
    ----- stdout -----
        slow  failed: not started: the caller's deadline has passed
    allowed
    details: anyhook log show [ID]
    ");
}

#[test]
fn a_dry_run_runs_nobody() {
    let environment = environment();
    environment.user_hook("guard", "trigger: before_tool", "touch ran; exit 2");
    let ran = environment.run(&[&SHELL[..], &["--dry-run"]].concat());
    assert_run!(environment, ran, @"
    exit code: 0
    ----- stdout -----
    before_tool Shell · project ~/project
      1.  guard  user  priority 100
    ");
    assert!(!environment.project().join("ran").exists());
    assert_eq!(environment.journal().len(), 0);
}

#[test]
fn a_payload_from_a_file_and_from_standard_input() {
    let environment = environment();
    environment.user_hook("see", "trigger: before_agent", "cat > seen");
    let payload = json!({"prompt": "hello", "session_id": "s", "further": [1]}).to_string();
    write(&environment.project().join("event.json"), &payload, 0o644);
    let seen = || std::fs::read_to_string(environment.project().join("seen")).unwrap();
    assert_eq!(environment.run(&["run", "before_agent", "--payload", "event.json"]).code, 0);
    let from_file: serde_json::Value = serde_json::from_str(&seen()).unwrap();
    assert_eq!(from_file["prompt"], "hello");
    assert_eq!(from_file["further"], json!([1]));
    let ran = environment.run_with_input(&["run", "pre-agent-turn", "--payload", "-"], &payload);
    assert_eq!(ran.code, 0);
    let from_input: serde_json::Value = serde_json::from_str(&seen()).unwrap();
    assert_eq!(from_input["session_id"], "s");
}

#[test]
fn a_command_or_a_path_needs_no_json() {
    let environment = environment();
    environment.user_hook("see", "trigger: before_tool", "cat > seen");
    let seen = |arguments: &[&str]| {
        let ran = environment.run(&[&["run", "before_tool"], arguments].concat());
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{arguments:?}");
        let text = std::fs::read_to_string(environment.project().join("seen")).unwrap();
        let event: serde_json::Value = serde_json::from_str(&text).unwrap();
        (event["tool_name"].as_str().unwrap().to_owned(), event["tool_input"].clone())
    };
    let call = |tool: &str, input| (tool.to_owned(), input);
    let push = r#"git push --force "x""#;
    assert_eq!(seen(&["--command", push]), call("Shell", json!({"command": push})));
    let path = json!({"path": "src/a.rs"});
    assert_eq!(seen(&["--path", "src/a.rs"]), call("EditFile", path.clone()));
    for tool in ["ReadFile", "WriteFile"] {
        let found = seen(&["--path", "src/a.rs", "--tool", tool]);
        assert_eq!(found, call(tool, path.clone()));
    }
    let planned = environment.run(&["explain", "before_tool", "--command", "ls"]).stdout;
    assert!(planned.contains("before_tool Shell") && planned.contains("see"), "{planned}");
}

#[test]
fn a_command_or_a_path_where_it_has_no_meaning() {
    let environment = environment();
    assert_run!(environment, environment.run(&["run", "before_agent", "--command", "ls"]), @"
    exit code: 64
    ----- stderr -----
    error: --command only applies to tool events, and `before_agent` is not one
    hint: anyhook run before_tool --command …
    ");
    for conflict in [&["--input", "{}"][..], &["--tool", "Shell"], &["--path", "x"]] {
        let ran = environment.run(&[&["run", "before_tool", "--command", "ls"], conflict].concat());
        assert_eq!(ran.code, 64, "{conflict:?}: {ran:?}");
    }
}

#[test]
fn a_tool_by_another_name() {
    let environment = environment();
    environment.user_hook("guard", "trigger: before_tool\nmatcher:\n  tool: Shell", "exit 0");
    let input = ["--input", r#"{"command": "ls"}"#];
    let told = |tool: &str| {
        environment.run(&[&["run", "before_tool", "--tool", tool], &input[..]].concat())
    };
    assert_run!(environment, told("Bash"), @"
    exit code: 0
    ----- stdout -----
        guard  no opinion  [TOOK]
    allowed
    details: anyhook log show [ID]

    ----- stderr -----
    hint: `Bash` is the name in Amp, Claude Code, Codex, Copilot CLI, Junie, Kimi Code and Letta Code; hooks see `Shell`
    ");
    assert_eq!(told("SHELL").stderr, "hint: the tool's name is `Shell`\n");
    assert_eq!(
        told("Shel").stderr,
        "hint: no agent has a tool named `Shel`; did you mean `Shell`?\n"
    );
    assert_eq!(told("Shell").stderr, "");
    assert_eq!(told("mcp__github__push").stderr, "");
}

#[test]
fn a_journal_that_cannot_be_written_has_nothing_to_show() {
    let environment = environment();
    write(&environment.state().join("journal"), "a file", 0o644);
    let ran = environment.run(&["run", "before_tool", "--command", "ls"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("the journal cannot be written"), "{ran:?}");
    assert!(!ran.stdout.contains("anyhook log show"), "{ran:?}");
}

#[test]
fn broken_settings_are_told_of() {
    let environment = environment();
    let settings = environment.home().join(".config/agents/anyhook.toml");
    write(&settings, "[decisons]\nask = true\n", 0o644);
    for arguments in [
        &["run", "session_start"][..],
        &["agent", "list"],
        &["decision", "list"],
        &["pipeline", "list"],
    ] {
        let ran = environment.run(arguments);
        assert_eq!(ran.code, 0, "{arguments:?}: {ran:?}");
        let warning = ran.stderr.lines().find(|line| line.starts_with("warning: "));
        assert!(warning.is_some_and(|line| line.contains("decisons")), "{arguments:?}: {ran:?}");
    }
}

#[test]
fn at_a_terminal_it_says_which_hook_runs() {
    require!(MachineNeed::Terminals);
    let environment = environment();
    environment.user_hook("quick", "trigger: session_start\npriority: 900", "exit 0");
    environment.user_hook("slow", "trigger: session_start", "sleep 2.5");
    let ran = at_a_terminal(&environment, &["run", "session_start"], "");
    assert!(ran.stdout.contains("running slow … 1 s"), "{ran:?}");
    assert!(!ran.stdout.contains("running quick"), "{ran:?}");
    assert!(ran.stdout.contains("slow   no opinion"), "{ran:?}");
    let ran = environment.run(&["run", "session_start"]);
    assert!(ran.stderr.is_empty(), "nobody looks: {ran:?}");
}

#[test]
fn a_payload_from_a_terminal_is_asked_for() {
    require!(MachineNeed::Terminals);
    let environment = environment();
    let ran = at_a_terminal(
        &environment,
        &["run", "before_agent", "--payload", "-"],
        "{\"prompt\": \"hello\"}\n",
    );
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.stdout.contains("reading additional event fields from standard input (Ctrl-D ends it)"),
        "{ran:?}"
    );
}

#[test]
fn a_host_and_a_work_dir() {
    let environment = environment();
    environment.user_hook(
        "see",
        "trigger: before_tool\nhosts: [codex]",
        "echo $ANYHOOK_HOST > seen",
    );
    std::fs::create_dir(environment.project().join("inner")).unwrap();
    let ran = environment.run(&["run", "before_tool", "--host", "codex", "--work-dir", "inner"]);
    assert_eq!(ran.code, 0);
    assert_eq!(std::fs::read_to_string(environment.project().join("seen")).unwrap(), "codex\n");
    let record = &environment.journal()[0];
    assert_eq!(
        record["work_dir"].as_str().unwrap(),
        environment.project().join("inner").to_str().unwrap()
    );
}

#[test]
fn an_input_that_is_not_json() {
    let environment = environment();
    let ran = environment.run(&["run", "before_tool", "--input", "{command: ls}"]);
    assert_run!(environment, ran, @r#"
    exit code: 65
    ----- stderr -----
    error: --input is not JSON: key must be a string at line 1 column 2
    hint: in a shell, put single quotes around it: '{"command": "ls"}'
    "#);
}

#[test]
fn an_input_that_is_no_object() {
    let environment = environment();
    assert_run!(environment, environment.run(&["run", "before_tool", "--input", "\"ls\""]), @r#"
    exit code: 65
    ----- stderr -----
    error: --input is not a JSON object
    hint: in a shell, put single quotes around it: '{"command": "ls"}'
    "#);
}

#[test]
fn a_payload_that_is_not_json() {
    let environment = environment();
    let ran = environment.run_with_input(&["run", "before_tool", "--payload", "-"], "nothing");
    assert_run!(environment, ran, @r#"
    exit code: 65
    ----- stderr -----
    error: standard input is not JSON: expected ident at line 1 column 2
    hint: it must contain additional event fields, such as {"session_id": "one"}
    "#);
}

#[test]
fn a_payload_that_is_not_there() {
    let environment = environment();
    assert_run!(environment, environment.run(&["run", "before_tool", "--payload", "gone.json"]), @"
    exit code: 65
    ----- stderr -----
    error: `gone.json` cannot be read: No such file or directory
    hint: pass a file with a JSON object, or - for standard input
    ");
}

#[test]
fn an_event_with_a_slip_of_the_pen() {
    let environment = environment();
    assert_run!(environment, environment.run(&["run", "befor_tool"]), @"
    exit code: 64
    ----- stderr -----
    error: unknown event `befor_tool`
    hint: did you mean `before_tool`?
    ");
}

#[test]
fn an_agents_own_event_name() {
    let environment = environment();
    environment.user_hook("guard", "trigger: before_tool", "echo no >&2; exit 2");
    assert_eq!(environment.run(&["run", "PreToolUse", "--tool", "Shell"]).code, 2);
}

#[test]
fn an_event_nobody_knows() {
    let environment = environment();
    assert_run!(environment, environment.run(&["run", "xyzzy"]), @"
    exit code: 64
    ----- stderr -----
    error: unknown event `xyzzy`
    hint: events: session_start, session_end, before_agent, after_agent, before_stop, after_stop, before_tool, after_tool, after_tool_failure, subagent_start, subagent_stop, pre_compact, post_compact, notification, permission_request
    ");
}

#[test]
fn an_unknown_host() {
    let environment = environment();
    assert_run!(environment, environment.run(&["run", "before_tool", "--host", "cluade-code"]), @"
    exit code: 64
    ----- stderr -----
    error: unknown host `cluade-code`
    hint: did you mean `claude-code`?
    ");
}

/// A host goes by the name of its program, too.
#[test]
fn a_host_by_its_program() {
    let environment = environment();
    let ran = environment.run(&["run", "before_tool", "--tool", "Shell", "--host", "claude"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(environment.journal()[0]["host"], "claude-code");
    let ran = environment.run(&["log", "--host", "Claude Code"]);
    assert!(ran.stdout.contains("before_tool"), "{ran:?}");
}

#[test]
fn no_event() {
    let environment = environment();
    assert_run!(environment, environment.run(&["run"]), @"
    exit code: 64
    ----- stderr -----
    error: the following required arguments were not provided:
      <EVENT>

    Usage: anyhook run <EVENT>
    hint: anyhook run --help
    ");
}

#[test]
fn help() {
    let environment = environment();
    assert_run!(environment, environment.run(&["run", "--help"]));
}
