//! `OpenCode`.

use std::path::Path;

use serde_json::{Value, json};

use super::{AgentProgram, AgentSandbox, McpServer, npm_architecture};
use crate::model_server::ModelTurn;

pub(super) struct OpenCode;

impl AgentProgram for OpenCode {
    fn program(&self, folder: &Path) -> Vec<String> {
        let package = format!("opencode-linux-{}", npm_architecture());
        let program = folder.join("node_modules").join(package).join("bin/opencode");
        vec![program.to_string_lossy().into_owned()]
    }

    fn screen_mark(&self) -> &'static str {
        "ctrl+p commands"
    }

    fn read_tool(&self, path: &str) -> ModelTurn {
        ModelTurn::tool("read", json!({"filePath": path}))
    }

    fn write_tool(&self, path: &str, content: &str) -> ModelTurn {
        ModelTurn::tool("write", json!({"filePath": path, "content": content}))
    }

    fn edit_tool(&self, path: &str, old: &str, new: &str) -> ModelTurn {
        ModelTurn::tool("edit", json!({"filePath": path, "oldString": old, "newString": new}))
    }

    fn patch_tool(&self, patch: &str) -> Option<ModelTurn> {
        Some(ModelTurn::tool("apply_patch", json!({"patchText": patch})))
    }

    // With a model of this name it offers `apply_patch` instead of `write` and `edit`.
    fn patching_model(&self) -> Option<&'static str> {
        Some("gpt-5")
    }

    fn add_mcp_server(&self, bed: &AgentSandbox, server: &McpServer) {
        bed.add_json(".config/opencode/opencode.json", mcp_settings(server));
    }

    fn mcp_tool(&self, server: &str, tool: &str, input: Value) -> Option<ModelTurn> {
        Some(ModelTurn::tool(format!("{server}_{tool}"), input))
    }

    fn subagent_tool(&self, prompt: &str) -> Option<ModelTurn> {
        let input = json!({"description": "a part", "prompt": prompt, "subagent_type": "general"});
        Some(ModelTurn::tool("task", input))
    }

    fn add_approving_hook(&self, bed: &AgentSandbox, made: &Path) {
        bed.add_text(".config/opencode/plugins/mine.js", &approving_plugin(made));
    }
}

/// Returns settings with an MCP server.
pub(super) fn mcp_settings(server: &McpServer) -> Value {
    let command: Vec<&String> = [&server.program].into_iter().chain(&server.arguments).collect();
    json!({"mcp": {server.name: {"type": "local", "command": command, "enabled": true}}})
}

/// Returns a plugin that approves every call, and makes a file.
pub(super) fn approving_plugin(made: &Path) -> String {
    format!(
        "import {{ writeFileSync }} from \"node:fs\";\n\
         export const Mine = async () => ({{\n\
         \x20 \"tool.execute.before\": async () => writeFileSync({:?}, \"\"),\n\
         \x20 \"permission.ask\": async (_, output) => {{ output.status = \"allow\"; }},\n\
         }});\n",
        made.to_string_lossy()
    )
}
