//! `anyhook hook HOST` with payloads of the agents: what comes back is in the agent's own words.

use anyhook_testkit::{CommandRun, TestEnv};
use serde_json::{Value, json};

use crate::environment;

fn hook(environment: &TestEnv, host: &str, payload: &Value) -> CommandRun {
    environment.run_with_input(&["hook", host], payload.to_string())
}

fn stop(session: &str) -> Value {
    json!({"hook_event_name": "Stop", "session_id": session, "last_assistant_message": "done"})
}

fn bash(event: &str, command: &str) -> Value {
    json!({"hook_event_name": event, "session_id": "s", "tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": "t"})
}

#[test]
fn a_stop_is_three_events_and_only_the_first_can_block() {
    let environment = environment();
    environment.user_hook(
        "after",
        "trigger: [after_agent, after_stop]",
        "echo \"$ANYHOOK_EVENT\" >> order; echo no >&2; exit 2",
    );
    let ran = hook(&environment, "claude-code", &stop("s"));
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.json()["decision"].is_null(), "{ran:?}");
    assert!(ran.json()["systemMessage"].as_str().unwrap().contains("no"), "{ran:?}");
    let order = std::fs::read_to_string(environment.project().join("order")).unwrap();
    assert_eq!(order, "after_agent\nafter_stop\n");

    environment.user_hook("gate", "trigger: before_stop", "echo 'tests fail' >&2; exit 2");
    let ran = hook(&environment, "claude-code", &stop("s"));
    assert_eq!(ran.json()["decision"], "block");
    assert!(ran.json()["reason"].as_str().unwrap().starts_with("tests fail\n(anyhook log show "));
    let order = std::fs::read_to_string(environment.project().join("order")).unwrap();
    assert_eq!(order.lines().count(), 2, "what follows a stop does not follow a blocked one");
}

