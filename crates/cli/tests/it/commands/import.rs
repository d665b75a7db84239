//! `anyhook import`.

use std::fs;
use std::path::PathBuf;

use anyhook_testkit::{CommandRun, TestEnv, write};
use serde_json::{Value, json};

use crate::environment;

const GUARD: &str = "#!/bin/sh\nif grep -q 'rm -rf'; then echo 'not that' >&2; exit 2; fi\n";

/// A person's settings, with a comment and a style of their own.
const SETTINGS: &str = r#"{
  "model": "opus", // mine
  "hooks": {
    "PreToolUse": [
      { "matcher": "Bash", "hooks": [ { "type": "command", "command": "~/.claude/guard.sh", "timeout": 5 } ] },
      { "matcher": "Write", "hooks": [ { "type": "command", "command": "~/.claude/guard.sh", "timeout": 5 } ] }
    ],
    "Stop": [ { "hooks": [ { "type": "command", "command": "notify.sh", "async": true } ] } ],
    "PostToolUse": [ { "hooks": [ { "type": "command", "command": "~/.claude/redact.py" } ] } ]
  }
}
"#;

fn settings(environment: &TestEnv) -> PathBuf {
    environment.home().join(".claude/settings.json")
}

/// A machine where Claude Code has hooks of its own, and calls anyhook.
fn machine() -> TestEnv {
    let environment = environment();
    write(&settings(&environment), SETTINGS, 0o640);
    write(&environment.home().join(".claude/guard.sh"), GUARD, 0o755);
    let redact = "#!/usr/bin/env python3\nprint('{\"hookSpecificOutput\": {\"updatedToolOutput\": \"\"}}')\n";
    write(&environment.home().join(".claude/redact.py"), redact, 0o755);
    let installed = environment.run(&["install", "claude-code"]);
    assert_eq!(installed.code, 0, "{installed:?}");
    environment
}

fn text(environment: &TestEnv) -> String {
    fs::read_to_string(settings(environment)).unwrap()
}

/// Sends a call to `anyhook hook claude-code`.
fn call(environment: &TestEnv, tool: &str, command: &str) -> CommandRun {
    let payload = json!({
        "session_id": "s", "cwd": environment.project(), "hook_event_name": "PreToolUse",
        "tool_name": tool, "tool_input": {"command": command},
    });
    environment.run_with_input(&["hook", "claude-code"], payload.to_string())
}

fn states(report: &Value) -> Vec<String> {
    let row = |hook: &Value| {
        let word = |key: &str| hook[key].as_str().unwrap_or("-").to_owned();
        format!("{} {} {}", word("command"), word("state"), word("name"))
    };
    report["hooks"].as_array().unwrap().iter().map(row).collect()
}

#[test]
fn help() {
    let environment = environment();
    assert_run!(environment, environment.run(&["import", "--help"]));
}

