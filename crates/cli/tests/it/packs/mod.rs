//! The hooks of packs, run as an agent would have them run.

use std::fs;

use anyhook_testkit::{CommandRun, TestEnv};
use serde_json::{Value, json};

use crate::environment;

mod background;
mod checkpoint;
mod limits;
mod quality;
mod secrets;

/// An environment with packs installed at the user level.
fn with_packs(packs: &[&str]) -> TestEnv {
    let environment = environment();
    for pack in packs {
        let ran = environment.run(&["add", &format!("pack/{pack}")]);
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    environment
}

/// Replaces a part of a hook's HOOK.md.
fn edit_hook(environment: &TestEnv, hook: &str, from: &str, to: &str) {
    let file = environment.user_hooks().join(hook).join("HOOK.md");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(file, text.replacen(from, to, 1)).unwrap();
}

/// Sends a tool call that is about to run.
fn call(environment: &TestEnv, tool: &str, input: &Value) -> CommandRun {
    environment.event(&json!({
        "event_type": "before_tool", "session_id": "s", "tool_name": tool, "tool_input": input,
    }))
}

/// Every case of every hook of every pack.
#[test]
fn every_case_passes() {
    let names = environment().run(&["packs", "--json"]).json();
    for pack in names.as_array().unwrap() {
        let environment = with_packs(&[pack["name"].as_str().unwrap()]);
        let checked = environment.run(&["check"]);
        assert_eq!(checked.code, 0, "{checked:?}");
        let ran = environment.run(&["test", "--json"]);
        let cases = ran.json();
        let failed: Vec<&Value> =
            cases.as_array().unwrap().iter().filter(|case| case["passed"] != true).collect();
        assert!(ran.code == 0 && failed.is_empty(), "{failed:#?}");
    }
}
