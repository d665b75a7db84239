//! A hook of the agent's own, before and after `anyhook import`: the call is denied with the same
//! text, and the hook runs once. Restored settings are the same to the byte.

use std::fs;
use std::path::PathBuf;

use anyhook_hosts::wiring::codex_trust;
use anyhook_testkit::agents::{Agent, AgentRun, AgentSandbox};
use anyhook_testkit::model_server::ModelTurn;
use anyhook_testkit::write;
use serde_json::{Value, json};

use crate::environment;

const REASON: &str = "a native guard says no";

/// Where an agent has hooks of its own, and a guard in them.
struct NativeGuard {
    bed: AgentSandbox,
    file: PathBuf,
}

impl NativeGuard {
    /// Writes a guard into an agent's settings; none if the agent cannot be run here.
    fn set(agent: Agent, file: &str, event: &str, answer: &str) -> Option<Self> {
        let bed = AgentSandbox::within(environment(), agent)?;
        let script = format!(
            "#!/bin/sh\npayload=$(cat)\ncase \"$payload\" in *'touch forbidden'*)\n  echo ran >> \"$HOME/runs\"\n  {answer}\nesac\n"
        );
        write(&bed.home().join("guard.sh"), script, 0o755);
        let file = bed.home().join(file);
        let mut settings: Value = match fs::read_to_string(&file) {
            Ok(text) => serde_json::from_str(&text).unwrap(),
            Err(_) => json!({}),
        };
        let command = bed.home().join("guard.sh").to_string_lossy().into_owned();
        let handler = json!({"type": "command", "command": command});
        if agent == Agent::Copilot {
            settings["version"] = 1.into();
            settings["hooks"][event] = json!([handler]);
        } else {
            settings["hooks"][event] = json!([{"hooks": [handler]}]);
        }
        write(&file, format!("{settings:#}\n"), 0o644);
        if agent == Agent::Codex {
            let config = bed.home().join(".codex/config.toml");
            let entries: Vec<(String, String)> = codex_trust::hashes(&file, &settings)
                .into_iter()
                .map(|(key, hash, _)| (key, hash))
                .collect();
            let text = fs::read_to_string(&config).ok();
            let text = codex_trust::trust(&config, text.as_deref(), &entries).unwrap();
            write(&config, text, 0o600);
        }
        Some(Self { bed, file })
    }

    /// Lets the agent try what the guard denies. Returns the run, and how often the guard ran.
    fn run(&self) -> (AgentRun, usize) {
        let ran = self.bed.run(
            "go on",
            [self.bed.shell_tool("touch forbidden"), ModelTurn::text("that was all")],
        );
        assert!(!self.bed.project().join("forbidden").exists(), "{ran:#?}");
        let runs = self.bed.home().join("runs");
        let count = fs::read_to_string(&runs).unwrap_or_default().lines().count();
        let _ = fs::remove_file(runs);
        (ran, count)
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.file).unwrap()
    }

    fn anyhook(&self, arguments: &[&str]) {
        let ran = self.bed.environment().run(arguments);
        assert_eq!(ran.code, 0, "{ran:?}");
    }
}

fn is_the_same(agent: Agent, file: &str, event: &str, answer: &str) {
    let Some(guard) = NativeGuard::set(agent, file, event, answer) else { return };
    let (native, count) = guard.run();
    assert!(native.told(1, REASON), "{native:#?}");
    assert_eq!(count, 1);
    // Some agents write their own settings when they first run.
    let before = guard.text();

    guard.anyhook(&["install", agent.name()]);
    let (both, count) = guard.run();
    assert!(both.told(1, REASON) && count == 1, "only the agent runs it: {both:#?}");
    guard.anyhook(&["import", agent.name(), "--park"]);
    assert!(!guard.text().contains("guard.sh"), "{}", guard.text());
    let (imported, count) = guard.run();
    assert!(imported.told(1, REASON), "{imported:#?}");
    assert_eq!(count, 1, "{imported:#?}");
    let journal = guard.bed.environment().journal();
    let denied = journal.iter().find(|record| record["verdict"]["decision"] == "deny");
    assert_eq!(denied.unwrap()["verdict"]["reason"], REASON);

    guard.anyhook(&["import", agent.name(), "--restore"]);
    guard.anyhook(&["uninstall", agent.name(), "--verify"]);
    assert_eq!(guard.text(), before, "to the byte");
    let (native, count) = guard.run();
    assert!(native.told(1, REASON) && count == 1, "{native:#?}");
}

const EXIT_2: &str = "echo 'a native guard says no' >&2; exit 2;;";

#[test]
fn claude_code() {
    is_the_same(Agent::ClaudeCode, ".claude/settings.json", "PreToolUse", EXIT_2);
}

#[test]
fn codex() {
    is_the_same(Agent::Codex, ".codex/hooks.json", "PreToolUse", EXIT_2);
}

#[test]
fn gemini_cli() {
    is_the_same(Agent::GeminiCli, ".gemini/settings.json", "BeforeTool", EXIT_2);
}

#[test]
fn qwen_code() {
    is_the_same(Agent::QwenCode, ".qwen/settings.json", "PreToolUse", EXIT_2);
}

/// In both dialects, and with what each of them reads.
#[test]
fn copilot() {
    let flat = r#"echo '{"permissionDecision": "deny", "permissionDecisionReason": "a native guard says no"}';;"#;
    is_the_same(Agent::Copilot, ".copilot/hooks/mine.json", "preToolUse", flat);
    let nested = r#"echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "a native guard says no"}}';;"#;
    is_the_same(Agent::Copilot, ".copilot/hooks/mine.json", "PreToolUse", nested);
}
