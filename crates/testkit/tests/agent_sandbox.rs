//! The test bed proved with the real agents and their own hooks, without anyhook.
//!
//! Each agent has one scripted conversation: a command that runs, one that its hook denies, and its
//! tools for files. The hook records what it is told.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up its world has failed")]

use std::fs;
use std::path::PathBuf;

use anyhook_testkit::agents::{Agent, AgentRun, AgentSandbox};
use anyhook_testkit::model_server::ModelTurn;
use anyhook_testkit::write;
use serde_json::{Value, json};

const REASON: &str = "the test denies this";

/// What a hook prints to deny, and how it then ends.
struct Deny {
    stdout: Value,
    stderr: &'static str,
    exit_code: i32,
}

/// Makes a program that records its payloads and denies those that speak of `forbidden`.
fn recording_hook(bed: &AgentSandbox, deny: &Deny) -> String {
    let record = record(bed);
    let Deny { stdout, stderr, exit_code } = deny;
    let stdout = if stdout.is_null() { String::new() } else { stdout.to_string() };
    let script = format!(
        "#!/bin/sh\n\
         payload=$(cat)\n\
         printf '%s\\n' \"$payload\" >>'{}'\n\
         case $payload in *forbidden*) ;; *) exit 0 ;; esac\n\
         printf '%s' '{stdout}'\n\
         printf '%s' '{stderr}' >&2\n\
         exit {exit_code}\n",
        record.display()
    );
    let program = bed.home().join("hook");
    write(&program, script, 0o755);
    program.to_string_lossy().into_owned()
}

fn record(bed: &AgentSandbox) -> PathBuf {
    bed.home().join("payloads.jsonl")
}

/// Runs the conversation and checks all that is the same for every agent.
fn converse(bed: &AgentSandbox) -> AgentRun {
    write(&bed.project().join("old.txt"), "first\nsecond\n", 0o644);
    let mut script = vec![
        bed.shell_tool("echo yes > allowed.txt; echo heard"),
        bed.shell_tool("echo no > forbidden.txt"),
    ];
    if let Some(patch) = bed.patch_tool(
        "*** Begin Patch\n*** Update File: old.txt\n@@\n-first\n+patched\n second\n*** End Patch\n",
    ) {
        script.push(patch);
    }
    script.extend([
        bed.write_tool("new.txt", "one\ntwo\n"),
        bed.read_tool("new.txt"),
        bed.edit_tool("new.txt", "one", "1"),
        ModelTurn::text("that was all"),
    ]);
    let turns = script.len();
    let outcome = bed.run("do it", script);

    assert_eq!(outcome.exit_code, 0, "{outcome:#?}");
    assert!(outcome.stdout.contains("that was all"), "{}", outcome.stdout);
    assert_eq!(outcome.requests.len(), turns, "{:#?}", outcome.requests);
    assert!(outcome.told(0, "do it"), "the prompt");
    assert!(outcome.told(1, "heard"), "a tool's output");
    assert_eq!(content(bed, "allowed.txt").as_deref(), Some("yes\n"));

    assert_eq!(content(bed, "forbidden.txt"), None, "denied, yet it ran");
    assert!(!outcome.told(1, REASON));
    assert!(outcome.told(2, REASON), "{:#}", outcome.requests[2]);
    outcome
}

fn content(bed: &AgentSandbox, file: &str) -> Option<String> {
    fs::read_to_string(bed.project().join(file)).ok()
}

/// Checks that the hook was told of the commands, in the agent's own words.
fn check_payloads(bed: &AgentSandbox, event: &str, tool: &str) {
    let payloads = fs::read_to_string(record(bed)).unwrap();
    let payloads: Vec<Value> =
        payloads.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let shell: Vec<_> = payloads.iter().filter(|payload| payload["tool_name"] == tool).collect();
    assert!(shell.len() >= 2, "{payloads:#?}");
    assert!(shell.iter().all(|payload| payload["hook_event_name"] == event), "{payloads:#?}");
    let commands: Vec<_> = shell.iter().map(|payload| &payload["tool_input"]["command"]).collect();
    assert_eq!(commands[0], "echo yes > allowed.txt; echo heard");
    assert_eq!(commands[1], "echo no > forbidden.txt");
}

