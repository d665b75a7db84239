//! Answers: what exit codes and output mean, how hooks compose, async, the stop cap.

use std::time::{Duration, Instant};

use anyhook_testkit::{CommandRun, TestEnv, run, wait_until, write};
use serde_json::{Value, json};

use super::{BLOCK, MARK, by_way_of, last_record, last_run, left, seen, tool, written};
use crate::in_process::environment;

/// Makes the hook `guard` print a text.
fn says(environment: &TestEnv, more: &str, text: &str) {
    let folder = environment.user_hook(
        "guard",
        &format!("trigger: before_tool\n{more}"),
        "cat \"$ANYHOOK_HOOK_DIR/said\"",
    );
    write(&folder.join("said"), text, 0o644);
}

/// Makes a hook with a priority that prints a text.
fn hook(environment: &TestEnv, name: &str, priority: u32, text: &str) {
    let script = format!("touch ran-{name}; cat <<'END'\n{text}\nEND");
    environment.user_hook(name, &format!("trigger: before_tool\npriority: {priority}"), &script);
}

/// Returns the records of hooks that ran aside.
fn asides(environment: &TestEnv) -> Vec<Value> {
    environment.journal().into_iter().filter(|record| record.get("of").is_some()).collect()
}

/// Waits for a record of a hook that ran aside and returns it.
fn aside(environment: &TestEnv, name: &str) -> Value {
    let find = || asides(environment).into_iter().find(|record| record["runs"][0]["hook"] == name);
    wait_until(name, || find().is_some());
    find().unwrap()
}

fn stop(environment: &TestEnv, session: &str) -> CommandRun {
    environment.event(&json!({"event_type": "before_stop", "session_id": session}))
}

/// Returns how many of many stops of a new turn are blocked before one passes.
fn stops_blocked(environment: &TestEnv, session: &str) -> usize {
    environment.event(&json!({"event_type": "before_agent", "session_id": session}));
    (0..20).take_while(|_| stop(environment, session).code == 2).count()
}

#[test]
fn exit_0_without_an_object_is_no_opinion_and_the_text_is_logged() {
    let environment = environment();
    for text in
        ["", "all well", "1", "\"deny\"", "[1]", "true", "deny", "see {\"verdict\": \"deny\"}"]
    {
        says(&environment, "", text);
        let ran = environment.shell("ls");
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "{}\n"), "{text}");
        let run = last_run(&environment, "guard");
        assert_eq!(run.get("failure"), None, "{text}");
        assert_eq!(run.get("stdout").and_then(Value::as_str).unwrap_or(""), text);
    }
    environment.user_hook("guard", "trigger: before_tool", "echo careful >&2");
    environment.shell("ls");
    assert_eq!(last_run(&environment, "guard")["stderr"], "careful\n");
}

#[test]
fn decisions_in_any_case_and_block_for_deny() {
    let environment = environment();
    for (word, decision) in [
        ("allow", "allow"),
        ("ALLOW", "allow"),
        ("ask", "ask"),
        ("Ask", "ask"),
        ("deny", "deny"),
        ("DENY", "deny"),
        ("block", "deny"),
        ("Block", "deny"),
    ] {
        says(&environment, "", &format!("{{\"decision\": \"{word}\", \"reason\": \"why\"}}"));
        let ran = environment.shell("ls");
        assert_eq!(ran.json()["decision"], decision, "{word}");
        assert_eq!(ran.json()["reason"], "why", "{word}");
        assert_eq!(ran.code, if decision == "deny" { 2 } else { 0 }, "{word}");
    }
}

#[test]
fn a_deny_without_a_reason_is_blocked_by_its_hook() {
    let environment = environment();
    for text in [r#"{"decision": "deny"}"#, r#"{"decision": "deny", "reason": " "}"#] {
        says(&environment, "", text);
        assert_eq!(environment.shell("ls").json()["reason"], "blocked by hook guard", "{text}");
    }
}

