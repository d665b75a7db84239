//! `anyhook install` where both programs lie in one folder: agents call the small one.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhook_testkit::{CommandRun, TestEnv, programs, run};

use crate::{SMALL, both, environment};

const AGENTS: [&str; 4] = ["claude-code", "codex", "gemini-cli", "opencode"];

/// Runs a program with arguments in an environment; no agent is on the `PATH`.
fn run_at(environment: &TestEnv, program: &Path, arguments: &[&str]) -> CommandRun {
    let usual = environment.command(arguments);
    let mut command = Command::new(program);
    command.args(arguments).current_dir(environment.project()).env_clear();
    command.envs(usual.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("PATH", environment.home().join("bin"));
    run(command, b"")
}

/// Runs a program with arguments, for all agents.
fn all(environment: &TestEnv, program: &Path, arguments: &[&str]) -> CommandRun {
    let arguments: Vec<&str> = arguments.iter().copied().chain(AGENTS).collect();
    let ran = run_at(environment, program, &arguments);
    assert_eq!(ran.code, 0, "{arguments:?}: {ran:?}");
    ran
}

/// Returns the folder that `install` copies programs to.
fn stable(environment: &TestEnv) -> PathBuf {
    environment.home().join(".local/share/anyhook/bin")
}

fn settings(environment: &TestEnv, agent: &str) -> PathBuf {
    environment.home().join(match agent {
        "claude-code" => ".claude/settings.json",
        "codex" => ".codex/hooks.json",
        "gemini-cli" => ".gemini/settings.json",
        _ => ".config/opencode/plugins/anyhook.js",
    })
}

/// Returns how often an agent's settings have it call each program: the whole one and the small one.
fn calls(environment: &TestEnv, agent: &str) -> (usize, usize) {
    let text = fs::read_to_string(settings(environment, agent)).unwrap();
    let folder = stable(environment);
    let count = |name: &str| {
        let path = folder.join(name).display().to_string();
        // In the plugin the program's name ends its text.
        text.matches(&format!("{path} hook ")).count() + text.matches(&format!("{path}\";")).count()
    };
    (count("anyhook"), count("anyhook-hook"))
}

/// Returns the folder of both programs, and one of `anyhook` alone.
fn folders() -> Option<(PathBuf, PathBuf)> {
    let both = both()?;
    let whole = programs::built_beside(SMALL, "anyhook")?;
    Some((both, programs::together(&[&whole])))
}

#[test]
fn agents_call_the_small_program() {
    let Some(folder) = both() else { return };
    let environment = environment(&folder.join("anyhook"));
    all(&environment, &folder.join("anyhook"), &["install"]);
    for name in ["anyhook", "anyhook-hook"] {
        let (copy, source) = (stable(&environment).join(name), folder.join(name));
        assert!(fs::read(&copy).unwrap() == fs::read(source).unwrap(), "{name}");
        assert_eq!(fs::metadata(copy).unwrap().permissions().mode() & 0o777, 0o755);
    }
    for agent in AGENTS {
        let (whole, small) = calls(&environment, agent);
        assert!(whole == 0 && small > 0, "{agent}: {whole}, {small}");
    }
    let anyhook = stable(&environment).join("anyhook");
    let again = all(&environment, &anyhook, &["install"]);
    assert_eq!(again.stdout.matches("already installed").count(), 4, "{again:?}");
    let proven = run_at(&environment, &anyhook, &["doctor", "--prove", "--no-run"]);
    assert_eq!(proven.code, 0, "{proven:?}");
    let doctor = run_at(&environment, &anyhook, &["doctor"]);
    assert_eq!(doctor.code, 0, "{doctor:?}");
    assert_eq!(doctor.stdout.matches("installed in user settings").count(), 4);
    assert!(!doctor.stdout.contains("anyhook-hook"), "nothing is to be said of it: {doctor:?}");
    let named: Vec<&str> = ["hosts", "--json"].into_iter().chain(AGENTS).collect();
    let hosts = run_at(&environment, &anyhook, &named).json();
    assert!(hosts.as_array().unwrap().iter().all(|host| host["wired"] == true), "{hosts}");
    all(&environment, &anyhook, &["uninstall", "--verify"]);
    for agent in AGENTS {
        assert!(!settings(&environment, agent).exists(), "{agent}");
    }
}

/// The line in the settings works as a shell runs it.
#[test]
fn the_line_that_is_written_answers() {
    let Some(folder) = both() else { return };
    let environment = environment(&folder.join("anyhook"));
    environment.user_hook("guard", "trigger: before_tool", "echo no >&2; exit 2");
    all(&environment, &folder.join("anyhook"), &["install"]);
    let text = fs::read_to_string(settings(&environment, "claude-code")).unwrap();
    let found: serde_json::Value = serde_json::from_str(&text).unwrap();
    let line = found["hooks"]["PreToolUse"][0]["hooks"][0]["command"].as_str().unwrap();
    let call = "/anyhook-hook hook claude-code --deadline-ms 540000 --home ";
    assert!(line.contains(call) && line.ends_with(" --tool-event"), "{line}");
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", line]).current_dir(environment.project()).env_clear();
    shell.env("HOME", environment.home());
    let payload = br#"{"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Bash",
        "tool_input": {"command": "ls"}}"#;
    let ran = run(shell, payload);
    assert!(ran.stdout.contains("\"deny\""), "{ran:?}");
    let journal = environment.journal();
    let calls = journal.iter().filter(|record| record["event"] == "before_tool");
    assert_eq!(calls.count(), 1, "{journal:?}");
}

