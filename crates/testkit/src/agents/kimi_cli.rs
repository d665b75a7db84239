//! Kimi CLI.

use std::path::Path;

use anyhook_hosts::HostSpec;
use serde_json::{Value, json};

use super::kimi_code::{self, KimiCode};
use super::{AgentPackages, AgentProgram, AgentSandbox, McpServer, nested_approval};
use crate::model_server::ModelTurn;

pub(super) struct KimiCli;

impl AgentProgram for KimiCli {
    fn packages(&self, spec: &HostSpec) -> AgentPackages {
        match AgentPackages::of(spec) {
            // It does not start with early releases of Python 3.12.
            AgentPackages::PyPi { packages, .. } => AgentPackages::PyPi { packages, python: 13 },
            npm @ AgentPackages::Npm(_) => npm,
        }
    }

    fn program(&self, folder: &Path) -> Vec<String> {
        vec![folder.join("bin/kimi-cli").to_string_lossy().into_owned()]
    }

    fn read_tool(&self, path: &str) -> ModelTurn {
        ModelTurn::tool("ReadFile", json!({"path": path}))
    }

    fn write_tool(&self, path: &str, content: &str) -> ModelTurn {
        ModelTurn::tool("WriteFile", json!({"path": path, "content": content}))
    }

    fn edit_tool(&self, path: &str, old: &str, new: &str) -> ModelTurn {
        ModelTurn::tool("StrReplaceFile", json!({"path": path, "edit": {"old": old, "new": new}}))
    }

    fn asks_again_at_stop(&self) -> bool {
        false
    }

    fn add_mcp_server(&self, bed: &AgentSandbox, server: &McpServer) {
        bed.add_json(".kimi/mcp.json", server.settings(&json!({})));
    }

    fn mcp_tool(&self, _server: &str, tool: &str, input: Value) -> Option<ModelTurn> {
        Some(ModelTurn::tool(tool, input))
    }

    fn subagent_tool(&self, prompt: &str) -> Option<ModelTurn> {
        KimiCode.subagent_tool(prompt)
    }

    fn subagent_result(&self, text: &str) -> ModelTurn {
        KimiCode.subagent_result(text)
    }

    fn add_approving_hook(&self, bed: &AgentSandbox, made: &Path) {
        let command = bed.answering(made, &nested_approval());
        bed.add_text(".kimi/config.toml", &kimi_code::hook(&command));
    }
}
