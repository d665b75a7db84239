use anyhook_model::Effect;
use serde_json::json;

use super::*;

/// What a hook answers, in short: the effect, then what it comes with.
fn short(answer: &NativeAnswer) -> String {
    let mut parts = Vec::new();
    parts.extend(answer.effect.map(|effect| effect.word().to_owned()));
    parts.extend(answer.reason.as_ref().map(|why| format!("why={why}")));
    parts.extend(answer.input.as_ref().map(|input| format!("input={}", json!(input))));
    parts.extend(answer.context.as_ref().map(|text| format!("context={text}")));
    parts.extend(answer.failure.as_ref().map(|_| "failed".to_owned()));
    parts.extend(answer.lost.first().map(|_| "lost".to_owned()));
    parts.join(" ")
}

fn answer(host: &str, event: &str, code: Option<i32>, stdout: &str, stderr: &str) -> String {
    let format = find(host).unwrap();
    let outcome = NativeOutcome { code, stdout, stderr };
    short(&(format.answer)(format.event(event).unwrap(), &outcome))
}

/// Checks what an agent makes of outputs, each as event, exit code, standard output and standard
/// error, and the answer in short.
fn check(host: &str, rows: &[(&str, i32, &str, &str, &str)]) {
    for (event, code, stdout, stderr, expected) in rows {
        let code = (*code >= 0).then_some(*code);
        let found = answer(host, event, code, stdout, stderr);
        assert_eq!(found, *expected, "{host} {event} {code:?} {stdout} {stderr}");
    }
}

