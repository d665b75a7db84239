//! Qwen Code with a model at a local address: `OpenAI` Chat Completions.

use serde_json::{Value, json};

use crate::offline::{NO_KEY, Offline, OfflineFiles, OfflineRun, words};

/// Runs it offline.
pub(super) struct Run;

impl Offline for Run {
    fn files(&self, run: &OfflineRun) -> OfflineFiles {
        let settings = json!({
            "general": {"enableAutoUpdate": false},
            "privacy": {"usageStatisticsEnabled": false},
            "security": {"auth": {"selectedType": "openai"}},
            "telemetry": {"enabled": false},
        });
        vec![(run.home.join(".qwen/settings.json"), format!("{settings:#}\n"))]
    }

    fn variables(&self, run: &OfflineRun) -> Vec<(&'static str, String)> {
        vec![
            ("OPENAI_API_KEY", NO_KEY.to_owned()),
            ("OPENAI_BASE_URL", format!("{}/v1", run.model_url)),
            ("OPENAI_MODEL", run.model.as_deref().unwrap_or("scripted-model").to_owned()),
            // Otherwise it would restart itself with more memory.
            ("QWEN_CODE_NO_RELAUNCH", "true".to_owned()),
        ]
    }

    fn arguments(&self, _run: &OfflineRun, prompt: &str) -> Vec<String> {
        words(["--approval-mode", "yolo", "--prompt", prompt])
    }

    fn screen_arguments(&self, _run: &OfflineRun) -> Option<Vec<String>> {
        Some(words(["--approval-mode", "default"]))
    }

    fn shell_call(&self, command: &str) -> (&'static str, Value) {
        let input = json!({"command": command, "description": "run it", "is_background": false});
        ("run_shell_command", input)
    }
}
