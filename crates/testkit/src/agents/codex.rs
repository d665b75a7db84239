//! Codex: `OpenAI` Responses; settings in `~/.codex`, which are left to the test.
//!
//! Its hooks run only if they are trusted. A test that does not care about that adds the argument
//! `--dangerously-bypass-hook-trust`.

use std::path::Path;

use serde_json::json;

use super::namespace::MODEL_PORT;
use super::{AgentProgram, AgentSandbox, npm_architecture};
use crate::model_server::ModelTurn;

pub(super) struct Codex;

impl AgentProgram for Codex {
    fn variables(&self, _bed: &AgentSandbox) -> Vec<(&'static str, String)> {
        vec![("SCRIPTED_MODEL_KEY", "none".to_owned())]
    }

    fn command(&self, folder: &Path, bed: &AgentSandbox, prompt: &str) -> Vec<String> {
        let what = ["exec", prompt, "--dangerously-bypass-approvals-and-sandbox"];
        [program(folder)].into_iter().chain(what.map(str::to_owned)).chain(options(bed)).collect()
    }

    fn screen_command(&self, folder: &Path, bed: &AgentSandbox) -> Option<Vec<String>> {
        Some([program(folder)].into_iter().chain(options(bed)).collect())
    }

    fn screen_mark(&self) -> &'static str {
        "›"
    }

    fn shell_tool(&self, command: &str) -> ModelTurn {
        ModelTurn::tool("exec_command", json!({"cmd": command}))
    }

    fn read_tool(&self, path: &str) -> ModelTurn {
        // Codex has no tool for it.
        self.shell_tool(&format!("cat '{path}'"))
    }

    fn write_tool(&self, path: &str, content: &str) -> ModelTurn {
        patch_file(&format!("Add File: {path}"), &marked(content, "+"))
    }

    fn edit_tool(&self, path: &str, old: &str, new: &str) -> ModelTurn {
        let change = format!("@@\n{}{}", marked(old, "-"), marked(new, "+"));
        patch_file(&format!("Update File: {path}"), &change)
    }

    fn patch_tool(&self, text: &str) -> Option<ModelTurn> {
        Some(patch(text))
    }
}

fn marked(lines: &str, mark: &str) -> String {
    lines.lines().flat_map(|line| [mark, line, "\n"]).collect()
}

fn patch_file(what: &str, change: &str) -> ModelTurn {
    patch(&format!("*** Begin Patch\n*** {what}\n{change}*** End Patch\n"))
}

fn patch(text: &str) -> ModelTurn {
    ModelTurn::tool("apply_patch", json!(text))
}

fn program(folder: &Path) -> String {
    let package = format!("@openai/codex-linux-{}", npm_architecture());
    let triple = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    let vendor = folder.join("node_modules").join(package).join("vendor");
    vendor.join(triple).join("bin/codex").to_string_lossy().into_owned()
}

fn options(bed: &AgentSandbox) -> impl Iterator<Item = String> {
    settings(bed).into_iter().flat_map(|setting| ["--config".to_owned(), setting])
}

/// Returns the settings that the agent needs to talk to the scripted model, and nothing else,
/// without notices.
fn settings(bed: &AgentSandbox) -> Vec<String> {
    let model = bed.model_or("gpt-5.5");
    let provider = format!(
        "{{ name = 'scripted', base_url = 'http://127.0.0.1:{MODEL_PORT}/v1', \
         wire_api = 'responses', env_key = 'SCRIPTED_MODEL_KEY', request_max_retries = 0, \
         stream_max_retries = 0, supports_websockets = false }}"
    );
    let mut settings = vec![
        format!("model='{model}'"),
        "model_provider='scripted'".to_owned(),
        format!("model_providers.scripted={provider}"),
        "model_context_window=100000".to_owned(),
        "check_for_update_on_startup=false".to_owned(),
        "analytics.enabled=false".to_owned(),
        "features.enable_request_compression=false".to_owned(),
        "features.apps=false".to_owned(),
        "features.plugins=false".to_owned(),
    ];
    if !bed.is_first_day() {
        let project = bed.project();
        let trusted = format!("{{ '{}' = {{ trust_level = 'trusted' }} }}", project.display());
        settings.push(format!("projects={trusted}"));
        // Otherwise it would offer a newer one.
        settings.push(format!("notice.model_migrations={{ '{model}' = 'gpt-6-sol' }}"));
    }
    settings
}
