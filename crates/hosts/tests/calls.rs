//! Which calls the recorded logs of real agents report as executed.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up its world has failed")]

use std::fs;
use std::path::Path;

use anyhook_hosts::log::{ExecutedCall, LogState};
use anyhook_hosts::log_database::PartCall;
use serde_json::{Value, json};

/// The executed calls of the logs: the agent, the log, and the tools and what they were about. Calls
/// that were denied, interrupted or refused are not among them.
const EXECUTED: &[(&str, &str, &[&str])] = &[
    ("claude-code", "text", &[]),
    ("claude-code", "tools", &["Bash echo heard", "Bash exit 3"]),
    ("claude-code", "question", &[]),
    ("claude-code", "interrupted", &[]),
    ("claude-code", "subagent", &["Agent look"]),
    ("claude-code", "subagent-own", &["Bash echo inside"]),
    ("codex", "text", &[]),
    ("codex", "tools", &["exec_command echo heard", "exec_command exit 3"]),
    ("codex", "interrupted", &[]),
    ("gemini-cli", "text", &[]),
    ("gemini-cli", "tools", &["run_shell_command echo heard", "run_shell_command exit 3"]),
    ("gemini-cli", "cancelled", &[]),
    ("kilo", "tools", &["bash echo RAN >ran.txt; echo hi-from-shell"]),
    (
        "oh-my-pi",
        "tools",
        &[
            "bash echo hi-from-shell; env | cut -d= -f1 | sort | tr '\\n' ' '",
            "bash exit 3",
            "write new.txt",
            "read a.txt",
            "bash cat new.txt",
        ],
    ),
    ("opencode", "text", &[]),
    ("opencode", "tools", &["bash echo heard", "bash exit 3"]),
    (
        "pi",
        "tools",
        &[
            "bash echo hi-from-shell; env | cut -d= -f1 | sort | tr '\\n' ' '",
            "bash exit 3",
            "write new.txt",
            "edit new.txt",
            "read a.txt",
            "bash cat new.txt",
        ],
    ),
];

fn folder(host: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(host.replace('-', "_"))
}

/// Returns the executed calls of a log: of lines, or of a database's rows, each as it was written
/// last.
fn executed(host: &str, text: &str) -> Vec<ExecutedCall> {
    executed_at(host, "/log.jsonl", text)
}

fn executed_at(host: &str, path: &str, text: &str) -> Vec<ExecutedCall> {
    let agent = anyhook_hosts::find(host).unwrap();
    if ["kilo", "opencode"].contains(&host) {
        let places = agent.log_places(&anyhook_hosts::log::LogRoots::default());
        let database = places[0].database().unwrap();
        let mut parts = std::collections::BTreeMap::new();
        for line in text.lines() {
            let step: Value = serde_json::from_str(line).unwrap();
            let row = &step["row"];
            if step["table"] == "part" {
                let data = row["data"].as_str().unwrap();
                parts.insert(row["id"].as_str().unwrap().to_owned(), data.to_owned());
            }
        }
        let call = |data: &String| match (database.call_of_part)(data) {
            PartCall::Executed(call) => Some(*call),
            PartCall::Open | PartCall::Nothing => None,
        };
        return parts.values().filter_map(call).collect();
    }
    let mut state = agent.begin_log(path);
    let mut all = Vec::new();
    for line in text.lines() {
        agent.read_log_line(&mut state, line);
        all.extend(state.take_executed());
        // What is stored is enough to continue.
        let stored = serde_json::to_string(&state).unwrap();
        assert!(stored.len() < 10_000, "{stored}");
    }
    all
}

