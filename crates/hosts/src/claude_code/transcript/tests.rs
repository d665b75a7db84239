use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhook_model::{Caller, Host};
use proptest::prelude::*;

use super::*;
use crate::claude_code::PROTOCOL;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/claude_code/transcript/recorded")
}

/// Returns every recorded transcript, by name.
fn recorded() -> BTreeMap<String, Vec<u8>> {
    let names = fs::read_dir(folder()).unwrap().map(|file| file.unwrap().file_name());
    let names = names.filter_map(|name| Some(name.to_str()?.strip_suffix(".jsonl")?.to_owned()));
    let transcripts = names.filter(|name| !name.contains(".hooks"));
    transcripts
        .map(|name| {
            let bytes = fs::read(folder().join(format!("{name}.jsonl"))).unwrap();
            (name, bytes)
        })
        .collect()
}

/// Returns what the hooks of a recorded session received.
fn received(name: &str) -> Option<Vec<Object>> {
    let text = fs::read_to_string(folder().join(format!("{name}.hooks.jsonl"))).ok()?;
    Some(text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

fn text<'object>(payload: &'object Object, name: &str) -> &'object str {
    text_of(payload, name).unwrap_or_default()
}

/// Returns a short description of a payload.
fn headline(payload: &Object) -> String {
    let input = payload.get("tool_input").and_then(Value::as_object);
    let of_input = ["command", "file_path", "prompt"]
        .into_iter()
        .find_map(|name| input.and_then(|input| text_of(input, name)));
    let own = ["prompt", "last_assistant_message", "source", "error", "trigger"];
    let own = own.into_iter().find_map(|name| text_of(payload, name));
    let agent_type = text_of(payload, "agent_type");
    let mut line = own.or(of_input).or(agent_type).unwrap_or_default().replace('\n', "⏎");
    line.truncate(line.char_indices().nth(60).map_or(line.len(), |(end, _)| end));
    line
}

#[test]
fn every_recorded_transcript() {
    let mut shown = String::new();
    for (name, bytes) in recorded() {
        let read = read(&bytes);
        assert_eq!(read.problems, Vec::<String>::new(), "{name}");
        shown.push_str(&format!("# {name}\n"));
        for made in read.payloads {
            let payload = &made.payload;
            let words = [text(payload, "tool_name"), text(payload, "agent_id"), &headline(payload)];
            let words = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>();
            let event = text(payload, "hook_event_name");
            let line = format!("{:>3} {event:18} {}", made.line, words.join(" · "));
            shown.push_str(&format!("{}\n", line.trim_end()));
        }
        shown.push('\n');
    }
    insta::assert_snapshot!(shown);
}

/// Returns what identifies a payload among those of its session.
fn key(payload: &Object) -> String {
    let names = ["hook_event_name", "tool_use_id", "prompt", "source", "last_assistant_message"];
    names.map(|name| text(payload, name)).join(" | ")
}

#[test]
fn hooks_got_the_same() {
    for (name, bytes) in recorded() {
        let Some(mut received) = received(&name) else { continue };
        // A compaction is made by a subagent without a type, which leaves no transcript.
        received.retain(|payload| {
            text(payload, "hook_event_name") != "SubagentStop"
                || text_of(payload, "agent_type").is_some()
        });
        let mut made = read(&bytes).payloads;
        if let Ok(bytes) = fs::read(folder().join(format!("{name}.agent.jsonl"))) {
            made.extend(read(&bytes).payloads);
        }
        let mut made: Vec<Object> = made.into_iter().map(|made| made.payload).collect();
        made.sort_by_key(key);
        received.sort_by_key(key);
        let keys = |payloads: &[Object]| payloads.iter().map(key).collect::<Vec<_>>();
        assert_eq!(keys(&made), keys(&received), "{name}");
        for (made, received) in made.iter().zip(&received) {
            for (field, value) in made {
                let not_told = match field.as_str() {
                    // The summary as the next conversation begins with it, not as it was written.
                    "compact_summary" => true,
                    // A subagent's transcript contains only what its model received.
                    "tool_response" => made.contains_key("agent_id"),
                    // A queued prompt is sent with the id of the previous one.
                    "prompt_id" => text(made, "prompt") == "slow one",
                    _ => false,
                };
                if !not_told {
                    assert_eq!(
                        Some(value),
                        received.get(field),
                        "{name}: {field} of {}",
                        key(made)
                    );
                }
            }
        }
    }
}

#[test]
fn payloads_come_in_the_order_hooks_got_them() {
    // Except where calls ran in parallel, a prompt was queued, or a subagent wrote elsewhere.
    for name in ["plain", "tools", "permission", "resumed", "stop-blocked", "commands"] {
        let read = read(&recorded()[name]);
        let made: Vec<String> = read.payloads.iter().map(|made| key(&made.payload)).collect();
        let received: Vec<String> = received(name).unwrap().iter().map(key).collect();
        assert_eq!(made, received, "{name}");
    }
}

fn decode(payload: &Object) -> Vec<anyhook_model::Event> {
    let caller = Caller::new("/", Timestamp::UNIX_EPOCH);
    PROTOCOL.decode(&serde_json::to_vec(payload).unwrap(), &caller).unwrap()
}