#[test]
fn null_is_absent() {
    let environment = environment();
    says(
        &environment,
        "on_failure: block",
        r#"{"decision": null, "reason": null, "modified_input": null, "additional_context": null, "log": null}"#,
    );
    assert_eq!(environment.shell("ls").stdout, "{}\n");
    assert_eq!(last_run(&environment, "guard").get("failure"), None);
    says(&environment, "", r#"{"decision": "deny", "reason": null, "modified_input": null}"#);
    assert_eq!(environment.shell("ls").code, 2);
}

#[test]
fn an_object_that_says_nothing_is_no_opinion() {
    let environment = environment();
    for text in ["{}", r#"{"continue": true, "suppressOutput": true, "x": [1]}"#] {
        says(&environment, "on_failure: block", text);
        assert_eq!(environment.shell("ls").stdout, "{}\n", "{text}");
    }
}

#[test]
fn log_reaches_the_journal_alone() {
    let environment = environment();
    says(&environment, "", r#"{"log": "for the record"}"#);
    assert_eq!(environment.shell("ls").stdout, "{}\n");
    assert_eq!(last_run(&environment, "guard")["decision"]["log"], "for the record");
}

#[test]
fn objects_may_have_log_lines_before_between_and_after() {
    let environment = environment();
    let object = "{\"decision\": \"ask\", \"reason\": \"r\"}";
    for text in [
        format!("checking…\n{object}"),
        format!("{object}\ndone"),
        format!("one\ntwo\n{object}\nthree\n"),
        format!("one\r\n{object}\r\nthree\r\n"),
        format!("\n\n{object}\n\n"),
        format!("\u{feff}{object}"),
        format!("  {object}"),
        "{\n  \"decision\": \"ask\",\n  \"reason\": \"r\"\n}\nend".to_owned(),
        format!("{{\"log\": \"x\"}}\nbetween\n{object}\nend"),
        format!("{{\"log\": \"x\"}} {object}"),
    ] {
        says(&environment, "", &text);
        let ran = environment.shell("ls");
        assert_eq!(ran.json()["decision"], "ask", "{text:?}: {ran:?}");
        assert_eq!(ran.json()["reason"], "r", "{text:?}");
    }
}

#[test]
fn an_object_after_log_text_counts_if_it_parses() {
    let environment = environment();
    for text in [
        "INFO {\"decision\": \"deny\", \"reason\": \"r\"}\n",
        "x\n  {\"decision\": \"deny\", \"reason\": \"r\"}\n",
        "12:00 answers {\n  \"decision\": \"deny\",\n  \"reason\": \"r\"\n}\n",
    ] {
        says(&environment, "", text);
        let ran = environment.shell("ls");
        assert_eq!((ran.code, ran.json()["reason"].as_str()), (2, Some("r")), "{text}");
    }
    // An object that is no answer is log text, whether it parses or not; a broken answer is a failure.
    says(&environment, "on_failure: block", "would say {\"level\": \"deny\"\n- {\"level\": 1}");
    assert_eq!(environment.shell("ls").stdout, "{}\n");
    assert_eq!(last_run(&environment, "guard").get("failure"), None);
    says(&environment, "on_failure: block", "would say {\"decision\": \"deny\"\n");
    assert_eq!(environment.shell("ls").code, 2);
}

#[test]
fn an_array_is_read_as_its_objects() {
    let environment = environment();
    says(&environment, "", r#"[{"log": "x"}, {"decision": "deny", "reason": "r"}, 1]"#);
    let ran = environment.shell("ls");
    assert_eq!((ran.code, ran.json()["reason"].as_str()), (2, Some("r")));
}

#[test]
fn a_deny_in_the_words_of_any_agent_is_a_deny() {
    let environment = environment();
    for text in anyhook_engine::output::dialect::DENIES {
        says(&environment, "", text);
        let ran = environment.shell("ls");
        assert_eq!((ran.code, ran.json()["reason"].as_str()), (2, Some("no")), "{text}");
    }
}

#[test]
fn contexts_inputs_and_messages_in_the_words_of_agents() {
    let environment = environment();
    says(
        &environment,
        "",
        r#"{"systemMessage": "look here", "hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {"command": "ls -l"}, "additionalContext": "c"}}"#,
    );
    let ran = environment.shell("ls");
    assert_eq!(ran.code, 0);
    assert_eq!(ran.json()["modified_input"], json!({"command": "ls -l"}));
    assert_eq!(ran.json()["additional_context"], "c");
    assert_eq!(ran.stderr, "anyhook: guard: look here\n");
}

#[test]
fn of_several_objects_a_deny_wins_else_the_last() {
    let environment = environment();
    for (objects, decision, reason) in [
        (&[("allow", "1"), ("ask", "2")][..], "ask", "2"),
        (&[("ask", "1"), ("allow", "2")], "allow", "2"),
        (&[("deny", "1"), ("allow", "2")], "deny", "1"),
        (&[("allow", "1"), ("deny", "2"), ("ask", "3")], "deny", "2"),
    ] {
        let text: Vec<String> = objects
            .iter()
            .map(|(word, why)| format!("{{\"decision\": \"{word}\", \"reason\": \"{why}\"}}"))
            .collect();
        for separator in ["\n", "\nlog\n", ""] {
            says(&environment, "", &text.join(separator));
            let answer = environment.shell("ls").json();
            assert_eq!(answer["decision"], decision, "{text:?} {separator:?}");
            assert_eq!(answer["reason"], reason, "{text:?} {separator:?}");
        }
    }
}

#[test]
fn trap_what_parses_is_not_lost_because_other_output_is_broken() {
    let environment = environment();
    for text in [
        r#"{"decision": "deny", "reason": 5}"#,
        r#"{"decision": "deny", "modified_input": "x", "additional_context": {}}"#,
        r#"{"decision": "deny", "decision": "allow"}"#,
        r#"{"decision": "allow", "decision": "deny"}"#,
        r#"{"decision": "allow", "permission": "deny"}"#,
        r#"{"broken": } {"decision": "deny"}"#,
        "{broken\n{\"decision\": \"deny\"}",
        "{\"decision\": \"deny\"}\n{broken",
        "{\"decision\": \"deny\"}\n{\"decision\": \"perhaps\"}",
        "{\"decision\": \"perhaps\"}\n{\"decision\": \"deny\"}",
    ] {
        says(&environment, "", text);
        let ran = environment.shell("ls");
        assert_eq!(ran.code, 2, "{}: {ran:?}", &text[..text.len().min(100)]);
        assert!(!ran.json()["reason"].as_str().unwrap().is_empty());
    }
    // An `ask` stands beside the failure, unless the failure is a block.
    let ask = "{\"decision\": \"ask\", \"reason\": \"r\"}\n{broken";
    says(&environment, "", ask);
    let ran = environment.shell("ls");
    assert_eq!((ran.code, ran.json()["decision"].as_str()), (0, Some("ask")));
    assert!(last_run(&environment, "guard")["failure"].is_string());
    says(&environment, "on_failure: block", ask);
    assert_eq!(environment.shell("ls").code, 2);
    // An `allow` does not: what is broken may have been the objection.
    says(&environment, "", "{\"decision\": \"allow\"}\n{broken");
    assert_eq!(environment.shell("ls").stdout, "{}\n");
}

#[test]
fn words_about_a_deny_inside_a_text_are_none() {
    let environment = environment();
    says(&environment, "", r#"{"log": "a script may print {\"decision\": \"deny\"} to block"}"#);
    assert_eq!(environment.shell("ls").stdout, "{}\n");
}

#[test]
fn output_that_cannot_be_used_is_a_failure_of_that_hook() {
    let environment = environment();
    let deep = format!(r#"{{"decision": "deny", "x": {}1{}}}"#, "[".repeat(5000), "]".repeat(5000));
    environment.user_hook("next", "trigger: before_tool\npriority: 1", MARK);
    for text in [
        "{",
        "{not json}",
        r#"{"decision": "allow""#,
        r#"{"decision": "deny", "reason": "cut of"#,
        r#"{"decision": "deny", "reason": "no comma" "log": "x"}"#,
        r#"{"decision": "deny",}"#,
        r#"{"decision": "deny", "score": NaN}"#,
        "{\"decision\": \"deny\", \"reason\": \"two\nlines\"}",
        "{'decision': 'deny'}",
        r#"{"decison": "deny"}"#,
        r#"INFO {"decison": "deny"}"#,
        r#"{"verdict": "deny"}"#,
        r#"[{"verdict": "deny"}]"#,
        &deep,
        r#"{"decision": "perhaps"}"#,
        r#"{"decision": true}"#,
        r#"{"decision": ["deny"]}"#,
        r#"{"decision": "allow", "reason": 5}"#,
        r#"{"decision": "allow", "modified_input": "ls"}"#,
        r#"{"decision": "allow", "modified_input": ["ls"]}"#,
        r#"{"additional_context": {"a": 1}}"#,
        r#"{"log": 5}"#,
    ] {
        says(&environment, "", text);
        let ran = environment.shell("ls");
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "{}\n"), "{text}");
        assert!(last_run(&environment, "guard")["failure"].is_string(), "{text}");
        assert_eq!(last_record(&environment)["verdict"]["failed"][0]["hook"], "guard", "{text}");
        assert!(left(&environment, "ran-next"), "{text}");
        says(&environment, "on_failure: block", text);
        let ran = environment.shell("ls");
        assert_eq!(ran.code, 2, "{text}: {ran:?}");
        assert!(ran.json()["reason"].as_str().unwrap().contains("guard"), "{text}");
    }
}

#[test]
fn exit_2_blocks_with_standard_error_as_the_reason_and_standard_output_ignored() {
    let environment = environment();
    environment.user_hook(
        "guard",
        "trigger: before_tool\nstdout: context",
        "echo '{\"decision\": \"allow\", \"reason\": \"x\", \"additional_context\": \"y\"}'; printf 'first\\nsecond\\n' >&2; exit 2",
    );
    let ran = environment.shell("ls");
    assert_eq!((ran.code, ran.json()["reason"].as_str()), (2, Some("first\nsecond")));
    assert_eq!(ran.json().get("additional_context"), None);
}

#[test]
fn exit_2_without_standard_error_is_blocked_by_its_hook() {
    let environment = environment();
    for script in ["exit 2", "echo text; exit 2", "echo >&2; exit 2"] {
        environment.user_hook("guard", "trigger: before_tool", script);
        let ran = environment.shell("ls");
        assert_eq!(ran.code, 2);
        assert_eq!(ran.json()["reason"], "blocked by hook guard", "{script}");
    }
}

#[test]
fn trap_exit_2_blocks_also_when_standard_error_is_not_utf_8() {
    let environment = environment();
    environment.user_hook("guard", "trigger: before_tool", r"printf 'no \377\376' >&2; exit 2");
    let ran = environment.shell("ls");
    assert_eq!(ran.code, 2);
    assert_eq!(ran.json()["reason"], "no \u{fffd}\u{fffd}");
}

#[test]
fn any_other_end_is_a_failure_with_a_warning_in_the_journal() {
    let environment = environment();
    for (script, words) in [
        ("exit 1", "exit 1"),
        ("exit 3", "exit 3"),
        ("exit 127", "exit 127"),
        ("exit 255", "exit 255"),
        ("kill -9 $$", "signal 9"),
        ("kill -TERM $$", "signal 15"),
        ("sleep 30", "timed out"),
        ("#!/no/such/interpreter", "not started"),
    ] {
        let timeout = if words == "timed out" { 200 } else { 10_000 };
        for (on_failure, code) in [("allow", 0), ("block", 2)] {
            environment.user_hook(
                "guard",
                &format!("trigger: before_tool\ntimeout: {timeout}\non_failure: {on_failure}"),
                script,
            );
            let ran = environment.shell("ls");
            assert_eq!(ran.code, code, "{script}: {ran:?}");
            let record = last_record(&environment);
            let failed = &record["verdict"]["failed"][0];
            assert!(failed["why"].as_str().unwrap().contains(words), "{script}: {record}");
            assert_eq!(failed["blocked"], code == 2, "{script}");
            if code == 2 {
                let reason = ran.json()["reason"].as_str().unwrap().to_owned();
                assert!(reason.contains("guard") && reason.contains(words), "{reason}");
            }
        }
    }
}

#[test]
fn a_failing_hooks_output_counts_for_nothing() {
    let environment = environment();
    environment.user_hook(
        "guard",
        "trigger: before_tool\nstdout: context",
        "echo '{\"decision\": \"allow\", \"additional_context\": \"c\", \"modified_input\": {\"a\": 1}}'; exit 1",
    );
    assert_eq!(environment.shell("ls").stdout, "{}\n");
}

#[test]
fn sync_hooks_run_one_after_another() {
    let environment = environment();
    for (name, priority) in [("one", 900), ("two", 800), ("three", 700)] {
        environment.user_hook(
            name,
            &format!("trigger: before_tool\npriority: {priority}"),
            &format!(
                "echo '{name} begins' >> order.txt; sleep 0.05; echo '{name} ends' >> order.txt"
            ),
        );
    }
    environment.shell("ls");
    assert_eq!(
        written(&environment, "order.txt"),
        "one begins\none ends\ntwo begins\ntwo ends\nthree begins\nthree ends\n"
    );
}

#[test]
fn the_first_block_stops_the_rest() {
    let environment = environment();
    hook(&environment, "one", 900, "");
    environment.user_hook("two", "trigger: before_tool\npriority: 800", "echo second >&2; exit 2");
    environment.user_hook(
        "three",
        "trigger: before_tool\npriority: 700",
        "touch ran-three; exit 2",
    );
    environment.user_hook("four", "trigger: before_tool\npriority: 600\nasync: true", MARK);
    let ran = environment.shell("ls");
    assert_eq!((ran.code, ran.json()["reason"].as_str()), (2, Some("second")));
    assert!(left(&environment, "ran-one"));
    assert!(!left(&environment, "ran-three"));
    let record = last_record(&environment);
    assert_eq!(record["runs"].as_array().unwrap().len(), 2, "nor is the async one started");
    assert_eq!(record["verdict"]["by"], "two");
}

#[test]
fn an_ask_stays_unless_a_later_hook_denies() {
    let environment = environment();
    let object =
        |word: &str, why: &str| format!("{{\"decision\": \"{word}\", \"reason\": \"{why}\"}}");
    for (words, decision, reason) in [
        (["ask", "allow", "allow"], "ask", "1"),
        (["allow", "ask", "allow"], "ask", "2"),
        (["ask", "ask", "allow"], "ask", "1"),
        (["ask", "allow", "deny"], "deny", "3"),
        (["allow", "deny", "ask"], "deny", "2"),
        (["allow", "allow", "allow"], "allow", "1"),
    ] {
        hook(&environment, "one", 900, &object(words[0], "1"));
        hook(&environment, "two", 800, &object(words[1], "2"));
        hook(&environment, "three", 700, &object(words[2], "3"));
        let answer = environment.shell("ls").json();
        assert_eq!(
            (answer["decision"].as_str(), answer["reason"].as_str()),
            (Some(decision), Some(reason)),
            "{words:?}"
        );
    }
}

#[test]
fn no_opinion_beside_an_allow_is_allow() {
    let environment = environment();
    hook(&environment, "one", 900, "");
    hook(&environment, "two", 800, "{\"decision\": \"allow\"}");
    hook(&environment, "three", 700, "text");
    assert_eq!(environment.shell("ls").json()["decision"], "allow");
}

#[test]
fn contexts_are_joined_in_order_with_a_blank_line() {
    let environment = environment();
    hook(&environment, "one", 900, "{\"additional_context\": \"first\"}");
    hook(
        &environment,
        "two",
        800,
        "{\"decision\": \"allow\", \"additional_context\": \"second\\nline\"}",
    );
    hook(&environment, "three", 700, "{\"additional_context\": \"\"}");
    environment.user_hook(
        "four",
        "trigger: before_tool\npriority: 600\nstdout: context",
        "echo third",
    );
    let ran = environment.shell("ls");
    assert_eq!(ran.json()["additional_context"], "first\n\nsecond\nline\n\nthird");
}

#[test]
fn contexts_of_earlier_hooks_come_with_a_block() {
    let environment = environment();
    hook(&environment, "one", 900, "{\"additional_context\": \"first\"}");
    environment.user_hook("two", "trigger: before_tool", BLOCK);
    let ran = environment.shell("ls");
    assert_eq!((ran.code, ran.json()["additional_context"].as_str()), (2, Some("first")));
}

#[test]
fn the_context_of_a_hook_that_denies_counts_too() {
    let environment = environment();
    says(&environment, "", r#"{"decision": "deny", "reason": "r", "additional_context": "c"}"#);
    let ran = environment.shell("ls");
    assert_eq!((ran.code, ran.json()["additional_context"].as_str()), (2, Some("c")));
}

#[test]
fn modified_input_is_merged_field_by_field_and_null_removes_one() {
    let environment = environment();
    hook(
        &environment,
        "one",
        900,
        r#"{"modified_input": {"b": null, "c": {"new": true}, "d": 4, "none": null}}"#,
    );
    environment.user_hook("two", "trigger: before_tool\npriority: 800", "cat > seen.json");
    hook(&environment, "three", 700, r#"{"decision": "allow", "modified_input": {"a": "again"}}"#);
    let ran = tool(&environment, "Any", &json!({"a": 1, "b": 2, "c": {"old": 3}}));
    assert_eq!(seen(&environment)["tool_input"], json!({"a": 1, "c": {"new": true}, "d": 4}));
    let answer = ran.json();
    assert_eq!(answer["modified_input"], json!({"a": "again", "c": {"new": true}, "d": 4}));
    let keys: Vec<&String> = answer["modified_input"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["a", "c", "d"], "in order");
}

#[test]
fn modified_input_needs_no_decision_and_is_no_allow() {
    let environment = environment();
    says(&environment, "", r#"{"modified_input": {"command": "ls -l"}}"#);
    let answer = environment.shell("ls").json();
    assert_eq!(answer["modified_input"], json!({"command": "ls -l"}));
    assert_eq!(answer.get("decision"), None);
}

#[test]
fn modified_input_counts_on_before_tool_and_permission_request_only() {
    let environment = environment();
    for (name, counts) in [
        ("before_tool", true),
        ("permission_request", true),
        ("after_tool", false),
        ("after_tool_failure", false),
        ("before_agent", false),
        ("before_stop", false),
        ("session_start", false),
    ] {
        environment.user_hook(
            "change",
            &format!("trigger: {name}\npriority: 900\non_failure: block"),
            "echo '{\"modified_input\": {\"command\": \"new\"}}'",
        );
        environment.user_hook("look", &format!("trigger: {name}"), "cat > seen.json");
        let ran = environment.event(
            &json!({"event_type": name, "tool_name": "T", "tool_input": {"command": "old"}}),
        );
        assert_eq!(ran.code, 0, "{name}: {ran:?}");
        assert_eq!(ran.json().get("modified_input").is_some(), counts, "{name}");
        let expected = if counts { "new" } else { "old" };
        assert_eq!(seen(&environment)["tool_input"]["command"], expected, "{name}");
    }
}

#[test]
fn an_async_hook_is_not_waited_for_and_its_outcome_is_journaled_later() {
    let environment = crate::environment();
    environment.user_hook(
        "aside",
        "trigger: before_tool\nasync: true",
        "cat > seen.json; while [ ! -e go ]; do sleep 0.02; done; echo out; echo err >&2; touch done; exit 3",
    );
    let began = Instant::now();
    let ran = environment.shell("ls");
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "{}\n"));
    assert_eq!(last_run(&environment, "aside")["outcome"], "detached");
    let id = last_record(&environment)["id"].clone();
    assert!(!left(&environment, "done") && asides(&environment).is_empty());
    write(&environment.project().join("go"), "", 0o644);
    let record = aside(&environment, "aside");
    assert_eq!(record["of"], id);
    assert_eq!(record["runs"][0]["outcome"], json!({"exited": 3}));
    assert_eq!(record["runs"][0]["stdout"], "out\n");
    assert_eq!(record["runs"][0]["stderr"], "err\n");
    assert!(record["runs"][0]["failure"].is_string());
    assert_eq!(seen(&environment)["tool_input"]["command"], "ls", "it gets the event");
    let shown = environment.run(&["log", "show", id.as_str().unwrap()]);
    assert!(shown.stdout.contains("exit 3"), "{shown:?}");
}

#[test]
fn an_async_hook_outlives_the_end_of_our_process_group() {
    let environment = crate::environment();
    environment.user_hook(
        "aside",
        "trigger: before_tool\nasync: true",
        "touch begun; while [ ! -e go ]; do sleep 0.02; done; touch done",
    );
    let script = "echo $$ > group.pid; exec \"$@\"";
    let command = by_way_of(
        &["setsid", "-w", "sh", "-c", script, "sh"],
        &environment.command(&["hook", "agent-hooks"]),
    );
    assert_eq!(run(command, br#"{"event_type": "before_tool"}"#).code, 0);
    let group = format!("-{}", written(&environment, "group.pid").trim());
    for signal in ["-HUP", "-KILL"] {
        // There may be nobody left in it.
        let _ = std::process::Command::new("kill").args([signal, "--", &group]).output();
    }
    wait_until("its begin", || left(&environment, "begun"));
    write(&environment.project().join("go"), "", 0o644);
    wait_until("its end", || left(&environment, "done"));
    aside(&environment, "aside");
}

#[test]
fn async_hooks_run_side_by_side() {
    let environment = crate::environment();
    for (name, other) in [("one", "two"), ("two", "one")] {
        environment.user_hook(
            name,
            "trigger: before_tool\nasync: true\ntimeout: 9000",
            &format!("touch here-{name}; while [ ! -e here-{other} ]; do sleep 0.02; done"),
        );
    }
    environment.shell("ls");
    for name in ["one", "two"] {
        assert_eq!(aside(&environment, name)["runs"][0]["outcome"], json!({"exited": 0}));
    }
}

#[test]
fn an_async_hook_can_neither_block_nor_change_anything() {
    let environment = crate::environment();
    environment.user_hook("look", "trigger: before_tool\npriority: 1", "cat > seen.json");
    for (script, failed) in [
        ("echo no >&2; exit 2", false),
        (
            "echo '{\"decision\": \"deny\", \"modified_input\": {\"command\": \"x\"}, \"additional_context\": \"c\"}'",
            false,
        ),
        ("exit 1", true),
    ] {
        environment.user_hook("aside", "trigger: before_tool\nasync: true", script);
        let ran = environment.shell("ls");
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "{}\n"), "{script}");
        assert_eq!(seen(&environment)["tool_input"]["command"], "ls");
        let record = aside(&environment, "aside");
        assert_eq!(record["runs"][0].get("failure").is_some(), failed, "{record}");
        std::fs::remove_dir_all(environment.state().join("journal")).unwrap();
    }
}

#[test]
fn an_async_hook_has_the_same_timeout() {
    let environment = crate::environment();
    environment.user_hook(
        "aside",
        "trigger: before_tool\nasync: true\ntimeout: 300",
        "trap '' TERM; echo $$ > own.pid; (setsid sleep 60 & echo $! > child.pid); while :; do sleep 1; done",
    );
    environment.shell("ls");
    let record = aside(&environment, "aside");
    assert_eq!(record["runs"][0]["outcome"], json!({"timed_out": 300}));
    for file in ["own.pid", "child.pid"] {
        if left(&environment, file) && !written(&environment, file).is_empty() {
            wait_until(file, || !super::is_alive(&environment, file));
        }
    }
}

#[test]
fn an_async_hook_starts_when_its_turn_comes() {
    let environment = crate::environment();
    environment.user_hook("early", "trigger: before_tool\npriority: 900\nasync: true", MARK);
    environment.user_hook(
        "change",
        "trigger: before_tool\npriority: 800",
        "touch changed; echo '{\"modified_input\": {\"command\": \"new\"}}'",
    );
    environment.user_hook(
        "late",
        "trigger: before_tool\npriority: 700\nasync: true",
        "[ -e changed ] && cat > seen.json",
    );
    environment.user_hook("block", "trigger: before_tool\npriority: 600", BLOCK);
    environment.user_hook("never", "trigger: before_tool\npriority: 500\nasync: true", MARK);
    assert_eq!(environment.shell("old").code, 2);
    aside(&environment, "early");
    aside(&environment, "late");
    assert!(left(&environment, "ran-early"), "what was reached before the block is started");
    assert_eq!(seen(&environment)["tool_input"]["command"], "new");
    assert_eq!(last_record(&environment)["runs"].as_array().unwrap().len(), 4);
    assert!(!left(&environment, "ran-never"));
}

#[test]
fn an_async_hook_does_not_keep_our_callers_pipes_open() {
    let environment = crate::environment();
    environment.user_hook(
        "aside",
        "trigger: before_tool\nasync: true\ntimeout: 9000",
        "while [ ! -e go ]; do sleep 0.02; done",
    );
    // The caller reads both streams to their end.
    let began = Instant::now();
    environment.shell("ls");
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    write(&environment.project().join("go"), "", 0o644);
    aside(&environment, "aside");
}

#[test]
fn after_eight_blocks_in_a_turn_a_stop_passes_with_a_warning_as_capped() {
    let environment = environment();
    environment.user_hook("gate", "trigger: before_stop", "echo 'run the tests' >&2; exit 2");
    for turn in 0..8 {
        let ran = stop(&environment, "s");
        assert_eq!((ran.code, ran.json()["reason"].as_str()), (2, Some("run the tests")), "{turn}");
    }
    for _ in 0..2 {
        let ran = stop(&environment, "s");
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "{}\n"), "{ran:?}");
        assert!(ran.stderr.contains("gate") && ran.stderr.contains("run the tests"), "{ran:?}");
        let record = last_record(&environment);
        assert_eq!(record["verdict"]["capped"], true, "{record}");
        assert_eq!(record["verdict"].get("decision"), None);
    }
    let log = environment.run(&["log", "--verdict", "capped", "--json"]);
    assert_eq!(log.stdout.lines().count(), 2, "{log:?}");
    let passed = environment.run(&["log", "--verdict", "none", "--json"]);
    assert_eq!(passed.stdout.lines().count(), 0, "never as passed: {passed:?}");
    assert_eq!(stop(&environment, "other").code, 2, "another session has a turn of its own");
}

#[test]
fn a_turn_begins_with_before_agent_or_session_start() {
    let environment = environment();
    environment.user_hook("gate", "trigger: before_stop", BLOCK);
    write(&environment.home().join(".config/agents/anyhook.toml"), "stop_cap = 1\n", 0o644);
    assert_eq!((stop(&environment, "s").code, stop(&environment, "s").code), (2, 0));
    for name in ["before_agent", "pre-agent-turn", "session_start"] {
        environment.event(&json!({"event_type": name, "session_id": "s"}));
        assert_eq!((stop(&environment, "s").code, stop(&environment, "s").code), (2, 0), "{name}");
    }
    for name in ["before_tool", "after_agent", "after_stop", "subagent_start", "pre_compact"] {
        environment.event(&json!({"event_type": name, "session_id": "s"}));
        assert_eq!(stop(&environment, "s").code, 0, "{name}");
    }
}

#[test]
fn a_stop_that_passes_by_itself_is_not_counted() {
    let environment = environment();
    environment.user_hook("gate", "trigger: before_stop", "[ ! -e shut ] || exit 2");
    write(&environment.home().join(".config/agents/anyhook.toml"), "stop_cap = 2\n", 0o644);
    for _ in 0..4 {
        assert_eq!(stop(&environment, "s").code, 0);
        assert_eq!(last_record(&environment)["verdict"].get("capped"), None);
    }
    write(&environment.project().join("shut"), "", 0o644);
    let codes: Vec<i32> = (0..3).map(|_| stop(&environment, "s").code).collect();
    assert_eq!(codes, [2, 2, 0]);
}

#[test]
fn the_stop_cap_is_a_setting_that_a_project_may_only_tighten() {
    let environment = environment();
    environment.user_hook("gate", "trigger: pre-agent-turn-stop", BLOCK);
    let user = environment.home().join(".config/agents/anyhook.toml");
    let project = environment.project().join(".agents/anyhook.toml");
    write(&user, "stop_cap = 3\n", 0o644);
    assert_eq!(stops_blocked(&environment, "s"), 3);
    write(&project, "stop_cap = 1\n", 0o644);
    assert_eq!(stops_blocked(&environment, "s"), 3, "a lower cap would loosen the gate");
    let list = environment.run(&["list"]);
    assert!(list.stdout.contains("a project can only raise stop_cap"), "{list:?}");
    write(&project, "stop_cap = 5\n", 0o644);
    assert_eq!(stops_blocked(&environment, "s"), 5);
    std::fs::remove_file(&user).unwrap();
    write(&project, "stop_cap = 2\n", 0o644);
    assert_eq!(stops_blocked(&environment, "s"), 8, "the default is above the project, too");
}

#[test]
fn the_cap_is_for_stops_alone() {
    let environment = environment();
    environment.user_hook("guard", "trigger: [before_tool, subagent_stop, before_agent]", BLOCK);
    write(&environment.home().join(".config/agents/anyhook.toml"), "stop_cap = 1\n", 0o644);
    for name in ["before_tool", "subagent_stop", "before_agent"] {
        for _ in 0..3 {
            let ran = environment.event(&json!({"event_type": name, "session_id": "s"}));
            assert_eq!(ran.code, 2, "{name}");
        }
    }
}

#[test]
fn a_gate_that_fails_with_on_failure_block_is_capped_like_any_other() {
    let environment = environment();
    environment.user_hook("gate", "trigger: before_stop\non_failure: block", "exit 1");
    write(&environment.home().join(".config/agents/anyhook.toml"), "stop_cap = 2\n", 0o644);
    assert_eq!(stops_blocked(&environment, "s"), 2);
    assert_eq!(last_record(&environment)["verdict"]["capped"], true);
}

#[test]
fn fail_open_is_the_default_at_every_event() {
    let environment = environment();
    for name in ["session_start", "before_agent", "before_tool", "before_stop", "pre_compact"] {
        environment.user_hook("guard", &format!("trigger: {name}"), "exit 1");
        let ran =
            environment.event(&json!({"event_type": name, "session_id": format!("{name} allows")}));
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "{}\n"), "{name}");
        environment.user_hook("guard", &format!("trigger: {name}\non_failure: block"), "exit 1");
        let ran =
            environment.event(&json!({"event_type": name, "session_id": format!("{name} blocks")}));
        assert_eq!(ran.code, 2, "{name}");
    }
}