fn words(call: &ExecutedCall) -> String {
    let words = [call.tool.as_deref(), call.about.as_deref()];
    words.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

#[test]
fn recorded_logs_tell_which_calls_were_executed() {
    let mut wrong = Vec::new();
    for (host, log, expected) in EXECUTED {
        let path = folder(host).join(format!("fixtures/logs/{log}.jsonl"));
        let calls = executed(host, &fs::read_to_string(path).unwrap());
        let told: Vec<String> = calls.iter().map(words).collect();
        if told != *expected {
            wrong.push(format!("{host} {log}: {told:?}"));
        }
        assert!(calls.iter().all(|call| call.id.is_some() && call.at.is_some()), "{calls:#?}");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What the hooks of Claude Code received in the same sessions: each executed call was asked about.
#[test]
fn every_executed_call_of_a_recorded_session_was_asked_about() {
    let recorded = folder("claude-code").join("transcript/recorded");
    let mut calls = 0;
    for entry in fs::read_dir(&recorded).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let Some(session) = name.strip_suffix(".hooks.jsonl") else { continue };
        let text = fs::read_to_string(&path).unwrap();
        let asked: Vec<String> = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .filter(|payload| payload["hook_event_name"] == "PreToolUse")
            .map(|payload| payload["tool_use_id"].as_str().unwrap().to_owned())
            .collect();
        for log in [format!("{session}.jsonl"), format!("{session}.agent.jsonl")] {
            let Ok(text) = fs::read_to_string(recorded.join(&log)) else { continue };
            for call in executed("claude-code", &text) {
                assert!(asked.contains(call.id.as_ref().unwrap()), "{log}: {call:?} {asked:?}");
                calls += 1;
            }
        }
    }
    assert!(calls >= 10, "{calls}");
}

/// The calls that were asked about, as `calls.asked.jsonl` has what the hooks received: by their id,
/// or by their input.
fn is_asked(asked: &[Value], call: &ExecutedCall) -> bool {
    asked.iter().any(|payload| match &call.payload {
        Some(told) => {
            ["session_id", "tool_name", "tool_input"].iter().all(|name| told[name] == payload[name])
        }
        None => {
            let id = payload["tool_use_id"].as_str().or(payload["input"]["callID"].as_str());
            id == call.id.as_deref()
        }
    })
}

/// Sessions with denied, failed and refused calls, calls of unknown tools, and subagents.
#[test]
fn what_was_not_asked_about_was_not_executed() {
    for (host, logs, expected) in [
        ("claude-code", vec!["/p/s/calls.jsonl", "/p/s/agent-calls-subagent.jsonl"], 5),
        ("codex", vec!["/calls.jsonl"], 3),
        (
            "gemini-cli",
            vec![
                "/chats/calls.jsonl",
                "/chats/70f978e6-3350-4cf4-9e53-218b1ff05b53/calls-subagent.jsonl",
            ],
            3,
        ),
        ("opencode", vec!["/calls.jsonl"], 3),
    ] {
        let folder = folder(host).join("fixtures/logs");
        let text = fs::read_to_string(folder.join("calls.asked.jsonl")).unwrap();
        let asked: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let mut calls = Vec::new();
        for path in logs {
            let name = path.rsplit('/').next().unwrap().trim_start_matches("agent-");
            let text = fs::read_to_string(folder.join(name)).unwrap();
            calls.extend(executed_at(host, path, &text));
        }
        let words: Vec<String> = calls.iter().map(words).collect();
        assert!(calls.iter().all(|call| is_asked(&asked, call)), "{host}: {words:#?}");
        assert_eq!(calls.len(), expected, "{host}: {words:#?}");
    }
}

fn of_lines(host: &str, path: &str, lines: &[Value]) -> Vec<ExecutedCall> {
    let agent = anyhook_hosts::find(host).unwrap();
    let mut state = agent.begin_log(path);
    let mut all = Vec::new();
    for line in lines {
        agent.read_log_line(&mut state, &line.to_string());
        all.extend(state.take_executed());
    }
    all
}

#[test]
fn claude_code_says_how_a_call_ended() {
    let call = json!({"type": "assistant", "sessionId": "s", "message": {"content":
        [{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "x"}}]}});
    let result = |more: Value, content: &str, is_error: bool| {
        let mut line = json!({"type": "user", "sessionId": "s", "message": {"content":
            [{"type": "tool_result", "tool_use_id": "t", "content": content,
                "is_error": is_error}]}});
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        line
    };
    let accepted = json!({"permissionDecision": {"decision": "accept"}});
    for (line, expected) in [
        (result(json!({}), "x", false), 1),
        (result(accepted, "Exit code 3", true), 1),
        (result(json!({}), "Exit code 3", true), 1),
        (result(json!({"toolDenialKind": "permission-rule"}), "no", true), 0),
        (result(json!({"permissionDecision": {"decision": "reject"}}), "no", true), 0),
        (result(json!({}), "PreToolUse:Bash hook error: no", true), 0),
        (result(json!({}), "<tool_use_error>Error: No such tool available: X", true), 0),
        (result(json!({"forkedFrom": {"sessionId": "other"}}), "x", false), 0),
    ] {
        let calls = of_lines("claude-code", "/p/s.jsonl", &[call.clone(), line.clone()]);
        assert_eq!(calls.len(), expected, "{line}");
    }
    // A subagent's log names the session that hooks are told.
    let side = |mut line: Value| {
        line["isSidechain"] = true.into();
        line
    };
    let agent = anyhook_hosts::find("claude-code").unwrap();
    let mut state = agent.begin_log("/p/s/subagents/agent-a1.jsonl");
    for line in [side(call), side(result(json!({}), "x", false))] {
        assert_eq!(agent.read_log_line(&mut state, &line.to_string()), None);
    }
    assert_eq!(state.take_executed().len(), 1);
    assert_eq!(state.session.as_deref(), Some("s"));
}

#[test]
fn codex_reports_commands_patches_tools_of_servers_and_what_is_typed() {
    let line = |kind: &str, payload: Value| json!({"type": kind, "payload": payload});
    let call = |name: &str, arguments: Value| {
        let text = arguments.to_string();
        line(
            "response_item",
            json!({"type": "function_call", "name": name, "call_id": "c",
            "arguments": text}),
        )
    };
    let output = |text: &str| {
        line(
            "response_item",
            json!({"type": "function_call_output", "call_id": "c",
            "output": text}),
        )
    };
    let item = |kind: &str, id: &str, status: &str| {
        line(
            "event_msg",
            json!({"type": "item_completed", "item": {"type": kind, "id": id,
            "status": status, "tool": "echo", "command": ["bash", "-lc", "ls"]}}),
        )
    };
    let typed = |chars: &str| call("write_stdin", json!({"session_id": 1, "chars": chars}));
    let run = || call("exec_command", json!({"cmd": "ls"}));
    for (lines, expected) in [
        (vec![run(), output("Chunk ID: 1")], "exec_command ls"),
        (
            vec![run(), item("CommandExecution", "c", "failed"), output("Chunk ID: 1")],
            "exec_command ls",
        ),
        (vec![run(), output("Command blocked by PreToolUse hook: no")], ""),
        (vec![run(), output("failed to parse function arguments")], ""),
        (vec![run(), item("CommandExecution", "c", "declined")], ""),
        (vec![call("nonexistent", json!({})), output("unsupported call: nonexistent")], ""),
        (vec![call("update_plan", json!({})), output("Plan updated")], ""),
        (vec![typed("rm -rf x\n"), output("Chunk ID: 1")], "write_stdin rm -rf x"),
        (vec![typed("rm -rf x\n"), output("write_stdin failed: Unknown process id 1")], ""),
        (vec![typed(""), output("Chunk ID: 1")], ""),
        (vec![typed("\u{3}"), output("Chunk ID: 1")], ""),
        (
            vec![call("mini__echo", json!({})), item("McpToolCall", "c", "completed"), output("x")],
            "mini__echo",
        ),
        // What a script of code mode ran.
        (vec![item("CommandExecution", "exec-1", "completed")], "exec_command ls"),
        (vec![item("CommandExecution", "user-1", "completed")], ""),
    ] {
        let calls = of_lines("codex", "/rollout-x.jsonl", &lines);
        let told: Vec<String> = calls.iter().map(words).collect();
        assert_eq!(told.join(", "), expected, "{lines:#?}");
    }
    // Hooks are told the session that a subagent works for.
    let meta = line(
        "session_meta",
        json!({"session_id": "outer", "id": "inner",
        "thread_source": "subagent"}),
    );
    let calls = of_lines("codex", "/rollout-x.jsonl", &[meta, run(), output("Chunk ID: 1")]);
    assert_eq!(calls[0].session.as_deref(), Some("outer"));
}

#[test]
fn gemini_cli_repeats_a_message_whenever_it_changes() {
    let call = |id: &str, status: &str| json!({"id": id, "name": "run_shell_command", "args": {"command": "ls"}, "status": status});
    let message = |calls: Vec<Value>| json!({"id": "m", "type": "gemini", "toolCalls": calls});
    let lines = [
        json!({"sessionId": "own", "kind": "subagent"}),
        message(vec![call("1", "success")]),
        message(vec![call("1", "success"), call("2", "error"), call("3", "cancelled")]),
        message(vec![call("1", "success"), call("4", "success")]),
    ];
    let calls = of_lines("gemini-cli", "/tmp/p/chats/outer/own.jsonl", &lines);
    let ids: Vec<_> = calls.iter().filter_map(|call| call.id.as_deref()).collect();
    assert_eq!(ids, ["m 1", "m 4"]);
    let payload = calls[0].payload.as_ref().unwrap();
    assert_eq!(
        (&payload["session_id"], &payload["tool_input"]["command"]),
        (&json!("outer"), &json!("ls"))
    );
    assert_eq!(calls[0].session.as_deref(), Some("outer"));
}

#[test]
fn what_is_tracked_is_bounded() {
    let agent = anyhook_hosts::find("claude-code").unwrap();
    let mut state = LogState::default();
    for number in 0..1000 {
        let line = json!({"type": "assistant", "message": {"content": [{"type": "tool_use",
            "id": format!("t{number}"), "name": "Bash", "input": {"command": "x".repeat(5000)}}]}});
        agent.read_log_line(&mut state, &line.to_string());
    }
    assert_eq!(state.begun.len(), 64);
    let about = state.begun[0].about.as_ref().unwrap();
    assert!(about.len() < 1000, "{}", about.len());
    assert!(!serde_json::to_string(&state).unwrap().contains("xxx"), "it may be a secret");
}
