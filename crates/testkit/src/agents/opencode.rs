//! `OpenCode`.

use std::path::Path;

use serde_json::json;

use super::{AgentProgram, npm_architecture};
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
}
