//! Which calls the recorded logs of real agents report as executed.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up its world has failed")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhook_hosts::log::{ExecutedCall, LogRoots, LogState};
use anyhook_hosts::log_database::PartCall;
use anyhook_model::{Caller, EventKind};
use jiff::Timestamp;
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
    if host == "hermes" {
        return executed_of_hermes(text);
    }
    if ["kilo", "opencode"].contains(&host) {
        let places = agent.log_places(&LogRoots::default());
        let database = places[0].database().unwrap();
        let mut parts = BTreeMap::new();
        for line in text.lines() {
            let step: Value = serde_json::from_str(line).unwrap();
            let row = &step["row"];
            if step["table"] == "part" {
                let data = row["data"].as_str().unwrap();
                parts.insert(row["id"].as_str().unwrap().to_owned(), data.to_owned());
            }
        }
        let session = text.lines().find_map(|line| {
            let step: Value = serde_json::from_str(line).unwrap();
            (step["table"] == "session").then(|| step["row"]["id"].as_str().unwrap().to_owned())
        });
        let call = |data: &String| match (database.call_of_part)(data) {
            PartCall::Executed(call) => {
                Some(ExecutedCall { session: call.session.or(session.clone()), ..*call })
            }
            PartCall::Open | PartCall::Nothing => None,
        };
        return parts.values().filter_map(call).collect();
    }
    let mut state = agent.begin_log(path);
    let mut all = Vec::new();
    for line in text.lines() {
        agent.read_log_line(&mut state, line);
        let session = state.session.clone();
        all.extend(state.take_executed().into_iter().map(|call| ExecutedCall {
            session: call.session.clone().or_else(|| session.clone()),
            ..call
        }));
        // What is stored is enough to continue.
        let stored = serde_json::to_string(&state).unwrap();
        assert!(stored.len() < 10_000, "{stored}");
    }
    all
}

