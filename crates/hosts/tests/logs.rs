//! What the recorded logs of real agents tell, and that nothing in a log can do harm.
//!
//! The logs were written by the agents themselves, offline with a scripted model; paths are
//! neutral and long texts cut. Those of `OpenCode` and Kilo are rows of their databases, in the
//! order in which they were written.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up its world has failed")]

use std::fs;
use std::path::Path;

use anyhook_hosts::log::{Activity, LogObservation, LogRoots, LogState, MAX_LINE};
use anyhook_hosts::{AGENTS, HostSpec};
use proptest::prelude::*;
use serde_json::{Value, json};

/// What the logs tell: the agent, the log, the session, and each change of what the agent does. One
/// that is not certain has a question mark.
const TOLD: &[(&str, &str, &str, &str)] = &[
    ("claude-code", "text", "text", "working idle?"),
    ("claude-code", "tools", "tools", "working idle?"),
    ("claude-code", "rate-limited", "rate-limited", "working failed(rate_limited)"),
    ("claude-code", "unauthorized", "unauthorized", "working failed(unauthorized)"),
    // Stopped in a command; an answer; stopped at a question.
    (
        "claude-code",
        "question",
        "question",
        "working broken off working idle? idle working prompting(question) working broken off",
    ),
    // Stopped at a question for permission, which leaves no line.
    ("claude-code", "interrupted", "interrupted", "working broken off working idle? idle"),
    ("claude-code", "subagent", "subagent", "working idle?"),
    ("claude-code", "subagent-own", "subagent-own", ""),
    ("codex", "text", "01a1e248-8452-7c43-8eb5-4d0637c12357", "working idle"),
    ("codex", "tools", "01a1e248-8930-7eb0-8f14-50fd4b45ff26", "working idle"),
    (
        "codex",
        "rate-limited",
        "01a1e248-8e87-7930-8874-b28c8903bbda",
        "working failed(rate_limited)",
    ),
    (
        "codex",
        "unauthorized",
        "01a1e248-93b9-7c73-a9b1-dd8edd7e52de",
        "working failed(unauthorized)",
    ),
    ("codex", "bad-request", "01a1e248-9959-7b43-b271-001f28e4990e", "working failed(other)"),
    // The command that was left running ends after the second turn.
    (
        "codex",
        "interrupted",
        "01a1e250-8a2d-7151-9a76-1f673eecee56",
        "working broken off working idle",
    ),
    ("gemini-cli", "text", "d33b7542-6bb8-4859-ae8b-71674d137c52", "working idle?"),
    ("gemini-cli", "tools", "8230bfaa-0813-44c1-bf24-5b5fec7d9831", "working idle?"),
    // Without a screen it writes no error.
    ("gemini-cli", "unauthorized", "3ecabba1-226f-4e5f-a873-2ba5b81f8085", "working"),
    (
        "gemini-cli",
        "cancelled",
        "fd6a2bff-c9fc-4bfe-868e-93e5d0af0510",
        "working broken off working idle?",
    ),
    ("kilo", "tools", "", "working idle"),
    ("oh-my-pi", "tools", "01a1f193-b58c-7000-ad04-4eba35cf422d", "working idle?"),
    ("oh-my-pi", "bad-request", "01a1f1a2-c708-7000-ae4b-441d107872f2", "working failed(other)"),
    ("opencode", "text", "", "working idle"),
    ("opencode", "tools", "", "working idle"),
    ("opencode", "rate-limited", "", "working failed(rate_limited)"),
    ("opencode", "unauthorized", "", "working failed(unauthorized)"),
    ("pi", "tools", "01a1f193-a262-760a-ac3d-b6d7102b74c5", "working idle?"),
    ("pi", "bad-request", "01a1f1a2-2ebd-76ea-91af-e20151d670a1", "working failed(other)"),
    ("cline", "calls", "", "working idle?"),
    ("copilot", "calls", "184f8464-91b3-4f3e-b917-f1171668969c", "working idle?"),
    ("droid", "calls", "calls", "working idle?"),
    (
        "letta",
        "calls",
        "agent-local-8427d949-ded2-44ab-b641-e2415aa27cb0:/home/user/project",
        "working idle?",
    ),
    ("qwen-code", "calls", "calls", "working idle?"),
    ("grok", "calls", "01a1f646-f2d5-7a83-b715-e9065f2843d2", "working idle"),
    ("hermes", "calls", "", "working idle"),
    ("kimi-cli", "calls", "", "working idle"),
    ("kimi-code", "calls", "", "working idle"),
];

