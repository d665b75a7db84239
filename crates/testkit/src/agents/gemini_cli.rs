//! Gemini CLI.

use std::path::Path;

use serde_json::json;

use super::{AgentProgram, node_script};
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

    fn ends_on_ask(&self) -> bool {
        true
    }
}
