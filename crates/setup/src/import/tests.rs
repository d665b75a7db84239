use std::fs;
use std::path::Path;

use anyhook_engine::definition;
use anyhook_engine::{Problem, Severity};
use anyhook_hosts::native_hooks::{self, NativeHook};
use anyhook_model::{EventKind, FailMode, StdinForm};
use serde_json::{Value, json};

use super::definition::NativeDefinition;
use super::folder::NewImport;
use super::plan::name_of;
use super::words::{Folders, only_native};
use crate::learned::NewFolder;

fn natives(host: &str, hooks: &Value) -> Vec<NativeHook> {
    let format = native_hooks::find(host).unwrap();
    let text = json!({ "hooks": hooks }).to_string();
    native_hooks::read(format, Path::new("s.json"), &text).unwrap()
}

fn files(host: &str, hooks: &Value) -> NewFolder {
    let agent = anyhook_hosts::find(host).unwrap();
    let format = native_hooks::find(host).unwrap();
    let new = NewImport { name: "guard", agent, format, project: false, shadow: false, order: 3 };
    let found = natives(host, hooks);
    new.files(&found.iter().collect::<Vec<_>>()).unwrap()
}

fn hook_file(folder: &NewFolder) -> &str {
    &folder.files.iter().find(|(name, _)| name == "HOOK.md").unwrap().1
}

#[test]
fn commands_have_names() {
    for (command, name) in [
        ("~/.claude/hooks/guard.sh", "guard"),
        ("\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/checkStyle.py --strict", "check-style"),
        ("python3 -u /opt/tools/no_rm.py", "no-rm"),
        ("FOO=1 uv run lint.py", "lint"),
        ("npx prettier --write .", "prettier"),
        ("jq -r .tool_input", "jq"),
        ("bash -c 'exit 0'", "exit"),
    ] {
        assert_eq!(name_of(command).as_deref(), Some(name), "{command}");
    }
    assert_eq!(name_of("   "), None);
}

#[test]
fn a_hook_file_says_when_and_how() {
    let hooks = json!({"PreToolUse": [
        {"matcher": "Bash|Task", "hooks": [
            {"type": "command", "command": "it's: a \"test\"\nsecond", "timeout": 5, "onFailure": "block"}]},
        {"matcher": "Edit", "hooks": [{"type": "command", "command": "x"}]},
    ]});
    let folder = files("claude-code", &hooks);
    insta::assert_snapshot!(hook_file(&folder), @r#"
    ---
    name: guard
    description: 'Imported from Claude Code (PreToolUse): it''s: a "test"…'
    trigger: [before_tool]
    matcher:
      tool: 'EditFile|Shell|Subagent'
    hosts: claude-code
    stdin: native
    timeout: 6000
    priority: 97
    on_failure: block
    env: inherit
    ---

    # guard

    Runs the command that Claude Code ran at `PreToolUse`, as Claude Code ran it:

        it's: a "test"
        second

    `native.json` is its entry in Claude Code's settings; change the command there. `anyhook import claude-code --restore` puts it back.
    "#);
    let read = definition::read(hook_file(&folder).as_bytes(), "guard");
    let is_note = |problem: &Problem| problem.severity == Severity::Note;
    assert!(read.problems.iter().all(is_note), "{:?}", read.problems);
    assert_eq!(read.definition.stdin, StdinForm::Native);
    assert_eq!(read.definition.on_failure, FailMode::Block);
    assert_eq!(read.definition.hosts, ["claude-code"]);
}

#[test]
fn a_hook_may_have_more_events_and_no_expression() {
    let hooks = json!({"PostToolUse": [
        {"matcher": "apply_patch", "hooks": [{"type": "command", "command": "x"}]}]});
    let folder = files("codex", &hooks);
    let read = definition::read(hook_file(&folder).as_bytes(), "guard");
    let kinds: Vec<EventKind> =
        read.definition.triggers.iter().map(|trigger| trigger.kind.clone()).collect();
    assert_eq!(kinds, [EventKind::AfterTool, EventKind::AfterToolFailure]);
    assert!(read.matcher.tool().is_none(), "a patch is one event for each file");
    assert_eq!(read.problems, []);
}

#[test]
fn a_definition_is_read_back_and_a_newer_one_refused() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(NativeDefinition::read(folder.path()).unwrap(), None);
    let hooks = json!({"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]});
    let made = files("claude-code", &hooks);
    let text = &made.files.iter().find(|(name, _)| name == "native.json").unwrap().1;
    let path = folder.path().join("native.json");
    fs::write(&path, text).unwrap();
    let read = NativeDefinition::read(folder.path()).unwrap().unwrap();
    assert!(read.is_of("claude-code", &natives("claude-code", &hooks)[0]));
    assert!(!read.is_of("codex", &natives("claude-code", &hooks)[0]));
    fs::write(&path, text.replace("\"v\": 1", "\"v\": 2")).unwrap();
    let error = NativeDefinition::read(folder.path()).unwrap_err().to_string();
    assert!(error.contains("newer than this anyhook"), "{error}");
    fs::write(&path, "{").unwrap();
    NativeDefinition::read(folder.path()).unwrap_err();
}

#[test]
fn what_only_the_agent_can_do_is_found_in_the_files_of_a_command() {
    let home = tempfile::tempdir().unwrap();
    let project = tempfile::tempdir().unwrap();
    fs::write(home.path().join("redact.py"), "'updatedToolOutput'").unwrap();
    fs::write(project.path().join("plain.py"), "myupdatedToolOutputs").unwrap();
    let folders = Folders { home: home.path(), project: project.path() };
    let format = native_hooks::find("claude-code").unwrap();
    let words = |command: &str| -> Vec<&str> {
        only_native(format, command, folders).into_iter().map(|(word, _)| word).collect()
    };
    for command in [
        "~/redact.py",
        "\"$HOME\"/redact.py --x",
        "python3 '${HOME}/redact.py'",
        "echo '{\"updatedToolOutput\": 1}'",
    ] {
        assert_eq!(words(command), ["updatedToolOutput"], "{command}");
    }
    fs::write(project.path().join("x.py"), "stopReason").unwrap();
    assert_eq!(words("$CLAUDE_PROJECT_DIR/x.py"), ["stopReason"]);
    assert_eq!(words("./x.py"), ["stopReason"]);
    assert!(words("plain.py; cat /dev/null; ~/missing.py").is_empty());
}