#[test]
fn one_file_of_a_patch_denies_the_whole_and_nobody_rewrites_it() {
    let environment = environment();
    environment.user_hook(
        "protect",
        "trigger: before_tool\nmatcher:\n  tool: WriteFile|EditFile|DeleteFile|MoveFile\n  pattern: ^secret",
        "echo 'keep out' >&2; exit 2",
    );
    environment.user_hook(
        "rewrite",
        "trigger: before_tool\npriority: 999",
        r#"echo '{"modified_input": {"path": "other"}}'"#,
    );
    let patch = "*** Begin Patch\n*** Add File: fine.txt\n+x\n*** Update File: secret.txt\n@@\n-a\n+b\n*** End Patch\n";
    let payload = json!({"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "apply_patch", "tool_input": {"command": patch}});
    let ran = hook(&environment, "codex", &payload);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{ran:?}");
    assert!(ran.stderr.starts_with("keep out\n"), "{ran:?}");
    let journal = environment.journal();
    let tools: Vec<&str> = journal.iter().map(|record| record["tool"].as_str().unwrap()).collect();
    assert_eq!(tools, ["WriteFile", "EditFile"]);
    let refused = journal[0]["runs"][0]["failure"].as_str().unwrap();
    assert!(refused.contains("can be denied but not rewritten"), "{refused}");
    // One call is one step, however many files it touches.
    environment.user_hook("gate", "trigger: before_stop", "cat > stop.json");
    hook(&environment, "codex", &stop("s"));
    let seen: Value = serde_json::from_str(
        &std::fs::read_to_string(environment.project().join("stop.json")).unwrap(),
    )
    .unwrap();
    assert_eq!(seen["step_count"], 1);
}

#[test]
fn a_changed_input_comes_back_in_the_hosts_own_fields() {
    let environment = environment();
    environment.user_hook(
        "rename",
        "trigger: before_tool\nmatcher:\n  tool: WriteFile",
        r#"echo '{"modified_input": {"path": "/tmp/b"}}'"#,
    );
    let claude = json!({"hook_event_name": "PreToolUse", "tool_name": "Write", "tool_input": {"file_path": "/tmp/a", "content": "x"}});
    let ran = hook(&environment, "claude-code", &claude);
    assert_eq!(
        ran.json()["hookSpecificOutput"]["updatedInput"],
        json!({"file_path": "/tmp/b", "content": "x"})
    );
    let gemini = json!({"hook_event_name": "BeforeTool", "tool_name": "write_file", "tool_input": {"file_path": "/tmp/a", "content": "x"}});
    let ran = hook(&environment, "gemini-cli", &gemini);
    assert_eq!(
        ran.json()["hookSpecificOutput"]["tool_input"],
        json!({"file_path": "/tmp/b", "content": "x"})
    );
    let opencode = json!({"hook": "tool.execute.before", "input": {"tool": "write", "sessionID": "s"}, "output": {"args": {"filePath": "/tmp/a", "content": "x"}}});
    let ran = hook(&environment, "opencode", &opencode);
    assert_eq!(ran.json()["args"], json!({"filePath": "/tmp/b", "content": "x"}));
}

#[test]
fn a_change_that_cannot_be_translated_is_that_hooks_failure() {
    let environment = environment();
    environment.user_hook(
        "odd",
        "trigger: before_tool\non_failure: block",
        r#"echo '{"modified_input": {"colour": "red"}}'"#,
    );
    let ran = hook(&environment, "claude-code", &bash("PreToolUse", "ls"));
    let output = &ran.json()["hookSpecificOutput"];
    assert_eq!(output["permissionDecision"], "deny");
    assert!(
        output["permissionDecisionReason"]
            .as_str()
            .unwrap()
            .contains("`colour` is not a field of Bash"),
        "{ran:?}"
    );
}

#[test]
fn an_ask_where_nobody_can_be_asked_is_a_deny_that_says_how_to_approve() {
    let environment = environment();
    environment.user_hook(
        "ask",
        "trigger: before_tool",
        r#"echo '{"decision": "ask", "reason": "sure?"}'"#,
    );
    let ran = hook(&environment, "codex", &bash("PreToolUse", "ls"));
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("sure?") && ran.stderr.contains("ask_fallback"), "{ran:?}");
    assert_eq!(environment.journal()[0]["lost"][0]["what"], "ask");
    anyhook_testkit::write(
        &environment.home().join(".config/agents/anyhook.toml"),
        "ask_fallback = \"pass\"\n",
        0o644,
    );
    let ran = hook(&environment, "codex", &bash("PreToolUse", "ls"));
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""));
    let ran = hook(&environment, "claude-code", &bash("PreToolUse", "ls"));
    assert_eq!(ran.json()["hookSpecificOutput"]["permissionDecision"], "ask");
}

#[test]
fn our_own_reason_sent_back_is_no_new_turn() {
    let environment = environment();
    environment.user_hook("gate", "trigger: before_stop", "echo 'not yet' >&2; exit 2");
    let after_agent =
        json!({"hook_event_name": "AfterAgent", "session_id": "s", "prompt_response": "done"});
    for _ in 0..8 {
        let reason = hook(&environment, "gemini-cli", &after_agent).json()["reason"]
            .as_str()
            .unwrap()
            .to_owned();
        let again = json!({"hook_event_name": "BeforeAgent", "session_id": "s", "prompt": reason});
        assert_eq!(hook(&environment, "gemini-cli", &again).code, 0);
    }
    let ran = hook(&environment, "gemini-cli", &after_agent);
    assert!(ran.json()["decision"].is_null(), "{ran:?}");
    assert!(ran.json()["systemMessage"].as_str().unwrap().contains("stop_cap"), "{ran:?}");
    assert!(environment.journal().iter().any(|record| record["verdict"]["capped"] == true));
}

