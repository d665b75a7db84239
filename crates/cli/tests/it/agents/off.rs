//! A project's settings switch hooks off: the agent does not call us, and `doctor` says so.
//!
//! What an agent does is asserted, so that we notice when it changes.

use std::fs;

use anyhook_testkit::agents::{Agent, AgentSandbox};
use anyhook_testkit::model_server::ModelTurn;
use anyhook_testkit::write;
use serde_json::Value;

use crate::environment;

/// Makes a bed where the agent calls us, and a hook denies a command; none if it cannot be run here.
fn wired(agent: Agent) -> Option<AgentSandbox> {
    let bed = AgentSandbox::within(environment(), agent)?;
    let matter = "trigger: before_tool\nmatcher: {tool: Shell, pattern: '^touch forbidden'}";
    bed.environment().user_hook("no-danger", matter, "echo no >&2\nexit 2");
    let installed = bed.environment().run(&["install", agent.name()]);
    assert_eq!(installed.code, 0, "{installed:?}");
    Some(bed)
}

/// Runs a command that a hook denies, in a project with a settings file, and returns whether it ran
/// and what `doctor` says does not call us.
fn run_with(bed: &AgentSandbox, file: &str, text: &str) -> (bool, Vec<String>) {
    let path = bed.project().join(file);
    write(&path, text, 0o644);
    let before = bed.environment().journal().len();
    bed.run("go on", [bed.shell_tool("touch forbidden"), ModelTurn::text("that was all")]);
    let ran = fs::remove_file(bed.project().join("forbidden")).is_ok();
    let events = bed.environment().journal().len() - before;
    assert_eq!(events == 0, ran, "{file}: it is called at every event, or at none");
    let report = bed.environment().run(&["doctor", "--json"]).json();
    let findings = report["findings"].as_array().unwrap();
    let said = |finding: &Value| {
        let message = finding["message"].as_str().unwrap();
        let is_off = finding["about"] == bed.agent().name() && finding["severity"] == "bad";
        is_off.then(|| message.strip_prefix("does not call anyhook: ").map(str::to_owned)).flatten()
    };
    let told = findings.iter().filter_map(said).collect();
    fs::remove_file(path).unwrap();
    (ran, told)
}

fn project_switches_off(agent: Agent, files: &[(&str, &str, &str)]) {
    let Some(bed) = wired(agent) else { return };
    for (file, text, setting) in files {
        let (ran, told) = run_with(&bed, file, text);
        assert!(ran, "{file}: the agent calls us although {setting}: say so in the docs");
        let place = bed.project().join(file);
        assert_eq!(told, [format!("{setting} in {} disables anyhook's hooks", place.display())]);
    }
}

#[test]
fn claude_code() {
    let text = "{\"disableAllHooks\": true}";
    project_switches_off(
        Agent::ClaudeCode,
        &[
            (".claude/settings.json", text, "disableAllHooks"),
            (".claude/settings.local.json", text, "disableAllHooks"),
        ],
    );
}

#[test]
fn codex() {
    project_switches_off(
        Agent::Codex,
        &[(".codex/config.toml", "[features]\nhooks = false\n", "[features] hooks = false")],
    );
}

#[test]
fn gemini_cli() {
    let text = "{\"hooksConfig\": {\"enabled\": false}}";
    project_switches_off(
        Agent::GeminiCli,
        &[(".gemini/settings.json", text, "hooksConfig.enabled = false")],
    );
}

/// A project's settings have nothing by which OpenCode leaves out the user's plugins.
#[test]
fn opencode() {
    let Some(bed) = wired(Agent::OpenCode) else { return };
    let (ran, told) = run_with(&bed, "opencode.json", "{\"plugin\": []}");
    assert!(!ran && told.is_empty(), "{told:?}");
}