#[test]
fn every_payload_is_an_event_that_is_known() {
    for (name, bytes) in recorded() {
        for made in read(&bytes).payloads {
            for event in decode(&made.payload) {
                let kind = event.kind.to_string();
                let line = made.line;
                assert!(anyhook_model::EventKind::all().any(|known| known == event.kind), "{kind}");
                assert!(event.session.is_some(), "{name} line {line}: {kind}");
                assert_eq!(event.tool.is_some(), event.kind.has_matcher(), "{name} line {line}");
            }
        }
    }
}

/// Returns a line of the session `s` in `/p`.
fn line(fields: Value) -> String {
    let mut line = json!({"sessionId": "s", "cwd": "/p", "timestamp": "2026-11-15T12:00:00Z"});
    let Value::Object(fields) = fields else { panic!("an object is wanted") };
    line.as_object_mut().unwrap().extend(fields);
    line.to_string()
}

fn user(content: impl Into<Value>) -> String {
    line(json!({"type": "user", "message": {"role": "user", "content": content.into()}}))
}

fn assistant(id: &str, reason: Option<&str>, block: &Value) -> String {
    let message = json!({"id": id, "content": [block], "stop_reason": reason});
    line(json!({"type": "assistant", "message": message}))
}

fn said(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn bash(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": "ls"}})
}

fn failed(id: &str, told: &str) -> String {
    user(json!([{"type": "tool_result", "tool_use_id": id, "is_error": true, "content": told}]))
}

/// Returns the events of a transcript, each with its line, without the start of the session.
fn events(lines: &[String]) -> Vec<String> {
    let read = read(lines.join("\n").as_bytes());
    let events = read
        .payloads
        .iter()
        .map(|made| format!("{} {}", made.line, text(&made.payload, "hook_event_name")));
    events.filter(|event| !event.ends_with("SessionStart")).collect()
}

#[test]
fn a_message_in_several_lines_is_one() {
    let lines = [
        user("go"),
        assistant("m1", None, &said("I will look.")),
        assistant("m1", None, &bash("t1")),
        assistant("m1", None, &bash("t1")),
        assistant("m1", None, &bash("t2")),
        failed("t1", "Exit code 1"),
        failed("t1", "Exit code 1"),
        assistant("m2", None, &said("It is")),
        assistant("m2", None, &said("done.\n")),
    ];
    let expected =
        ["1 UserPromptSubmit", "3 PreToolUse", "5 PreToolUse", "6 PostToolUseFailure", "9 Stop"];
    assert_eq!(events(&lines), expected);
    let read = read(lines.join("\n").as_bytes());
    assert_eq!(read.payloads.last().unwrap().payload["last_assistant_message"], "done.");
}

#[test]
fn earlier_versions_tell_of_a_denial_in_words() {
    let words = [
        "The user doesn't want to proceed with this tool use. The tool use was rejected",
        "The user doesn't want to take this action right now. STOP",
        "Claude requested permissions to use Bash, but you haven't granted it yet.",
        "Permission to use Bash with command ls has been denied.",
        "PreToolUse:Bash hook error: [guard]: no",
        "Bash operation blocked by hook:\n- no",
        "This command requires approval",
        "touch in '/etc/a' was blocked. For security, Claude Code may only create or modify files",
    ];
    let before = [user("go"), assistant("m1", None, &bash("t1"))];
    for told in words {
        let lines = [before.as_slice(), &[failed("t1", told)]].concat();
        assert_eq!(events(&lines), ["1 UserPromptSubmit", "2 PreToolUse"], "{told}");
    }
    let lines = [before.as_slice(), &[failed("t1", "Exit code 1\nPermission to use it")]].concat();
    assert_eq!(events(&lines)[2], "3 PostToolUseFailure");
}

#[test]
fn a_call_that_no_hook_was_asked_about_is_not_there_unless_it_is_tried_again() {
    let refused = failed("t1", "<tool_use_error>No such tool</tool_use_error>");
    let lines = [user("go"), assistant("m1", None, &bash("t1")), refused.clone()];
    assert_eq!(events(&lines), ["1 UserPromptSubmit"]);
    let lines = [lines.as_slice(), &[failed("t1", "Exit code 1")]].concat();
    assert_eq!(events(&lines), ["1 UserPromptSubmit", "2 PreToolUse", "4 PostToolUseFailure"]);
}

#[test]
fn a_turn_that_was_interrupted_has_no_stop() {
    let lines = [
        user("go"),
        assistant("m1", None, &said("Half of")),
        user(json!([said("[Request interrupted by user]")])),
        user("go on"),
        assistant("m2", Some("tool_use"), &said("I will call")),
    ];
    assert_eq!(events(&lines), ["1 UserPromptSubmit", "4 UserPromptSubmit"]);
}

#[test]
fn what_the_host_wrote_is_no_prompt() {
    let written = [
        "<local-command-stdout>ok</local-command-stdout>",
        "<command-name>/cost</command-name><command-args></command-args>",
        "<bash-input>ls</bash-input>",
        "<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>",
        "Stop hook feedback:\n- [guard]: no",
        "[Request interrupted by user for tool use]",
        "",
    ];
    for content in written {
        assert_eq!(events(&[user(content)]), [""; 0], "{content}");
    }
    let meta = json!({"type": "user", "isMeta": true, "message": {"content": "Caveat: …"}});
    assert_eq!(events(&[line(meta)]), [""; 0]);
    let typed = "<bash-input> is what I see";
    let prompt = json!({"type": "user", "promptSource": "typed", "message": {"content": typed}});
    assert_eq!(events(&[line(prompt)]), ["1 UserPromptSubmit"]);
}

#[test]
fn a_line_that_cannot_be_read_is_told_and_the_rest_is_read() {
    let mut bytes = user("go").into_bytes();
    bytes.extend(b"\r\n\n{\"type\": \"user\", \"mess\n[1]\n\xff\xfe\n");
    bytes.extend(user("caf\u{e9}").replace("café", r"\ud83d!").into_bytes());
    let read = read(&bytes);
    let problems = [
        "line 3: not valid JSON: EOF while parsing a string at line 1 column 22",
        "line 4: not a JSON object",
        "line 5: not valid JSON: expected value at line 1 column 1",
    ];
    assert_eq!(read.problems, problems);
    let prompts: Vec<&str> =
        read.payloads.iter().map(|made| text(&made.payload, "prompt")).collect();
    assert_eq!(prompts, ["", "go", "\u{fffd}!"]);
}

#[test]
fn what_is_no_transcript_is_said_in_one_line() {
    let others: [&[u8]; 5] = [
        b"",
        b"hello\nworld\n",
        b"{\"type\": \"session_meta\", \"payload\": {}}",
        b"{\"type\": \"assistant\", \"session_id\": \"s\", \"message\": {\"content\": []}}",
        b"[]",
    ];
    for other in others {
        let read = read(other);
        assert_eq!(read.payloads, []);
        let problem = "not a Claude Code transcript: no line has a `type` and a `sessionId`";
        assert_eq!(read.problems, [problem]);
    }
}

#[test]
fn transcripts_cut_anywhere_are_read_as_far_as_they_go() {
    for (name, bytes) in recorded() {
        let whole = read(&bytes).payloads;
        for cut in (0..bytes.len()).step_by(997) {
            let read = read(&bytes[..cut]);
            assert!(read.problems.len() <= 1, "{name} cut at {cut}: {:?}", read.problems);
            assert!(read.payloads.len() <= whole.len() + 1, "{name} cut at {cut}");
        }
    }
}

/// Generates valid lines in an arbitrary order.
fn some_line() -> impl Strategy<Value = String> {
    let words = || {
        prop::sample::select(vec![
            "",
            "hello",
            "Stop hook feedback: no",
            "[Request interrupted by user]",
            "<command-name>/compact</command-name><command-args>a</command-args>",
            "<tool_use_error>no</tool_use_error>",
        ])
    };
    let id = "[ab]";
    let of_subagent = |agent: String| {
        let message = json!({"id": "m", "content": [bash("c"), said("x")]});
        json!({"type": "assistant", "isSidechain": true, "agentId": agent, "message": message})
    };
    let others = vec![
        json!({"type": "cost-state"}),
        json!({"type": "system", "subtype": "compact_boundary"}),
        json!({"type": "user", "isCompactSummary": true, "message": {"content": "s"}}),
        json!({"type": "attachment", "attachment": {"hookName": "SessionStart:resume"}}),
        json!({"type": "attachment", "attachment": {"type": "queued_command", "prompt": "p"}}),
    ];
    prop_oneof![
        "\\PC{0,30}",
        words().prop_map(user),
        (id, id).prop_map(|(id, call)| assistant(&id, None, &bash(&call))),
        (id, words()).prop_map(|(id, text)| assistant(&id, Some("end_turn"), &said(text))),
        (id, words()).prop_map(|(id, told)| failed(&id, told)),
        id.prop_map(move |agent| line(of_subagent(agent))),
        prop::sample::select(others).prop_map(line),
    ]
}

proptest! {
    #[test]
    fn any_bytes_come_back(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let read = read(&bytes);
        prop_assert!(!read.payloads.is_empty() || !read.problems.is_empty());
    }

    #[test]
    fn any_lines_are_payloads_in_order(lines in prop::collection::vec(some_line(), 0..30)) {
        let read = read(lines.join("\n").as_bytes());
        prop_assert!(read.payloads.is_sorted_by_key(|made| made.line));
        let mut calls = HashSet::new();
        for made in &read.payloads {
            prop_assert!(made.line >= 1 && made.line <= lines.len());
            decode(&made.payload);
            let id = text(&made.payload, "tool_use_id");
            match text(&made.payload, "hook_event_name") {
                "PreToolUse" => prop_assert!(calls.insert(id), "a call counts once"),
                "PostToolUseFailure" => prop_assert!(calls.contains(id), "a result has its call"),
                _ => {}
            }
        }
    }
}
