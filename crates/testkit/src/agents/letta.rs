//! Letta Code.

use std::path::Path;

use anyhook_model::EventKind;
use serde_json::json;

use super::install::Runtime;
use super::{AgentProgram, AgentSandbox, nested_approval, nested_hook, runtime_script};
use crate::model_server::ModelTurn;

pub(super) struct Letta;

const RUNTIME: Runtime = Runtime::Node24;

impl AgentProgram for Letta {
    fn runtime(&self) -> Option<Runtime> {
        Some(RUNTIME)
    }

    fn program(&self, folder: &Path) -> Vec<String> {
        runtime_script(RUNTIME, folder, "@letta-ai/letta-code/letta.js")
    }

    fn read_tool(&self, path: &str) -> ModelTurn {
        ModelTurn::tool("Read", json!({"file_path": path}))
    }

    fn write_tool(&self, path: &str, content: &str) -> ModelTurn {
        ModelTurn::tool("Write", json!({"file_path": path, "content": content}))
    }

    fn edit_tool(&self, path: &str, old: &str, new: &str) -> ModelTurn {
        let input = json!({"file_path": path, "old_string": old, "new_string": new});
        ModelTurn::tool("Edit", input)
    }

    // Without a screen it tells of tool calls and subagents only, and does not compact.
    fn untold(&self) -> &'static [EventKind] {
        &[
            EventKind::SessionStart,
            EventKind::SessionEnd,
            EventKind::BeforeAgent,
            EventKind::AfterAgent,
            EventKind::BeforeStop,
            EventKind::AfterStop,
            EventKind::PreCompact,
        ]
    }

    fn subagent_tool(&self, prompt: &str) -> Option<ModelTurn> {
        let input = json!({"subagent_type": "general-purpose", "description": "a part",
            "prompt": prompt});
        Some(ModelTurn::tool("Agent", input))
    }

    // It knows no approval: a hook that does not deny lets the call run.
    fn add_approving_hook(&self, bed: &AgentSandbox, made: &Path) {
        let command = bed.answering(made, &nested_approval());
        let mut hooks = nested_hook("PreToolUse", &command);
        hooks["hooks"]["PreToolUse"][0]["matcher"] = "*".into();
        bed.add_json(".letta/settings.json", hooks);
    }
}
