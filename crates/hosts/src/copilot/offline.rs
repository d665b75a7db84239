//! Copilot CLI with a model at a local address: `OpenAI` Chat Completions; its settings stay
//! untouched.
//!
//! With a model named like `gpt-5-codex` it offers `apply_patch` instead of `create` and `edit`, as a
//! tool that takes free text, for which it uses `OpenAI` Responses.

use serde_json::{Value, json};

use crate::offline::{NO_KEY, Offline, OfflineRun, words};

/// Runs it offline.
pub(super) struct Run;

impl Offline for Run {
    fn variables(&self, run: &OfflineRun) -> Vec<(&'static str, String)> {
        let model = run.model.as_deref().unwrap_or("scripted-model");
        let mut variables = vec![
            ("COPILOT_OFFLINE", "true".to_owned()),
            ("COPILOT_AUTO_UPDATE", "false".to_owned()),
            ("COPILOT_PROVIDER_TYPE", "openai".to_owned()),
            ("COPILOT_PROVIDER_BASE_URL", format!("{}/v1", run.model_url)),
            ("COPILOT_PROVIDER_API_KEY", NO_KEY.to_owned()),
            ("COPILOT_MODEL", model.to_owned()),
        ];
        if model.contains("codex") {
            variables.push(("COPILOT_PROVIDER_WIRE_API", "responses".to_owned()));
        }
        variables
    }

    fn arguments(&self, _run: &OfflineRun, prompt: &str) -> Vec<String> {
        words([
            "--no-auto-update",
            "--disable-client-telemetry",
            "--allow-all-tools",
            "--allow-all-paths",
            "-p",
            prompt,
        ])
    }

    fn shell_call(&self, command: &str) -> (&'static str, Value) {
        ("bash", json!({"command": command, "description": "run it"}))
    }
}
