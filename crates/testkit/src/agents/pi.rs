//! pi.

use std::path::Path;

use anyhook_hosts::HostSpec;
use serde_json::json;

use super::install::Runtime;
use super::{AgentPackages, AgentProgram, runtime_script};
use crate::model_server::ModelTurn;
use crate::npm::NpmInstall;

pub(super) struct Pi;

const PACKAGE: &str = "@earendil-works/pi-coding-agent";

impl AgentProgram for Pi {
    // Its script is bundled with most of what the package declares to need, of which some versions
    // are not in every registry: these are what the bundle loads from elsewhere.
    fn packages(&self, _spec: &HostSpec) -> AgentPackages {
        let needed = ["jiti@2.7.0", "typebox@1.3.27", "quickjs-wasi@3.6.2"];
        AgentPackages::Npm(needed.map(str::to_owned).to_vec())
    }

    fn npm_install(&self, spec: &HostSpec) -> NpmInstall {
        let version = spec.tried_version().expect("an agent that is run has a version");
        NpmInstall { bundle: Some(format!("{PACKAGE}@{version}")), ..NpmInstall::default() }
    }

    fn runtime(&self) -> Option<Runtime> {
        Some(Runtime::Node24)
    }

    fn program(&self, folder: &Path) -> Vec<String> {
        runtime_script(Runtime::Node24, folder, &format!("{PACKAGE}/dist/bundle/cli.js"))
    }

    fn read_tool(&self, path: &str) -> ModelTurn {
        ModelTurn::tool("read", json!({"path": path}))
    }

    fn write_tool(&self, path: &str, content: &str) -> ModelTurn {
        ModelTurn::tool("write", json!({"path": path, "content": content}))
    }

    fn edit_tool(&self, path: &str, old: &str, new: &str) -> ModelTurn {
        let edits = json!([{"oldText": old, "newText": new}]);
        ModelTurn::tool("edit", json!({"path": path, "edits": edits}))
    }
}
