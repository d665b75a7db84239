//! Letta Code with a model at a local address: its local backend, and `OpenAI` Chat Completions as a
//! llama.cpp server speaks them.

use serde_json::{Value, json};

use super::FOLDER;
use crate::offline::{Offline, OfflineFiles, OfflineRun, words};

/// Runs it offline.
pub(super) struct Run;

impl Offline for Run {
    /// Returns the file that its command `connect llama-cpp` writes.
    fn files(&self, run: &OfflineRun) -> OfflineFiles {
        let since = "2026-01-01T00:00:00.000Z";
        let provider = json!({
            "id": "local-provider-lc-llama-cpp",
            "name": "lc-llama-cpp",
            "provider_type": "llama_cpp",
            "provider_category": "byok",
            "auth": {"type": "api", "key": "not-needed"},
            "base_url": format!("{}/v1", run.model_url),
            "created_at": since,
            "updated_at": since,
        });
        let providers = json!({"version": 1, "providers": {"lc-llama-cpp": provider}});
        let file = run.home.join(FOLDER).join("lc-local-backend/providers/auth.json");
        vec![(file, format!("{providers:#}\n"))]
    }

    fn variables(&self, _run: &OfflineRun) -> Vec<(&'static str, String)> {
        ["LETTA_CODE_TELEM=0", "DISABLE_AUTOUPDATER=1", "LETTA_SKIP_KEYCHAIN_CHECK=1"]
            .into_iter()
            .filter_map(|setting| setting.split_once('='))
            .map(|(name, value)| (name, value.to_owned()))
            .collect()
    }

    fn arguments(&self, _run: &OfflineRun, prompt: &str) -> Vec<String> {
        words(["--backend", "local", "--new-agent", "--yolo", "-p", prompt])
    }

    fn shell_call(&self, command: &str) -> (&'static str, Value) {
        ("Bash", json!({"command": command, "description": "run it"}))
    }
}
