//! How an agent is run without its vendor: headless, in a home of its own, with a model at a local
//! address. `anyhook doctor --prove` and the tests run agents this way.

use std::path::PathBuf;

use serde_json::Value;

/// Where an agent runs offline.
#[derive(Clone, Debug)]
pub struct OfflineRun {
    /// The home folder.
    pub home: PathBuf,
    /// The project in which it works.
    pub project: PathBuf,
    /// A folder for files that belong into neither.
    pub scratch: PathBuf,
    /// The model's address, such as `http://127.0.0.1:8399`.
    pub model_url: String,
    /// The name of the model, if the agent's usual one must not be used.
    pub model: Option<String>,
    /// Whether it should behave as if it had never been used: it greets and asks for trust.
    pub is_first_use: bool,
}

/// Files to write: path and text.
pub type OfflineFiles = Vec<(PathBuf, String)>;

/// Runs an agent offline. Pure: it says what to write, set and start.
///
/// Every tool is allowed: what keeps a call from running is a hook.
pub trait Offline: Sync {
    /// Returns the files that the agent needs, written before anyhook is installed.
    fn files(&self, run: &OfflineRun) -> OfflineFiles {
        let _ = run;
        Vec::new()
    }

    /// Returns the files that the agent needs in addition, written just before it starts. Files that
    /// exist are kept.
    fn late_files(&self, run: &OfflineRun) -> OfflineFiles {
        let _ = run;
        Vec::new()
    }

    /// Returns the environment variables that it needs.
    fn variables(&self, run: &OfflineRun) -> Vec<(&'static str, String)>;

    /// Returns the arguments with which it answers one prompt and ends.
    fn arguments(&self, run: &OfflineRun, prompt: &str) -> Vec<String>;

    /// Returns the arguments with which it opens on a screen; `None` if that was never tried.
    fn screen_arguments(&self, run: &OfflineRun) -> Option<Vec<String>> {
        let _ = run;
        None
    }

    /// Returns a call of its shell, as the model makes it: the tool's name and input.
    fn shell_call(&self, command: &str) -> (&'static str, Value);
}

/// The key that agents send to a model that needs none.
pub(crate) const NO_KEY: &str = "none";

/// Returns words as arguments.
pub(crate) fn words<const COUNT: usize>(words: [&str; COUNT]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}
