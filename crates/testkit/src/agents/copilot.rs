//! Copilot CLI.

use std::path::Path;

use serde_json::{Value, json};

use super::{AgentProgram, AgentSandbox, McpServer, npm_architecture};
use crate::model_server::ModelTurn;

pub(super) struct Copilot;

impl AgentProgram for Copilot {
    fn program(&self, folder: &Path) -> Vec<String> {
        let package = format!("@github/copilot-linux-{}", npm_architecture());
        let program = folder.join("node_modules").join(package).join("copilot");
        vec![program.to_string_lossy().into_owned()]
    }

    fn variables(&self, folder: &Path) -> Vec<(&'static str, String)> {
        // Where it unpacks itself, 240 MB: not once for every test.
        vec![("XDG_CACHE_HOME", folder.join("cache").to_string_lossy().into_owned())]
    }

    fn read_tool(&self, path: &str) -> ModelTurn {
        ModelTurn::tool("view", json!({"path": path}))
    }

    fn write_tool(&self, path: &str, content: &str) -> ModelTurn {
        ModelTurn::tool("create", json!({"path": path, "file_text": content}))
    }

    fn edit_tool(&self, path: &str, old: &str, new: &str) -> ModelTurn {
        ModelTurn::tool("edit", json!({"path": path, "old_str": old, "new_str": new}))
    }

    fn patch_tool(&self, patch: &str) -> Option<ModelTurn> {
        Some(ModelTurn::tool("apply_patch", json!(patch)))
    }

    // With a model of this name it offers `apply_patch` instead of `create` and `edit`.
    fn patching_model(&self) -> Option<&'static str> {
        Some("gpt-5-codex")
    }

    fn add_mcp_server(&self, bed: &AgentSandbox, server: &McpServer) {
        let more = json!({"type": "local", "tools": ["*"]});
        bed.add_json(".copilot/mcp-config.json", server.settings(&more));
    }

    fn mcp_tool(&self, server: &str, tool: &str, input: Value) -> Option<ModelTurn> {
        Some(ModelTurn::tool(format!("{server}-{tool}"), input))
    }

    fn subagent_tool(&self, prompt: &str) -> Option<ModelTurn> {
        let input = json!({"name": "part", "description": "a part", "prompt": prompt,
            "agent_type": "task"});
        Some(ModelTurn::tool("task", input))
    }

    fn add_approving_hook(&self, bed: &AgentSandbox, made: &Path) {
        let command = bed.answering(made, &json!({"permissionDecision": "allow"}));
        let handler = json!({"type": "command", "command": command});
        let hooks = json!({"version": 1, "hooks": {"preToolUse": [handler]}});
        bed.add_json(".copilot/hooks/mine.json", hooks);
    }
}