fn find(host: &str) -> &'static HostSpec {
    anyhook_hosts::find(host).unwrap()
}

fn agents_with_logs() -> impl Iterator<Item = &'static HostSpec> {
    AGENTS.into_iter().filter(|agent| agent.log.is_some())
}

fn recorded(host: &str, log: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(host.replace('-', "_"));
    let text = fs::read_to_string(folder.join(format!("fixtures/logs/{log}.jsonl"))).unwrap();
    match host {
        "hermes" => messages(&text),
        "kilo" | "opencode" => rows(&text),
        _ => text,
    }
}

/// Returns the data of the rows that a reader of the database gets to see: a message when it is
/// written, and once more for each change while it is the newest.
fn rows(text: &str) -> String {
    let mut newest = String::new();
    let mut lines = String::new();
    for line in text.lines() {
        let step: Value = serde_json::from_str(line).unwrap();
        let id = step["row"]["id"].as_str().unwrap();
        if step["table"] == "message" && *id >= *newest {
            id.clone_into(&mut newest);
            lines.push_str(step["row"]["data"].as_str().unwrap());
            lines.push('\n');
        }
    }
    lines
}

/// Returns what the queries of Hermes' database return of messages.
fn messages(text: &str) -> String {
    let steps = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let lines = steps.filter(|step| step["table"] == "messages").map(|step| {
        let row = &step["row"];
        let message =
            json!({"role": row["role"], "finish": row["finish_reason"], "at": row["timestamp"]});
        format!("{message}\n")
    });
    lines.collect()
}

/// Reads whole lines, as whoever follows a log does.
fn read(agent: &HostSpec, state: &mut LogState, text: &str) -> Vec<LogObservation> {
    let whole = text.rfind('\n').map_or(0, |end| end + 1);
    text[..whole].lines().filter_map(|line| agent.read_log_line(state, line)).collect()
}

fn words(says: &[LogObservation]) -> String {
    let words = says.iter().map(|says| {
        let words = match &says.doing {
            Activity::Working => "working".to_owned(),
            Activity::Idle => "idle".to_owned(),
            Activity::BrokenOff => "broken off".to_owned(),
            Activity::Prompting(kind) => format!("prompting({})", kind.name()),
            Activity::Failed(kind, _) => format!("failed({})", kind.name()),
        };
        if says.is_certain { words } else { words + "?" }
    });
    let mut words: Vec<String> = words.collect();
    words.dedup();
    words.join(" ")
}

#[test]
fn recorded_logs_tell_what_the_agents_did() {
    for (host, log, session, expected) in TOLD {
        let agent = find(host);
        let text = recorded(host, log);
        let name = if *host == "codex" {
            format!("rollout-2026-11-16T02-56-05-{session}.jsonl")
        } else {
            format!("{log}.jsonl")
        };
        let mut state = agent.begin_log(&name);
        let says = read(agent, &mut state, &text);
        assert_eq!(words(&says), *expected, "{host} {log}");
        assert_eq!(state.session.as_deref().unwrap_or_default(), *session, "{host} {log}");
        assert_eq!(state.unread, 0, "{host} {log}");
        // The times in Letta's messages are made up.
        let has_time = |says: &LogObservation| says.at.is_some() || *host == "letta";
        assert!(says.iter().all(has_time), "{host} {log}: {says:#?}");
        assert!(says.is_sorted_by_key(|says| says.at), "{host} {log}: {says:#?}");
        // The path or a column has it, or nothing.
        let is_elsewhere = ["cline", "gemini-cli", "grok", "hermes", "kimi-cli"].contains(host);
        if !is_elsewhere && !says.is_empty() {
            assert_eq!(state.work_dir.as_deref(), Some("/home/user/project"), "{host} {log}");
        }
    }
    for agent in agents_with_logs() {
        assert!(TOLD.iter().any(|(host, ..)| *host == agent.id()), "{}", agent.id());
    }
}