#[test]
fn what_an_earlier_version_wrote_is_put_right() {
    let Some((folder, alone)) = folders() else { return };
    let environment = environment(&folder.join("anyhook"));
    all(&environment, &alone.join("anyhook"), &["install"]);
    assert!(!stable(&environment).join("anyhook-hook").exists());
    let before = AGENTS.map(|agent| calls(&environment, agent));
    // The package brings both from now on, and until the next `install` all works as before.
    fs::copy(folder.join("anyhook-hook"), stable(&environment).join("anyhook-hook")).unwrap();
    let doctor = run_at(&environment, &folder.join("anyhook"), &["doctor"]);
    // Nothing else is wrong.
    let unproven = doctor.stdout.matches("✗ nothing was proven for it").count();
    assert_eq!((unproven, doctor.stdout.matches('✗').count()), (4, 4), "{doctor:?}");
    let words = "but `anyhook-hook` next to it is faster: anyhook install claude-code";
    assert_eq!(doctor.stdout.matches(words).count(), 1, "{doctor:?}");
    all(&environment, &folder.join("anyhook"), &["install"]);
    for (agent, (whole, small)) in AGENTS.into_iter().zip(before) {
        assert!(whole > 0 && small == 0, "{agent}");
        assert_eq!(calls(&environment, agent), (0, whole), "{agent}: one entry for each");
    }
    let proven = run_at(&environment, &folder.join("anyhook"), &["doctor", "--prove", "--no-run"]);
    assert_eq!(proven.code, 0, "{proven:?}");
    let doctor = run_at(&environment, &folder.join("anyhook"), &["doctor"]);
    assert!(doctor.code == 0 && !doctor.stdout.contains("quicker"), "{doctor:?}");
    // Back to what was there before the first of the two.
    all(&environment, &folder.join("anyhook"), &["uninstall", "--verify"]);
    for agent in AGENTS {
        assert!(!settings(&environment, agent).exists(), "{agent}");
    }
}

/// Agents that are not named still call the program of that name: it must not stay behind.
#[test]
fn a_version_without_a_small_program_answers_in_its_place() {
    let Some((folder, alone)) = folders() else { return };
    let environment = environment(&folder.join("anyhook"));
    all(&environment, &folder.join("anyhook"), &["install"]);
    let ran = run_at(&environment, &alone.join("anyhook"), &["install", "codex"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(calls(&environment, "codex").1, 0);
    assert_eq!(calls(&environment, "claude-code").0, 0);
    let [whole, small] =
        ["anyhook", "anyhook-hook"].map(|name| fs::read(stable(&environment).join(name)).unwrap());
    assert!(whole == small, "both names are the new program");
}

#[test]
fn doctor_misses_the_other_program() {
    let Some(folder) = both() else { return };
    let environment = environment(&folder.join("anyhook"));
    all(&environment, &folder.join("anyhook"), &["install"]);
    fs::remove_file(stable(&environment).join("anyhook")).unwrap();
    let doctor = run_at(&environment, &folder.join("anyhook"), &["doctor"]);
    let words = "/anyhook-hook`, but there is no `anyhook` next to it: background hooks fail";
    assert_eq!((doctor.code, doctor.stdout.matches(words).count()), (1, 4), "{doctor:?}");
    assert!(doctor.stdout.contains("hint: anyhook install codex"), "{doctor:?}");
    fs::remove_file(stable(&environment).join("anyhook-hook")).unwrap();
    let doctor = run_at(&environment, &folder.join("anyhook"), &["doctor"]);
    let words = "/anyhook-hook`, which does not exist";
    assert_eq!((doctor.code, doctor.stdout.matches(words).count()), (1, 4), "{doctor:?}");
}
