//! Gemini CLI.

use std::path::Path;

use anyhook_model::EventKind;
use serde_json::{Value, json};

use super::{AgentProgram, AgentSandbox, McpServer, nested_hook, node_script};
use crate::model_server::ModelTurn;

pub(super) struct GeminiCli;

impl AgentProgram for GeminiCli {
    fn program(&self, folder: &Path) -> Vec<String> {
        node_script(folder, "@google/gemini-cli/bundle/gemini.js")
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
        let instruction = "replace it";
        ModelTurn::tool(
            "replace",
            json!({
                "file_path": path, "instruction": instruction, "old_string": old, "new_string": new,
            }),
        )
    }

    // It is only a compaction if a person asks for one; otherwise it checks whether to compact.
    fn untold(&self) -> &'static [EventKind] {
        &[EventKind::PreCompact]
    }

    fn ends_on_ask(&self) -> bool {
        true
    }

    fn add_mcp_server(&self, bed: &AgentSandbox, server: &McpServer) {
        bed.add_json(".gemini/settings.json", server.settings(&json!({"trust": true})));
    }

    fn mcp_tool(&self, server: &str, tool: &str, input: Value) -> Option<ModelTurn> {
        Some(ModelTurn::tool(format!("mcp_{server}_{tool}"), input))
    }

    fn subagent_tool(&self, prompt: &str) -> Option<ModelTurn> {
        let input = json!({"agent_name": "generalist", "prompt": prompt});
        Some(ModelTurn::tool("invoke_agent", input))
    }

    fn subagent_result(&self, text: &str) -> ModelTurn {
        ModelTurn::tool("complete_task", json!({"result": {"response": text}}))
    }

    // Half of what its model takes.
    fn tokens_to_compact(&self) -> u32 {
        900_000
    }

    fn add_approving_hook(&self, bed: &AgentSandbox, made: &Path) {
        let command = bed.answering(made, &json!({"decision": "allow"}));
        bed.add_json(".gemini/settings.json", nested_hook("BeforeTool", &command));
    }
}
