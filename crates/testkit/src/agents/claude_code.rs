//! Claude Code: Anthropic Messages; settings in `~/.claude`, which are left to the test.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::namespace::MODEL_PORT;
use super::{AgentProgram, AgentSandbox, npm_architecture};
use crate::model_server::ModelTurn;
use crate::write;

const KEY: &str = "none";

pub(super) struct ClaudeCode;

impl AgentProgram for ClaudeCode {
    fn variables(&self, bed: &AgentSandbox) -> Vec<(&'static str, String)> {
        vec![
            ("ANTHROPIC_API_KEY", KEY.to_owned()),
            ("ANTHROPIC_BASE_URL", format!("http://127.0.0.1:{MODEL_PORT}")),
            ("ANTHROPIC_MODEL", bed.model_or("claude-opus-5-5").to_owned()),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
            // Root may skip the permission prompts only in a sandbox, which this is.
            ("IS_SANDBOX", "1".to_owned()),
        ]
    }

    fn command(&self, folder: &Path, _bed: &AgentSandbox, prompt: &str) -> Vec<String> {
        [&*program(folder), "-p", prompt, "--dangerously-skip-permissions"]
            .map(str::to_owned)
            .to_vec()
    }

    fn screen_command(&self, folder: &Path, _bed: &AgentSandbox) -> Option<Vec<String>> {
        // Without it, the agent would decide by itself what to ask about.
        Some([&*program(folder), "--permission-mode", "default"].map(str::to_owned).to_vec())
    }

    fn screen_mark(&self) -> &'static str {
        "❯"
    }

    /// Adds to `~/.claude.json` what a user has answered before; a test may have put more there.
    fn prepare_screen(&self, bed: &AgentSandbox) {
        let file = bed.home().join(".claude.json");
        let mut known: Value = match fs::read(&file) {
            Ok(text) => serde_json::from_slice(&text).unwrap(),
            Err(_) => json!({}),
        };
        known["hasCompletedOnboarding"] = true.into();
        known["lastOnboardingVersion"] = bed.agent().package().1.into();
        known["theme"] = "dark".into();
        known["numStartups"] = 5.into();
        known["customApiKeyResponses"] = json!({"approved": [KEY], "rejected": []});
        let project = bed.project();
        known["projects"][&*project.to_string_lossy()] = json!({
            "hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true,
            "allowedTools": [],
        });
        write(&file, known.to_string(), 0o600);
    }

    fn shell_tool(&self, command: &str) -> ModelTurn {
        ModelTurn::tool("Bash", json!({"command": command, "description": "run it"}))
    }

    fn read_tool(&self, path: &str) -> ModelTurn {
        ModelTurn::tool("Read", json!({"file_path": path}))
    }

    fn write_tool(&self, path: &str, content: &str) -> ModelTurn {
        ModelTurn::tool("Write", json!({"file_path": path, "content": content}))
    }

    fn edit_tool(&self, path: &str, old: &str, new: &str) -> ModelTurn {
        ModelTurn::tool("Edit", json!({"file_path": path, "old_string": old, "new_string": new}))
    }

    fn patch_tool(&self, _patch: &str) -> Option<ModelTurn> {
        None
    }
}

fn program(folder: &Path) -> String {
    // The package's own launcher is installed by an install script, which we do not run.
    let package = format!("@anthropic-ai/claude-code-linux-{}", npm_architecture());
    folder.join("node_modules").join(package).join("claude").to_string_lossy().into_owned()
}
