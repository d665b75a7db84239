//! Hermes Agent.

use std::path::Path;

use anyhook_hosts::HostSpec;
use serde_json::{Value, json};

use super::{AgentPackages, AgentProgram, AgentSandbox, McpServer};
use crate::model_server::ModelTurn;

pub(super) struct Hermes;

impl AgentProgram for Hermes {
    fn packages(&self, spec: &HostSpec) -> AgentPackages {
        let version = spec.tried_version().expect("an agent that is run has a version");
        // It speaks to MCP servers only with what this extra needs.
        AgentPackages::PyPi { packages: vec![format!("hermes-agent[mcp]=={version}")], python: 11 }
    }

    fn program(&self, folder: &Path) -> Vec<String> {
        vec![folder.join("bin/hermes").to_string_lossy().into_owned()]
    }

    fn read_tool(&self, path: &str) -> ModelTurn {
        ModelTurn::tool("read_file", json!({"path": path}))
    }

    fn write_tool(&self, path: &str, content: &str) -> ModelTurn {
        ModelTurn::tool("write_file", json!({"path": path, "content": content}))
    }

    fn edit_tool(&self, path: &str, old: &str, new: &str) -> ModelTurn {
        let input = json!({"mode": "replace", "path": path, "old_string": old, "new_string": new});
        ModelTurn::tool("patch", input)
    }

    fn patch_tool(&self, patch: &str) -> Option<ModelTurn> {
        Some(ModelTurn::tool("patch", json!({"mode": "patch", "patch": patch})))
    }

    // What it should run in the background has a tool of its own.
    fn refuses_command(&self, command: &str) -> bool {
        command.starts_with("setsid ")
    }

    fn is_held_after_edits_only(&self) -> bool {
        true
    }

    // The tools of a server are not among those that it offers otherwise.
    fn offer_everything(&self, bed: &mut AgentSandbox) {
        for word in ["-t", "terminal,file,code_execution,delegation,notes"] {
            bed.add_argument(word);
        }
    }

    fn add_mcp_server(&self, bed: &AgentSandbox, server: &McpServer) {
        let mut entry = server.settings(&json!({}));
        // JSON is YAML, too.
        let text = format!("mcp_servers: {}\n", entry["mcpServers"].take());
        bed.add_text(".hermes/config.yaml", &text);
    }

    fn mcp_tool(&self, server: &str, tool: &str, input: Value) -> Option<ModelTurn> {
        Some(ModelTurn::tool(format!("mcp__{server}__{tool}"), input))
    }

    fn subagent_tool(&self, prompt: &str) -> Option<ModelTurn> {
        let input = json!({"goal": prompt, "context": "none"});
        Some(ModelTurn::tool("delegate_task", input))
    }

    fn script_tool(&self, command: &str) -> Option<ModelTurn> {
        let code = format!("from hermes_tools import terminal\nprint(terminal({command:?}))\n");
        Some(ModelTurn::tool("execute_code", json!({"code": code})))
    }

    fn add_approving_hook(&self, bed: &AgentSandbox, made: &Path) {
        let command = bed.answering(made, &json!({"decision": "allow"}));
        let hooks = json!({"pre_tool_call": [{"command": command}]});
        bed.add_text(".hermes/config.yaml", &format!("hooks: {hooks}\nhooks_auto_accept: true\n"));
    }
}
