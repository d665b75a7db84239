//! Qwen Code.

use std::path::Path;

use anyhook_model::EventKind;
use serde_json::json;

use super::install::Runtime;
use super::{AgentProgram, runtime_script};
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
        &[EventKind::SessionEnd]
    }
}