#[test]
fn claude_code_as_it_was_seen() {
    let deny = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}"#;
    let changed =
        r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":{"command":"x"}}}"#;
    let context = |event: &str| {
        json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": "c"}})
            .to_string()
    };
    check(
        "claude-code",
        &[
            ("PreToolUse", 0, "", "", ""),
            ("PreToolUse", 0, "text", "", ""),
            ("PreToolUse", 1, "", "boom", "failed"),
            ("PreToolUse", -1, deny, "", "failed"),
            ("PreToolUse", 127, "", "", "failed"),
            ("PreToolUse", 2, "", "no\n", "deny why=no"),
            ("PreToolUse", 2, "", "", "deny why=No stderr output"),
            ("PreToolUse", 2, r#"{"decision":"approve"}"#, "no", "deny why=no"),
            ("PreToolUse", 2, r#"{"decision":"block","reason":"json"}"#, "err", "deny why=json"),
            ("PreToolUse", 0, r#"{"decision":"block","reason":"r"}"#, "", "deny why=r"),
            ("PreToolUse", 0, deny, "", "deny why=no"),
            ("PreToolUse", 1, deny, "", "deny why=no"),
            ("PreToolUse", 0, &deny.replace("deny", "ask"), "", "ask why=no"),
            ("PreToolUse", 0, &deny.replace("deny", "allow"), "", "allow why=no"),
            ("PreToolUse", 0, &deny.replace("deny", "defer"), "", "why=no lost"),
            ("PreToolUse", 0, &deny.replace("\"deny", "\"denied"), "", "failed"),
            ("PreToolUse", 0, &deny.replace("PreTool", "PostTool"), "", "failed"),
            ("PreToolUse", 0, &format!("a line\n{deny}"), "", ""),
            ("PreToolUse", 0, &format!("{deny}\n{deny}"), "", ""),
            ("PreToolUse", 0, changed, "", r#"input={"command":"x"}"#),
            ("PreToolUse", 0, &context("PreToolUse"), "", "context=c"),
            ("PreToolUse", 0, r#"{"continue":false,"stopReason":"s"}"#, "", "why=s lost"),
            ("PostToolUse", 2, "", "no", "deny why=no"),
            ("PostToolUse", 0, &context("PostToolUse"), "", "context=c"),
            ("UserPromptSubmit", 0, "text", "", "context=text"),
            ("UserPromptSubmit", 2, "", "no", "deny why=no"),
            ("UserPromptSubmit", 0, r#"{"continue":false,"stopReason":"s"}"#, "", "deny why=s"),
            ("SessionStart", 0, "text", "", "context=text"),
            ("SessionStart", 2, "", "no", ""),
            ("SubagentStart", 0, "text", "", ""),
            ("SubagentStart", 0, &context("SubagentStart"), "", "context=c"),
            ("Stop", 0, &context("Stop"), "", "deny why=c"),
            ("Stop", 2, "", "go on", "deny why=go on"),
            ("Stop", 0, r#"{"continue":false,"decision":"block","reason":"r"}"#, "", ""),
            ("PreCompact", 0, "text", "", "lost"),
            ("PreCompact", 0, r#"{"decision":"block","reason":"r"}"#, "", "deny why=r"),
            ("PermissionRequest", 2, "", "no", ""),
            (
                "PermissionRequest",
                0,
                r#"{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"m"}}}"#,
                "",
                "deny why=m",
            ),
            ("Notification", 2, "", "no", ""),
        ],
    );
}

#[test]
fn codex_as_it_was_seen() {
    let deny = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}"#;
    let changed = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"command":"x"}}}"#;
    check(
        "codex",
        &[
            ("PreToolUse", 2, "", "no", "deny why=no"),
            ("PreToolUse", 2, "", "", "failed"),
            ("PreToolUse", 2, r#"{"decision":"block","reason":"r"}"#, "", "failed"),
            ("PreToolUse", 1, r#"{"decision":"block","reason":"r"}"#, "", "failed"),
            ("PreToolUse", 0, r#"{"decision":"block","reason":"r"}"#, "", "deny why=r"),
            ("PreToolUse", 0, r#"{"decision":"block","reason":"r","my_extra":1}"#, "", "failed"),
            (
                "PreToolUse",
                0,
                r#"{"decision":"block","reason":"r","suppressOutput":true}"#,
                "",
                "failed",
            ),
            ("PreToolUse", 0, r#"{"continue":false}"#, "", "failed"),
            ("PreToolUse", 0, r#"{"decision":"bl"#, "", "failed"),
            ("PreToolUse", 0, deny, "", "deny why=no"),
            (
                "PreToolUse",
                0,
                &deny.replace(r#","permissionDecisionReason":"no""#, ""),
                "",
                "failed",
            ),
            ("PreToolUse", 0, &deny.replace("deny", "ask"), "", "failed"),
            ("PreToolUse", 0, &deny.replace("deny", "allow"), "", "failed"),
            ("PreToolUse", 0, &deny.replace(r#""hookEventName":"PreToolUse","#, ""), "", "failed"),
            ("PreToolUse", 0, changed, "", r#"input={"command":"x"}"#),
            (
                "PreToolUse",
                0,
                &changed.replace(r#""permissionDecision":"allow","#, ""),
                "",
                "failed",
            ),
            ("PreToolUse", 0, "text", "", ""),
            ("SessionStart", 0, "text", "", "context=text"),
            ("SessionStart", 2, "", "no", ""),
            ("SessionStart", 0, r#"{"continue":false}"#, "", "lost"),
            ("UserPromptSubmit", 0, "text", "", "context=text"),
            ("UserPromptSubmit", 0, r#"{"continue":false,"stopReason":"s"}"#, "", "deny why=s"),
            ("PostToolUse", 2, "", "instead", "deny why=instead"),
            ("Stop", 2, "", "go on", "deny why=go on"),
            ("PreCompact", 2, "", "no", ""),
            ("PermissionRequest", 2, "", "no", "deny why=no"),
            ("PermissionRequest", 0, r#"{"decision":"block","reason":"r"}"#, "", ""),
        ],
    );
}

#[test]
fn gemini_cli_as_it_was_seen() {
    let changed = r#"{"hookSpecificOutput":{"tool_input":{"command":"x"}}}"#;
    let context = r#"{"hookSpecificOutput":{"additionalContext":"c"}}"#;
    let nested = r#"{"hookSpecificOutput":{"permissionDecision":"deny"}}"#;
    check(
        "gemini-cli",
        &[
            ("BeforeTool", 0, "text", "", ""),
            ("BeforeTool", 1, "", "boom", "failed"),
            ("BeforeTool", 2, "", "no", "deny why=no"),
            ("BeforeTool", 3, "", "no", "deny why=no"),
            ("BeforeTool", 2, "", "", ""),
            ("BeforeTool", 2, "out", "err", "deny why=out"),
            ("BeforeTool", -1, "text", "", ""),
            ("BeforeTool", 2, r#"{"systemMessage":"m"}"#, "err", ""),
            ("BeforeTool", 1, r#"{"decision":"block","reason":"r"}"#, "", "deny why=r"),
            ("BeforeTool", 0, "", r#"{"decision":"deny","reason":"r"}"#, "deny why=r"),
            ("BeforeTool", 0, r#"{"decision":"deny"}"#, "", "deny why=No reason provided"),
            ("BeforeTool", 0, r#"{"decision":"ask","reason":"r"}"#, "", "ask why=r"),
            ("BeforeTool", 0, nested, "", ""),
            ("BeforeTool", 0, changed, "", r#"input={"command":"x"}"#),
            ("BeforeTool", 0, context, "", ""),
            ("BeforeTool", 0, r#"{"continue":false,"stopReason":"s"}"#, "", "deny why=s lost"),
            ("AfterTool", 0, context, "", "context=c"),
            ("AfterTool", 2, "", "instead", "deny why=instead"),
            ("BeforeAgent", 0, context, "", "context=c"),
            ("SessionStart", 0, context, "", "context=c"),
            ("SessionStart", 2, "", "no", ""),
            ("AfterAgent", 2, "", "go on", "deny why=go on"),
            ("AfterAgent", 0, r#"{"continue":false}"#, "", ""),
            ("PreCompress", 2, "", "no", ""),
        ],
    );
}

#[test]
fn qwen_code_as_it_was_seen() {
    let own = |word: &str| {
        json!({"hookSpecificOutput": {"permissionDecision": word, "permissionDecisionReason": "p",
            "updatedInput": {"command": "x"}}})
        .to_string()
    };
    check(
        "qwen-code",
        &[
            ("PreToolUse", 2, "", "no", "deny why=no"),
            ("PreToolUse", 2, "", r#"{"decision":"block","reason":"r"}"#, "deny why=r"),
            ("PreToolUse", 2, "", "", "failed"),
            ("PreToolUse", 1, "", "boom", "failed"),
            ("PreToolUse", 1, r#"{"decision":"block","reason":"r"}"#, "", "deny why=r"),
            ("PreToolUse", 0, r#"{"continue":false,"stopReason":"s"}"#, "", "deny why=s"),
            ("PreToolUse", 0, &own("deny"), "", "deny why=p"),
            ("PreToolUse", 0, &own("ask"), "", "ask why=p"),
            ("PreToolUse", 0, r#"{"x": "#, "", "failed"),
            ("PostToolUse", 2, "", "no", ""),
            ("SessionStart", 0, "text", "", "context=text"),
            ("UserPromptSubmit", 2, "", "no", "deny why=no"),
            ("Stop", 0, r#"{"continue":false,"stopReason":"s"}"#, "", "deny why=s"),
        ],
    );
}

#[test]
fn copilot_as_it_was_seen() {
    let nested = r#"{"hookSpecificOutput":{"permissionDecision":"deny"}}"#;
    check(
        "copilot",
        &[
            ("preToolUse", 0, "{broken", "", ""),
            ("preToolUse", 2, "", "no", "deny why=hook exited with code 2"),
            ("preToolUse", 1, r#"{"permissionDecision":"allow"}"#, "", "deny why=hook errored"),
            (
                "preToolUse",
                0,
                "{\"type\":\"progress\"}\n{\"permissionDecision\":\"deny\",\"permissionDecisionReason\":\"r\"}",
                "",
                "deny why=r",
            ),
            ("preToolUse", 0, nested, "", ""),
            ("preToolUse", 0, r#"{"modifiedArgs":{"a":1}}"#, "", r#"input={"a":1}"#),
            ("preToolUse", 0, r#"{"additionalContext":"c"}"#, "", "context=c"),
            ("postToolUse", 2, "", "no", ""),
            ("postToolUse", 0, r#"{"decision":"block","reason":"r"}"#, "", "deny why=r"),
            ("userPromptSubmitted", 2, "", "no", ""),
            ("agentStop", 2, "", "no", ""),
            ("agentStop", 0, r#"{"decision":"block","reason":"r"}"#, "", "deny why=r"),
            (
                "preToolUse",
                2,
                r#"{"permissionDecision":"deny","permissionDecisionReason":"r"}"#,
                "",
                "deny why=r",
            ),
            ("PreToolUse", 2, "", "no", "deny why=hook exited with code 2"),
            ("PreToolUse", 0, nested, "", "deny"),
            ("PreToolUse", 0, r#"{"permissionDecision":"ask"}"#, "", "ask"),
            ("Stop", 0, r#"{"decision":"block","reason":"r"}"#, "", "deny why=r"),
        ],
    );
}

#[test]
fn matchers_are_read_as_the_agents_do() {
    let form = |host: &str, event: &str, matcher: &str| {
        let format = find(host).unwrap();
        (format.matcher)(format.event(event).unwrap(), matcher)
    };
    let names =
        |names: &[&str]| MatcherForm::Names(names.iter().map(|one| (*one).into()).collect());
    let search = |text: &str| MatcherForm::Search(text.to_owned());
    for (matcher, expected) in [
        ("", MatcherForm::Every),
        ("*", MatcherForm::Every),
        ("Bash|Write", names(&["Bash", "Write"])),
        ("Bash, Write", names(&["Bash", "Write"])),
        ("Write|", names(&["Write"])),
        ("mcp__server", names(&["mcp__server"])),
        ("Ba.*", search("Ba.*")),
        ("(", search("(")),
    ] {
        assert_eq!(form("claude-code", "PreToolUse", matcher), expected, "{matcher}");
    }
    assert_eq!(form("codex", "PreToolUse", "Edit|Write"), names(&["Edit", "Write"]));
    assert_eq!(form("codex", "PreToolUse", "a-b"), search("a-b"));
    assert_eq!(form("gemini-cli", "BeforeTool", "write"), search("write"));
    assert_eq!(form("gemini-cli", "SessionStart", "startup|x"), names(&["startup|x"]));
    assert_eq!(form("copilot", "preToolUse", "bash|x"), MatcherForm::Whole("bash|x".to_owned()));
    let payload = json!({"tool_name": "apply_patch"}).as_object().cloned().unwrap();
    let codex = find("codex").unwrap();
    let targets = |event: &str| codex.targets(codex.event(event).unwrap(), &payload);
    assert_eq!(targets("PreToolUse").unwrap(), ["apply_patch", "Write", "Edit"]);
    assert_eq!(targets("Stop"), None);
}

const SETTINGS: &str = r#"// mine
{
  "model": "x", // why
  "hooks": {
    "PreToolUse": [
      {"matcher": "Bash", "hooks": [{"type": "command", "command": "a.sh \"x\"\n"}, {"type": "http", "url": "http://h"}]},
      {"matcher": "Write", "hooks": [{"type": "command", "command": "b.sh", "timeout": 5}]}, // second
      {"hooks": [{"type": "command", "command": "/x/anyhook hook claude-code"}]}
    ],
    "Setup": [{"hooks": [{"type": "command", "command": "c.sh"}]}],
    "Stop": [{"hooks": [{"type": "command", "command": "d.sh", "async": true}]}]
  }
}
"#;

fn read_all(text: &str) -> Vec<NativeHook> {
    read(find("claude-code").unwrap(), std::path::Path::new("s.json"), text).unwrap()
}

#[test]
fn hooks_are_read_with_what_cannot_be_carried_over() {
    let found = read_all(SETTINGS);
    let rows: Vec<String> = found
        .iter()
        .map(|hook| {
            let how = match &hook.command {
                Ok(command) => format!("{:?} {}", command.line(), command.timeout_ms),
                Err(why) => why.clone(),
            };
            format!("{} {:?} {}: {how}", hook.event, hook.matcher, hook.label.trim())
        })
        .collect();
    assert_eq!(
        rows,
        [
            r#"PreToolUse Some("Bash") a.sh "x": "a.sh \"x\"\n" 600000"#,
            r#"PreToolUse Some("Bash") http://h: it is no command but of the type `http`"#,
            r#"PreToolUse Some("Write") b.sh: "b.sh" 5000"#,
            "Setup None c.sh: anyhook is not asked at Claude Code's event `Setup`",
            "Stop None d.sh: it runs in the background (`async`), and its output reaches the model later",
        ]
    );
    let off = SETTINGS.replacen("\"model\"", "\"disableAllHooks\": true, \"model\"", 1);
    assert!(read_all(&off).iter().all(|hook| hook.command.is_err()));
    for odd in
        ["{}", "{\"hooks\": {}}", "{\"hooks\": {\"PreToolUse\": 3, \"Stop\": [7, {\"hooks\": 7}]}}"]
    {
        assert_eq!(read_all(odd), [], "{odd}");
    }
    for broken in ["{", "[]x", "{\"hooks\": 3}"] {
        let format = find("claude-code").unwrap();
        assert!(read(format, std::path::Path::new("s"), broken).is_err(), "{broken}");
    }
    let odd = "{\"hooks\": {\"PreToolUse\": [{\"hooks\": [7, {\"command\": \"\"}, {\"command\": \"x\", \"if\": \"Bash(a)\"}]}]}}";
    assert!(read_all(odd).iter().all(|hook| hook.command.is_err()));
    assert_eq!(read_all(odd).len(), 3);
}

#[test]
fn what_is_parked_leaves_the_rest_as_it_was_and_can_be_put_back() {
    let format = find("claude-code").unwrap();
    let path = std::path::Path::new("s.json");
    let found = read_all(SETTINGS);
    let gone: Vec<&NativeHook> = found.iter().filter(|hook| hook.command.is_ok()).collect();
    let leaving: Vec<(&str, HandlerPlace)> =
        gone.iter().map(|hook| (hook.event.as_str(), hook.place)).collect();
    let parked = park(format, path, SETTINGS, &leaving).unwrap();
    insta::assert_snapshot!(parked, @r#"
    // mine
    {
      "model": "x", // why
      "hooks": {
        "PreToolUse": [
          {"matcher": "Bash", "hooks": [ {"type": "http", "url": "http://h"}]},
          {"hooks": [{"type": "command", "command": "/x/anyhook hook claude-code"}]}
        ],
        "Setup": [{"hooks": [{"type": "command", "command": "c.sh"}]}],
        "Stop": [{"hooks": [{"type": "command", "command": "d.sh", "async": true}]}]
      }
    }
    "#);
    let list: Vec<Parked> = gone.iter().map(|hook| Parked::from(*hook)).collect();
    let back = unpark(format, path, Some(&parked), &list).unwrap();
    let key = |hook: &NativeHook| format!("{} {:?} {}", hook.event, hook.matcher, hook.handler);
    let mut before: Vec<String> = found.iter().map(key).collect();
    let mut after: Vec<String> = read_all(&back).iter().map(key).collect();
    before.sort();
    after.sort();
    assert_eq!(before, after);
    assert_eq!(unpark(format, path, Some(&back), &list).unwrap(), back, "only once");
    let whole = "{\n  \"hooks\": {\n    \"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"x\"}]}]\n  },\n  \"model\": \"x\"\n}\n";
    let empty = park(format, path, whole, &[("Stop", HandlerPlace::default())]).unwrap();
    assert_eq!(read_all(&empty), []);
    assert!(empty.contains("\"model\": \"x\"") && !empty.contains("hooks"), "{empty}");
    let twice = "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"command\": \"x\"}]}], \"Stop\": []}}";
    assert!(park(format, path, twice, &[("Stop", HandlerPlace::default())]).is_err());
}

#[test]
fn flat_lists_are_read_and_edited() {
    let text = r#"{"version": 1, "hooks": {"preToolUse": [{"bash": "a.sh", "matcher": "bash"}, {"command": "b.sh"}], "PreToolUse": [{"command": "c.sh"}]}}"#;
    let format = find("copilot").unwrap();
    let path = std::path::Path::new("h.json");
    let found = read(format, path, text).unwrap();
    let good: Vec<bool> = found.iter().map(|hook| hook.command.is_ok()).collect();
    assert_eq!(good, [true, true, true]);
    assert_eq!(found[0].matcher.as_deref(), Some("bash"));
    let first = [("preToolUse", HandlerPlace::default())];
    let parked = park(format, path, text, &first).unwrap();
    let left: Vec<String> =
        read(format, path, &parked).unwrap().into_iter().map(|hook| hook.label).collect();
    assert_eq!(left, ["b.sh", "c.sh"]);
    let back = unpark(format, path, Some(&parked), &[Parked::from(&found[0])]).unwrap();
    assert_eq!(read(format, path, &back).unwrap().len(), 3);
    let cursor = find("cursor").unwrap();
    let text = r#"{"hooks": {"stop": [{"command": "x"}], "beforeReadFile": [{"command": "y"}]}}"#;
    let listed = read(cursor, path, text).unwrap();
    assert!(listed[0].command.is_ok() && listed[1].command.is_err());
}

#[test]
fn groups_in_a_flat_list_are_read_and_edited() {
    let text = r#"{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"command": "a.sh"}, {"command": "b.sh"}]}, {"hooks": [{"command": "/x/anyhook hook copilot"}]}]}}"#;
    let format = find("copilot").unwrap();
    let path = std::path::Path::new("h.json");
    let found = read(format, path, text).unwrap();
    let rows: Vec<(&str, Option<&str>)> =
        found.iter().map(|hook| (hook.label.as_str(), hook.matcher.as_deref())).collect();
    assert_eq!(rows, [("a.sh", Some("Bash")), ("b.sh", Some("Bash"))]);
    let parked = park(format, path, text, &[("PreToolUse", found[0].place)]).unwrap();
    assert!(!parked.contains("a.sh") && parked.contains("b.sh"), "{parked}");
    let back = unpark(format, path, Some(&parked), &[Parked::from(&found[0])]).unwrap();
    assert_eq!(read(format, path, &back).unwrap().len(), 2);
}

#[test]
fn a_changed_input_replaces_the_whole_input() {
    let object = |value: Value| value.as_object().cloned().unwrap();
    let changed = NativeAnswer {
        input: Some(object(json!({"file_path": "b", "content": "y"}))),
        effect: Some(Effect::Allow),
        ..NativeAnswer::default()
    };
    let protocol = crate::find("claude-code").unwrap().protocol;
    let before = object(json!({"file_path": "a", "content": "x", "mode": 7}));
    assert_eq!(
        Value::Object(changed.to_json(protocol, "Write", &before)),
        json!({"decision": "allow", "modified_input": {"path": "b", "content": "y", "mode": null}})
    );
    assert!(NativeAnswer::default().to_json(protocol, "Write", &before).is_empty());
}

/// Agents that anyhook can be installed in are asked at the events of their own hooks.
#[test]
fn every_event_is_one_that_we_are_asked_at() {
    for format in FORMATS {
        let Some(agent) = crate::find(format.host) else { continue };
        assert_eq!(agent.title, format.title);
        for event in format.events {
            let native = agent.native_name(&event.kind);
            assert_eq!(native, Some(event.asked_as), "{} {:?}", format.host, event.kind);
        }
    }
    let names: Vec<&str> = FORMATS.iter().map(|format| format.host).collect();
    assert!(names.is_sorted(), "{names:?}");
}

fn fixture(host: &str, name: &str) -> Object {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(host);
    let text = std::fs::read(folder.join("fixtures").join(format!("{name}.json"))).unwrap();
    serde_json::from_slice(&text).unwrap()
}

/// Payloads of the one dialect of Copilot CLI, put into the other, have the form of those that were
/// recorded there.
#[test]
fn payloads_of_copilot_are_put_into_the_other_dialect() {
    /// The names of the fields and the kinds of their values.
    fn form(value: &Value) -> Value {
        match value {
            Value::Object(fields) => {
                fields.iter().map(|(key, value)| (key.clone(), form(value))).collect()
            }
            Value::String(_) => "text".into(),
            Value::Number(_) => 0.into(),
            other => other.clone(),
        }
    }
    let copilot = find("copilot").unwrap();
    for (event, own) in [
        ("preToolUse", "PreToolUse"),
        ("postToolUse", "PostToolUse"),
        ("sessionStart", "SessionStart"),
        ("sessionEnd", "SessionEnd"),
        ("userPromptSubmitted", "UserPromptSubmit"),
        ("agentStop", "Stop"),
        ("subagentStop", "SubagentStop"),
        ("preCompact", "PreCompact"),
        ("notification", "Notification"),
    ] {
        let given = fixture("copilot", &format!("PascalCase-{own}"));
        let made = (copilot.payload)(copilot.event(event).unwrap(), given.clone());
        let expected = fixture("copilot", event);
        assert_eq!(form(&made.into()), form(&expected.into()), "{event}");
        let same = (copilot.payload)(copilot.event(own).unwrap(), given.clone());
        assert_eq!(same, given, "{own}");
    }
    let event = copilot.event("preToolUse").unwrap();
    let made = (copilot.payload)(event, fixture("copilot", "PascalCase-PreToolUse"));
    let expected = json!({"toolName": "bash", "timestamp": 1_794_770_121_409_u64});
    assert_eq!(json!({"toolName": made["toolName"], "timestamp": made["timestamp"]}), expected);
    let patch = (copilot.payload)(event, fixture("copilot", "PascalCase-PreToolUse-apply_patch"));
    assert_eq!(patch["toolName"], "apply_patch");
}

#[test]
fn cursor_as_it_is_documented() {
    check(
        "cursor",
        &[
            ("preToolUse", 2, "", "no", "deny why=no"),
            ("preToolUse", 1, "", "no", "failed"),
            ("preToolUse", 0, "text", "", "failed"),
            ("preToolUse", 0, r#"{"permission":"deny","user_message":"u"}"#, "", "deny why=u"),
            ("preToolUse", 0, r#"{"permission":"ask"}"#, "", ""),
            (
                "preToolUse",
                0,
                r#"{"updated_input":{"command":"x"}}"#,
                "",
                r#"input={"command":"x"}"#,
            ),
            ("beforeSubmitPrompt", 0, r#"{"continue":false,"user_message":"u"}"#, "", "deny why=u"),
            ("stop", 0, r#"{"followup_message":"go on"}"#, "", "deny why=go on"),
            ("stop", 2, "", "no", ""),
            (
                "sessionStart",
                0,
                r#"{"additional_context":"c","env":{"A":"b"}}"#,
                "",
                "context=c lost",
            ),
        ],
    );
}
