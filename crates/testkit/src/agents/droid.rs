//! Droid.

use std::path::Path;

use anyhook_hosts::HostSpec;
use anyhook_model::EventKind;
use serde_json::json;

use super::{AgentPackages, AgentProgram, npm_architecture};
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

    // `droid exec` does not tell hooks of the prompt.
    fn untold(&self) -> &'static [EventKind] {
        &[EventKind::BeforeAgent]
    }

    fn tells_of_failed_commands(&self) -> bool {
        false
    }
}