#[test]
fn no_opinion_is_silence_and_an_unreadable_payload_does_not_get_past_a_guard() {
    let environment = environment();
    for host in ["claude-code", "codex", "gemini-cli", "opencode"] {
        let event = if host == "gemini-cli" { "BeforeTool" } else { "PreToolUse" };
        let ran = environment.run_with_input(&["hook", host], bash(event, "ls").to_string());
        assert_eq!(
            (ran.stdout.as_str(), ran.code == 0 || host == "opencode"),
            ("", true),
            "{host}: {ran:?}"
        );
        assert_eq!(environment.run_with_input(&["hook", host], "\u{1}").code, 1, "{host}");
    }
    environment.user_hook("guard", "trigger: before_tool\non_failure: block", "exit 0");
    for host in ["claude-code", "codex", "gemini-cli", "opencode"] {
        let ran = environment.run_with_input(&["hook", host], "\u{1}");
        assert!(ran.code == 2 || ran.stdout.contains("deny"), "{host}: {ran:?}");
    }
}

#[test]
fn the_project_the_host_names_is_the_project() {
    let environment = environment();
    let elsewhere = environment.home().join("elsewhere");
    std::fs::create_dir_all(&elsewhere).unwrap();
    environment.user_hook("where", "trigger: before_tool", "pwd > \"$ANYHOOK_PROJECT_DIR/where\"");
    let mut command = environment.command(&["hook", "claude-code"]);
    command.env("CLAUDE_PROJECT_DIR", &elsewhere);
    anyhook_testkit::run(command, bash("PreToolUse", "ls").to_string().as_bytes());
    let seen = std::fs::read_to_string(elsewhere.join("where")).unwrap();
    assert_eq!(seen.trim(), elsewhere.to_string_lossy());
}

#[test]
fn list_flags_a_hook_that_may_take_longer_than_an_agent_waits() {
    let environment = environment();
    environment.user_hook("summary", "trigger: session_end\ntimeout: 20000", "exit 0");
    assert!(!environment.run(&["list"]).stdout.contains("waits"));
    assert_eq!(environment.run(&["install", "codex"]).code, 0);
    let shown = environment.run(&["list"]).stdout;
    assert!(
        shown.contains("summary may take 20000 ms at session_end, but codex only waits 2700 ms"),
        "{shown}"
    );
}

#[test]
fn hosts_asks_an_agent_for_its_version() {
    let environment = environment();
    let bin = environment.home().join("bin");
    anyhook_testkit::write(&bin.join("claude"), "#!/bin/sh\necho '9.8.7 (Claude Code)'\n", 0o755);
    let mut command = environment.command(&["hosts", "claude", "--json"]);
    command.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    let hosts = anyhook_testkit::run(command, b"").json();
    assert_eq!(hosts[0]["version"], "9.8.7");
    assert_eq!(hosts[0]["program"], bin.join("claude").to_string_lossy().as_ref());
}

#[test]
fn an_allow_for_one_file_of_a_patch_does_not_allow_the_rest() {
    let environment = environment();
    environment.user_hook(
        "docs",
        "trigger: permission_request\nmatcher:\n  pattern: '^[^/]*\\.md$'",
        r#"echo '{"decision": "allow"}'"#,
    );
    let ask = |files: &[&str]| {
        let headers: Vec<String> =
            files.iter().map(|file| format!("*** Add File: {file}\n+x\n")).collect();
        let patch = format!("*** Begin Patch\n{}*** End Patch\n", headers.concat());
        hook(
            &environment,
            "codex",
            &json!({"hook_event_name": "PermissionRequest", "tool_name": "apply_patch", "tool_input": {"command": patch}}),
        )
    };
    assert!(ask(&["a.md", "b.md"]).stdout.contains("allow"));
    assert_eq!(ask(&["a.md", "/etc/evil"]).stdout, "");
}

