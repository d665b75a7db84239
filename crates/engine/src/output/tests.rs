//! Tests of what scripts print, and what it means.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn exit_0(stdout: &str) -> RunOutput {
    interpret("h", &EventKind::BeforeTool, StdoutUse::Log, &RunOutcome::Exited(0), stdout, "")
}

fn effect(stdout: &str) -> Option<Effect> {
    exit_0(stdout).decision.effect
}

#[test]
fn no_answer_is_no_opinion() {
    for stdout in [
        "",
        "done\n",
        "[1]\n",
        "[INFO] up {and} running\n",
        "\"deny\"",
        "{}\n",
        "log {\"level\": \"info\", \"message\": \"deny\"}",
        "{\"type\": \"progress\", \"message\": \"half\"}\n",
        "{\"continue\": true, \"suppressOutput\": true}",
        "{\"permissionDecision\": \"defer\"}",
    ] {
        let said = exit_0(stdout);
        assert_eq!((said.failure, said.decision.effect), (None, None), "{stdout}");
    }
}

#[test]
fn objects_may_stand_between_log_lines() {
    assert_eq!(effect("checking\n{\"decision\": \"deny\"}\ndone\n"), Some(Effect::Deny));
    assert_eq!(effect("{\n  \"decision\": \"ask\"\n}\n"), Some(Effect::Ask));
    assert_eq!(effect("\n\n  {\"decision\": \"allow\"}"), Some(Effect::Allow));
    assert_eq!(effect("{\"decision\": \"BLOCK\"}\r\n"), Some(Effect::Deny));
}

#[test]
fn several_objects_a_deny_wins_else_the_last() {
    assert_eq!(effect("{\"decision\": \"deny\"}\n{\"decision\": \"allow\"}\n"), Some(Effect::Deny));
    assert_eq!(effect("{\"decision\": \"allow\"}\n{\"decision\": \"ask\"}\n"), Some(Effect::Ask));
    assert_eq!(effect("{\"decision\": \"allow\"}{\"decision\": \"deny\"}"), Some(Effect::Deny));
    assert_eq!(effect("{\"decision\": \"ask\"}\n{\"log\": \"x\"}\n"), None);
}

#[test]
fn null_is_as_good_as_absent() {
    let said = exit_0(
        r#"{"decision": null, "reason": null, "modified_input": null, "additional_context": "c", "log": null}"#,
    );
    assert_eq!(said.failure, None);
    assert_eq!(
        said.decision,
        Decision { additional_context: Some("c".to_owned()), ..Decision::default() }
    );
}

#[test]
fn unusable_output_is_a_failure() {
    for (stdout, words) in [
        ("{oops}", "does not parse"),
        ("{\"decision\": \"allow\"", "does not parse"),
        ("{\"decision\": \"deny\"", "does not parse"),
        ("{\"decision\": \"deny\",}", "does not parse"),
        ("{'decision': 'deny'}", "does not parse"),
        ("[{\"decision\": \"deny\"", "does not parse"),
        ("{\"decision\": \"maybe\"}", "unknown decision \"maybe\"; use allow, ask or deny"),
        ("{\"decision\": \"denied\"}", "did you mean deny?"),
        ("{\"decision\": 1}", "unknown decision 1"),
        ("{\"decision\": {\"deny\": true}}", "`decision` is an object without a decision"),
        ("{\"decision\": \"\"}", "unknown decision"),
        ("{\"reason\": 5}", "`reason` must be a string"),
        ("{\"continue\": \"false\"}", "`continue` must be true or false"),
        ("{\"modified_input\": \"ls\"}", "`modified_input` must be an object"),
        ("{\"hookSpecificOutput\": \"deny\"}", "`hookSpecificOutput` must be an object"),
        ("{\"hookSpecificOutput\": 5}", "`hookSpecificOutput` must be an object"),
        ("{\"additional_context\": [\"a\"]}", "`additional_context` must be a string"),
        ("{\"log\": {}}", "`log` must be a string"),
        ("{\"decison\": \"deny\"}", "unknown key `decison`; did you mean `decision`?"),
        ("{\"log\": \"x\", \"decison\": \"deny\"}", "did you mean `decision`?"),
        ("log {\"decison\": \"deny\"}", "did you mean `decision`?"),
        (
            "{\"hookSpecificOutput\": {\"permisionDecision\": \"deny\"}}",
            "did you mean `permissionDecision`?",
        ),
        ("{\"verdict\": \"no\", \"x\": 1}", "the object has no known keys (`verdict`, `x`)"),
        ("[{\"verdict\": \"no\"}]", "the object has no known keys (`verdict`)"),
        ("{\"event_type\": \"before_tool\", \"tool_input\": {}}", "this is an event"),
        ("{\"updatedToolOutput\": {}}", "`updatedToolOutput` is not supported"),
        ("{\"decision\": \"allow\"}\n{broken", "does not parse"),
        ("{\"decision\": \"allow\"}\n{\"verdict\": \"no\"}", "no known key"),
    ] {
        let said = exit_0(stdout);
        assert!(said.failure.as_ref().is_some_and(|why| why.contains(words)), "{stdout}: {said:?}");
        assert!(said.decision.is_silent(), "{stdout}");
    }
}

