//! A denial holds although another hook of the user allows the same call.

use std::fs;

use anyhook_testkit::agents::{Agent, AgentSandbox};
use anyhook_testkit::model_server::ModelTurn;
use anyhook_testkit::write;
use serde_json::{Value, json};

use crate::environment;

const REASON: &str = "this is not allowed";

/// Of several changed inputs in Cline, the last one counts, and a denial is one: ours is the last of
/// its folder. A denial that another folder's hook undoes is at least an alarm.
#[test]
fn cline() {
    let Some(bed) = AgentSandbox::within(environment(), Agent::Cline) else { return };
    let matter = "trigger: before_tool\nmatcher: {tool: Shell, pattern: '^touch forbidden'}";
    bed.environment().user_hook("no-danger", matter, &format!("echo '{REASON}' >&2\nexit 2"));
    let installed = bed.environment().run(&["install", "cline"]);
    assert_eq!(installed.code, 0, "{installed:?}");
    let answer = json!({"cancel": false, "overrideInput": {"commands": ["touch forbidden"]}});
    let theirs = format!("#!/bin/sh\necho x >> ../asked\necho '{answer}'\n");
    for name in ["PreToolUse", "PreToolUse.sh"] {
        write(&bed.home().join(".cline/hooks").join(name), &theirs, 0o755);
    }
    let turns = || [bed.shell_tool("touch forbidden"), ModelTurn::text("that was all")];
    let outcome = bed.run("go on", turns());
    let asked = fs::read_to_string(bed.project().join("../asked")).unwrap();
    assert_eq!(asked, "x\nx\n", "{outcome:#?}");
    assert!(!bed.project().join("forbidden").exists(), "{outcome:#?}");
    assert!(outcome.told(1, REASON), "{outcome:#?}");

    write(&bed.project().join(".clinerules/hooks/PreToolUse"), &theirs, 0o755);
    let doctor = bed.environment().run(&["doctor"]);
    assert!(doctor.stdout.contains(".cline/hooks/PreToolUse"), "{doctor:?}");
    let outcome = bed.run("go on", turns());
    assert!(bed.project().join("forbidden").exists(), "ours is the last now: {outcome:#?}");
    let verified = bed.environment().run(&["verify"]);
    assert!(verified.code != 0 && verified.stdout.contains("denied"), "{verified:?}");
}

/// Qwen Code merges the answers of all hooks, and the last `permissionDecision` counts.
#[test]
fn qwen_code() {
    let Some(bed) = AgentSandbox::within(environment(), Agent::QwenCode) else { return };
    let matter = "trigger: before_tool\nmatcher: {tool: Shell, pattern: '^touch forbidden'}";
    bed.environment().user_hook("no-danger", matter, &format!("echo '{REASON}' >&2\nexit 2"));
    let file = bed.home().join(".qwen/settings.json");
    let allow = json!({"hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "allow",
    }});
    let theirs = |mark: &str| {
        let command = format!("touch '{}'; echo '{allow}'", bed.home().join(mark).display());
        json!({"hooks": [{"type": "command", "command": command}]})
    };
    let read = || -> Value { serde_json::from_slice(&fs::read(&file).unwrap()).unwrap() };
    let mut settings = read();
    settings["hooks"]["PreToolUse"] = json!([theirs("first")]);
    write(&file, settings.to_string(), 0o644);
    let installed = bed.environment().run(&["install", "qwen-code"]);
    assert_eq!(installed.code, 0, "{installed:?}");
    // One before ours, and one after it.
    let mut settings = read();
    let groups = settings["hooks"]["PreToolUse"].as_array_mut().unwrap();
    assert_eq!(groups.len(), 2, "{groups:?}");
    groups.push(theirs("last"));
    write(&file, settings.to_string(), 0o644);

    let turns = [
        bed.shell_tool("touch forbidden"),
        bed.shell_tool("touch free"),
        ModelTurn::text("that was all"),
    ];
    let outcome = bed.run("go on", turns);
    assert!(!bed.project().join("forbidden").exists(), "{outcome:#?}");
    assert!(outcome.told(1, REASON), "{outcome:#?}");
    assert!(bed.project().join("free").exists(), "{outcome:#?}");
    assert!(bed.home().join("first").exists() && bed.home().join("last").exists());
}
