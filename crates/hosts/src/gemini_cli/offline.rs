//! Gemini CLI with a model at a local address.
//!
//! Only in the user's settings can it be configured to talk to another model with a key, as
//! system-wide settings must not be below a folder like `/tmp`.

use serde_json::{Value, json};

use crate::offline::{NO_KEY, Offline, OfflineFiles, OfflineRun, words};

/// Runs it offline.
pub(super) struct Run;

impl Offline for Run {
    fn files(&self, run: &OfflineRun) -> OfflineFiles {
        let settings = json!({
            "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
            "ide": {"enabled": false},
            "privacy": {"usageStatisticsEnabled": false},
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            // Otherwise it would be downloaded.
            "tools": {"useRipgrep": false},
        });
        vec![(run.home.join(".gemini/settings.json"), format!("{settings:#}\n"))]
    }

    fn variables(&self, run: &OfflineRun) -> Vec<(&'static str, String)> {
        let mut variables = vec![
            ("GEMINI_API_KEY", NO_KEY.to_owned()),
            ("GOOGLE_GEMINI_BASE_URL", run.model_url.clone()),
        ];
        if !run.is_first_use {
            variables.push(("GEMINI_CLI_TRUST_WORKSPACE", "true".to_owned()));
            // Otherwise it would restart itself with more memory.
            variables.push(("GEMINI_CLI_NO_RELAUNCH", "true".to_owned()));
        }
        variables
    }

    fn arguments(&self, run: &OfflineRun, prompt: &str) -> Vec<String> {
        let model = model(run);
        words(["--model", model, "--prompt", prompt, "--approval-mode", "yolo"])
    }

    fn screen_arguments(&self, run: &OfflineRun) -> Option<Vec<String>> {
        Some(words(["--model", model(run)]))
    }

    fn shell_call(&self, command: &str) -> (&'static str, Value) {
        ("run_shell_command", json!({"command": command, "description": "run it"}))
    }
}

fn model(run: &OfflineRun) -> &str {
    run.model.as_deref().unwrap_or("gemini-2.5-flash")
}