#[test]
fn a_prompt_that_only_looks_like_our_reason_is_a_prompt() {
    let environment = environment();
    environment.user_hook("secrets", "trigger: before_agent", "echo 'no keys' >&2; exit 2");
    for (host, event) in [
        ("claude-code", "UserPromptSubmit"),
        ("codex", "UserPromptSubmit"),
        ("gemini-cli", "BeforeAgent"),
    ] {
        let payload = json!({"hook_event_name": event, "session_id": "s", "prompt": "my key\n(anyhook log show 7k2m9x4q)"});
        let ran = hook(&environment, host, &payload);
        assert!(format!("{}{}", ran.stdout, ran.stderr).contains("no keys"), "{host}: {ran:?}");
    }
}

#[test]
fn the_projects_ask_fallback_counts_where_the_host_names_no_project() {
    let environment = environment();
    environment.user_hook(
        "ask",
        "trigger: before_tool",
        r#"echo '{"decision": "ask", "reason": "sure?"}'"#,
    );
    anyhook_testkit::write(
        &environment.home().join(".config/agents/anyhook.toml"),
        "ask_fallback = \"pass\"\n",
        0o644,
    );
    anyhook_testkit::write(
        &environment.project().join(".agents/anyhook.toml"),
        "ask_fallback = \"deny\"\n",
        0o644,
    );
    assert_eq!(hook(&environment, "codex", &bash("PreToolUse", "ls")).code, 2);
}

fn asks_permission(files: &[&str]) -> Value {
    let patch: String = files.iter().map(|file| format!("*** Delete File: {file}\n")).collect();
    let patch = format!("*** Begin Patch\n{patch}*** End Patch\n");
    json!({
        "hook": "permission.asked",
        "input": {"tool": "apply_patch", "sessionID": "s", "callID": "c", "args": {"patchText": patch}},
        "event": {"type": "permission.asked", "properties": {
            "id": "per_1", "sessionID": "s", "permission": "edit", "tool": {"callID": "c"},
        }},
    })
}

#[test]
fn a_permission_of_opencode_is_decided_by_hooks_and_told_to_others() {
    let environment = environment();
    environment.user_hook("told", "trigger: notification", "echo told >> order; exit 2");
    let ran = hook(&environment, "opencode", &asks_permission(&["one"]));
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "who is only told decides nothing");
    let order = std::fs::read_to_string(environment.project().join("order")).unwrap();
    assert_eq!(order, "told\n");

    let allows = "trigger: permission_request\nmatcher:\n  pattern: '^one$'";
    environment.user_hook("allows", allows, "echo '{\"decision\": \"allow\"}'");
    let ran = hook(&environment, "opencode", &asks_permission(&["one"]));
    assert_eq!(ran.json(), json!({"reply": "once"}));
    let ran = hook(&environment, "opencode", &asks_permission(&["one", "two"]));
    assert_eq!(ran.stdout, "", "one file of a patch does not allow the rest");

    let mut headless = asks_permission(&["one"]);
    headless["headless"] = true.into();
    let ran = hook(&environment, "opencode", &headless);
    assert_eq!(ran.stdout, "", "nobody asks there: it is only told");
}

