//! Hermes Agent with a model at a local address: `OpenAI` Chat Completions, configured in its
//! settings.

use serde_json::{Value, json};

use super::FOLDER;
use crate::offline::{NO_KEY, Offline, OfflineFiles, OfflineRun, words};

/// Runs it offline.
pub(super) struct Run;

/// The tools it offers: without those that look for a browser or for a microphone when it starts.
const TOOLSETS: &str =
    "terminal,file,code_execution,delegation,todo,memory,session_search,skills,clarify,cronjob";

impl Offline for Run {
    fn files(&self, run: &OfflineRun) -> OfflineFiles {
        let settings = format!(
            "model:\n\
             \x20 default: {}\n\
             \x20 provider: custom\n\
             \x20 base_url: {}/v1\n\
             \x20 api_key: {NO_KEY}\n\
             \x20 context_length: 200000\n\
             lsp:\n\
             \x20 enabled: false\n\
             security:\n\
             \x20 tirith_enabled: false\n\
             # Its own request to verify what it has done would come first.\n\
             agent:\n\
             \x20 verify_on_stop: false\n\
             # It reviews its work by itself later.\n\
             memory:\n\
             \x20 nudge_interval: 0\n\
             skills:\n\
             \x20 creation_nudge_interval: 0\n\
             # Seconds that it waits for a person, who is not there.\n\
             approvals:\n\
             \x20 mode: manual\n\
             \x20 timeout: 1\n",
            run.model.as_deref().unwrap_or("scripted-model"),
            run.model_url
        );
        vec![(run.home.join(FOLDER).join("config.yaml"), settings)]
    }

    fn variables(&self, _run: &OfflineRun) -> Vec<(&'static str, String)> {
        vec![("OPENAI_API_KEY", NO_KEY.to_owned())]
    }

    fn arguments(&self, _run: &OfflineRun, prompt: &str) -> Vec<String> {
        words(["chat", "-Q", "-t", TOOLSETS, "-q", prompt])
    }

    fn shell_call(&self, command: &str) -> (&'static str, Value) {
        ("terminal", json!({"command": command}))
    }
}
