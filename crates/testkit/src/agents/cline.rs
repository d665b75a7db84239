//! Cline.

use std::path::Path;

use anyhook_hosts::HostSpec;
use anyhook_model::EventKind;
use serde_json::{Value, json};

use super::{AgentPackages, AgentProgram, AgentSandbox, McpServer, npm_architecture};
use crate::model_server::ModelTurn;
use crate::write;

pub(super) struct Cline;

impl AgentProgram for Cline {
    // The program alone, without the script that starts it.
    fn packages(&self, spec: &HostSpec) -> AgentPackages {
        let version = spec.tried_version().expect("an agent that is run has a version");
        AgentPackages::Npm(vec![format!("@cline/cli-linux-{}@{version}", npm_architecture())])
    }

    fn program(&self, folder: &Path) -> Vec<String> {
        let package = format!("@cline/cli-linux-{}", npm_architecture());
        let program = folder.join("node_modules").join(package).join("bin/cline");
        vec![program.to_string_lossy().into_owned()]
    }

    fn screen_mark(&self) -> &'static str {
        "What can I do for you?"
    }

    // An offer of its vendor would be in the way.
    fn prepare_screen(&self, bed: &AgentSandbox) {
        let notices = json!({"shown": {"cline-cli-cline-pass-intro": true}});
        let file = bed.home().join(".cline/data/settings/cli-notices.json");
        write(&file, notices.to_string(), 0o644);
    }

    fn read_tool(&self, path: &str) -> ModelTurn {
        ModelTurn::tool("read_files", json!({"files": [{"path": path}]}))
    }

    fn write_tool(&self, path: &str, content: &str) -> ModelTurn {
        ModelTurn::tool("editor", json!({"path": path, "new_text": content}))
    }

    fn edit_tool(&self, path: &str, old: &str, new: &str) -> ModelTurn {
        ModelTurn::tool("editor", json!({"path": path, "old_text": old, "new_text": new}))
    }

    fn patch_tool(&self, patch: &str) -> Option<ModelTurn> {
        Some(ModelTurn::tool("apply_patch", json!({"input": patch})))
    }

    // With a model of this name it offers `apply_patch` instead of `editor`.
    fn patching_model(&self) -> Option<&'static str> {
        Some("gpt-5-codex")
    }

    // A prompt on the command line is not told.
    fn untold(&self) -> &'static [EventKind] {
        &[EventKind::BeforeAgent]
    }

    fn ends_unanswered(&self) -> bool {
        true
    }

    fn add_mcp_server(&self, bed: &AgentSandbox, server: &McpServer) {
        let file = ".cline/data/settings/cline_mcp_settings.json";
        bed.add_json(file, server.settings(&json!({})));
    }

    fn mcp_tool(&self, server: &str, tool: &str, input: Value) -> Option<ModelTurn> {
        Some(ModelTurn::tool(format!("{server}__{tool}"), input))
    }

    fn subagent_tool(&self, prompt: &str) -> Option<ModelTurn> {
        let input = json!({"systemPrompt": "You do a part.", "task": prompt});
        Some(ModelTurn::tool("spawn_agent", input))
    }

    fn ends_on_denied_mcp(&self) -> bool {
        true
    }

    fn add_approving_hook(&self, bed: &AgentSandbox, made: &Path) {
        let program = bed.answering(made, &json!({"cancel": false}));
        bed.add_program(".cline/hooks/PreToolUse", &program);
    }
}