#[test]
fn hooks_are_listed_with_what_cannot_be_carried_over() {
    let environment = machine();
    let before = text(&environment);
    assert_run!(environment, environment.run(&["import", "claude-code", "--list"]), @"
    exit code: 0
    ----- stdout -----
    Claude Code  ~/.claude/settings.json
      PreToolUse Bash   ~/.claude/guard.sh   can be imported as guard
      PreToolUse Write  ~/.claude/guard.sh   can be imported as guard
      Stop              notify.sh            not carried over: it runs in the background (`async`), and its output reaches the model later
      PostToolUse       ~/.claude/redact.py  not carried over: it names `updatedToolOutput`, with which Claude Code replaces a tool's output (--partial)
    ");
    assert_run!(environment, environment.run(&["import", "claude-code", "--dry-run"]), @"
    exit code: 0
    ----- stdout -----
    Claude Code  ~/.claude/settings.json
      PreToolUse Bash   ~/.claude/guard.sh   would become guard
      PreToolUse Write  ~/.claude/guard.sh   would become guard
      Stop              notify.sh            not carried over: it runs in the background (`async`), and its output reaches the model later
      PostToolUse       ~/.claude/redact.py  not carried over: it names `updatedToolOutput`, with which Claude Code replaces a tool's output (--partial)
    would change ~/.claude/settings.json
    nothing was changed
    ");
    let partial = environment.run(&["import", "claude-code", "--partial", "--dry-run", "--json"]);
    let report = partial.json();
    let redact = report["hooks"].as_array().unwrap().iter().find(|hook| hook["name"] == "redact");
    let notes = redact.unwrap()["notes"].to_string();
    assert!(notes.contains("updatedToolOutput"), "{notes}");
    assert_eq!(text(&environment), before);
    assert!(!environment.user_hooks().exists());
}

#[test]
fn an_imported_hook_decides_and_the_settings_can_be_restored() {
    let environment = machine();
    let before = text(&environment);
    assert_eq!(call(&environment, "Bash", "rm -rf x").code, 0, "only the agent runs it");
    assert_run!(environment, environment.run(&["import", "claude-code", "--park"]), @"
    exit code: 0
    ----- stdout -----
    Claude Code  ~/.claude/settings.json
      Stop              notify.sh            not carried over: it runs in the background (`async`), and its output reaches the model later
      PostToolUse       ~/.claude/redact.py  not carried over: it names `updatedToolOutput`, with which Claude Code replaces a tool's output (--partial)
      PreToolUse Bash   ~/.claude/guard.sh   runs as guard
      PreToolUse Write  ~/.claude/guard.sh   runs as guard

    imported 1 hook to ~/.config/agents/hooks
    changed ~/.claude/settings.json
    hint: to undo it: anyhook import claude-code --restore
    ");
    let parked = text(&environment);
    assert!(!parked.contains("guard.sh") && parked.contains("redact.py"), "{parked}");
    assert!(parked.contains("// mine") && parked.contains("notify.sh"), "{parked}");

    let denied = call(&environment, "Bash", "rm -rf x");
    assert!(denied.stdout.contains("not that") && denied.stdout.contains("deny"), "{denied:?}");
    assert!(call(&environment, "Write", "rm -rf x").stdout.contains("not that"));
    assert!(!call(&environment, "Bash", "ls").stdout.contains("not that"));
    assert!(!call(&environment, "Read", "rm -rf x").stdout.contains("not that"), "another tool");
    // One command at one event is one hook, as in the agent.
    let runs = environment.journal();
    let denial = runs.iter().find(|record| record["verdict"]["decision"] == "deny").unwrap();
    assert_eq!(denial["runs"].as_array().unwrap().len(), 1, "{denial:#}");
    let checked = environment.run(&["check"]);
    assert_eq!(checked.code, 0, "{checked:?}");

    assert_run!(environment, environment.run(&["import", "claude-code", "--park"]), @"
    exit code: 0
    ----- stdout -----
    Claude Code  ~/.claude/settings.json
      Stop              notify.sh            not carried over: it runs in the background (`async`), and its output reaches the model later
      PostToolUse       ~/.claude/redact.py  not carried over: it names `updatedToolOutput`, with which Claude Code replaces a tool's output (--partial)
      PreToolUse Bash   ~/.claude/guard.sh   runs as guard
      PreToolUse Write  ~/.claude/guard.sh   runs as guard
    nothing to import
    ");
    assert_run!(environment, environment.run(&["import", "claude-code", "--restore", "--dry-run"]), @"
    exit code: 0
    ----- stdout -----
    Claude Code  ~/.claude/settings.json
      PreToolUse Bash   ~/.claude/guard.sh  would be put back
      PreToolUse Write  ~/.claude/guard.sh  would be put back

    would be restored exactly: ~/.claude/settings.json
    would remove 1 imported hook: guard
    nothing was changed
    ");
    assert_eq!(text(&environment), parked);
    assert_run!(environment, environment.run(&["import", "claude-code", "--restore"]), @"
    exit code: 0
    ----- stdout -----
    Claude Code  ~/.claude/settings.json
      PreToolUse Bash   ~/.claude/guard.sh  is back
      PreToolUse Write  ~/.claude/guard.sh  is back

    restored exactly: ~/.claude/settings.json
    removed 1 imported hook: guard
    kept in ~/.local/state/anyhook/removed/imported-[TIME]
    ");
    assert_eq!(text(&environment), before, "to the byte");
    assert_eq!(call(&environment, "Bash", "rm -rf x").code, 0);
    assert!(!environment.user_hooks().join("guard").exists());
    assert_run!(environment, environment.run(&["import", "claude-code", "--restore"]), @"
    exit code: 1
    ----- stderr -----
    error: nothing that was imported from Claude Code's settings is left to restore
    hint: `anyhook import AGENT --list` shows the hooks in its settings
    ");
}

#[test]
fn settings_that_were_edited_since_keep_the_edit() {
    let environment = machine();
    assert_eq!(environment.run(&["import", "claude-code", "--park"]).code, 0);
    let edited = text(&environment).replace("opus", "sonnet");
    fs::write(settings(&environment), edited).unwrap();
    let restored = environment.run(&["import", "claude-code", "--restore", "--json"]);
    assert_eq!(restored.json()["files"][0]["restored"], "edited", "{restored:?}");
    let after = text(&environment);
    assert!(after.contains("sonnet") && after.contains("// mine"), "{after}");
    assert_eq!(after.matches("guard.sh").count(), 2, "{after}");
}

#[test]
fn an_imported_hook_that_was_removed_is_named() {
    let environment = machine();
    assert_eq!(environment.run(&["import", "claude-code", "--park"]).code, 0);
    assert_eq!(environment.run(&["remove", "guard"]).code, 0);
    let listed = environment.run(&["import", "claude-code", "--list"]);
    assert!(listed.stdout.contains("runs nowhere"), "{listed:?}");
    assert!(
        listed.stdout.contains("guard: does not stand in for it: it was removed"),
        "{listed:?}"
    );
    assert_eq!(environment.run(&["import", "claude-code", "--restore"]).code, 0);
    assert!(text(&environment).contains("guard.sh"));
}

#[test]
fn uninstall_puts_them_back() {
    let environment = machine();
    assert_eq!(environment.run(&["import", "claude-code", "--park"]).code, 0);
    let would = environment.run(&["uninstall", "claude-code", "--dry-run"]);
    assert!(would.stdout.contains("would put back 2 hooks of yours"), "{would:?}");
    let ran = environment.run(&["uninstall", "claude-code", "--verify"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(text(&environment), SETTINGS, "to the byte");
    assert!(!environment.user_hooks().join("guard").exists());
}

#[test]
fn nothing_is_imported_without_a_yes_or_where_it_would_not_run() {
    let environment = machine();
    let before = text(&environment);
    assert_run!(environment, environment.run(&["import", "claude-code"]), @"
    exit code: 1
    ----- stdout -----
    Claude Code  ~/.claude/settings.json
      PreToolUse Bash   ~/.claude/guard.sh   would become guard
      PreToolUse Write  ~/.claude/guard.sh   would become guard
      Stop              notify.sh            not carried over: it runs in the background (`async`), and its output reaches the model later
      PostToolUse       ~/.claude/redact.py  not carried over: it names `updatedToolOutput`, with which Claude Code replaces a tool's output (--partial)
    would change ~/.claude/settings.json

    ----- stderr -----
    error: nothing was changed
    hint: --park imports them and takes them out of the settings; --shadow imports them and leaves the settings alone
    ");
    assert_run!(environment, environment.run(&["import", "opencode"]), @"
    exit code: 64
    ----- stderr -----
    error: the hooks of OpenCode cannot be imported
    hint: those of these agents can: [AGENTS]
    ");
    assert_eq!(environment.run(&["uninstall", "claude-code"]).code, 0);
    assert_run!(environment, environment.run(&["import", "claude-code", "--park"]), @"
    exit code: 1
    ----- stderr -----
    error: Claude Code does not call anyhook, so imported hooks would not run
    hint: anyhook install claude-code, then import its hooks
    ");
    assert_eq!(text(&environment), SETTINGS);
    assert_ne!(before, SETTINGS);
    let mut inside = environment.command(&["import", "claude-code", "--park"]);
    inside.env("CLAUDECODE", "1");
    assert_eq!(environment.run(&["install", "claude-code"]).code, 0);
    let refused = anyhook_testkit::run(inside, b"");
    assert!(refused.stderr.contains("only a person may do this"), "{refused:?}");
    assert!(!environment.user_hooks().exists());
}

#[test]
fn in_shadow_mode_the_settings_stay() {
    let environment = machine();
    let before = text(&environment);
    assert_run!(environment, environment.run(&["import", "claude-code", "--shadow"]), @"
    exit code: 0
    ----- stdout -----
    Claude Code  ~/.claude/settings.json
      PreToolUse Bash   ~/.claude/guard.sh   imported as guard, and still in the settings
      PreToolUse Write  ~/.claude/guard.sh   imported as guard, and still in the settings
      Stop              notify.sh            not carried over: it runs in the background (`async`), and its output reaches the model later
      PostToolUse       ~/.claude/redact.py  not carried over: it names `updatedToolOutput`, with which Claude Code replaces a tool's output (--partial)
      guard: does not stand in for it: in shadow mode (anyhook promote guard)

    imported 1 hook to ~/.config/agents/hooks
    in shadow mode: both run, and only the agent's own hooks decide
    hint: compare with `anyhook stats`, then: anyhook promote NAME, and anyhook import claude-code --park
    ");
    assert_eq!(text(&environment), before);
    assert_eq!(call(&environment, "Bash", "rm -rf x").code, 0);
    let report = environment.run(&["import", "claude-code", "--park", "--json"]).json();
    assert_eq!(report["result"], "unchanged", "{report:#}");
    assert_eq!(environment.run(&["promote", "guard"]).code, 0);
    let report = environment.run(&["import", "claude-code", "--park", "--json"]).json();
    assert_eq!(states(&report)[..1], ["notify.sh not_carried_over -".to_owned()], "{report:#}");
    assert!(!text(&environment).contains("guard.sh"));
}

#[test]
fn a_project_has_to_be_trusted_before_its_hooks_leave_the_settings() {
    let environment = machine();
    let file = environment.project().join(".claude/settings.json");
    let own = json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [
        {"type": "command", "command": "\"$CLAUDE_PROJECT_DIR\"/tools/check.sh"}]}]}});
    write(&file, own.to_string(), 0o644);
    write(&environment.project().join("tools/check.sh"), GUARD, 0o755);
    let import = ["import", "claude-code", "--project", "--park"];
    assert_run!(environment, environment.run(&import), @r#"
    exit code: 0
    ----- stdout -----
    Claude Code  ~/project/.claude/settings.json
      PreToolUse Bash  "$CLAUDE_PROJECT_DIR"/tools/check.sh  imported as check, and still in the settings
      check: does not stand in for it: not trusted (anyhook trust)

    imported 1 hook to ~/project/.agents/hooks
    hint: what is still in the settings is taken out once the imported hook runs: anyhook trust, then anyhook import claude-code --project --park
    "#);
    assert!(fs::read_to_string(&file).unwrap().contains("check.sh"), "it still guards");
    assert!(!call(&environment, "Bash", "rm -rf x").stdout.contains("not that"), "not trusted");
    let again = environment.run(&[&import[..], &["--json"]].concat()).json();
    assert_eq!(again["result"], "unchanged", "{again:#}");
    assert_eq!(environment.run(&["trust", "--all"]).code, 0);
    assert_run!(environment, environment.run(&import), @r#"
    exit code: 0
    ----- stdout -----
    Claude Code  ~/project/.claude/settings.json
      PreToolUse Bash  "$CLAUDE_PROJECT_DIR"/tools/check.sh  runs as check

    changed ~/project/.claude/settings.json
    hint: to undo it: anyhook import claude-code --project --restore
    "#);
    assert!(!fs::read_to_string(&file).unwrap().contains("check.sh"));
    let denied = call(&environment, "Bash", "rm -rf x");
    assert!(denied.stdout.contains("not that"), "{denied:?}");
    assert_eq!(environment.run(&["import", "claude-code", "--project", "--restore"]).code, 0);
    assert_eq!(fs::read_to_string(&file).unwrap(), own.to_string());
}

#[test]
fn a_name_that_is_taken_is_not_used() {
    let environment = machine();
    environment.user_hook("guard", "trigger: before_tool", "exit 0");
    let report = environment.run(&["import", "claude-code", "--park", "--json"]).json();
    let rows = states(&report);
    assert!(rows.contains(&"~/.claude/guard.sh parked guard-2".to_owned()), "{rows:?}");
    assert!(call(&environment, "Bash", "rm -rf x").stdout.contains("not that"));
}

#[test]
fn settings_that_cannot_be_written_leave_nothing_behind() {
    let environment = machine();
    let before = text(&environment);
    let mut mode = fs::metadata(settings(&environment)).unwrap().permissions();
    mode.set_readonly(true);
    fs::set_permissions(settings(&environment), mode).unwrap();
    let ran = environment.run(&["import", "claude-code", "--park"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.contains("cannot be written"), "{ran:?}");
    assert!(!environment.user_hooks().join("guard").exists());
    assert_eq!(text(&environment), before);
    let listed = environment.run(&["import", "claude-code", "--list", "--json"]).json();
    assert!(states(&listed)[0].contains("importable"), "{listed:#}");
}

#[test]
fn codex_runs_our_entry_at_its_new_place() {
    let environment = environment();
    let file = environment.home().join(".codex/hooks.json");
    let own = json!({"hooks": {"PreToolUse": [
        {"hooks": [{"type": "command", "command": "first.sh"}]},
        {"hooks": [{"type": "http", "url": "http://h"}]},
        {"hooks": [{"type": "command", "command": "last.sh"}]},
    ]}});
    let text = format!("{own:#}\n");
    write(&file, &text, 0o644);
    assert_eq!(environment.run(&["install", "codex"]).code, 0);
    let installed = fs::read_to_string(&file).unwrap();
    let report = environment.run(&["import", "codex", "--park", "--json"]).json();
    let row = |index: usize| report["hooks"][index]["state"].as_str().unwrap();
    assert_eq!([row(0), row(1), row(2)], ["not_carried_over", "not_carried_over", "parked"]);
    let why = report["hooks"][0]["why"].as_str().unwrap();
    assert!(why.contains("trusts hooks by their position"), "{why}");
    let again = environment.run(&["install", "codex", "--dry-run", "--json"]).json();
    assert_eq!(again["agents"][0]["result"], "unchanged", "our entries are trusted: {again:#}");
    assert_eq!(environment.run(&["import", "codex", "--restore"]).code, 0);
    assert_eq!(fs::read_to_string(&file).unwrap(), installed);
}

/// Imports hooks of one event, with a group for each.
fn with_hooks(handlers: &[Value]) -> TestEnv {
    let environment = environment();
    let groups: Vec<Value> = handlers.iter().map(|one| json!({"hooks": [one]})).collect();
    let own = json!({"hooks": {"PreToolUse": groups}});
    write(&settings(&environment), own.to_string(), 0o644);
    assert_eq!(environment.run(&["install", "claude-code"]).code, 0);
    let imported = environment.run(&["import", "claude-code", "--park"]);
    assert_eq!(imported.code, 0, "{imported:?}");
    environment
}

#[test]
fn the_command_gets_what_the_agent_sent_where_the_agent_is() {
    let line = "cat > \"$HOME/seen\"; pwd > \"$HOME/folder\"; echo \"$CLAUDE_PROJECT_DIR\" > \"$HOME/root\"";
    let environment = with_hooks(&[json!({"type": "command", "command": line})]);
    let inner = environment.project().join("inner");
    fs::create_dir_all(&inner).unwrap();
    let payload = format!(
        "{{\"hook_event_name\":  \"PreToolUse\", \"session_id\": \"s\", \"cwd\": {inner:?}, \"tool_name\": \"Bash\", \"tool_input\": {{\"command\": \"ls\", \"n\": 1.50}}}}\n"
    );
    let mut call = environment.command(&["hook", "claude-code"]);
    call.env("CLAUDE_PROJECT_DIR", &inner);
    let ran = anyhook_testkit::run(call, payload.as_bytes());
    assert_eq!(ran.code, 0, "{ran:?}");
    let text = |name: &str| fs::read_to_string(environment.home().join(name)).unwrap();
    assert_eq!(text("seen"), payload, "byte for byte");
    assert_eq!(text("folder").trim(), inner.to_str().unwrap());
    assert_eq!(text("root").trim(), inner.to_str().unwrap(), "as the agent says");
}

#[test]
fn hooks_of_one_event_run_in_their_order() {
    let handler = |line: &str| json!({"type": "command", "command": line});
    let context = r#"echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "additionalContext": "told"}}'"#;
    let environment = with_hooks(&[
        handler(context),
        handler("cat > /dev/null; echo second >&2; exit 2"),
        handler("touch \"$HOME/third\""),
    ]);
    let ran = call(&environment, "Bash", "ls");
    assert!(ran.stdout.contains("second") && ran.stdout.contains("told"), "{ran:?}");
    assert!(!environment.home().join("third").exists(), "a denial ends it");
}

#[test]
fn a_command_that_takes_too_long_has_no_say() {
    let slow = json!({"type": "command", "command": "sleep 600; exit 2", "timeout": 1});
    let environment = with_hooks(&[slow]);
    let ran = call(&environment, "Bash", "ls");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(!ran.stdout.contains("deny"), "{ran:?}");
    let journal = environment.journal();
    let failed = journal.iter().find(|record| record["event"] == "before_tool").unwrap();
    assert!(failed["runs"].to_string().contains("timed out after 1000 ms"), "{failed:#}");
}
