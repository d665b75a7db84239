//! Gemini CLI: settings in `~/.gemini/settings.json`.
//!
//! They cannot be left to the test: only there can it be configured to talk to another model with a
//! key, as system-wide settings must not be below a folder like `/tmp`. Tests add theirs to that
//! file.

use std::path::Path;

use serde_json::json;

use super::namespace::MODEL_PORT;
use super::{AgentProgram, AgentSandbox};
use crate::model_server::ModelTurn;
use crate::write;

pub(super) struct GeminiCli;

impl AgentProgram for GeminiCli {
    fn write_config(&self, bed: &AgentSandbox) {
        let settings = json!({
            "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
            "ide": {"enabled": false},
            "privacy": {"usageStatisticsEnabled": false},
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            // Otherwise it would be downloaded.
            "tools": {"useRipgrep": false},
        });
        let file = bed.home().join(".gemini/settings.json");
        write(&file, format!("{settings:#}\n"), 0o644);
    }

    fn variables(&self, bed: &AgentSandbox) -> Vec<(&'static str, String)> {
        let mut variables = vec![
            ("GEMINI_API_KEY", "none".to_owned()),
            ("GOOGLE_GEMINI_BASE_URL", format!("http://127.0.0.1:{MODEL_PORT}")),
        ];
        if !bed.is_first_day() {
            variables.push(("GEMINI_CLI_TRUST_WORKSPACE", "true".to_owned()));
            // Otherwise it would restart itself with more memory.
            variables.push(("GEMINI_CLI_NO_RELAUNCH", "true".to_owned()));
        }
        variables
    }

    fn command(&self, folder: &Path, bed: &AgentSandbox, prompt: &str) -> Vec<String> {
        let mut command = command(folder, bed);
        command.extend(["--prompt", prompt, "--approval-mode", "yolo"].map(str::to_owned));
        command
    }

    fn screen_command(&self, folder: &Path, bed: &AgentSandbox) -> Option<Vec<String>> {
        Some(command(folder, bed))
    }

    fn screen_mark(&self) -> &'static str {
        "Type your message"
    }

    fn shell_tool(&self, command: &str) -> ModelTurn {
        ModelTurn::tool("run_shell_command", json!({"command": command, "description": "run it"}))
    }

    fn read_tool(&self, path: &str) -> ModelTurn {
        ModelTurn::tool("read_file", json!({"file_path": path}))
    }

    fn write_tool(&self, path: &str, content: &str) -> ModelTurn {
        ModelTurn::tool("write_file", json!({"file_path": path, "content": content}))
    }

    fn edit_tool(&self, path: &str, old: &str, new: &str) -> ModelTurn {
        let instruction = "replace it";
        ModelTurn::tool(
            "replace",
            json!({
                "file_path": path, "instruction": instruction, "old_string": old, "new_string": new,
            }),
        )
    }

    fn patch_tool(&self, _patch: &str) -> Option<ModelTurn> {
        None
    }
}

fn command(folder: &Path, bed: &AgentSandbox) -> Vec<String> {
    let program = folder.join("node_modules/@google/gemini-cli/bundle/gemini.js");
    let model = bed.model_or("gemini-2.5-flash");
    ["node", &*program.to_string_lossy(), "--model", model].map(str::to_owned).to_vec()
}
