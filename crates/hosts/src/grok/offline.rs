//! Grok with a model at a local address: `OpenAI` Chat Completions, configured in its settings.

use serde_json::{Value, json};

use crate::offline::{NO_KEY, Offline, OfflineFiles, OfflineRun, words};

/// Runs it offline.
pub(super) struct Run;

impl Offline for Run {
    fn files(&self, run: &OfflineRun) -> OfflineFiles {
        vec![(run.home.join(".grok/config.toml"), settings(run))]
    }

    fn variables(&self, _run: &OfflineRun) -> Vec<(&'static str, String)> {
        let off = ["GROK_TURN_SUMMARY", "GROK_TITLE_REFRESH"].map(|name| (name, "0".to_owned()));
        [("GROK_DISABLE_AUTOUPDATER", "1".to_owned())].into_iter().chain(off).collect()
    }

    fn arguments(&self, _run: &OfflineRun, prompt: &str) -> Vec<String> {
        words(["--single", prompt, "--model", "scripted", "--always-approve"])
    }

    fn shell_call(&self, command: &str) -> (&'static str, Value) {
        ("run_terminal_command", json!({"command": command, "description": "run it"}))
    }
}

fn settings(run: &OfflineRun) -> String {
    let model = run.model.as_deref().unwrap_or("scripted-model");
    format!(
        "[models]\ndefault = \"scripted\"\n\n\
         [model.scripted]\nmodel = \"{model}\"\nname = \"Scripted\"\nbase_url = \"{}/v1\"\n\
         api_key = \"{NO_KEY}\"\napi_backend = \"chat_completions\"\ncontext_window = 100000\n",
        run.model_url
    )
}
