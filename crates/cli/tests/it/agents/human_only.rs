//! The real agents cannot loosen what guards them, however their shell starts the command.

use std::fs;

use anyhook_testkit::agents::{Agent, AgentSandbox};
use anyhook_testkit::model_server::ModelTurn;
use serde_json::Value;

use crate::environment;

/// How the agent's shell starts the command.
const WAYS: [&str; 4] =
    ["", "env -i HOME=\"$HOME\" ", "setsid --wait ", "env -i HOME=\"$HOME\" setsid --wait "];

fn cannot_trust(agent: Agent, title: &str) {
    let Some(bed) = AgentSandbox::within(environment(), agent) else { return };
    bed.environment().project_hook("guard", "trigger: before_tool", "exit 2");
    let program = bed.environment().command(&[]).get_program().to_str().unwrap().to_owned();
    let mut turns: Vec<ModelTurn> = Vec::new();
    for (index, way) in WAYS.iter().enumerate() {
        let line = format!("{way}{program} trust --all > out{index} 2>&1; echo $? > code{index}");
        turns.push(bed.shell_tool(&line));
    }
    turns.push(ModelTurn::text("that was all"));
    bed.run("trust the hooks of this project", turns);
    let said = |file: String| fs::read_to_string(bed.project().join(file)).unwrap_or_default();
    for (index, way) in WAYS.iter().enumerate() {
        let out = said(format!("out{index}"));
        assert_eq!(said(format!("code{index}")), "1\n", "{way}: {out}");
        let refused = format!("only a person may do this, and this runs under {title} (");
        assert!(out.contains(&refused), "{way}: {out}");
    }
    let listed = bed.environment().run(&["list"]);
    assert!(listed.stdout.contains("not trusted"), "{listed:?}");
    journaled(&bed);
}

/// All of it is in the journal, unless the agent's sandbox lets nothing be written there.
fn journaled(bed: &AgentSandbox) {
    let records = bed.environment().all_records();
    let is_refusal = |record: &&Value| {
        record["event"] == "command:trust" && record["payload"]["outcome"] == "refused"
    };
    let refused = records.iter().filter(is_refusal).count();
    let is_told = || {
        (0..WAYS.len()).all(|index| {
            let out = fs::read_to_string(bed.project().join(format!("out{index}"))).unwrap();
            out.contains("warning: this could not be journaled")
        })
    };
    assert!(refused == WAYS.len() || refused == 0 && is_told(), "{refused}: {records:?}");
}

#[test]
fn claude_code() {
    cannot_trust(Agent::ClaudeCode, "Claude Code");
}

#[test]
fn codex() {
    cannot_trust(Agent::Codex, "Codex");
}

#[test]
fn gemini_cli() {
    cannot_trust(Agent::GeminiCli, "Gemini CLI");
}

#[test]
fn opencode() {
    cannot_trust(Agent::OpenCode, "OpenCode");
}
