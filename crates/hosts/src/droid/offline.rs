//! Droid with a model at a local address: a custom model that speaks `OpenAI` Chat Completions, and
//! a key that is never checked.

use serde_json::{Value, json};

use super::FOLDER;
use crate::offline::{NO_KEY, Offline, OfflineFiles, OfflineRun, words};

/// Runs it offline.
pub(super) struct Run;

/// The models that its settings list in any case: with a name as the second one has, Droid offers
/// other tools.
const MODELS: [&str; 2] = ["scripted-model", "gpt-5-codex"];

/// Returns the name of the run's model.
fn model(run: &OfflineRun) -> &str {
    run.model.as_deref().unwrap_or(MODELS[0])
}

/// Returns how settings and arguments name a custom model.
fn id(model: &str) -> String {
    format!("custom:{model}")
}

impl Offline for Run {
    fn files(&self, run: &OfflineRun) -> OfflineFiles {
        let mut names = MODELS.to_vec();
        names.extend(Some(model(run)).filter(|name| !MODELS.contains(name)));
        let custom = |(index, name): (usize, &&str)| {
            json!({
                "model": name,
                "id": id(name),
                "index": index,
                "displayName": name,
                "baseUrl": format!("{}/v1", run.model_url),
                "apiKey": NO_KEY,
                "provider": "generic-chat-completion-api",
                "maxOutputTokens": 8000,
            })
        };
        let settings = json!({
            "customModels": names.iter().enumerate().map(custom).collect::<Vec<Value>>(),
            "cloudSessionSync": false,
            "enableDroidShield": false,
            "model": id(model(run)),
        });
        vec![(run.home.join(FOLDER).join("settings.json"), format!("{settings:#}\n"))]
    }

    fn variables(&self, _run: &OfflineRun) -> Vec<(&'static str, String)> {
        [
            "FACTORY_API_KEY=fk-none",
            "FACTORY_DROID_AUTO_UPDATE_ENABLED=false",
            "DROID_DISABLE_AUTO_UPDATE=1",
        ]
        .into_iter()
        .filter_map(|setting| setting.split_once('='))
        .map(|(name, value)| (name, value.to_owned()))
        .collect()
    }

    fn arguments(&self, run: &OfflineRun, prompt: &str) -> Vec<String> {
        words(["exec", "--model", &id(model(run)), "--auto", "high", prompt])
    }

    fn shell_call(&self, command: &str) -> (&'static str, Value) {
        let input = json!({
            "command": command,
            "summary": "Run the given command",
            "riskLevel": "low",
            "riskLevelReason": "It is harmless.",
        });
        ("Execute", input)
    }
}
