//! oh-my-pi.

use std::path::Path;

use anyhook_hosts::HostSpec;
use serde_json::{Value, json};

use super::install::Runtime;
use super::pi;
use super::{
    AgentPackages, AgentProgram, AgentSandbox, McpServer, npm_architecture, runtime_script,
};
use crate::model_server::ModelTurn;
use crate::npm::NpmInstall;

pub(super) struct OhMyPi;

impl AgentProgram for OhMyPi {
    fn packages(&self, spec: &HostSpec) -> AgentPackages {
        let version = spec.tried_version().expect("an agent that is run has a version");
        let natives = format!("@oh-my-pi/pi-natives-linux-{}", npm_architecture());
        let packages = ["@oh-my-pi/pi-coding-agent", &natives];
        AgentPackages::Npm(packages.map(|package| format!("{package}@{version}")).to_vec())
    }

    // Its optional packages are models for speech and search.
    fn npm_install(&self, _spec: &HostSpec) -> NpmInstall {
        NpmInstall { options: &["--omit=optional"], ..NpmInstall::default() }
    }

    fn runtime(&self) -> Option<Runtime> {
        Some(Runtime::Bun)
    }

    fn program(&self, folder: &Path) -> Vec<String> {
        runtime_script(Runtime::Bun, folder, "@oh-my-pi/pi-coding-agent/dist/cli.js")
    }

    fn read_tool(&self, path: &str) -> ModelTurn {
        ModelTurn::tool("read", json!({"path": path, "i": "read it"}))
    }

    fn write_tool(&self, path: &str, content: &str) -> ModelTurn {
        ModelTurn::tool("write", json!({"path": path, "content": content, "i": "write it"}))
    }

    // It takes a patch in a format of its own, which names a line and a tag of what was read.
    fn edit_tool(&self, path: &str, _old: &str, new: &str) -> ModelTurn {
        let text = format!("[{path}#0000]\nPUT 1.=1:\n+{new}\n");
        ModelTurn::tool("edit", json!({"input": text, "i": "edit it"}))
    }

    fn caches_mcp_tools(&self) -> bool {
        true
    }

    fn add_mcp_server(&self, bed: &AgentSandbox, server: &McpServer) {
        bed.add_json(".omp/agent/mcp.json", server.settings(&json!({})));
    }

    fn mcp_tool(&self, server: &str, tool: &str, input: Value) -> Option<ModelTurn> {
        Some(ModelTurn::tool(format!("mcp__{server}_{tool}"), input))
    }

    fn subagent_tool(&self, prompt: &str) -> Option<ModelTurn> {
        let task = json!({"name": "Part", "agent": "task", "task": prompt});
        Some(ModelTurn::tool("task", json!({"context": "none", "tasks": [task], "i": "a part"})))
    }

    fn subagent_result(&self, text: &str) -> ModelTurn {
        ModelTurn::tool("yield", json!({"result": {"data": text}, "i": "the end"}))
    }

    fn add_approving_hook(&self, bed: &AgentSandbox, made: &Path) {
        bed.add_text(".omp/agent/extensions/mine.js", &pi::approving_extension(made));
    }
}
