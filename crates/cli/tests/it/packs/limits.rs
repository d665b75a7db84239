//! The packs `rate-limit` and `budget`.

use std::fs;
use std::thread;

use anyhook_testkit::{CommandRun, TestEnv};
use serde_json::{Value, json};

use super::{call, edit_hook, with_packs};

#[test]
fn twenty_processes_at_once_get_exactly_what_is_left() {
    let environment = with_packs(&["rate-limit"]);
    edit_hook(&environment, "rate-limit", "per_session: 2000", "per_session: 10");
    edit_hook(&environment, "rate-limit", "action: 'ask'", "action: deny");
    let codes: Vec<i32> = thread::scope(|scope| {
        let ask = || call(&environment, "Shell", &json!({"command": "ls"})).code;
        let running: Vec<_> = (0..20).map(|_| scope.spawn(ask)).collect();
        running.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(codes.iter().filter(|code| **code == 0).count(), 10, "{codes:?}");
    assert_eq!(codes.iter().filter(|code| **code == 2).count(), 10, "{codes:?}");
    let ran = call(&environment, "Shell", &json!({"command": "ls"}));
    assert!(ran.stderr.contains("the limit of 10 calls per session is reached"), "{ran:?}");
}

/// Sends a call as Claude Code does, with a transcript.
fn of_claude(environment: &TestEnv, tokens: u64) -> CommandRun {
    let transcript = environment.root().join("transcript.jsonl");
    let line = json!({
        "type": "assistant", "uuid": "u", "message": {
            "id": "m", "model": "m", "role": "assistant", "content": [],
            "usage": {"input_tokens": tokens, "output_tokens": 10, "cache_read_input_tokens": 9000},
        },
    });
    fs::write(&transcript, format!("{line}\n")).unwrap();
    let event: Value = json!({
        "hook_event_name": "PreToolUse", "session_id": "s", "cwd": environment.project(),
        "transcript_path": transcript, "tool_name": "Bash", "tool_input": {"command": "ls"},
        "tool_use_id": "t", "permission_mode": "default",
    });
    environment.run_with_input(&["hook", "claude-code"], event.to_string())
}

#[test]
fn tokens_are_those_of_the_transcript() {
    let environment = with_packs(&["budget"]);
    edit_hook(&environment, "budget", "action: 'ask'", "action: deny");
    let ran = of_claude(&environment, 1_000);
    assert!(ran.code == 0 && !ran.stdout.contains("deny"), "{ran:?}");
    let environment = with_packs(&["budget"]);
    edit_hook(&environment, "budget", "action: 'ask'", "action: deny");
    let ran = of_claude(&environment, 2_000_000);
    assert!(ran.stdout.contains("2000010 of 2000000 tokens in this session"), "{ran:?}");
}

#[test]
fn a_cost_without_prices_is_an_error() {
    let environment = with_packs(&["budget"]);
    edit_hook(&environment, "budget", r#""tokens": 2000000"#, r#""cost": 5"#);
    let ran = call(&environment, "Shell", &json!({"command": "ls"}));
    assert!(ran.code == 2 && ran.stderr.contains("`cost` needs `prices`"), "{ran:?}");
}