#[test]
fn what_parses_is_not_lost_because_other_output_is_broken() {
    let said = exit_0("{\"decision\": \"ask\", \"additional_context\": \"c\"}\n{broken");
    assert!(said.failure.is_some());
    assert_eq!(said.decision.effect, Some(Effect::Ask));
    assert_eq!(said.decision.additional_context.as_deref(), Some("c"));
    for stdout in [
        "{\"decision\": \"deny\", \"reason\": 5}",
        "{\"decision\": \"deny\", \"modified_input\": 7}",
        "{\"decision\": \"deny\", \"decison\": \"allow\"}",
        "{\"decision\":\"deny\"} trailing {",
        "{\"decision\": \"deny\", \"decision\": \"allow\"}",
        "{\"decision\": \"allow\", \"decision\": \"Deny\"}",
        "{\"hookSpecificOutput\": {\"permissionDecision\": \"deny\", \"permissionDecision\": \"allow\"}}",
        "{\"permissionDecision\": \"deny\", \"decision\": \"approve\", \"continue\": true}",
        "{\"Decision\": \"deny\"}",
        "{\"decision\": \" deny \"}",
        "{\"decision\": \"perhaps\"}\n{\"decision\": \"deny\"}",
        "{broken\n{\"decision\": \"deny\"}",
        "{\"broken\": } {\"decision\": \"deny\"}",
        "[{\"log\": \"x\"}, {\"decision\": \"deny\", \"decision\": \"allow\"}, 1.5]",
    ] {
        assert_eq!(effect(stdout), Some(Effect::Deny), "{stdout}");
    }
}

#[test]
fn a_deny_in_any_dialect_is_a_deny_with_its_reason() {
    for deny in dialect::DENIES {
        let said = exit_0(deny);
        assert_eq!(said.decision.effect, Some(Effect::Deny), "{deny}");
        assert_eq!(said.decision.reason.as_deref(), Some("no"), "{deny}");
        assert_eq!(said.failure, None, "{deny}");
        let array = exit_0(&format!("[{deny}]\n"));
        assert_eq!(array.decision, said.decision, "{deny}");
        let in_line = exit_0(&format!("12:00 [hook] answers: {deny}\n"));
        assert_eq!(in_line.decision, said.decision, "{deny}");
    }
}

