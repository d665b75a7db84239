//! `OpenCode` or a fork of it with a model at a local address: `OpenAI` Chat Completions; its
//! settings stay untouched.
//!
//! With a model named like `gpt-5` it offers `apply_patch` instead of `write` and `edit`.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::flavour::Flavour;
use crate::offline::{NO_KEY, Offline, OfflineFiles, OfflineRun, words};

/// Runs it offline.
pub(crate) struct Run(pub(crate) &'static Flavour);

impl Offline for Run {
    fn files(&self, run: &OfflineRun) -> OfflineFiles {
        vec![(models(run), "{}".to_owned())]
    }

    fn late_files(&self, run: &OfflineRun) -> OfflineFiles {
        let folders = [&run.home, &run.project].map(|folder| folder.join(self.0.project_folder));
        let existing = folders.into_iter().filter(|folder| folder.exists());
        let user = run.home.join(".config").join(self.0.folder);
        let all = [user].into_iter().chain(existing);
        all.flat_map(|folder| settled(&folder, self.0.plugin_package)).collect()
    }

    fn variables(&self, run: &OfflineRun) -> Vec<(&'static str, String)> {
        let mut variables = vec![(self.0.settings_variable, settings(run))];
        let set = |(name, value): &(&'static str, &str)| (*name, (*value).to_owned());
        variables.extend(self.0.quiet_variables.iter().map(set));
        // Its own list of all models takes it two seconds to read.
        variables.push((self.0.models_variable, models(run).to_string_lossy().into_owned()));
        variables
    }

    fn arguments(&self, _run: &OfflineRun, prompt: &str) -> Vec<String> {
        words(["run", prompt])
    }

    fn screen_arguments(&self, _run: &OfflineRun) -> Option<Vec<String>> {
        Some(Vec::new())
    }

    fn shell_call(&self, command: &str) -> (&'static str, Value) {
        ("bash", json!({"command": command, "description": "run it"}))
    }
}

fn models(run: &OfflineRun) -> PathBuf {
    run.scratch.join("models.json")
}

/// Returns what makes a settings folder look as if the package for plugins was installed there.
///
/// Without it, plugins wait more than a minute for a download that cannot work here.
fn settled(folder: &Path, package: &str) -> OfflineFiles {
    let dependencies = json!({"dependencies": {package: "*"}});
    let lock = json!({"lockfileVersion": 3, "packages": {"": dependencies}});
    vec![
        (folder.join("package.json"), dependencies.to_string()),
        (folder.join("package-lock.json"), lock.to_string()),
        (folder.join("node_modules/.package-lock.json"), lock.to_string()),
    ]
}

fn settings(run: &OfflineRun) -> String {
    let model = run.model.as_deref().unwrap_or("scripted-model");
    let name = format!("scripted/{model}");
    let limit = json!({"context": 100_000, "output": 8000});
    json!({
        "model": name, "small_model": name, "enabled_providers": ["scripted"],
        "autoupdate": false, "share": "disabled", "permission": {"*": "allow"},
        "provider": {"scripted": {
            "npm": "@ai-sdk/openai-compatible", "name": "Scripted",
            "options": {"baseURL": format!("{}/v1", run.model_url), "apiKey": NO_KEY},
            "models": {model: {"name": model, "tool_call": true, "limit": limit}},
        }},
    })
    .to_string()
}
