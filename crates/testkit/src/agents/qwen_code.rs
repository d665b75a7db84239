//! Qwen Code.

use std::path::Path;

use anyhook_model::EventKind;
use serde_json::{Value, json};

use super::install::Runtime;
use super::{AgentProgram, AgentSandbox, McpServer, nested_approval, nested_hook, runtime_script};
use crate::model_server::ModelTurn;

pub(super) struct QwenCode;

impl AgentProgram for QwenCode {
    fn runtime(&self) -> Option<Runtime> {
        Some(Runtime::Node24)
    }

    fn program(&self, folder: &Path) -> Vec<String> {
        runtime_script(Runtime::Node24, folder, "@qwen-code/qwen-code/cli.js")
    }

    fn screen_mark(&self) -> &'static str {
        "Type your message"
    }

    fn read_tool(&self, path: &str) -> ModelTurn {
        ModelTurn::tool("read_file", json!({"file_path": path}))
    }

    fn write_tool(&self, path: &str, content: &str) -> ModelTurn {
        ModelTurn::tool("write_file", json!({"file_path": path, "content": content}))
    }

    fn edit_tool(&self, path: &str, old: &str, new: &str) -> ModelTurn {
        let input = json!({"file_path": path, "old_string": old, "new_string": new});
        ModelTurn::tool("edit", input)
    }

    fn untold(&self) -> &'static [EventKind] {
        // It keeps a conversation that a scripted summary does not make shorter.
        &[EventKind::SessionEnd, EventKind::PostCompact]
    }

    fn add_mcp_server(&self, bed: &AgentSandbox, server: &McpServer) {
        bed.add_json(".qwen/settings.json", server.settings(&json!({"trust": true})));
    }

    fn mcp_tool(&self, server: &str, tool: &str, input: Value) -> Option<ModelTurn> {
        Some(ModelTurn::tool(format!("mcp__{server}__{tool}"), input))
    }

    fn subagent_tool(&self, prompt: &str) -> Option<ModelTurn> {
        let input = json!({"description": "a part", "prompt": prompt,
            "subagent_type": "general-purpose", "run_in_background": false});
        Some(ModelTurn::tool("agent", input))
    }

    // Above that it refuses to go on.
    fn tokens_to_compact(&self) -> u32 {
        170_000
    }

    fn add_approving_hook(&self, bed: &AgentSandbox, made: &Path) {
        let command = bed.answering(made, &nested_approval());
        bed.add_json(".qwen/settings.json", nested_hook("PreToolUse", &command));
    }
}
