//! Droid.

use std::path::Path;

use anyhook_hosts::HostSpec;
use anyhook_model::EventKind;
use serde_json::{Value, json};

use super::{
    AgentPackages, AgentProgram, AgentSandbox, McpServer, nested_approval, nested_hook,
    npm_architecture,
};
use crate::model_server::ModelTurn;

pub(super) struct Droid;

impl AgentProgram for Droid {
    // The program alone, without the script that starts it.
    fn packages(&self, spec: &HostSpec) -> AgentPackages {
        let version = spec.tried_version().expect("an agent that is run has a version");
        AgentPackages::Npm(vec![format!("@factory/cli-linux-{}@{version}", npm_architecture())])
    }

    fn program(&self, folder: &Path) -> Vec<String> {
        let package = format!("@factory/cli-linux-{}", npm_architecture());
        let program = folder.join("node_modules").join(package).join("bin/droid");
        vec![program.to_string_lossy().into_owned()]
    }

    fn read_tool(&self, path: &str) -> ModelTurn {
        ModelTurn::tool("Read", json!({"file_path": path}))
    }

    fn write_tool(&self, path: &str, content: &str) -> ModelTurn {
        ModelTurn::tool("Create", json!({"file_path": path, "content": content}))
    }

    fn edit_tool(&self, path: &str, old: &str, new: &str) -> ModelTurn {
        ModelTurn::tool("Edit", json!({"file_path": path, "old_str": old, "new_str": new}))
    }

    fn patch_tool(&self, patch: &str) -> Option<ModelTurn> {
        Some(ModelTurn::tool("ApplyPatch", json!({"input": patch})))
    }

    // With a model of this name it offers `ApplyPatch` instead of `Create` and `Edit`.
    fn patching_model(&self) -> Option<&'static str> {
        Some("gpt-5-codex")
    }

    // `droid exec` does not tell hooks of the prompt, and did not compact, whatever the model said.
    fn untold(&self) -> &'static [EventKind] {
        &[EventKind::BeforeAgent, EventKind::PreCompact]
    }

    fn tells_of_failed_commands(&self) -> bool {
        false
    }

    fn add_mcp_server(&self, bed: &AgentSandbox, server: &McpServer) {
        let more = json!({"type": "stdio", "disabled": false});
        bed.add_json(".factory/mcp.json", server.settings(&more));
    }

    fn mcp_tool(&self, server: &str, tool: &str, input: Value) -> Option<ModelTurn> {
        Some(ModelTurn::tool(format!("{server}___{tool}"), input))
    }

    fn subagent_tool(&self, prompt: &str) -> Option<ModelTurn> {
        let input = json!({"subagent_type": "worker", "description": "a part", "prompt": prompt});
        Some(ModelTurn::tool("Task", input))
    }

    fn offer_everything(&self, bed: &mut AgentSandbox) {
        bed.add_json(".factory/settings.json", json!({"compactionTokenLimit": 100_000}));
    }

    fn subagent_failure(&self) -> Option<&'static str> {
        Some("Could not reach the daemon")
    }

    fn add_approving_hook(&self, bed: &AgentSandbox, made: &Path) {
        let command = bed.answering(made, &nested_approval());
        bed.add_json(".factory/settings.json", nested_hook("PreToolUse", &command));
    }
}
