//! `OpenCode`: `OpenAI` Chat Completions; settings in `~/.config/opencode`, left to the test.
//!
//! With a model named like `gpt-5` it offers `apply_patch` instead of `write` and `edit`.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::namespace::MODEL_PORT;
use super::{AgentProgram, AgentSandbox, npm_architecture};
use crate::model_server::ModelTurn;
use crate::write;

pub(super) struct OpenCode;

impl AgentProgram for OpenCode {
    fn write_config(&self, bed: &AgentSandbox) {
        write(&models(bed), "{}", 0o644);
    }

    fn prepare(&self, bed: &AgentSandbox) {
        let user = bed.home().join(".config/opencode");
        settle(&user);
        for folder in [bed.home().join(".opencode"), bed.project().join(".opencode")] {
            if folder.exists() {
                settle(&folder);
            }
        }
    }

    fn variables(&self, bed: &AgentSandbox) -> Vec<(&'static str, String)> {
        vec![
            ("OPENCODE_CONFIG_CONTENT", settings(bed)),
            ("OPENCODE_DISABLE_AUTOUPDATE", "1".to_owned()),
            ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1".to_owned()),
            ("OPENCODE_DISABLE_MODELS_FETCH", "1".to_owned()),
            // Its own list of all models takes it two seconds to read.
            ("OPENCODE_MODELS_PATH", models(bed).to_string_lossy().into_owned()),
        ]
    }

    fn command(&self, folder: &Path, _bed: &AgentSandbox, prompt: &str) -> Vec<String> {
        [&*program(folder), "run", prompt].map(str::to_owned).to_vec()
    }

    fn screen_command(&self, folder: &Path, _bed: &AgentSandbox) -> Option<Vec<String>> {
        Some(vec![program(folder)])
    }

    fn screen_mark(&self) -> &'static str {
        "ctrl+p commands"
    }

    fn shell_tool(&self, command: &str) -> ModelTurn {
        ModelTurn::tool("bash", json!({"command": command, "description": "run it"}))
    }

    fn read_tool(&self, path: &str) -> ModelTurn {
        ModelTurn::tool("read", json!({"filePath": path}))
    }

    fn write_tool(&self, path: &str, content: &str) -> ModelTurn {
        ModelTurn::tool("write", json!({"filePath": path, "content": content}))
    }

    fn edit_tool(&self, path: &str, old: &str, new: &str) -> ModelTurn {
        ModelTurn::tool("edit", json!({"filePath": path, "oldString": old, "newString": new}))
    }

    fn patch_tool(&self, patch: &str) -> Option<ModelTurn> {
        Some(ModelTurn::tool("apply_patch", json!({"patchText": patch})))
    }
}

fn program(folder: &Path) -> String {
    let package = format!("opencode-linux-{}", npm_architecture());
    folder.join("node_modules").join(package).join("bin/opencode").to_string_lossy().into_owned()
}

fn models(bed: &AgentSandbox) -> PathBuf {
    bed.environment().root().join("models.json")
}

/// Makes a settings folder look as if the package for plugins was installed there.
///
/// Without it, plugins wait more than a minute for a download that cannot work here.
fn settle(folder: &Path) {
    let dependencies = json!({"dependencies": {"@opencode-ai/plugin": "*"}});
    let lock = json!({"lockfileVersion": 3, "packages": {"": dependencies}});
    for (name, content) in [("package.json", &dependencies), ("package-lock.json", &lock)] {
        if !folder.join(name).exists() {
            write(&folder.join(name), content.to_string(), 0o644);
        }
    }
    std::fs::create_dir_all(folder.join("node_modules")).unwrap();
}

fn settings(bed: &AgentSandbox) -> String {
    let model = bed.model_or("scripted-model");
    let name = format!("scripted/{model}");
    let limit = json!({"context": 100_000, "output": 8000});
    json!({
        "model": name, "small_model": name, "enabled_providers": ["scripted"],
        "autoupdate": false, "share": "disabled", "permission": {"*": "allow"},
        "provider": {"scripted": {
            "npm": "@ai-sdk/openai-compatible", "name": "Scripted",
            "options": {"baseURL": format!("http://127.0.0.1:{MODEL_PORT}/v1"), "apiKey": "none"},
            "models": {model: {"name": model, "tool_call": true, "limit": limit}},
        }},
    })
    .to_string()
}