#[test]
fn a_failure_is_told_in_the_agents_words() {
    for (host, log, expected) in [
        ("claude-code", "rate-limited", "API Error: Request rejected (429) · slow down"),
        ("claude-code", "unauthorized", "Invalid API key · Fix external API key"),
        ("codex", "rate-limited", "exceeded retry limit, last status: 429 Too Many Requests"),
        ("opencode", "unauthorized", "invalid x-api-key"),
    ] {
        let says = read(find(host), &mut LogState::default(), &recorded(host, log));
        let Some(Activity::Failed(_, message)) = says.last().map(|says| &says.doing) else {
            panic!("{host} {log}: {says:#?}")
        };
        assert_eq!(message, expected);
    }
}

#[test]
fn a_log_that_is_cut_anywhere_tells_a_part_of_the_same() {
    for (host, log, ..) in TOLD {
        let agent = find(host);
        let text = recorded(host, log);
        let all = read(agent, &mut LogState::default(), &text);
        let mut state = LogState::default();
        let mut told = Vec::new();
        let mut done = 0;
        for (end, byte) in text.bytes().enumerate() {
            // A line that is not whole is at most unreadable.
            if text.is_char_boundary(end) {
                let mut beside = state.clone();
                let said = agent.read_log_line(&mut beside, &text[done..end]);
                assert!(said.is_none() || all.get(told.len()) == said.as_ref(), "{host} {log}");
            }
            if byte == b'\n' {
                told.extend(agent.read_log_line(&mut state, &text[done..end]));
                assert_eq!(told, all[..told.len()], "{host} {log} at {end}");
                done = end + 1;
            }
        }
        assert_eq!(told, all);
    }
}

#[test]
fn the_state_survives_a_restart_between_any_two_lines() {
    for (host, log, ..) in TOLD {
        let agent = find(host);
        let text = recorded(host, log);
        let all = read(agent, &mut LogState::default(), &text);
        let mut state = LogState::default();
        let mut told = Vec::new();
        for line in text.lines() {
            told.extend(agent.read_log_line(&mut state, line));
            state = serde_json::from_str(&serde_json::to_string(&state).unwrap()).unwrap();
        }
        assert_eq!(told, all, "{host} {log}");
    }
}

#[test]
fn what_is_no_line_of_a_log_is_counted_and_says_nothing() {
    let long = format!("{{\"type\":\"user\",\"x\":\"{}\"}}", "x".repeat(MAX_LINE));
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for agent in agents_with_logs() {
        let mut state = LogState::default();
        for line in ["{", "null", "7", "[]", "\"user\"", "{\"type\":", &long, &deep, "\u{0}"] {
            assert_eq!(agent.read_log_line(&mut state, line), None, "{}", agent.id());
        }
        assert_eq!(state.unread, 9, "{}", agent.id());
        assert_eq!(agent.read_log_line(&mut state, ""), None);
        assert_eq!(state.unread, 9, "an empty line is nothing");
    }
}

#[test]
fn logs_are_where_the_variables_say() {
    let mut homes = LogRoots { home: "/home/user".into(), ..LogRoots::default() };
    let folders = |homes: &LogRoots| -> Vec<String> {
        let agents = ["claude-code", "codex", "gemini-cli", "opencode"].into_iter().map(find);
        let places = agents.flat_map(|agent| agent.log_places(homes));
        let mut folders: Vec<String> =
            places.map(|place| place.folder.to_str().unwrap().to_owned()).collect();
        // Subagents have places of their own.
        folders.dedup();
        folders
    };
    assert_eq!(
        folders(&homes),
        [
            "/home/user/.claude/projects",
            "/home/user/.codex/sessions",
            "/home/user/.gemini/tmp",
            "/home/user/.local/share/opencode",
        ]
    );
    homes.variables = [
        ("CLAUDE_CONFIG_DIR", "/a".into()),
        ("CODEX_HOME", "/b".into()),
        ("GEMINI_CLI_HOME", "/c".into()),
        ("XDG_DATA_HOME", "/d".into()),
    ]
    .into();
    assert_eq!(folders(&homes), ["/a/projects", "/b/sessions", "/c/.gemini/tmp", "/d/opencode"]);
}

