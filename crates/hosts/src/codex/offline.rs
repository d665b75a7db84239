//! Codex with a model at a local address: `OpenAI` Responses, configured on the command line; its
//! settings stay untouched.

use serde_json::{Value, json};

use crate::offline::{NO_KEY, Offline, OfflineRun};

/// Runs it offline.
pub(super) struct Run;

impl Offline for Run {
    fn variables(&self, _run: &OfflineRun) -> Vec<(&'static str, String)> {
        vec![("SCRIPTED_MODEL_KEY", NO_KEY.to_owned())]
    }

    fn arguments(&self, run: &OfflineRun, prompt: &str) -> Vec<String> {
        let what = ["exec", prompt, "--dangerously-bypass-approvals-and-sandbox"];
        what.map(str::to_owned).into_iter().chain(options(run)).collect()
    }

    fn screen_arguments(&self, run: &OfflineRun) -> Option<Vec<String>> {
        Some(options(run).collect())
    }

    fn shell_call(&self, command: &str) -> (&'static str, Value) {
        ("exec_command", json!({"cmd": command}))
    }
}

fn options(run: &OfflineRun) -> impl Iterator<Item = String> + use<> {
    settings(run).into_iter().flat_map(|setting| ["--config".to_owned(), setting])
}

/// Returns the settings that it needs to talk to the model, and nothing else, without notices.
fn settings(run: &OfflineRun) -> Vec<String> {
    let model = run.model.as_deref().unwrap_or("gpt-5.5");
    let provider = format!(
        "{{ name = 'scripted', base_url = '{}/v1', wire_api = 'responses', \
         env_key = 'SCRIPTED_MODEL_KEY', request_max_retries = 0, stream_max_retries = 0, \
         supports_websockets = false }}",
        run.model_url
    );
    let mut settings = vec![
        format!("model='{model}'"),
        "model_provider='scripted'".to_owned(),
        format!("model_providers.scripted={provider}"),
        "model_context_window=100000".to_owned(),
        "check_for_update_on_startup=false".to_owned(),
        "analytics.enabled=false".to_owned(),
        "features.enable_request_compression=false".to_owned(),
        "features.apps=false".to_owned(),
        "features.plugins=false".to_owned(),
    ];
    if !run.is_first_use {
        let trusted = format!("{{ '{}' = {{ trust_level = 'trusted' }} }}", run.project.display());
        settings.push(format!("projects={trusted}"));
        // Otherwise it would offer a newer one.
        settings.push(format!("notice.model_migrations={{ '{model}' = 'gpt-6-sol' }}"));
    }
    settings
}
