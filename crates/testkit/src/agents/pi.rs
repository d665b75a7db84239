//! pi.

use std::path::Path;

use anyhook_hosts::HostSpec;
use serde_json::{Value, json};

use super::install::Runtime;
use super::{AgentPackages, AgentProgram, AgentSandbox, McpServer, runtime_script};
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

    fn add_mcp_server(&self, bed: &AgentSandbox, server: &McpServer) {
        bed.add_json(".pi/agent/mcp.json", server.settings(&json!({"exposure": "direct"})));
    }

    fn mcp_tool(&self, server: &str, tool: &str, input: Value) -> Option<ModelTurn> {
        Some(ModelTurn::tool(format!("mcp__{server}__{tool}"), input))
    }

    fn script_tool(&self, command: &str) -> Option<ModelTurn> {
        let code = format!("return await tools.bash({{command: {command:?}}});");
        Some(ModelTurn::tool("codemode", json!({"code": code})))
    }

    fn offer_everything(&self, bed: &mut AgentSandbox) {
        let compaction = json!({"keepRecentTokens": 10});
        let settings = json!({"defaultTools": ["+codemode"], "compaction": compaction});
        bed.add_json(".pi/agent/settings.json", settings);
    }

    fn tokens_to_compact(&self) -> u32 {
        195_000
    }

    fn add_approving_hook(&self, bed: &AgentSandbox, made: &Path) {
        bed.add_text(".pi/agent/extensions/mine.js", &approving_extension(made));
    }
}

/// Returns an extension that blocks no call, and makes a file.
pub(super) fn approving_extension(made: &Path) -> String {
    format!(
        "import {{ writeFileSync }} from \"node:fs\";\n\
         export default function (pi) {{\n\
         \x20 pi.on(\"tool_call\", async () => {{\n\
         \x20   writeFileSync({:?}, \"\");\n\
         \x20   return {{ block: false }};\n\
         \x20 }});\n}}\n",
        made.to_string_lossy()
    )
}