fn tells(host: &str, lines: &[Value]) -> String {
    let mut state = LogState::default();
    let agent = find(host);
    words(
        &lines
            .iter()
            .filter_map(|line| agent.read_log_line(&mut state, &line.to_string()))
            .collect::<Vec<_>>(),
    )
}

#[test]
fn a_question_stays_open_while_other_calls_end() {
    let call = |id: &str, name: &str| {
        json!({"type": "assistant", "message": {"id": "m", "stop_reason": "tool_use", "content":
            [{"type": "tool_use", "id": id, "name": name, "input": {}}]}})
    };
    let result = |id: &str| {
        json!({"type": "user", "message": {"content":
            [{"type": "tool_result", "tool_use_id": id, "content": "x"}]}})
    };
    let lines = [call("1", "Bash"), call("2", "ExitPlanMode"), result("1"), result("2")];
    assert_eq!(tells("claude-code", &lines), "working prompting(plan_approval) working");
    let call = |id: &str, name: &str| {
        json!({"type": "response_item",
            "payload": {"type": "function_call", "name": name, "call_id": id}})
    };
    let output = |id: &str| {
        json!({"type": "response_item",
            "payload": {"type": "function_call_output", "call_id": id, "output": "x"}})
    };
    let lines = [call("1", "request_user_input"), call("2", "exec_command"), output("2")];
    assert_eq!(tells("codex", &lines), "prompting(question)");
    let part = |status: &str| {
        json!({"type": "tool", "tool": "question", "callID": "1",
            "state": {"status": status, "time": {"start": 5}}})
    };
    let lines = [part("pending"), part("running"), part("completed")];
    assert_eq!(tells("opencode", &lines), "working prompting(question) working");
}

#[test]
fn what_follows_a_stop_is_no_work() {
    let stop = json!({"type": "assistant", "message": {"stop_reason": "end_turn",
        "content": [{"type": "text", "text": "done"}]}});
    for after in [
        json!({"type": "summary", "summary": "a title", "leafUuid": "x"}),
        json!({"type": "system", "subtype": "stop_hook_summary", "hookCount": 1}),
        json!({"type": "system", "subtype": "away_summary", "content": "x"}),
        json!({"type": "file-history-snapshot", "snapshot": {}}),
        json!({"type": "attachment", "attachment": {"type": "hook_success", "hookEvent": "Stop"}}),
        json!({"type": "user", "message": {"content": "<command-name>/model</command-name>"}}),
        json!({"type": "user", "message": {"content": "<local-command-stdout>x"}}),
        json!({"type": "user", "isMeta": true, "message": {"content": "Caveat: x"}}),
        json!({"type": "user", "isSidechain": true, "message": {"content": "look"}}),
        json!({"type": "queue-operation", "operation": "enqueue"}),
    ] {
        assert_eq!(tells("claude-code", &[stop.clone(), after.clone()]), "idle?", "{after}");
    }
    // But a gate's reason sends it on.
    let feedback = json!({"type": "user", "isMeta": true,
        "message": {"content": "Stop hook feedback:\nrun the tests"}});
    assert_eq!(tells("claude-code", &[stop, feedback]), "idle? working");
}

