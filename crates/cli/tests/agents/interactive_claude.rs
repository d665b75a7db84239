//! Claude Code on a screen, wired in with `anyhook install`, and somebody before it.

use std::fs;

use anyhook_testkit::agents::{AGENT_PATIENCE, Agent, AgentSandbox, AgentScreen};
use anyhook_testkit::model_server::ModelTurn;
use anyhook_testkit::wait_within;
use serde_json::{Value, json};

use crate::environment;

/// What the agent asks before a call.
pub const DIALOG: &str = "Do you want to proceed?";

/// A screen with somebody before it, and the journal.
pub struct Seat {
    pub screen: AgentScreen,
    pub bed: AgentSandbox,
}

impl Seat {
    /// Opens the agent; none if it cannot be run here.
    pub fn take(
        prepare: impl FnOnce(&mut AgentSandbox),
        script: impl Into<Vec<ModelTurn>>,
    ) -> Option<Self> {
        let mut bed = AgentSandbox::within(environment(), Agent::ClaudeCode)?;
        let installed = bed.environment().run(&["install", "claude-code"]);
        assert_eq!(installed.code, 0, "{installed:?}");
        prepare(&mut bed);
        let screen = bed.open(script)?;
        Some(Self { screen, bed })
    }

    /// Returns the records of what the agent sent, as `native name` and `tool`.
    pub fn told(&self) -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let records = self.bed.environment().journal();
        // What follows a stop is told with it.
        let sent = records.iter().filter(|record| record["with"].is_null());
        sent.map(|record| (text(&record["native_name"]), text(&record["tool"]))).collect()
    }

    /// Waits for a record; what was told before it does not count.
    pub fn wait_for(&self, native: &str, tool: &str) {
        let wanted = (native.to_owned(), tool.to_owned());
        wait_within(AGENT_PATIENCE, &format!("{wanted:?}"), || self.told().contains(&wanted));
    }

    /// Counts the records of a native event.
    pub fn count(&self, native: &str) -> usize {
        self.told().iter().filter(|(name, _)| name == native).count()
    }

    /// Presses a key until what is shown is gone.
    pub fn answer(&self, key: &str, shown: &str) {
        self.screen.press_until(key, "the answer", |text| !text.contains(shown));
    }

    /// Returns the log that the agent writes of its session.
    pub fn log(&self) -> String {
        let records = self.bed.environment().journal();
        let path = records.iter().find_map(|record| record["payload"]["transcript_path"].as_str());
        path.and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default()
    }

    /// Tells whether the project has a file.
    pub fn exists(&self, file: &str) -> bool {
        self.bed.project().join(file).exists()
    }
}

/// A question to the person.
pub fn question() -> ModelTurn {
    let option = |label: &str| json!({"label": label, "description": format!("it is {label}")});
    let options = [option("red"), option("blue")];
    let question = json!({"question": "Which colour?", "header": "Colour",
        "options": options, "multiSelect": false});
    ModelTurn::tool("AskUserQuestion", json!({"questions": [question]}))
}

/// A call of the shell.
pub fn shell(command: &str) -> ModelTurn {
    ModelTurn::tool("Bash", json!({"command": command, "description": "run it"}))
}