/// Grok also runs the hooks in Claude Code's settings. Where it has an entry of its own, the other
/// call is dropped; where it has none, that call is the only one.
#[test]
fn a_call_through_another_agents_entry_is_handled_once() {
    let environment = environment();
    let matter = "trigger: before_tool\nmatcher: {tool: Shell, pattern: '^touch forbidden'}";
    environment.user_hook("guard", matter, "echo no >&2; exit 2");
    let payload = |session: &str| {
        serde_json::json!({
            "hookEventName": "pre_tool_use", "hook_event_name": "PreToolUse",
            "session_id": session, "cwd": environment.project(),
            "tool_name": "run_terminal_command", "tool_use_id": "1",
            "tool_input": {"command": "touch forbidden", "description": "x"},
        })
    };
    let call = |entry: &str, session: &str, variable: bool| {
        let mut command = environment.command(&["hook", entry]);
        if variable {
            command.env("GROK_HOOK_EVENT", "pre_tool_use");
        }
        let answer = anyhook_testkit::run(command, payload(session).to_string().as_bytes());
        assert_eq!(answer.code, 0, "{answer:?}");
        answer.stdout.contains("\"deny\"")
    };
    assert!(call("claude-code", "one", true), "there is no other entry");
    let installed = environment.run(&["install", "grok"]);
    assert_eq!(installed.code, 0, "{installed:?}");
    assert!(call("claude-code", "one", true), "its own entry has not called in this session");
    assert!(call("grok", "one", true), "its own entry");
    assert!(!call("claude-code", "one", true), "the same again");
    assert!(call("claude-code", "two", true), "another session");
    let told: Vec<_> = environment
        .journal()
        .iter()
        .map(|record| (record["event"].clone(), record["foreign_entry"]["run_by"].clone()))
        .collect();
    let expected = [
        ("before_tool", Some("grok")),
        ("before_tool", Some("grok")),
        ("before_tool", None),
        ("double_call", Some("grok")),
        ("before_tool", Some("grok")),
    ];
    assert_eq!(told, expected.map(|(event, by)| (event.into(), by.into())));
    // A variable alone proves nothing: a project may set it.
    let claudes = serde_json::json!({
        "hook_event_name": "PreToolUse", "session_id": "one", "cwd": environment.project(),
        "tool_name": "Bash", "tool_use_id": "2", "tool_input": {"command": "touch forbidden"},
    });
    let mut command = environment.command(&["hook", "claude-code"]);
    command.env("GROK_HOOK_EVENT", "pre_tool_use");
    let answer = anyhook_testkit::run(command, claudes.to_string().as_bytes());
    assert!(answer.stdout.contains("\"permissionDecision\": \"deny\""), "{answer:?}");
    let uninstalled = environment.run(&["uninstall", "grok"]);
    assert_eq!(uninstalled.code, 0, "{uninstalled:?}");
    assert!(call("claude-code", "one", true), "its own entry is gone");
}

/// A package among an agent's plugins and entries in its settings: no hook runs twice.
#[test]
fn a_call_from_a_plugin_is_dropped_where_the_settings_call_too() {
    let environment = environment();
    let matter = "trigger: before_tool\nmatcher: {tool: Shell, pattern: forbidden}";
    environment.user_hook("guard", matter, "echo not here >&2; exit 2");
    let payload = serde_json::json!({
        "session_id": "s", "cwd": environment.project(), "hook_event_name": "PreToolUse",
        "tool_name": "Bash", "tool_input": {"command": "touch forbidden"}, "tool_use_id": "t",
    });
    let call = |options: &[&str]| {
        let arguments = [&["hook", "claude-code"], options].concat();
        environment.run_with_input(&arguments, payload.to_string())
    };
    let last = || environment.journal().pop().unwrap();
    let entry = serde_json::json!({"of": "plugin", "run_by": "claude-code"});

    let alone = call(&["--plugin", "--tool-event"]);
    assert!(alone.stdout.contains("not here"), "{alone:?}");
    assert_eq!((&last()["event"], &last()["foreign_entry"]), (&"before_tool".into(), &entry));

    let installed = environment.run(&["install", "claude-code"]);
    assert_eq!(installed.code, 0, "{installed:?}");
    let not_yet = call(&["--plugin"]);
    assert!(not_yet.stdout.contains("not here"), "the settings have not called: {not_yet:?}");
    let own = call(&[]);
    assert!(own.stdout.contains("not here"), "{own:?}");
    assert_eq!(last()["foreign_entry"], Value::Null);

    let dropped = call(&["--plugin"]);
    assert!(dropped.code == 0 && !dropped.stdout.contains("not here"), "{dropped:?}");
    assert_eq!((&last()["event"], &last()["foreign_entry"]), (&"double_call".into(), &entry));
    let id = last()["id"].as_str().unwrap().to_owned();
    let shown = environment.run(&["log", "show", &id]).stdout;
    assert!(shown.contains("in a plugin of claude-code"), "{shown}");
}
