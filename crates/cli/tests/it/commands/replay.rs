//! `anyhook replay`: what hooks would have said to the events of the past.

use std::fs;
use std::path::Path;

use anyhook_testkit::needs::{self, MachineNeed};
use anyhook_testkit::{TestEnv, require, write};
use serde_json::{Value, json};

use crate::environment;

/// A few events of the past, answered by a guard against `mkfs`.
fn past() -> TestEnv {
    let environment = environment();
    environment.user_hook(
        "guard",
        "trigger: before_tool\nmatcher:\n  pattern: mkfs",
        "echo 'not here' >&2; exit 2",
    );
    for command in ["ls", "git push --force", "mkfs /dev/sda", "git push"] {
        environment.shell(command);
    }
    environment.event(&json!({"event_type": "session_start", "session_id": "one"}));
    environment
}

/// A hook in a folder that is not installed.
fn candidate(environment: &TestEnv, name: &str, matter: &str, script: &str) -> String {
    let folder = environment.hook(&environment.root().join("candidates"), name, matter, script);
    folder.to_str().unwrap().to_owned()
}

fn no_force(environment: &TestEnv) -> String {
    let matter = "trigger: before_tool\nmatcher:\n  pattern: push.*--force";
    candidate(environment, "no-force", matter, "echo 'no force' >&2; exit 2")
}

fn replay(environment: &TestEnv, arguments: &[&str]) -> Value {
    let ran = environment.run(&[&["replay", "--json"][..], arguments].concat());
    assert!(matches!(ran.code, 0 | 1), "{ran:?}");
    ran.json()
}

