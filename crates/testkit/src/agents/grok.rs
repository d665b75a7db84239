//! Grok Build.

use std::path::Path;

use serde_json::json;

use super::install::Unpacked;
use super::{AgentProgram, npm_architecture};
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
}