#[test]
fn failures_are_sorted() {
    let error = |name: &str, status: Option<u16>, words: &str| {
        json!({"type": "assistant", "isApiErrorMessage": true, "error": name,
            "apiErrorStatus": status, "message": {"content": [{"type": "text", "text": words}]}})
    };
    for (line, kind) in [
        (error("authentication_failed", None, "Please run /login"), "unauthorized"),
        (error("billing_error", Some(400), "Credit balance is too low"), "out_of_credits"),
        (error("invalid_request", Some(400), "Credit balance is too low"), "out_of_credits"),
        (error("rate_limit", None, "You've hit your limit · resets 3pm"), "rate_limited"),
        (error("unknown", None, "API Error: Connection error."), "no_network"),
        (
            error("unknown", None, "API Error: Unable to connect to API (ECONNREFUSED)"),
            "no_network",
        ),
        (error("server_error", Some(529), "API Error: Overloaded"), "other"),
    ] {
        assert_eq!(
            tells("claude-code", std::slice::from_ref(&line)),
            format!("failed({kind})"),
            "{line}"
        );
    }
    let info = |info: Value| {
        json!({"type": "event_msg", "payload": {"type": "task_complete",
            "error": {"message": "no", "codex_error_info": info}}})
    };
    for (line, kind) in [
        (info(json!("usage_limit_exceeded")), "rate_limited"),
        (info(json!("unauthorized")), "unauthorized"),
        (info(json!({"http_connection_failed": {"http_status_code": null}})), "no_network"),
        (info(json!("context_window_exceeded")), "other"),
    ] {
        assert_eq!(
            tells("codex", std::slice::from_ref(&line)),
            format!("failed({kind})"),
            "{line}"
        );
    }
    for (words, kind) in [
        ("[API Error: got status: 429 Too Many Requests]", "rate_limited"),
        (
            "[API Error: API key not valid. Please pass a valid API key. (Status: INVALID_ARGUMENT)]",
            "unauthorized",
        ),
        ("[API Error: fetch failed]", "no_network"),
        ("[API Error: You exceeded your current quota]", "out_of_credits"),
    ] {
        let line = json!({"type": "error", "content": words});
        assert_eq!(tells("gemini-cli", &[line]), format!("failed({kind})"), "{words}");
    }
    let line = json!({"type": "error", "content": "Unknown command: /what"});
    assert_eq!(tells("gemini-cli", &[line]), "", "a slip of the person is no failure");
    let aborted = json!({"role": "assistant", "time": {"created": 1, "completed": 2},
        "error": {"name": "MessageAbortedError", "data": {"message": "aborted"}}});
    assert_eq!(tells("opencode", &[aborted]), "broken off");
}

/// JSON with the names and words that readers look for, in all the wrong places.
fn odd_json() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "type",
        "user",
        "assistant",
        "system",
        "message",
        "content",
        "role",
        "payload",
        "event_msg",
        "response_item",
        "session_meta",
        "task_complete",
        "error",
        "gemini",
        "toolCalls",
        "info",
        "timestamp",
        "2026-01-01T00:00:00Z",
        "sessionId",
        "tool_use",
        "id",
        "name",
        "waits",
        "time",
        "AskUserQuestion",
        "stop_reason",
        "end_turn",
        "turn_duration",
        "subtype",
        "state",
        "tool",
        "isApiErrorMessage",
        "codex_error_info",
        "\u{1F600}",
        "",
    ]);
    let leaf = prop_oneof![
        word.clone().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
    ];
    leaf.prop_recursive(4, 32, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((word.clone(), inner), 0..6).prop_map(|members| {
                members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
            }),
        ]
    })
}

proptest! {
    #[test]
    fn no_line_does_harm(lines in prop::collection::vec(
        prop_oneof![odd_json().prop_map(|value| value.to_string()), any::<String>()], 0..12)
    ) {
        for agent in AGENTS {
            let mut state = LogState::default();
            for line in &lines {
                agent.read_log_line(&mut state, line);
            }
            prop_assert!(state.waits.len() <= 64);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn garbage_between_the_lines_changes_nothing(
        garbage in "[^\n{]{0,40}", places in prop::collection::vec(0_usize..30, 0..6)
    ) {
        for (host, log, _, expected) in TOLD {
            let agent = find(host);
            let mut state = LogState::default();
            let mut says = Vec::new();
            for (number, line) in recorded(host, log).lines().enumerate() {
                if places.contains(&number) {
                    says.extend(agent.read_log_line(&mut state, &garbage));
                }
                says.extend(agent.read_log_line(&mut state, line));
            }
            prop_assert_eq!(&words(&says), expected);
        }
    }
}
