//! Claude Code with a model at a local address: Anthropic Messages. Its settings stay untouched.

use serde_json::{Value, json};

use crate::offline::{NO_KEY, Offline, OfflineRun, words};

/// Runs it offline.
pub(super) struct Run;

impl Offline for Run {
    fn variables(&self, run: &OfflineRun) -> Vec<(&'static str, String)> {
        vec![
            ("ANTHROPIC_API_KEY", NO_KEY.to_owned()),
            ("ANTHROPIC_BASE_URL", run.model_url.clone()),
            ("ANTHROPIC_MODEL", run.model.as_deref().unwrap_or("claude-opus-5-5").to_owned()),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
            // Root may skip the permission prompts only in a sandbox, which this is.
            ("IS_SANDBOX", "1".to_owned()),
        ]
    }

    fn arguments(&self, _run: &OfflineRun, prompt: &str) -> Vec<String> {
        words(["-p", prompt, "--dangerously-skip-permissions"])
    }

    fn screen_arguments(&self, _run: &OfflineRun) -> Option<Vec<String>> {
        // Without it, the agent would decide by itself what to ask about.
        Some(words(["--permission-mode", "default"]))
    }

    fn shell_call(&self, command: &str) -> (&'static str, Value) {
        ("Bash", json!({"command": command, "description": "run it"}))
    }
}
