//! Hermes Agent.

use std::path::Path;

use anyhook_hosts::HostSpec;
use serde_json::json;

use super::{AgentPackages, AgentProgram};
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
}
