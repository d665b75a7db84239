//! Grok Build.

use std::path::Path;

use serde_json::{Value, json};

use super::install::Unpacked;
use super::{AgentProgram, AgentSandbox, McpServer, nested_hook, npm_architecture};
use crate::model_server::ModelTurn;

pub(super) struct Grok;

impl AgentProgram for Grok {
    fn unpacked(&self) -> Option<Unpacked> {
        // An install script would do it, and we run none.
        let package = format!("@xai-official/grok-linux-{}", npm_architecture());
        Some(Unpacked { packed: format!("{package}/bin/grok.br"), program: "bin/grok" })
    }

    fn program(&self, folder: &Path) -> Vec<String> {
        vec![folder.join("bin/grok").to_string_lossy().into_owned()]
    }

    fn read_tool(&self, path: &str) -> ModelTurn {
        ModelTurn::tool("read_file", json!({"target_file": path}))
    }

    fn write_tool(&self, path: &str, content: &str) -> ModelTurn {
        ModelTurn::tool("write", json!({"file_path": path, "content": content}))
    }

    fn edit_tool(&self, path: &str, old: &str, new: &str) -> ModelTurn {
        let input = json!({"file_path": path, "old_string": old, "new_string": new});
        ModelTurn::tool("search_replace", input)
    }

    fn add_mcp_server(&self, bed: &AgentSandbox, server: &McpServer) {
        bed.add_text(".grok/config.toml", &server.toml());
    }

    fn mcp_tool(&self, server: &str, tool: &str, input: Value) -> Option<ModelTurn> {
        let input = json!({"tool_name": format!("{server}__{tool}"), "tool_input": input});
        Some(ModelTurn::tool("use_tool", input))
    }

    fn subagent_tool(&self, prompt: &str) -> Option<ModelTurn> {
        let input = json!({"prompt": prompt, "description": "a part"});
        Some(ModelTurn::tool("spawn_subagent", input))
    }

    fn summary_request(&self) -> Option<&'static str> {
        Some("produce a faithful, concise summary")
    }

    fn add_approving_hook(&self, bed: &AgentSandbox, made: &Path) {
        let command = bed.answering(made, &json!({"decision": "allow"}));
        bed.add_json(".grok/hooks/mine.json", nested_hook("PreToolUse", &command));
    }
}
