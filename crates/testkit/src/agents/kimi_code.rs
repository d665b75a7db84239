//! Kimi Code.

use std::path::Path;

use anyhook_model::EventKind;
use serde_json::{Value, json};

use super::install::Runtime;
use super::{AgentProgram, AgentSandbox, McpServer, nested_approval, runtime_script};
use crate::model_server::ModelTurn;

pub(super) struct KimiCode;

impl AgentProgram for KimiCode {
    fn runtime(&self) -> Option<Runtime> {
        Some(Runtime::Node24)
    }

    fn program(&self, folder: &Path) -> Vec<String> {
        runtime_script(Runtime::Node24, folder, "@moonshot-ai/kimi-code/dist/main.mjs")
    }

    fn read_tool(&self, path: &str) -> ModelTurn {
        ModelTurn::tool("Read", json!({"path": path}))
    }

    fn write_tool(&self, path: &str, content: &str) -> ModelTurn {
        ModelTurn::tool("Write", json!({"path": path, "content": content}))
    }

    fn edit_tool(&self, path: &str, old: &str, new: &str) -> ModelTurn {
        ModelTurn::tool("Edit", json!({"path": path, "old_string": old, "new_string": new}))
    }

    fn untold(&self) -> &'static [EventKind] {
        &[EventKind::SessionEnd]
    }

    fn asks_again_at_stop(&self) -> bool {
        false
    }

    fn reports_denied_as_failed(&self) -> bool {
        true
    }

    fn add_mcp_server(&self, bed: &AgentSandbox, server: &McpServer) {
        bed.add_json(".kimi-code/mcp.json", server.settings(&json!({})));
    }

    fn mcp_tool(&self, server: &str, tool: &str, input: Value) -> Option<ModelTurn> {
        Some(ModelTurn::tool(format!("mcp__{server}__{tool}"), input))
    }

    fn subagent_tool(&self, prompt: &str) -> Option<ModelTurn> {
        let input = json!({"description": "a part", "prompt": prompt, "subagent_type": "coder"});
        Some(ModelTurn::tool("Agent", input))
    }

    // A shorter one is sent back.
    fn subagent_result(&self, text: &str) -> ModelTurn {
        ModelTurn::text(format!("{text}: {}", "this is what was done. ".repeat(20)))
    }

    fn add_approving_hook(&self, bed: &AgentSandbox, made: &Path) {
        let command = bed.answering(made, &nested_approval());
        bed.add_text(".kimi-code/config.toml", &hook(&command));
    }
}

/// Returns settings with a hook before every tool.
pub(super) fn hook(command: &str) -> String {
    format!("\n[[hooks]]\nevent = \"PreToolUse\"\ncommand = {command:?}\n")
}
