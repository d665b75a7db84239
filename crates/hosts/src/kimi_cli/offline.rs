//! Kimi CLI with a model at a local address: `OpenAI` Chat Completions, configured in its settings.

use serde_json::{Value, json};

use super::FOLDER;
use crate::offline::{NO_KEY, Offline, OfflineFiles, OfflineRun, words};

/// Runs it offline.
pub(super) struct Run;

impl Offline for Run {
    fn files(&self, run: &OfflineRun) -> OfflineFiles {
        let model = run.model.as_deref().unwrap_or("scripted-model");
        let settings = format!(
            "default_model = \"scripted\"\n\
             telemetry = false\n\n\
             [models.scripted]\n\
             provider = \"scripted\"\n\
             model = \"{model}\"\n\
             max_context_size = 200000\n\n\
             [providers.scripted]\n\
             type = \"openai_legacy\"\n\
             base_url = \"{}/v1\"\n\
             api_key = \"{NO_KEY}\"\n",
            run.model_url
        );
        vec![(run.home.join(FOLDER).join("config.toml"), settings)]
    }

    fn variables(&self, _run: &OfflineRun) -> Vec<(&'static str, String)> {
        vec![
            ("KIMI_CLI_NO_AUTO_UPDATE", "1".to_owned()),
            ("KIMI_DISABLE_TELEMETRY", "1".to_owned()),
        ]
    }

    fn arguments(&self, _run: &OfflineRun, prompt: &str) -> Vec<String> {
        words(["--print", "--prompt", prompt])
    }

    fn shell_call(&self, command: &str) -> (&'static str, Value) {
        ("Shell", json!({"command": command}))
    }
}
