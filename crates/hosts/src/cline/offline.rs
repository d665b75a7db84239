//! Cline with a model at a local address: `OpenAI` Chat Completions, in the file that its command
//! `auth` writes.

use serde_json::{Value, json};

use super::{FOLDER, prompt};
use crate::offline::{NO_KEY, Offline, OfflineFiles, OfflineRun, words};

/// Runs it offline.
pub(super) struct Run;

/// The provider, as Cline names it.
const PROVIDER: &str = "openai-compatible";

impl Offline for Run {
    fn files(&self, run: &OfflineRun) -> OfflineFiles {
        let settings = json!({
            "provider": PROVIDER,
            "apiKey": NO_KEY,
            "model": model(run),
            "baseUrl": format!("{}/v1", run.model_url),
        });
        let provider = json!({
            "settings": settings,
            "updatedAt": "2026-01-01T00:00:00.000Z",
            "tokenSource": "manual",
        });
        let providers = json!({
            "version": 1,
            "lastUsedProvider": PROVIDER,
            "modes": {},
            "providers": {PROVIDER: provider},
        });
        let file = run.home.join(FOLDER).join("data/settings/providers.json");
        vec![(file, format!("{providers:#}\n"))]
    }

    fn variables(&self, _run: &OfflineRun) -> Vec<(&'static str, String)> {
        ["CLINE_NO_AUTO_UPDATE", "CLINE_TELEMETRY_DISABLED"]
            .map(|name| (name, "1".to_owned()))
            .to_vec()
    }

    fn arguments(&self, run: &OfflineRun, text: &str) -> Vec<String> {
        vec!["--model".to_owned(), model(run).to_owned(), prompt(text)]
    }

    fn screen_arguments(&self, run: &OfflineRun) -> Option<Vec<String>> {
        Some(words(["--tui", "--model", model(run)]))
    }

    fn shell_call(&self, command: &str) -> (&'static str, Value) {
        ("run_commands", json!({"commands": [command]}))
    }
}

fn model(run: &OfflineRun) -> &str {
    run.model.as_deref().unwrap_or("scripted-model")
}
