//! Kilo, which has the tools of `OpenCode`.

use std::path::Path;

use anyhook_hosts::HostSpec;

use super::opencode::{self, OpenCode};
use serde_json::Value;

use super::{AgentPackages, AgentProgram, AgentSandbox, McpServer, npm_architecture};
use crate::model_server::ModelTurn;

pub(super) struct Kilo;

impl AgentProgram for Kilo {
    // The package that people install holds a launcher, and an install script that fetches this one.
    fn packages(&self, spec: &HostSpec) -> AgentPackages {
        let version = spec.tried_version().expect("an agent that is run has a version");
        AgentPackages::Npm(vec![format!("{}@{version}", package())])
    }

    fn program(&self, folder: &Path) -> Vec<String> {
        let program = folder.join("node_modules").join(package()).join("bin/kilo");
        vec![program.to_string_lossy().into_owned()]
    }

    fn read_tool(&self, path: &str) -> ModelTurn {
        OpenCode.read_tool(path)
    }

    fn write_tool(&self, path: &str, content: &str) -> ModelTurn {
        OpenCode.write_tool(path, content)
    }

    fn edit_tool(&self, path: &str, old: &str, new: &str) -> ModelTurn {
        OpenCode.edit_tool(path, old, new)
    }

    fn patch_tool(&self, patch: &str) -> Option<ModelTurn> {
        OpenCode.patch_tool(patch)
    }

    fn patching_model(&self) -> Option<&'static str> {
        OpenCode.patching_model()
    }

    // `kilo run` ends before a hook has answered.
    fn can_be_held(&self) -> bool {
        false
    }

    fn asks_again_at_stop(&self) -> bool {
        false
    }

    fn add_mcp_server(&self, bed: &AgentSandbox, server: &McpServer) {
        bed.add_json(".config/kilo/kilo.json", opencode::mcp_settings(server));
    }

    fn mcp_tool(&self, server: &str, tool: &str, input: Value) -> Option<ModelTurn> {
        OpenCode.mcp_tool(server, tool, input)
    }

    fn subagent_tool(&self, prompt: &str) -> Option<ModelTurn> {
        OpenCode.subagent_tool(prompt)
    }

    fn add_approving_hook(&self, bed: &AgentSandbox, made: &Path) {
        bed.add_text(".config/kilo/plugin/mine.js", &opencode::approving_plugin(made));
    }
}

fn package() -> String {
    format!("@kilocode/cli-linux-{}", npm_architecture())
}
