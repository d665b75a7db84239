//! `anyhook hook agent-hooks`: what goes in, what comes out, exit codes.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

use anyhook_testkit::needs::MachineNeed;
use anyhook_testkit::{CommandRun, TestEnv, require, run};
use serde_json::json;

use super::{BLOCK, left, seen};
use crate::environment;

fn send(environment: &TestEnv, event: impl AsRef<[u8]>) -> CommandRun {
    environment.run_with_input(&["hook", "agent-hooks"], event)
}

/// Makes a guard against `mkfs`.
fn guard(environment: &TestEnv) {
    environment.user_hook("guard", "trigger: before_tool\nmatcher:\n  pattern: mkfs", BLOCK);
}

#[test]
fn an_empty_object_comes_out_when_nobody_has_an_opinion() {
    let environment = environment();
    let ran = send(&environment, r#"{"event_type": "before_tool"}"#);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "{}\n", ""));
    environment.user_hook("quiet", "trigger: before_tool", "echo text; echo more >&2");
    let ran = send(&environment, r#"{"event_type": "before_tool"}"#);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "{}\n", ""));
}

#[test]
fn the_verdict_has_the_documented_keys_and_no_others() {
    let environment = environment();
    environment.user_hook(
        "all",
        "trigger: before_tool",
        r#"echo '{"decision": "ask", "reason": "r", "modified_input": {"b": 2}, "additional_context": "c", "log": "l"}'"#,
    );
    let ran = super::tool(&environment, "Shell", &json!({"a": 1}));
    let answer = ran.json();
    let keys: Vec<&String> = answer.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["decision", "reason", "modified_input", "additional_context", "id"]);
    assert_eq!(answer["modified_input"], json!({"a": 1, "b": 2}), "the whole input");
    assert_eq!(ran.code, 0);
    environment.user_hook("all", "trigger: before_tool", r#"echo '{"additional_context": "c"}'"#);
    let answer = super::tool(&environment, "Shell", &json!({"a": 1})).json();
    let keys: Vec<&String> = answer.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["additional_context", "id"]);
}

#[test]
fn a_block_exits_2_with_the_reason_on_standard_error_too() {
    let environment = environment();
    environment.user_hook("guard", "trigger: before_tool", "echo 'über 漢' >&2; exit 2");
    let ran = environment.shell("ls");
    assert_eq!(ran.code, 2);
    let answer = ran.json();
    let keys: Vec<&String> = answer.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["decision", "reason", "id"]);
    assert!(ran.stdout.contains("über 漢") && ran.stdout.ends_with("}\n"), "{ran:?}");
    assert!(ran.stderr.starts_with("über 漢\n"), "{ran:?}");
}

#[test]
fn ask_and_allow_exit_0() {
    let environment = environment();
    for word in ["ask", "allow"] {
        let script = format!("echo '{{\"decision\": \"{word}\"}}'");
        environment.user_hook("guard", "trigger: before_tool", &script);
        let ran = environment.shell("ls");
        assert_eq!((ran.code, ran.json()["decision"].as_str()), (0, Some(word)));
    }
}

