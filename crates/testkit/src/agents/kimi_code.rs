//! Kimi Code.

use std::path::Path;

use anyhook_model::EventKind;
use serde_json::json;

use super::install::Runtime;
use super::{AgentProgram, runtime_script};
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
}