/// Returns the executed calls of recorded rows of Hermes, whose parts are made by its query.
fn executed_of_hermes(text: &str) -> Vec<ExecutedCall> {
    let places = anyhook_hosts::find("hermes").unwrap().log_places(&LogRoots::default());
    let database = places[0].database().unwrap();
    let (mut calls, mut all) = (BTreeMap::new(), Vec::new());
    for line in text.lines() {
        let step: Value = serde_json::from_str(line).unwrap();
        let row = &step["row"];
        if step["table"] != "messages" {
            continue;
        }
        let session = row["session_id"].as_str().unwrap().to_owned();
        if row["role"] == "assistant" {
            calls.insert(session, row["tool_calls"].clone());
            continue;
        }
        let part = json!({"role": row["role"], "call": row["tool_call_id"], "tool": row["tool_name"],
            "content": row["content"], "at": row["timestamp"], "calls": calls.get(&session)});
        if let PartCall::Executed(call) = (database.call_of_part)(&part.to_string()) {
            assert!(call.about.is_some(), "{call:?}");
            all.push(ExecutedCall { session: Some(session), ..*call });
        }
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

/// Returns whether hooks were asked about a call: by its id, or by its tool and input, in the session
/// that they are told.
fn is_asked(host: &str, asked: &[Value], call: &ExecutedCall) -> bool {
    let agent = anyhook_hosts::find_host(host).unwrap();
    let decode = |payload: &Value| {
        let caller = Caller::new("/", Timestamp::UNIX_EPOCH);
        agent.decode(payload.to_string().as_bytes(), &caller).unwrap().remove(0)
    };
    let told = call.payload.as_ref().map(decode);
    asked.iter().map(decode).any(|event| {
        assert_eq!(event.kind, EventKind::BeforeTool);
        let tool = event.tool.unwrap();
        event.session == call.session
            && match told.as_ref().map(|told| told.tool.as_ref().unwrap()) {
                Some(told) => told.name == tool.name && told.input == tool.input,
                None => tool.use_id == call.id,
            }
    })
}

/// The names of logs, and where they are.
type LogsAndPlaces = &'static [(&'static str, &'static str)];

/// Sessions with denied, failed and refused calls, calls of unknown tools, and subagents: the host, what
/// the hooks received, the logs and where they are, and the number of executed calls. `@` is the session.
const SESSIONS: &[(&str, &str, LogsAndPlaces, usize)] = &[
    (
        "claude-code",
        "calls",
        &[("calls", "/p/@.jsonl"), ("calls-subagent", "/p/@/subagents/agent-x.jsonl")],
        5,
    ),
    ("cline", "calls", &[("calls", "/@/@.messages.json")], 5),
    (
        "cline",
        "delegated",
        &[("delegated", "/@/@.messages.json"), ("delegated-subagent", "/@/agent_1.messages.json")],
        4,
    ),
    ("codex", "calls", &[("calls", "/rollout-@.jsonl")], 3),
    ("copilot", "calls", &[("calls", "/@/events.jsonl")], 5),
    ("copilot", "delegated", &[("delegated", "/@/events.jsonl")], 4),
    ("droid", "calls", &[("calls", "/p/@.jsonl")], 5),
    // The call of its subagent failed: there is none without its vendor.
    ("droid", "delegated", &[("delegated", "/p/@.jsonl")], 2),
    (
        "gemini-cli",
        "calls",
        &[("calls", "/chats/session-1.jsonl"), ("calls-subagent", "/chats/@/own.jsonl")],
        3,
    ),
    ("grok", "calls", &[("calls", "/%2Fhome/@/updates.jsonl")], 6),
    (
        "grok",
        "delegated",
        // A subagent has a session of its own.
        &[("delegated", "/%2Fhome/@/updates.jsonl"), ("delegated-subagent", "/updates.jsonl")],
        4,
    ),
    ("hermes", "calls", &[("calls", "/state.db")], 6),
    ("hermes", "delegated", &[("delegated", "/state.db")], 4),
    ("kimi-cli", "calls", &[("calls", "/p/@/wire.jsonl")], 5),
    (
        "kimi-cli",
        "delegated",
        &[("delegated", "/p/@/wire.jsonl"), ("delegated-subagent", "/p/@/subagents/a1/wire.jsonl")],
        4,
    ),
    ("kimi-code", "calls", &[("calls", "/p/@/agents/main/wire.jsonl")], 5),
    (
        "kimi-code",
        "delegated",
        &[
            ("delegated", "/p/@/agents/main/wire.jsonl"),
            ("delegated-subagent", "/p/@/agents/agent-0/wire.jsonl"),
        ],
        4,
    ),
    ("letta", "calls", &[("calls", "/c/messages.jsonl")], 6),
    // Which folder a subagent works in is not in its log.
    (
        "letta",
        "delegated",
        &[("delegated", "/c/messages.jsonl"), ("delegated-subagent", "/d/messages.jsonl")],
        3,
    ),
    ("opencode", "calls", &[("calls", "/opencode.db")], 3),
    ("qwen-code", "calls", &[("calls", "/p/chats/@.jsonl")], 6),
    ("qwen-code", "delegated", &[("delegated", "/p/chats/@.jsonl")], 4),
];

#[test]
fn what_was_not_asked_about_was_not_executed() {
    for (host, asked, logs, expected) in SESSIONS {
        let folder = folder(host).join("fixtures/logs");
        let text = fs::read_to_string(folder.join(format!("{asked}.asked.jsonl"))).unwrap();
        let asked: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let caller = Caller::new("/", Timestamp::UNIX_EPOCH);
        let agent = anyhook_hosts::find_host(host).unwrap();
        let first = agent.decode(asked[0].to_string().as_bytes(), &caller).unwrap().remove(0);
        let session = first.session.unwrap();
        let mut calls = Vec::new();
        for (name, path) in *logs {
            let text = fs::read_to_string(folder.join(format!("{name}.jsonl"))).unwrap();
            calls.extend(executed_at(host, &path.replace('@', &session), &text));
        }
        let words: Vec<String> = calls.iter().map(words).collect();
        for call in &calls {
            assert!(is_asked(host, &asked, call), "{host}: {call:#?} {asked:#?}");
            // The times in Letta's results are made up.
            assert!(call.at.is_some() || *host == "letta", "{host}: {call:#?}");
        }
        assert_eq!(calls.len(), *expected, "{host}: {words:#?}");
    }
    for agent in anyhook_hosts::AGENTS.into_iter().filter(|agent| agent.log.is_some()) {
        // pi and oh-my-pi are above, Kilo is as OpenCode.
        let is_elsewhere = ["kilo", "oh-my-pi", "pi"].contains(&agent.id());
        let has_session = SESSIONS.iter().any(|(host, ..)| *host == agent.id());
        assert!(is_elsewhere || has_session, "{}", agent.id());
    }
}

/// Where hooks are told no id, a call is joined by what identifies its payload, which is known before
/// its result: it can be stored, as the payload cannot.
#[test]
fn a_call_without_an_id_is_joined_across_a_restart() {
    for (host, log) in [("copilot", "calls"), ("droid", "calls")] {
        let path = folder(host).join(format!("fixtures/logs/{log}.jsonl"));
        let agent = anyhook_hosts::find(host).unwrap();
        let mut state = agent.begin_log("/p/s.jsonl");
        let mut calls = Vec::new();
        for line in fs::read_to_string(path).unwrap().lines() {
            agent.read_log_line(&mut state, line);
            calls.extend(state.take_executed());
            state.digest_calls(|payload| Some(format!("digest of {}", payload.to_string().len())));
            let stored = serde_json::to_string(&state).unwrap();
            assert!(!stored.contains("echo"), "it may be a secret: {stored}");
            state = serde_json::from_str(&stored).unwrap();
        }
        assert_eq!(calls.len(), 5, "{host}");
        for call in calls {
            assert!(call.digest.is_some() && call.payload.is_none(), "{host}: {call:?}");
        }
        // The result of a call whose beginning was not read is joined with nothing.
        let mut state = LogState::default();
        for line in
            fs::read_to_string(folder(host).join("fixtures/logs/calls.jsonl")).unwrap().lines()
        {
            agent.read_log_line(&mut state, line);
            state.begun.clear();
            assert_eq!(state.take_executed(), [], "{host}");
        }
    }
}

#[test]
fn grok_unescapes_the_folder() {
    let grok = anyhook_hosts::find("grok").unwrap();
    for (folder, expected) in [
        ("%2Fhome%2Fuser%2Fa%20b%C3%A9", Some("/home/user/a b\u{e9}")),
        ("%2Fhome%2", None),
        ("%2Fhome%zz", None),
        ("%2F%ff", None),
        ("home", None),
    ] {
        let state = grok.begin_log(&format!("/s/{folder}/id/updates.jsonl"));
        assert_eq!(state.work_dir.as_deref(), expected, "{folder}");
        assert_eq!(state.session.as_deref(), Some("id"));
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