#[test]
fn claude_code() {
    let Some(bed) = AgentSandbox::new(Agent::ClaudeCode) else { return };
    let stdout = json!({"hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "deny",
        "permissionDecisionReason": REASON,
    }});
    let hook = recording_hook(&bed, &Deny { stdout, stderr: "", exit_code: 0 });
    let hooks = json!({"PreToolUse": [{"hooks": [{"type": "command", "command": hook}]}]});
    let settings = bed.home().join(".claude/settings.json");
    write(&settings, json!({"hooks": hooks}).to_string(), 0o644);

    converse(&bed);
    check_payloads(&bed, "PreToolUse", "Bash");
    assert_eq!(content(&bed, "new.txt").as_deref(), Some("1\ntwo\n"));
}

#[test]
fn codex() {
    let Some(mut bed) = AgentSandbox::new(Agent::Codex) else { return };
    let hook = recording_hook(&bed, &Deny { stdout: Value::Null, stderr: REASON, exit_code: 2 });
    let hooks = json!({"PreToolUse": [{"hooks": [{"type": "command", "command": hook}]}]});
    let settings = bed.home().join(".codex/hooks.json");
    write(&settings, json!({"hooks": hooks}).to_string(), 0o644);
    bed.add_argument("--dangerously-bypass-hook-trust");

    converse(&bed);
    check_payloads(&bed, "PreToolUse", "Bash");
    assert_eq!(content(&bed, "old.txt").as_deref(), Some("patched\nsecond\n"));
    assert_eq!(content(&bed, "new.txt").as_deref(), Some("1\ntwo\n"));
}

#[test]
fn gemini_cli() {
    let Some(bed) = AgentSandbox::new(Agent::GeminiCli) else { return };
    let stdout = json!({"decision": "deny", "reason": REASON});
    let hook = recording_hook(&bed, &Deny { stdout, stderr: "", exit_code: 0 });
    let hooks = json!({"BeforeTool": [{"hooks": [{"type": "command", "command": hook}]}]});
    let file = bed.home().join(".gemini/settings.json");
    let mut settings: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    settings["hooks"] = hooks;
    write(&file, settings.to_string(), 0o644);

    converse(&bed);
    check_payloads(&bed, "BeforeTool", "run_shell_command");
    assert_eq!(content(&bed, "new.txt").as_deref(), Some("1\ntwo\n"));
}

/// A plugin that records in the form of the other agents' payloads.
fn plugin(bed: &AgentSandbox) -> String {
    format!(
        r#"import {{ appendFileSync }} from "node:fs"
export const Recorder = async () => ({{
  "tool.execute.before": async (input, output) => {{
    const payload = {{
      hook_event_name: "tool.execute.before", tool_name: input.tool, tool_input: output.args,
    }}
    appendFileSync("{}", JSON.stringify(payload) + "\n")
    if (JSON.stringify(output.args).includes("forbidden")) throw new Error("{REASON}")
  }},
}})
"#,
        record(bed).display()
    )
}

#[test]
fn opencode() {
    let Some(bed) = AgentSandbox::new(Agent::OpenCode) else { return };
    write(&bed.home().join(".config/opencode/plugins/recorder.js"), plugin(&bed), 0o644);

    converse(&bed);
    check_payloads(&bed, "tool.execute.before", "bash");
    assert_eq!(content(&bed, "new.txt").as_deref(), Some("1\ntwo\n"));
    assert_eq!(content(&bed, "old.txt").as_deref(), Some("first\nsecond\n"), "no such tool");
}

#[test]
fn opencode_with_patches() {
    let Some(mut bed) = AgentSandbox::new(Agent::OpenCode) else { return };
    write(&bed.project().join(".opencode/plugins/recorder.js"), plugin(&bed), 0o644);
    bed.set_model("gpt-5");

    converse(&bed);
    check_payloads(&bed, "tool.execute.before", "bash");
    assert_eq!(content(&bed, "old.txt").as_deref(), Some("patched\nsecond\n"));
    assert_eq!(content(&bed, "new.txt"), None, "no such tool");
}