#[test]
fn only_the_event_type_is_required() {
    let environment = environment();
    environment.user_hook("look", "trigger: before_tool", "cat > seen.json; exit 2");
    assert_eq!(send(&environment, r#"{"event_type": "before_tool"}"#).code, 2);
    let shown = seen(&environment);
    assert_eq!(shown["work_dir"], environment.project().to_str().unwrap());
    assert!(shown["timestamp"].as_str().unwrap().ends_with('Z'));
}

#[test]
fn fields_of_the_wrong_type_do_not_keep_a_guard_from_running() {
    let environment = environment();
    environment.user_hook("guard", "trigger: before_tool", BLOCK);
    for event in [
        json!({"event_type": "before_tool", "tool_name": 5, "tool_input": "text", "context": []}),
        json!({"event_type": "before_tool", "tool_name": null, "tool_input": null, "native": 3}),
        json!({"event_type": "before_tool", "work_dir": 7, "session_id": {}, "timestamp": "soon"}),
        json!({"event_type": "before_tool", "work_dir": "", "session_id": "", "timestamp": 5}),
        json!({"event_type": "before_tool", "session_id": "a/../b\u{0}\n", "work_dir": "\u{0}"}),
        json!({"event_type": "before_tool", "tool_name": "x\u{0}y", "session_id": "é".repeat(99_999)}),
    ] {
        let ran = environment.event(&event);
        assert_eq!(ran.code, 2, "{ran:?}");
    }
}

#[test]
fn unusable_input_exits_65_with_a_message_and_no_answer() {
    let environment = environment();
    environment.user_hook("guard", "trigger: before_tool", BLOCK);
    for event in [
        "",
        " \n",
        "before_tool",
        "{",
        r#"{"event_type": "before_tool""#,
        r#"{"event_type": "before_tool"} trailing"#,
        "[1]",
        "null",
        "\"text\"",
        "{}",
        r#"{"event_type": null}"#,
        r#"{"event_type": ["before_tool"]}"#,
        "\u{0}\u{0}",
    ] {
        let ran = send(&environment, event);
        assert_eq!((ran.code, ran.stdout.as_str()), (65, ""), "{event:?}: {ran:?}");
        assert!(ran.stderr.contains("event") && ran.stderr.contains("hint:"), "{event:?}: {ran:?}");
    }
    assert_eq!(send(&environment, [0xff, 0xfe, 0x00]).code, 65);
}

#[test]
fn a_bom_and_bytes_that_are_not_utf_8_do_not_keep_a_guard_from_running() {
    let environment = environment();
    guard(&environment);
    let event = r#"{"event_type": "before_tool", "tool_input": {"command": "mkfs X"}}"#;
    assert_eq!(send(&environment, format!("\u{feff}{event}\n")).code, 2);
    let bytes: Vec<u8> = event.bytes().map(|byte| if byte == b'X' { 0xff } else { byte }).collect();
    assert_eq!(send(&environment, bytes).code, 2);
}

#[test]
fn text_with_half_a_surrogate_pair_does_not_keep_a_guard_from_running() {
    let environment = environment();
    guard(&environment);
    for text in [r"mkfs \ud800", r"\udcff mkfs", r"mkfs \ud83d x"] {
        let event = format!(r#"{{"event_type": "before_tool", "tool_input": {{"c": "{text}"}}}}"#);
        let ran = send(&environment, &event);
        assert_eq!(ran.code, 2, "{event}: {ran:?}");
    }
}

#[test]
fn no_key_in_an_event_keeps_a_guard_from_running() {
    let environment = environment();
    guard(&environment);
    for key in ["", "__proto__", "$serde_json::private::Number", "$serde_json::private::RawValue"] {
        let event = format!(
            r#"{{"event_type": "before_tool", "tool_input": {{"c": "mkfs", "x": {{"{key}": "y"}}}}}}"#
        );
        let ran = send(&environment, &event);
        assert_eq!(ran.code, 2, "{event}: {ran:?}");
        let event =
            format!(r#"{{"event_type": "before_tool", "tool_input": {{"{key}": "mkfs"}}}}"#);
        let ran = send(&environment, &event);
        assert_eq!(ran.code, 2, "{event}: {ran:?}");
    }
}

#[test]
fn an_event_nested_a_hundred_thousand_levels_deep_is_still_guarded() {
    let environment = environment();
    guard(&environment);
    for (open, close) in [("[", "]"), ("{\"k\":", "}")] {
        let deep = format!("{}\"x\"{}", open.repeat(100_000), close.repeat(100_000));
        let event = |command: &str| {
            format!(
                r#"{{"event_type": "before_tool", "tool_input": {{"deep": {deep}, "command": "{command}"}}}}"#
            )
        };
        assert_eq!(send(&environment, event("mkfs")).code, 2);
        assert_eq!(send(&environment, event("ls")).code, 0);
        let inside = format!("{}\"mkfs\"{}", open.repeat(100_000), close.repeat(100_000));
        let event =
            format!(r#"{{"event_type": "before_tool", "tool_input": {{"deep": {inside}}}}}"#);
        assert_eq!(send(&environment, event).code, 2);
    }
}

#[test]
fn a_value_nested_very_deep_is_matched_like_any_other() {
    let environment = environment();
    for (pattern, value, hit) in [
        ("^mkfs$", r#""mkfs""#, true),
        ("mkfs", r#""\u006dkfs""#, true),
        ("say \"mkfs\"", r#""say \"mkfs\"""#, true),
        ("mkfs", r#"{"mkfs": 1}"#, false),
    ] {
        let matter = format!("trigger: before_tool\nmatcher:\n  pattern: '{pattern}'");
        environment.user_hook("guard", &matter, BLOCK);
        let deep = format!("{}{value}{}", "[".repeat(200), "]".repeat(200));
        let event = format!(r#"{{"event_type": "before_tool", "tool_input": {{"deep": {deep}}}}}"#);
        assert_eq!(send(&environment, event).code == 2, hit, "{pattern} in {value}");
    }
}

#[test]
fn brackets_without_end_are_unusable_input() {
    let environment = environment();
    let event = format!(r#"{{"event_type": "before_tool", "x": {}"#, "[".repeat(200_000));
    assert_eq!(send(&environment, event).code, 65);
}

#[test]
fn an_event_of_ten_megabytes_goes_through() {
    let environment = environment();
    environment.user_hook("look", "trigger: before_tool", "cat > seen.json");
    guard(&environment);
    let content = "漢字 text\n".repeat(800_000);
    let event = json!({
        "event_type": "before_tool", "tool_name": "WriteFile", "tool_input": {"content": content},
    });
    assert!(event.to_string().len() > 10_000_000);
    let ran = environment.event(&event);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "{}\n"), "{}", ran.stderr);
    assert_eq!(seen(&environment)["tool_input"]["content"].as_str(), Some(content.as_str()));
}

#[test]
fn an_event_without_end_is_refused() {
    let environment = environment();
    let mut event = br#"{"event_type": "before_tool", "x": ""#.to_vec();
    event.resize(70 * 1024 * 1024, b'x');
    let ran = send(&environment, event);
    assert_eq!(ran.code, 65, "{ran:?}");
}

#[test]
fn a_deadline_makes_hooks_that_are_not_done_fail() {
    let environment = environment();
    environment.user_hook("slow", "trigger: before_tool", "sleep 20; touch late");
    environment.user_hook("next", "trigger: before_tool\npriority: 1", "touch next");
    let event = r#"{"event_type": "before_tool"}"#;
    for arguments in [
        &["hook", "agent-hooks", "--deadline-ms", "300"][..],
        &["hook", "agent-hooks", "--deadline-ms=300"],
        &["hook", "--deadline-ms", "300", "agent-hooks"],
    ] {
        let began = Instant::now();
        let ran = environment.run_with_input(arguments, event);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "{}\n"), "{arguments:?}: {ran:?}");
        assert!(began.elapsed() < Duration::from_millis(2500), "{:?}", began.elapsed());
        assert!(super::last_run(&environment, "slow")["failure"].is_string());
        let next = super::last_run(&environment, "next");
        assert!(next["failure"].as_str().unwrap().contains("deadline"), "{next}");
    }
    assert!(!left(&environment, "next"));
    environment.user_hook("slow", "trigger: before_tool\non_failure: block", "sleep 20");
    let ran = environment.run_with_input(&["hook", "agent-hooks", "--deadline-ms", "300"], event);
    assert_eq!(ran.code, 2, "{ran:?}");
}

#[test]
fn a_deadline_that_is_long_enough_changes_nothing() {
    let environment = environment();
    environment.user_hook("guard", "trigger: before_tool", BLOCK);
    let event = r#"{"event_type": "before_tool"}"#;
    let ran = environment.run_with_input(&["hook", "agent-hooks", "--deadline-ms", "20000"], event);
    assert_eq!(ran.code, 2);
    environment.user_hook("guard", "trigger: before_tool\ntimeout: 200", "sleep 20");
    let began = Instant::now();
    let ran = environment.run_with_input(&["hook", "agent-hooks", "--deadline-ms", "20000"], event);
    assert_eq!(ran.code, 0);
    assert!(began.elapsed() < Duration::from_secs(5), "the timeout counts as well");
}

#[test]
fn every_right_way_to_write_the_command_is_answered() {
    let environment = environment();
    environment.user_hook("guard", "trigger: before_tool", BLOCK);
    for arguments in [
        &["hook", "agent-hooks"][..],
        &["hook", "agent-hooks", "--deadline-ms", "9000"],
        &["hook", "agent-hooks", "--deadline-ms=9000"],
        &["hook", "--deadline-ms", "9000", "agent-hooks"],
    ] {
        let ran = environment.run_with_input(arguments, r#"{"event_type": "before_tool"}"#);
        assert_eq!(ran.code, 2, "{arguments:?}: {ran:?}");
    }
}

#[test]
fn flags_before_the_host_and_global_flags_are_right_ways_too() {
    let environment = environment();
    environment.user_hook("guard", "trigger: before_tool", BLOCK);
    for arguments in [
        &["hook", "--deadline-ms=9000", "agent-hooks"][..],
        &["--color", "never", "hook", "agent-hooks"],
        &["--color=never", "hook", "agent-hooks"],
        &["hook", "agent-hooks", "--color", "never"],
        &["hook", "--", "agent-hooks"],
    ] {
        let ran = environment.run_with_input(arguments, r#"{"event_type": "before_tool"}"#);
        assert_eq!(ran.code, 2, "{arguments:?}: {ran:?}");
    }
}

/// Command lines that are wrong.
const WRONG_USAGE: &[&str] = &[
    "nonsense",
    "--nonsense",
    "-x",
    "help nonsense",
    "hook",
    "hook nobody",
    "hook claude",
    "hook agent-hooks extra",
    "hook agent-hooks --nonsense",
    "hook agent-hooks --deadline-ms",
    "hook agent-hooks --deadline-ms soon",
    "hook agent-hooks --deadline-ms -5",
    "hook agent-hooks --deadline-ms 99999999999999999999999",
    "hook agent-hooks --deadline-ms=",
    "hook Agent-Hooks",
    "run",
    "run nonsense",
    "run PreToolUze",
    "run before_tool extra",
    "run before_tool --host nobody",
    "run before_tool --input",
    "run before_agent --command ls",
    "run before_tool --command ls --input {}",
    "run before_tool --deadline-ms x",
    "explain",
    "explain nonsense",
    "list extra",
    "list --nonsense",
    "check --nonsense",
    "new",
    "new a-hook",
    "new a-hook --trigger nonsense",
    "test --nonsense",
    "prompt extra",
    "add",
    "add pack/",
    "add examples --agent codex",
    "add pack/delivery-workflow --agent nobody",
    "remove",
    "remove pack/",
    "packs a b",
    "packs --nonsense",
    "guard",
    "guard nonsense",
    "guard mcp extra",
    "trust --all guard",
    "untrust",
    "untrust --all guard",
    "log --verdict nonsense",
    "log show",
    "log -n many",
    "schema a b",
    "completions",
    "completions nonsense",
    "demo extra",
    "--color",
    "--color mauve list",
    "disable guard",
    "enable",
    "allow-once x",
    "import",
    "import nonsense --list x",
    "doctor --prove --nonsense",
    "serve extra",
    "serve --stdio --jobs 0",
    "serve --stdio --jobs many",
    "serve --stdio extra",
    "daemon",
    "daemon nonsense",
    "daemon logs -n many",
    "agent",
    "agent show",
    "decision",
    "decision resolve x",
    "emit",
    "emit agent:idle",
    "emit agent:nonsense --agent a",
    "emit agent:signal --agent a nonsense",
    "runbook",
    "runbook nonsense",
    "runbook check --nonsense",
    "runbook list extra",
    "runbook show",
    "runbook show a b",
    "pipeline",
    "pipeline nonsense",
    "pipeline run",
    "pipeline run x --var novalue",
    "pipeline run x --dry-run --wait",
    "pipeline show",
    "pipeline logs",
    "pipeline cancel",
    "pipeline resume",
    "pipeline wait",
    "pipeline wait x --timeout soon",
    "agent peek",
    "agent attach",
    "agent send x",
    "agent thaw",
    "agent kill",
    "context7",
    "context7 react --event",
    "context7 react --timeout soon",
    "context7 react --stage nonsense",
    "review",
    "review a.json b.json",
    "review a.json --event",
];

#[test]
fn wrong_usage_exits_64_never_2() {
    let environment = environment();
    environment.user_hook("guard", "trigger: before_tool", BLOCK);
    for line in WRONG_USAGE {
        let arguments: Vec<&str> = line.split_whitespace().collect();
        let ran = environment.run_with_input(&arguments, r#"{"event_type": "before_tool"}"#);
        assert_eq!(ran.code, 64, "{line}: {ran:?}");
        assert!(!ran.stderr.is_empty() && ran.stdout.is_empty(), "{line}: {ran:?}");
    }
    let mut command = environment.command(&["hook"]);
    command.arg(OsStr::from_bytes(b"agent-\xff"));
    assert_eq!(run(command, b"{}").code, 64);
}

#[test]
fn unusable_arguments_exit_65_or_1_never_2() {
    let environment = environment();
    environment.user_hook("guard", "trigger: before_tool", BLOCK);
    environment.user_hook("broken", "trigger: nonsense", BLOCK);
    for (line, code) in [
        ("run before_tool --input [1]", 65),
        ("run before_tool --input x", 65),
        ("run before_tool --payload no/such/file", 65),
        ("run before_tool --payload -", 65),
        ("check no-such-hook", 65),
        ("check no/such/path", 65),
        ("test no-such-hook", 65),
        ("trust no-such-hook", 65),
        ("untrust no-such-hook", 65),
        ("log show no-such-id", 65),
        ("add no/such/path", 65),
        ("remove no-such-hook", 65),
        ("check", 1),
        ("check broken", 1),
    ] {
        let arguments: Vec<&str> = line.split_whitespace().collect();
        let ran = environment.run_with_input(&arguments, "no json");
        assert_eq!(ran.code, code, "{line}: {ran:?}");
    }
}

#[test]
fn only_a_blocking_verdict_exits_2() {
    let environment = environment();
    environment.user_hook("guard", "trigger: before_tool", BLOCK);
    environment.user_hook("gate", "trigger: session_start", "exit 1");
    for (line, code) in [
        ("run before_tool", 2),
        ("run before_tool --json", 2),
        ("run before_tool --dry-run", 0),
        ("explain before_tool", 0),
        ("run session_start", 0),
        ("run after_tool", 0),
        ("list", 0),
        ("check", 0),
        ("log", 0),
        ("log --verdict deny", 0),
        ("prompt", 0),
        ("--help", 0),
        ("hook --help", 0),
        ("--version", 0),
    ] {
        let arguments: Vec<&str> = line.split_whitespace().collect();
        let ran = environment.run(&arguments);
        assert_eq!(ran.code, code, "{line}: {ran:?}");
    }
}

#[test]
fn without_a_home_folder_an_event_is_still_answered() {
    require!(MachineNeed::Users);
    let environment = environment();
    let command = environment.command_without_home(&["hook", "agent-hooks"]);
    let ran = run(command, br#"{"event_type": "before_tool", "session_id": "s"}"#);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "{}\n"), "{ran:?}");
}
