//! Claude Code.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{
    AgentProgram, AgentSandbox, McpServer, nested_approval, nested_hook, npm_architecture,
};
use crate::model_server::ModelTurn;
use crate::write;

pub(super) struct ClaudeCode;

impl AgentProgram for ClaudeCode {
    fn program(&self, folder: &Path) -> Vec<String> {
        // The package's own launcher is installed by an install script, which we do not run.
        let package = format!("@anthropic-ai/claude-code-linux-{}", npm_architecture());
        let program = folder.join("node_modules").join(package).join("claude");
        vec![program.to_string_lossy().into_owned()]
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
        let key = bed.variable("ANTHROPIC_API_KEY").unwrap();
        known["hasCompletedOnboarding"] = true.into();
        known["lastOnboardingVersion"] = bed.agent().version().into();
        known["theme"] = "dark".into();
        known["numStartups"] = 5.into();
        known["customApiKeyResponses"] = json!({"approved": [key], "rejected": []});
        let project = bed.project();
        known["projects"][&*project.to_string_lossy()] = json!({
            "hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true,
            "allowedTools": [],
        });
        write(&file, known.to_string(), 0o600);
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

    fn add_mcp_server(&self, bed: &AgentSandbox, server: &McpServer) {
        bed.add_json(".claude.json", server.settings(&json!({"type": "stdio"})));
    }

    fn mcp_tool(&self, server: &str, tool: &str, input: Value) -> Option<ModelTurn> {
        Some(ModelTurn::tool(format!("mcp__{server}__{tool}"), input))
    }

    fn subagent_tool(&self, prompt: &str) -> Option<ModelTurn> {
        let input = json!({"description": "a part", "prompt": prompt,
            "subagent_type": "general-purpose", "run_in_background": false});
        Some(ModelTurn::tool("Agent", input))
    }

    fn add_approving_hook(&self, bed: &AgentSandbox, made: &Path) {
        let command = bed.answering(made, &nested_approval());
        bed.add_json(".claude/settings.json", nested_hook("PreToolUse", &command));
    }
}
