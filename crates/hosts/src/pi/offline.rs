//! pi with a model at a local address: `OpenAI` Chat Completions.

use serde_json::{Value, json};

use crate::offline::{NO_KEY, Offline, OfflineFiles, OfflineRun, words};

/// Runs it offline.
pub(super) struct Run;

impl Offline for Run {
    fn files(&self, run: &OfflineRun) -> OfflineFiles {
        let model = json!({
            "id": model(run), "name": model(run), "contextWindow": 200_000, "maxTokens": 8000,
        });
        let provider = json!({
            "baseUrl": format!("{}/v1", run.model_url), "apiKey": NO_KEY,
            "api": "openai-completions", "models": [model],
        });
        let models = json!({"providers": {"scripted": provider}});
        vec![(run.home.join(".pi/agent/models.json"), format!("{models:#}\n"))]
    }

    fn variables(&self, _run: &OfflineRun) -> Vec<(&'static str, String)> {
        ["PI_OFFLINE", "PI_SKIP_VERSION_CHECK"]
            .map(|name| (name, "1".to_owned()))
            .into_iter()
            .chain([("PI_TELEMETRY", "0".to_owned())])
            .collect()
    }

    fn arguments(&self, run: &OfflineRun, prompt: &str) -> Vec<String> {
        words(["--model", &format!("scripted/{}", model(run)), "-p", prompt])
    }

    fn screen_arguments(&self, run: &OfflineRun) -> Option<Vec<String>> {
        Some(words(["--model", &format!("scripted/{}", model(run))]))
    }

    fn shell_call(&self, command: &str) -> (&'static str, Value) {
        ("bash", json!({"command": command}))
    }
}

fn model(run: &OfflineRun) -> &str {
    run.model.as_deref().unwrap_or("scripted-model")
}
