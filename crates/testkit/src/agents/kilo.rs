//! Kilo, which has the tools of `OpenCode`.

use std::path::Path;

use anyhook_hosts::HostSpec;

use super::opencode::OpenCode;
use super::{AgentPackages, AgentProgram, npm_architecture};
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
}

fn package() -> String {
    format!("@kilocode/cli-linux-{}", npm_architecture())
}