#[test]
fn the_other_words_of_the_dialects() {
    let read = |stdout: &str| {
        let RunOutput { decision, failure, told, .. } = exit_0(stdout);
        assert_eq!(failure, None, "{stdout}");
        (decision, told)
    };
    for stdout in [
        r#"{"decision": "approve"}"#,
        r#"{"hookSpecificOutput": {"permissionDecision": "allow"}}"#,
        r#"{"hookSpecificOutput": {"decision": {"behavior": "allow"}}}"#,
        r#"{"permission": "allow"}"#,
    ] {
        assert_eq!(read(stdout).0.effect, Some(Effect::Allow), "{stdout}");
    }
    assert_eq!(read(r#"{"permission": "ask", "continue": true}"#).0.effect, Some(Effect::Ask));
    for stdout in [
        r#"{"modified_input": {"command": "ls"}}"#,
        r#"{"hookSpecificOutput": {"updatedInput": {"command": "ls"}}}"#,
        r#"{"hookSpecificOutput": {"tool_input": {"command": "ls"}}}"#,
        r#"{"hookSpecificOutput": {"decision": {"behavior": "allow", "updatedInput": {"command": "ls"}}}}"#,
        r#"{"updated_input": {"command": "ls"}}"#,
        r#"{"modifiedArgs": {"command": "ls"}}"#,
        r#"{"overrideInput": {"command": "ls"}}"#,
    ] {
        let change = json!({"command": "ls"}).as_object().cloned();
        assert_eq!(read(stdout).0.modified_input, change, "{stdout}");
    }
    for stdout in [
        r#"{"additionalContext": "c"}"#,
        r#"{"hookSpecificOutput": {"additionalContext": "c"}}"#,
        r#"{"contextModification": "c"}"#,
        r#"{"context": ["c"]}"#,
        r#"{"message": "c"}"#,
    ] {
        assert_eq!(read(stdout).0.additional_context.as_deref(), Some("c"), "{stdout}");
    }
    assert_eq!(read(r#"{"systemMessage": "look"}"#).1.as_deref(), Some("look"));
}

#[test]
fn at_a_stop_to_end_everything_is_not_to_go_on_working() {
    let at = |kind: EventKind, stdout: &str| {
        interpret("h", &kind, StdoutUse::Log, &RunOutcome::Exited(0), stdout, "").decision.effect
    };
    let halt = r#"{"continue": false, "stopReason": "enough"}"#;
    assert_eq!(at(EventKind::BeforeStop, halt), None);
    assert_eq!(at(EventKind::BeforeAgent, halt), Some(Effect::Deny));
    let follow_up = r#"{"followup_message": "run the tests"}"#;
    assert_eq!(at(EventKind::BeforeStop, follow_up), Some(Effect::Deny));
    assert_eq!(at(EventKind::AfterAgent, follow_up), None);
}

#[test]
fn unknown_keys_beside_a_decision_are_noted() {
    let said = exit_0(r#"{"decision": "allow", "score": 1, "updatedToolOutput": "x"}"#);
    assert_eq!((said.decision.effect, said.failure), (Some(Effect::Allow), None));
    assert_eq!(
        said.notes,
        ["unknown key `score`", "`updatedToolOutput` is not supported by anyhook"]
    );
}

#[test]
fn an_answer_that_was_cut_is_no_silence() {
    let cut = |kept: &str| exit_0(&format!("{}\n… 5 {CUT} {kept}", "x".repeat(100))).failure;
    assert!(cut("more\n\"decision\": \"deny\"\n}\n").is_some());
    assert_eq!(cut("more log\n}\n"), None);
}

#[test]
fn the_guide_lists_every_word() {
    let page = |name: &str| {
        let guide = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide");
        std::fs::read_to_string(guide.join(name)).unwrap()
    };
    let guide = page("write-scripts.md") + &page("port-hooks.md");
    for word in &WORDS {
        assert!(guide.contains(&format!("`{}`", word.key)), "{} is not in the guide", word.key);
    }
}

#[test]
fn hostile_output_takes_linear_time() {
    let length = 1 << 18;
    for piece in ["{\"a\":[", "{\"a\":\"{", "x {\"a\":1,", "{", "[{", "{\"\":\n", "[["] {
        let stdout = piece.repeat(length / piece.len());
        let began = std::time::Instant::now();
        let _ = exit_0(&stdout);
        // Quadratic time would take hours.
        assert!(began.elapsed().as_secs() < 20, "{piece}: {:?}", began.elapsed());
    }
}

#[test]
fn exit_2_blocks_with_stderr() {
    let said = interpret(
        "h",
        &EventKind::BeforeTool,
        StdoutUse::Log,
        &RunOutcome::Exited(2),
        "{\"decision\": \"allow\"}",
        " no way \u{fffd}\n",
    );
    assert_eq!(said.decision, Decision::deny("no way \u{fffd}"));
    let said =
        interpret("h", &EventKind::BeforeTool, StdoutUse::Log, &RunOutcome::Exited(2), "", "  \n");
    assert_eq!(said.decision.reason.as_deref(), Some("blocked by hook h"));
}

#[test]
fn other_ends_are_failures() {
    for outcome in [
        RunOutcome::Exited(1),
        RunOutcome::Exited(127),
        RunOutcome::Killed(9),
        RunOutcome::TimedOut(100),
        RunOutcome::NotStarted("x".to_owned()),
    ] {
        let said = interpret(
            "h",
            &EventKind::BeforeTool,
            StdoutUse::Log,
            &outcome,
            "{\"decision\": \"deny\"}",
            "first\nlast\n",
        );
        assert!(said.failure.unwrap().ends_with("last"));
        assert_eq!(said.decision.effect, None);
    }
}

#[test]
fn plain_text_is_context_where_the_hook_says_so() {
    let said = interpret(
        "h",
        &EventKind::BeforeTool,
        StdoutUse::Context,
        &RunOutcome::Exited(0),
        "branch: main\n",
        "",
    );
    assert_eq!(said.decision.additional_context.as_deref(), Some("branch: main"));
    let said = interpret(
        "h",
        &EventKind::BeforeTool,
        StdoutUse::Context,
        &RunOutcome::Exited(0),
        "note\n{\"decision\": \"allow\"}\n",
        "",
    );
    assert_eq!(said.decision.additional_context, None);
}

#[test]
fn input_changes_are_read() {
    let said = exit_0(r#"{"decision": "allow", "modified_input": {"command": "ls"}}"#);
    assert_eq!(said.decision.modified_input.as_ref(), json!({"command": "ls"}).as_object());
}

proptest! {
    #[test]
    fn no_output_makes_the_engine_fail(stdout in any::<String>(), noise in r#"[{}"':,\\\n a-z\[\]]{0,80}"#) {
        let _ = exit_0(&stdout);
        let _ = exit_0(&noise);
        let _ = exit_0(&format!("{{{noise}"));
    }

    #[test]
    fn a_deny_in_any_dialect_survives_any_log_text_around_it(
        before in "[^{]{0,30}", after in any::<String>(), which in 0..dialect::DENIES.len(),
        newline in any::<bool>(),
    ) {
        let newline = if newline { "\n" } else { "" };
        let stdout = format!("{before}{newline}{}{newline}{after}", dialect::DENIES[which]);
        prop_assert_eq!(effect(&stdout), Some(Effect::Deny));
    }
}

/// An output that was meant to deny is never taken as no opinion.
#[test]
fn a_denial_in_words_of_nobody_is_a_failure() {
    for output in [
        r#"{"deny": true, "reason": "x"}"#,
        r#"{"ok": false, "reason": "x"}"#,
        r#"{"verdict": "deny", "reason": "x"}"#,
        r#"{"status": "deny", "message": "x"}"#,
        r#"{"output": {"decision": "deny"}, "reason": "x"}"#,
        r#"{"decision": "allow", "permisionDecision": "deny"}"#,
        r#"INFO {"decision":"deny""#,
        "log\n  {\"decision\":\"deny\"",
        "\u{1b}[31m{\"decision\":\"deny\"",
        "log {'decision':'deny'}",
    ] {
        let said = read_stdout(output, StdoutUse::Log, &EventKind::BeforeTool);
        assert!(said.failure.is_some(), "{output}: {said:?}");
        assert_eq!(said.decision.effect, None, "{output}");
    }
    let nested = r#"{"hook_specific_output": {"permission_decision": "deny"}}"#;
    let said = read_stdout(nested, StdoutUse::Log, &EventKind::BeforeTool);
    assert_eq!(said.decision.effect, Some(Effect::Deny), "{said:?}");
}

#[test]
fn a_failure_names_its_cause_and_not_what_comes_after_it() {
    let why = |stderr: &str| {
        let kind = EventKind::BeforeTool;
        interpret("h", &kind, StdoutUse::Log, &RunOutcome::Exited(1), "", stderr).failure.unwrap()
    };
    let node = "/h/run:1\nthrow new Error('no key');\n^\n\nError: no key\n    at x (/h/run:1:7)\n\nNode.js v22.1.0\n";
    assert!(why(node).ends_with(": Error: no key"), "{}", why(node));
    let python = "Traceback (most recent call last):\n  File \"/h/run\", line 1\nKeyError: 'x'\n";
    assert!(why(python).ends_with(": KeyError: 'x'"), "{}", why(python));
    assert!(why("one\ntwo\n").ends_with(": two"));
}
