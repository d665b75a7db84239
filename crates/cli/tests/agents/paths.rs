//! A guarded file stays guarded whichever way its path is written, in every agent.

use std::os::unix::fs::symlink;

use anyhook_testkit::agents::{Agent, AgentSandbox};
use anyhook_testkit::model_server::ModelTurn;
use anyhook_testkit::write;

use crate::environment;

const REASON: &str = "this file is guarded";

/// Ways to name `guarded/new.txt`, which does not exist: agents ask for an existing file to be read
/// before it is written.
const SPELLINGS: [&str; 6] = [
    "guarded/new.txt",
    "guarded/new.txt/",
    "guarded//new.txt",
    "guarded/../guarded/./new.txt",
    "folder/new.txt",
    "link.txt",
];

fn play(agent: Agent) {
    let Some(bed) = AgentSandbox::within(environment(), agent) else { return };
    let environment = bed.environment();
    environment.user_hook(
        "guard",
        "trigger: before_tool\nmatcher: {tool: WriteFile|EditFile, pattern: '^guarded/new\\.txt$'}",
        &format!("echo '{REASON}' >&2\nexit 2"),
    );
    let project = bed.project();
    write(&project.join("guarded/other.txt"), "x\n", 0o644);
    symlink("guarded", project.join("folder")).unwrap();
    symlink("guarded/new.txt", project.join("link.txt")).unwrap();
    let installed = environment.run(&["install", agent.name()]);
    assert_eq!(installed.code, 0, "{installed:?}");
    let mut turns: Vec<ModelTurn> =
        SPELLINGS.iter().map(|path| bed.write_tool(path, "written\n")).collect();
    // What is not guarded is written: the guard alone is why the rest is not.
    turns.push(bed.write_tool("free.txt", "written\n"));
    turns.push(ModelTurn::text("done"));
    let outcome = bed.run("write it", turns);
    assert!(!project.join("guarded/new.txt").exists(), "{outcome:#?}");
    assert!(project.join("free.txt").exists(), "{outcome:#?}");
    let journal = environment.journal();
    let calls: Vec<_> = journal.iter().filter(|record| record["event"] == "before_tool").collect();
    // Some agents tidy a path up before they ask; each call is asked about and denied all the same.
    let denied = calls.iter().filter(|record| record["verdict"]["decision"] == "deny").count();
    assert_eq!((calls.len(), denied), (SPELLINGS.len() + 1, SPELLINGS.len()), "{calls:#?}");
    assert!(outcome.told(SPELLINGS.len(), REASON), "{outcome:#?}");
}

#[test]
fn no_spelling_gets_past_a_guard_in_claude_code() {
    play(Agent::ClaudeCode);
}

#[test]
fn no_spelling_gets_past_a_guard_in_codex() {
    play(Agent::Codex);
}

#[test]
fn no_spelling_gets_past_a_guard_in_gemini_cli() {
    play(Agent::GeminiCli);
}

#[test]
fn no_spelling_gets_past_a_guard_in_qwen_code() {
    play(Agent::QwenCode);
}

#[test]
fn no_spelling_gets_past_a_guard_in_kimi_code() {
    play(Agent::KimiCode);
}

#[test]
fn no_spelling_gets_past_a_guard_in_hermes() {
    play(Agent::Hermes);
}

#[test]
fn no_spelling_gets_past_a_guard_in_oh_my_pi() {
    play(Agent::OhMyPi);
}

#[test]
fn no_spelling_gets_past_a_guard_in_droid() {
    play(Agent::Droid);
}

#[test]
fn no_spelling_gets_past_a_guard_in_cline() {
    play(Agent::Cline);
}

#[test]
fn no_spelling_gets_past_a_guard_in_opencode() {
    play(Agent::OpenCode);
}

#[test]
fn no_spelling_gets_past_a_guard_in_pi() {
    play(Agent::Pi);
}

/// Its file tools work in the folder that its shell is in, which is not that of its process.
#[test]
fn a_folder_changed_by_a_command_counts_in_hermes() {
    let Some(bed) = AgentSandbox::within(environment(), Agent::Hermes) else { return };
    let environment = bed.environment();
    environment.user_hook(
        "guard",
        "trigger: before_tool\nmatcher: {tool: WriteFile, pattern: '^guarded/new\\.txt$'}",
        &format!("echo '{REASON}' >&2\nexit 2"),
    );
    let project = bed.project();
    write(&project.join("guarded/other.txt"), "x\n", 0o644);
    let installed = environment.run(&["install", "hermes"]);
    assert_eq!(installed.code, 0, "{installed:?}");
    let written = |path: &str| {
        ModelTurn::tool("write_file", serde_json::json!({"path": path, "content": "written\n"}))
    };
    let turns = vec![
        bed.shell_tool("cd guarded"),
        written("new.txt"),
        written("free.txt"),
        ModelTurn::text("done"),
    ];
    let outcome = bed.run("write it", turns);
    assert!(outcome.told(2, REASON), "{outcome:#?}");
    assert!(!project.join("guarded/new.txt").exists(), "{outcome:#?}");
    assert!(project.join("guarded/free.txt").exists(), "{outcome:#?}");
}

/// A patch that moves a file, and one in a command of a shell, are seen by guards of files.
#[test]
fn moves_and_patches_in_commands_are_seen_in_codex() {
    let Some(bed) = AgentSandbox::within(environment(), Agent::Codex) else { return };
    let environment = bed.environment();
    environment.user_hook(
        "guard",
        "trigger: before_tool\nmatcher: {tool: WriteFile|EditFile, pattern: '^guarded/'}",
        &format!("echo '{REASON}' >&2\nexit 2"),
    );
    let project = bed.project();
    write(&project.join("free.txt"), "first\n", 0o644);
    write(&project.join("guarded/other.txt"), "x\n", 0o644);
    let installed = environment.run(&["install", "codex"]);
    assert_eq!(installed.code, 0, "{installed:?}");
    let moved = "*** Begin Patch\n*** Update File: free.txt\n*** Move to: guarded/new.txt\n@@\n-first\n+second\n*** End Patch\n";
    let added = "*** Begin Patch\n*** Add File: guarded/new.txt\n+x\n*** End Patch\n";
    let in_shell = format!("apply_patch <<'EOF'\n{added}EOF\n");
    let in_folder =
        format!("cd guarded && apply_patch <<'EOF'\n{}EOF\n", added.replace("guarded/", ""));
    let turns = vec![
        bed.patch_tool(moved).unwrap(),
        bed.shell_tool(&in_shell),
        bed.shell_tool(&in_folder),
        ModelTurn::text("done"),
    ];
    let outcome = bed.run("move it", turns);
    for number in 1..=3 {
        assert!(outcome.told(number, REASON), "{number}: {outcome:#?}");
    }
    assert!(!project.join("guarded/new.txt").exists(), "{outcome:#?}");
    assert!(project.join("free.txt").exists(), "{outcome:#?}");
}