#[test]
fn a_new_hook_would_block_one_more() {
    let environment = past();
    let folder = no_force(&environment);
    assert_run!(environment, environment.run(&["replay", "--hook", &folder]), @"
    exit code: 1
    ----- stdout -----
    no-force: replayed 5 events
      matched 1, unchanged 0
      1 new block: allowed then, would be blocked now
         [DAY AND TIME]  [ID]  agent-hooks  none → deny  Shell git push --force  no force
      cost: 1 run, p50 [TOOK], p95 [TOOK], total [TOOK]
    ");
}

#[test]
fn the_installed_hooks_say_the_same_again() {
    let environment = past();
    let before = environment.journal().len();
    assert_run!(environment, environment.run(&["replay"]), @"
    exit code: 0
    ----- stdout -----
    guard: replayed 5 events
      matched 1, unchanged 1
      cost: 1 run, p50 [TOOK], p95 [TOOK], total [TOOK]
    ");
    assert_eq!(environment.journal().len(), before, "nothing is journaled");
}

#[test]
fn a_hook_that_was_mended_lets_one_through() {
    let environment = past();
    write(&environment.user_hooks().join("guard/scripts/run"), "#!/bin/sh\nexit 0\n", 0o755);
    let ran = environment.run(&["replay", "--hook", "guard"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert_run!(environment, ran, @"
    exit code: 1
    ----- stdout -----
    guard: replayed 5 events
      matched 1, unchanged 0
      1 new allow: blocked then, would be allowed now
         [DAY AND TIME]  [ID]  agent-hooks  deny → none  Shell mkfs /dev/sda
      cost: 1 run, p50 [TOOK], p95 [TOOK], total [TOOK]
    ");
}

#[test]
fn what_differs_otherwise_is_said() {
    let environment = past();
    let asker = candidate(
        &environment,
        "asker",
        "trigger: before_tool\nmatcher:\n  pattern: push",
        r#"echo '{"decision": "ask", "reason": "sure?"}'"#,
    );
    let report = replay(&environment, &["--hook", &asker]);
    let differences = report["differences"].as_array().unwrap();
    assert_eq!(differences.len(), 2, "{report}");
    assert_eq!(differences[0]["reason"], "would ask for approval");
    assert_eq!((&differences[0]["then"], &differences[0]["now"]), (&json!("none"), &json!("ask")));
    let changer = candidate(
        &environment,
        "changer",
        "trigger: before_tool\nmatcher:\n  pattern: push",
        r#"echo '{"modified_input": {"command": "git status"}}'"#,
    );
    let report = replay(&environment, &["--hook", &changer]);
    assert_eq!(report["differences"][0]["reason"], "would change the input differently");
}

/// What counts as the same is what the agent would notice no difference of.
#[test]
fn other_words_are_differences() {
    let environment = environment();
    let say = |script: &str| {
        environment.user_hook("talker", "trigger: before_tool", script);
    };
    say(r#"echo '{"additional_context": "use tabs"}'"#);
    environment.shell("ls");
    say("echo 'not here' >&2; exit 2");
    environment.shell("ls");
    let differences = |script: &str| {
        say(script);
        let report = replay(&environment, &["--hook", "talker"]);
        let reasons = report["differences"].as_array().unwrap().iter();
        let reasons: Vec<String> =
            reasons.map(|one| one["reason"].as_str().unwrap().to_owned()).collect();
        (reasons, report["same"].as_u64().unwrap(), report["failed"].as_array().unwrap().len())
    };
    let (reasons, ..) = differences(r#"echo '{"additional_context": "use blanks"}'"#);
    assert_eq!(reasons, ["would tell the model something different"]);
    let (reasons, ..) = differences("echo 'nowhere' >&2; exit 2");
    assert_eq!(reasons, ["would be blocked for a different reason"]);
    let (_, same, failed) = differences("exit 7");
    assert_eq!((same, failed), (0, 2), "what fails here has not said the same");
}

/// A hook in shadow mode is tried as if it were in force.
#[test]
fn a_shadow_hook_is_tried_in_earnest() {
    let environment = past();
    environment.user_hook(
        "watcher",
        "trigger: before_tool\nmode: shadow\nmatcher:\n  pattern: push",
        "exit 2",
    );
    environment.shell("git push origin");
    let report = replay(&environment, &["--hook", "watcher"]);
    assert_eq!(report["new_blocks"].as_array().unwrap().len(), 3, "{report}");
}

/// The changes that hooks before it made to the input are made again.
#[test]
fn a_hook_gets_the_input_it_got() {
    let environment = environment();
    environment.user_hook(
        "changer",
        "trigger: before_tool\npriority: 900",
        r#"echo '{"modified_input": {"command": "changed"}}'"#,
    );
    environment.user_hook(
        "reader",
        "trigger: before_tool",
        "grep -q '\"command\": \"changed\"' || exit 2",
    );
    assert_eq!(environment.shell("as it came").code, 0);
    let report = replay(&environment, &["--hook", "reader"]);
    assert_eq!((&report["same"], &report["due"]), (&json!(1), &json!(1)), "{report}");
}

/// Tells where a hook is, what it can reach, and tries to change what is real.
fn nosy(environment: &TestEnv) -> String {
    let script = r#"
    { pwd; echo "$HOME"; echo "$ANYHOOK_PROJECT_DIR"; echo "$CLAUDE_PROJECT_DIR"
      tail -n +3 /proc/net/dev | cut -d: -f1; echo "token:$SECRET_TOKEN"; } >&2
    touch here "$HOME/here" || exit 3
    path=$(grep -o '"path": "[^"]*"' | head -1 | cut -d'"' -f4)
    echo changed >> "$path" 2>/dev/null
    exit 2"#;
    candidate(environment, "nosy", "trigger: [before_tool, after_tool]", script)
}

#[test]
fn never_in_the_real_project_and_without_a_network() {
    require!(MachineNeed::Mounts);
    let environment = environment();
    let file = environment.project().join("main.rs");
    write(&file, "as it was\n", 0o644);
    environment.event(&json!({
        "event_type": "after_tool", "tool_name": "WriteFile", "tool_input": {"path": file},
    }));
    let folder = nosy(&environment);
    let replay = |more: &[&str]| {
        let arguments = [&["replay", "--json", "--hook", &folder][..], more].concat();
        let mut command = environment.command(&arguments);
        command.env("SECRET_TOKEN", "hunter22");
        let ran = anyhook_testkit::run(command, b"");
        assert_eq!(ran.code, 1, "{ran:?}");
        ran.json()
    };
    let report = replay(&[]);
    assert_eq!((&report["network_cut"], &report["files_protected"]), (&json!(true), &json!(true)));
    let reason = report["new_blocks"][0]["reason"].as_str().unwrap();
    let lines: Vec<&str> = reason.lines().collect();
    assert_eq!(lines.len(), 7, "{reason}");
    assert!(lines[6].ends_with("Read-only file system"), "{reason}");
    for line in &lines[..4] {
        assert!(line.contains("anyhook-replay-"), "{reason}");
        assert!(!Path::new(line).exists(), "and it is gone: {line}");
    }
    assert_eq!((lines[4].trim(), lines[5]), ("lo", "token:"), "{reason}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "as it was\n");

    let report = replay(&["--with-network"]);
    assert_eq!((&report["network_cut"], &report["files_protected"]), (&json!(false), &json!(true)));
    assert_eq!(fs::read_to_string(&file).unwrap(), "as it was\n");
    let report = replay(&["--unprotected"]);
    assert_eq!(report["files_protected"], false);
    assert_eq!(fs::read_to_string(&file).unwrap(), "as it was\nchanged\n", "so it would have been");
}

/// The machine's own hooks count for everybody, though in a user namespace they look like a
/// stranger's.
#[test]
fn somebody_elses_replay_knows_the_machines_hooks() {
    require!(MachineNeed::Mounts, MachineNeed::Users);
    let environment = past();
    let script = format!(
        "mount -t tmpfs none /etc/agents 2>/dev/null || {{ mkdir -p /etc/agents && mount -t tmpfs none /etc/agents; }}\n\
         mkdir -p /etc/agents/hooks && cp -r '{}' /etc/agents/hooks/no-force\n\
         chmod -R go-w /etc/agents\nchown -R 54321:54321 '{}'\n",
        no_force(&environment),
        environment.root().display()
    );
    let replay = "exec setpriv --reuid 54321 --regid 54321 --clear-groups \"$0\" replay --json";
    let copy = environment.root().join("anyhook");
    fs::copy(env!("CARGO_BIN_EXE_anyhook"), &copy).unwrap();
    let mut command = std::process::Command::new("unshare");
    command.args(["-m", "sh", "-c", &format!("{script}{replay}")]).arg(&copy);
    command.current_dir(environment.project()).env_clear();
    for (name, value) in environment.command(&[]).get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    let ran = anyhook_testkit::run(command, b"");
    if ran.stderr.contains("cannot sandbox the replay on this machine") {
        return needs::skip("a replay by another user", "user namespaces");
    }
    let report = ran.json();
    assert_eq!(report["hooks"], json!(["no-force", "guard"]), "{report}");
    assert_eq!(report["new_blocks"].as_array().unwrap().len(), 1, "{report}");
}

/// What is redacted may be judged differently: it counts neither as equal nor as different.
#[test]
fn redacted_events_are_marked() {
    let environment = environment();
    let token = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    environment.shell(&format!("git push https://{token}@example.com --force"));
    environment.shell("git push --force");
    let folder = no_force(&environment);
    let report = replay(&environment, &["--hook", &folder]);
    assert_eq!(report["new_blocks"].as_array().unwrap().len(), 1, "{report}");
    assert_eq!(report["redacted"].as_array().unwrap().len(), 1, "{report}");
    assert_eq!((&report["due"], &report["same"]), (&json!(2), &json!(0)));
}

#[test]
fn events_of_agents_are_decoded_again() {
    let environment = environment();
    let payload = json!({
        "hook_event_name": "PreToolUse", "session_id": "s", "cwd": environment.project(),
        "tool_name": "Bash", "tool_input": {"command": "git push --force"}, "tool_use_id": "t1",
    });
    environment.run_with_input(&["hook", "claude-code"], payload.to_string());
    environment.run_with_input(&["hook", "codex"], payload.to_string());
    let stop = json!({"hook_event_name": "Stop", "session_id": "s"});
    environment.run_with_input(&["hook", "claude-code"], stop.to_string());
    let folder = no_force(&environment);
    let report = replay(&environment, &["--hook", &folder]);
    assert_eq!(report["events"], 5, "a stop is three events: {report}");
    assert_eq!(report["new_blocks"].as_array().unwrap().len(), 2, "{report}");
    let report = replay(&environment, &["--hook", &folder, "--host", "codex"]);
    assert_eq!(report["new_blocks"].as_array().unwrap().len(), 1, "{report}");
}

#[test]
fn long_events_come_back_whole() {
    let environment = environment();
    environment.shell(&format!("echo {} && git push --force", "x".repeat(100_000)));
    let folder = no_force(&environment);
    let report = replay(&environment, &["--hook", &folder]);
    assert_eq!(report["new_blocks"].as_array().unwrap().len(), 1, "{report}");
    fs::remove_dir_all(environment.state().join("journal/long")).unwrap();
    let report = replay(&environment, &["--hook", &folder]);
    assert_eq!((&report["gone"], &report["events"]), (&json!(1), &json!(0)), "{report}");
}

#[test]
fn limits() {
    let environment = past();
    let folder = no_force(&environment);
    let events = |arguments: &[&str]| {
        replay(&environment, &[&["--hook", &folder][..], arguments].concat())["events"].clone()
    };
    assert_eq!(events(&[]), 5);
    assert_eq!(events(&["--limit", "2"]), 2);
    let shown = environment.run(&["replay", "--hook", &folder, "--limit", "2"]).stdout;
    assert!(
        shown.contains("note: only the newest 2 of 5 events were tried; --limit 0 takes all"),
        "{shown}"
    );
    assert_eq!(events(&["--limit", "0"]), 5);
    assert_eq!(events(&["--since", "1h"]), 5);
    assert_eq!(events(&["--since", "2100-01-01"]), 0);
    assert_eq!(events(&["--jobs", "1"]), 5);
}

#[test]
fn a_hook_that_fails_is_named() {
    let environment = past();
    let folder = candidate(
        &environment,
        "failing",
        "trigger: before_tool\nmatcher:\n  pattern: '^ls'",
        "echo 'no such table' >&2; exit 7",
    );
    let report = replay(&environment, &["--hook", &folder]);
    let reason = report["failed"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("failing: ") && reason.contains('7'), "{report}");
    let folder = candidate(
        &environment,
        "failing-shut",
        "trigger: before_tool\non_failure: block\nmatcher:\n  pattern: '^ls'",
        "exit 7",
    );
    let report = replay(&environment, &["--hook", &folder]);
    assert_eq!(report["new_blocks"].as_array().unwrap().len(), 1, "{report}");
}

/// A transcript that a real Claude Code wrote.
#[test]
fn a_transcript() {
    let environment = environment();
    let transcript = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../hosts/src/claude_code/transcript/recorded/tools.jsonl");
    let transcript = transcript.to_str().unwrap();
    let folder = candidate(
        &environment,
        "no-shell",
        "trigger: before_tool\nmatcher:\n  tool: Shell",
        "echo 'no shell' >&2; exit 2",
    );
    let ran = environment.run(&["replay", "--hook", &folder, "--transcript", transcript]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert_run!(environment, ran);
    let other = no_force(&environment);
    let ran = environment.run(&["replay", "--hook", &other, "--transcript", transcript]);
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test]
fn bad_input() {
    let environment = past();
    assert_run!(environment, environment.run(&["replay", "--hook", "nobody"]), @"
    exit code: 65
    ----- stderr -----
    error: `nobody` is neither an installed hook nor a hook's folder
    hint: `anyhook list` shows installed hooks
    ");
    assert_run!(environment, environment.run(&["replay", "--transcript", "nowhere.jsonl"]), @"
    exit code: 65
    ----- stderr -----
    error: `[ROOT]/home/project/nowhere.jsonl` cannot be read: No such file or directory
    hint: transcripts are in ~/.claude/projects, one .jsonl per session
    ");
    write(&environment.project().join("other.jsonl"), "{\"a\": 1}\n", 0o644);
    assert_run!(environment, environment.run(&["replay", "--transcript", "other.jsonl"]), @"
    exit code: 65
    ----- stderr -----
    error: `[ROOT]/home/project/other.jsonl`: not a Claude Code transcript: no line has a `type` and a `sessionId`
    hint: transcripts are in ~/.claude/projects, one .jsonl per session
    ");
    assert_run!(environment, environment.run(&["replay", "--since", "yesterday"]), @"
    exit code: 64
    ----- stderr -----
    error: invalid value 'yesterday' for '--since <T>': expected a duration (30m, 2h, 7d) or a time (2026-01-31, [TIME])
    hint: anyhook replay --help
    ");
    let broken = environment.user_hook("broken", "trigger: before_toool", "exit 0");
    assert_run!(environment, environment.run(&["replay", "--hook", broken.to_str().unwrap()]), @"
    exit code: 65
    ----- stderr -----
    error: `broken` cannot run: unknown trigger `before_toool`
    hint: anyhook check broken
    ");
}

#[test]
fn nothing_to_try() {
    let environment = environment();
    assert_run!(environment, environment.run(&["replay"]), @"
    exit code: 65
    ----- stderr -----
    error: no hooks to try
    hint: pass --hook with a name or a folder
    ");
}

#[test]
fn without_unshare_it_says_so() {
    let environment = past();
    let mut command = environment.command(&["replay"]);
    command.env("PATH", environment.root());
    let ran = anyhook_testkit::run(command, b"");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.contains("cannot sandbox the replay on this machine"), "{ran:?}");
    assert!(ran.stderr.contains("hint: --unprotected"), "{ran:?}");
}

#[test]
fn help() {
    let environment = environment();
    assert_run!(environment, environment.run(&["replay", "--help"]));
}
