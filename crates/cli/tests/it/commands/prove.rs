//! `anyhook doctor --prove`, as far as entries are concerned; the real agents are in
//! `tests/agents/proof.rs`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use anyhook_testkit::{CommandRun, TestEnv, wait_until, write};
use serde_json::{Value, json};

use super::install::{AGENTS, anyhook, in_place, settings, stable};

/// Makes an environment with agents wired in.
fn wired(agents: &[&str]) -> TestEnv {
    let environment = in_place();
    for agent in agents {
        let ran = anyhook(&environment, &["install", agent]);
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    environment
}

fn prove(environment: &TestEnv, agents: &[&str]) -> CommandRun {
    anyhook(environment, &[&["doctor", "--prove", "--no-run", "--json"], agents].concat())
}

/// Proves that it fails, and returns why.
fn fault(environment: &TestEnv, agent: &str) -> String {
    let ran = prove(environment, &[agent]);
    assert_eq!(ran.code, 1, "{ran:?}");
    let proof = ran.json()[0].clone();
    assert_eq!(proof["events"], json!([]), "an entry that is not ours is not run: {proof}");
    proof["fault"].as_str().unwrap().to_owned()
}

/// Returns what `doctor` finds bad about an agent.
fn bad(environment: &TestEnv, agent: &str) -> Vec<String> {
    let report = anyhook(environment, &["doctor", "--json"]).json();
    let findings = report["findings"].as_array().unwrap().iter();
    let bad = findings.filter(|it| it["about"] == agent && it["severity"] == "bad");
    bad.map(|finding| finding["message"].as_str().unwrap().to_owned()).collect()
}

fn status_line(environment: &TestEnv) -> String {
    let ran = anyhook(environment, &["status-line", "--tmux"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.stdout.trim_end().to_owned()
}

fn names(folder: &std::path::Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Every agent that we know: its entries deny at every event that its hooks can block, whether there
/// are hooks or not, and nothing is left behind.
#[test]
fn the_entries_of_every_agent_deny() {
    let ids: Vec<&str> = anyhook_hosts::AGENTS.iter().map(|agent| agent.id()).collect();
    let environment = wired(&ids);
    environment.user_hook("mine", "trigger: before_tool", "echo '{\"decision\": \"allow\"}'");
    let ran = prove(&environment, &[]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let proofs = ran.json();
    let proofs = proofs.as_array().unwrap();
    assert_eq!(proofs.len(), ids.len());
    for (proof, agent) in proofs.iter().zip(anyhook_hosts::AGENTS) {
        assert_eq!(proof["agent"], agent.id());
        assert_eq!(proof["fault"], Value::Null);
        assert_eq!(proof["run"]["outcome"], "not_run");
        let events = proof["events"].as_array().unwrap();
        assert!(events.iter().all(|event| event["denied"] == true), "{proof}");
        assert!(events.iter().any(|event| event["event"] == "before_tool"), "{proof}");
    }
    let state = environment.state();
    assert!(!state.join("proofs/scratch").exists());
    assert_eq!(names(&state.join("proofs/canaries")), [""; 0]);
    assert_eq!(names(&state.join("trust/projects")).len(), 1);
    assert!(!state.join("guarded").exists(), "no guard was installed");
    // They are in the journal, and counted nowhere.
    let records = environment.journal();
    let mut canaries = records.iter().filter(|record| record["host"] != "anyhook");
    assert!(canaries.all(|record| record["canary"] == true), "{records:?}");
    let counted = anyhook(&environment, &["stats", "--json"]).json();
    let hosts = counted["hosts"].as_array().unwrap();
    assert!(hosts.iter().all(|host| host["host"] == "anyhook"), "only what was run: {counted}");
    assert_eq!(anyhook(&environment, &["agent", "list", "--json"]).json(), json!([]));
    for id in ids {
        assert!(!bad(&environment, id).iter().any(|it| it.contains("prove")), "{id}");
    }
}

/// What a person sees.
#[test]
fn the_page() {
    let environment = wired(&["gemini-cli"]);
    let ran = anyhook(&environment, &["doctor", "--prove"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines[..2], ["gemini-cli", "  ✓ its entry is what anyhook writes"]);
    assert!(lines[2].starts_with("  ✓ before_agent (BeforeAgent): denied in "), "{ran:?}");
    let end = ["  · the agent itself was not run: `gemini` is not on the PATH", "proven"];
    assert_eq!(lines[lines.len() - 2..], end);
    let none = anyhook(&in_place(), &["doctor", "--prove"]);
    assert_eq!(none.code, 1, "{none:?}");
    assert_eq!(none.stdout, "nothing to prove: no agent calls anyhook\n");
    let unknown = anyhook(&environment, &["doctor", "--prove", "gemni"]);
    assert_eq!(unknown.code, 64, "{unknown:?}");
    let alone = anyhook(&environment, &["doctor", "gemini-cli"]);
    assert_eq!(alone.code, 64, "{alone:?}");
}

/// Any byte of an entry.
#[test]
fn one_byte_of_an_entry_is_enough() {
    let environment = wired(&AGENTS);
    for agent in AGENTS {
        let file = settings(&environment, agent);
        let text = fs::read_to_string(&file).unwrap();
        // The longest line that names our program: the entry of a tool call, or a plugin's constant.
        let program = stable(&environment);
        let program = program.to_str().unwrap();
        let line = text.lines().filter(|line| line.contains(program)).max_by_key(|line| line.len());
        let line = line.unwrap();
        let start = text.find(line).unwrap() + line.find(program).unwrap_or_default();
        let end = text.find(line).unwrap() + line.trim_end_matches(['"', ',', ';']).len();
        let begin = text.find(line).unwrap() + line.find(": ").map_or(0, |at| at + 3);
        let step = ((end - begin) / 24).max(1);
        for at in (begin.min(start)..end).step_by(step) {
            let mut bytes = text.clone().into_bytes();
            if !bytes[at].is_ascii_alphanumeric() {
                continue;
            }
            bytes[at] = if bytes[at] == b'x' { b'y' } else { b'x' };
            let changed = String::from_utf8(bytes).unwrap();
            fs::write(&file, &changed).unwrap();
            let why = fault(&environment, agent);
            assert!(
                ["runs another program", "differs from", "do not call anyhook", "is invalid"]
                    .iter()
                    .any(|words| why.contains(words)),
                "{agent} at {at}: {why}"
            );
        }
        fs::write(&file, &text).unwrap();
        let again = prove(&environment, &[agent]);
        assert_eq!(again.code, 0, "{again:?}");
    }
}

/// It says what is different.
#[test]
fn an_entry_that_is_not_ours_is_explained() {
    let environment = wired(&["claude-code"]);
    let file = settings(&environment, "claude-code");
    let text = fs::read_to_string(&file).unwrap();
    let changed = |from: &str, to: &str| {
        let at = text.rfind(from).unwrap();
        fs::write(&file, format!("{}{to}{}", &text[..at], &text[at + from.len()..])).unwrap();
        environment.normal(&fault(&environment, "claude-code"))
    };
    let program = stable(&environment);
    let program = program.to_str().unwrap();
    let other = program.replace("/bin/anyhook", "/other/anyhook");
    let why = changed(program, &other);
    assert!(why.contains("runs another program: `[ROOT]/home/.local/share/anyhook/other"), "{why}");
    let why = changed("--deadline-ms", "--deadline_ms");
    assert!(why.contains(" differs from what `anyhook install claude-code` writes"), "{why}");
    assert!(why.contains(", from byte ") && why.contains("`_ms "), "{why}");
    let why = changed("\"timeout\": 600", "\"timeout\": 601");
    assert!(why.starts_with("`~/.claude/settings.json` differs from what"), "{why}");
    // The right line, and another program in its place.
    fs::write(&file, &text).unwrap();
    fs::remove_file(stable(&environment)).unwrap();
    write(&stable(&environment), "#!/bin/sh\nexit 2\n", 0o755);
    let why = fault(&environment, "claude-code");
    assert!(why.ends_with("which is another program than this one"), "{why}");
}

/// `doctor`, `agent list` and the status line are red until all is proven, and again when something
/// has changed.
#[test]
fn whatever_changes_is_seen() {
    let environment = wired(&["claude-code"]);
    let agent = "claude-code";
    let red = |words: &str, line: &str| {
        let found = bad(&environment, agent);
        assert!(found.iter().any(|it| it.contains(words)), "{words}: {found:?}");
        let expected = format!("#[fg=red]anyhook ✗ {line}: run anyhook doctor --prove#[default]");
        assert_eq!(status_line(&environment), expected, "{words}");
    };
    let green = || {
        let ran = prove(&environment, &[]);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(bad(&environment, agent), [""; 0]);
        let line = status_line(&environment);
        assert_eq!(line, "#[fg=green]anyhook ✓#[default] 0 hooks · proven now");
    };
    red("nothing was proven for it", "not proven");
    green();

    let program = environment.home().join("bin/claude");
    write(&program, "#!/bin/sh\necho 1.0.0\n", 0o755);
    red("its program changed since it was proven", "its version changed");
    green();
    write(&program, "#!/bin/sh\necho 2.0.0\n", 0o755);
    red("its version changed since it was proven: from 1.0.0 to 2.0.0", "its version changed");
    green();

    let file = settings(&environment, agent);
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replacen("--deadline-ms", "--deadline_ms", 1)).unwrap();
    red("installed in user settings, but not at ", "its entry changed");
    fs::write(&file, text.replacen("\"timeout\": 600", "\"timeout\": 601", 1)).unwrap();
    red("not as it was proven: `~/.claude/settings.json` differs", "its entry changed");
    fs::write(&file, "{}\n").unwrap();
    red("no longer call anyhook", "does not call anyhook");
    let ran = prove(&environment, &[]);
    assert_eq!(ran.code, 1, "also if it is not named: {ran:?}");
    fs::write(&file, &text).unwrap();
    red("the last proof failed", "its proof failed");
    green();
    let removed = anyhook(&environment, &["uninstall", agent]);
    assert_eq!(removed.code, 0, "{removed:?}");
    assert_eq!(bad(&environment, agent), [""; 0], "that was meant");
    let none = "#[fg=red]anyhook ✗ not installed: run anyhook install#[default]";
    assert_eq!(status_line(&environment), none);
}

/// An agent that does not answer its model is not proven.
#[test]
fn a_program_that_is_no_agent_fails() {
    let environment = wired(&["claude-code"]);
    let program = environment.home().join("bin/claude");
    write(&program, "#!/bin/sh\necho \"1.0.0 at $HOME\"\n", 0o755);
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let ran = anyhook(&environment, &["doctor", "--prove"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    let said = environment.normal(&ran.stdout);
    let words = "✗ the agent itself: the agent did not reach the scripted model (exit status: 0; \
                 it last said: 1.0.0 at [ROOT]/home/.local/state/anyhook/proofs/scratch/home)";
    assert!(said.contains(words), "{said}");
    assert!(said.ends_with("1 proof failed\nhint: `anyhook doctor` says what is wrong; `anyhook install` repairs entries\n"));
}

/// `agent list` says of which agents nothing is proven.
#[test]
fn the_list_of_agents_warns() {
    let environment = wired(&["claude-code"]);
    let start = json!({
        "hook_event_name": "SessionStart", "session_id": "s", "source": "startup",
        "cwd": environment.project(),
    });
    let sent = environment.run_with_input(&["hook", "claude-code"], start.to_string());
    assert_eq!(sent.code, 0, "{sent:?}");
    let list = || {
        let mut seen = None;
        wait_until("the agent", || {
            let ran = anyhook(&environment, &["agent", "list", "--all"]);
            let is_there = ran.stdout.contains("claude-code");
            seen = Some(ran);
            is_there
        });
        seen.unwrap()
    };
    let warned = "warning: claude-code: nothing was proven for it\nhint: anyhook doctor --prove\n";
    assert!(list().stderr.contains(warned));
    assert_eq!(prove(&environment, &[]).code, 0);
    assert!(!list().stderr.contains("warning"));
}

/// A session that only calls itself a canary is one like any other.
#[test]
fn a_name_makes_no_canary() {
    let environment = wired(&["claude-code"]);
    let payload = json!({
        "hook_event_name": "PreToolUse", "session_id": "anyhook-canary-7kaj21ev",
        "cwd": environment.project(), "tool_name": "Bash", "tool_input": {"command": "ls"},
    });
    let sent = environment.run_with_input(&["hook", "claude-code"], payload.to_string());
    assert_eq!(sent.code, 0, "{sent:?}");
    let stats = anyhook(&environment, &["stats", "--json"]).json();
    let hosts = stats["hosts"].as_array().unwrap();
    assert!(hosts.iter().any(|host| host["host"] == "claude-code"), "{stats}");
    let log = anyhook(&environment, &["log"]).stdout;
    assert!(!log.contains("(canary)"), "{log}");
}

/// What Claude Code tells its status line counts, and nobody waits for input that does not come.
#[test]
fn the_status_line_of_claude_code() {
    let environment = wired(&["claude-code", "codex"]);
    let program = environment.home().join("bin/claude");
    write(&program, "#!/bin/sh\necho 1.0.0\n", 0o755);
    assert_eq!(prove(&environment, &["claude-code"]).code, 0);
    let line = |input: &Value| {
        let mut command = super::install::command(&environment, &["status-line"]);
        command.env_remove("NO_COLOR");
        let ran = anyhook_testkit::run(command, input.to_string().as_bytes());
        assert_eq!((ran.code, &*ran.stderr), (0, ""), "{ran:?}");
        ran.stdout
    };
    let told = |version: &str| json!({"version": version, "cwd": environment.project()});
    let good = "\x1b[32manyhook ✓\x1b[0m 0 hooks · proven now\n";
    assert_eq!(line(&told("1.0.0")), good, "the others are not its business");
    assert_eq!(line(&json!({})), good);
    let changed = "\x1b[31manyhook ✗ its version changed: run anyhook doctor --prove\x1b[0m\n";
    assert_eq!(line(&told("1.0.1")), changed);
    let all = "\x1b[31manyhook ✗ codex: not proven: run anyhook doctor --prove\x1b[0m\n";
    assert_eq!(line(&json!("not an object")), all);
}
