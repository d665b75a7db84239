//! Pipelines from outside: with agents that are scripts, and everything else real.

mod agents;
mod errors;
mod kill;
mod sessions;
mod steps;
mod workspaces;

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhook_engine::now;
use anyhook_engine::trust::TrustStore;
use anyhook_testkit::{CommandRun, TestEnv, wait_within, write};
use serde_json::Value;

use crate::environment;

/// A step may take so long on a machine that does much else.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Trusts a runbook, or another file of the project, as it is.
pub fn trust_file(environment: &TestEnv, file: &Path) {
    let store = TrustStore::new(&environment.state());
    store.trust_file(file, &fs::read(file).unwrap(), now()).unwrap();
}

/// An environment with a runbook, and pipelines of it.
pub struct World {
    pub environment: TestEnv,
}

impl World {
    /// Makes one with a runbook in HCL.
    pub fn new(runbook: &str) -> Self {
        let world = Self { environment: environment() };
        world.runbook(runbook);
        world
    }

    pub fn runbook(&self, text: &str) {
        let file = self.environment.project().join(".agents/runbooks/test.hcl");
        write(&file, text, 0o644);
        trust_file(&self.environment, &file);
    }

    /// Puts a script into the project that is an agent: `anyhook` and `say` are at hand.
    pub fn agent(&self, name: &str, script: &str) {
        let program = env!("CARGO_BIN_EXE_anyhook");
        let said = self.environment.root().join("said");
        let text = format!(
            "#!/bin/sh\nanyhook() {{ '{program}' \"$@\"; }}\nsay() {{ echo \"$*\" >> '{}'; }}\n{script}\n",
            said.display()
        );
        write(&self.environment.project().join(name), text, 0o755);
    }

    /// Returns what scripts said.
    pub fn said(&self) -> Vec<String> {
        let text = fs::read_to_string(self.environment.root().join("said")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    pub fn run(&self, arguments: &[&str]) -> CommandRun {
        self.environment.run(arguments)
    }

    /// Begins a pipeline; returns its id.
    pub fn begin(&self, name: &str) -> String {
        let ran = self.run(&["pipeline", "run", name, "--json"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.json()["id"].as_str().unwrap().to_owned()
    }

    pub fn view(&self, id: &str) -> Value {
        let ran = self.run(&["pipeline", "show", id, "--json"]);
        if ran.code == 0 { ran.json() } else { Value::Null }
    }

    /// Waits until a pipeline is in a phase, and says all that happened if it does not come so far.
    pub fn wait_phase(&self, id: &str, phase: &str) -> Value {
        let mut last = Value::Null;
        let until = std::time::Instant::now() + TIMEOUT;
        loop {
            let view = self.view(id);
            if view["phase"] == phase {
                return view;
            }
            if !view.is_null() {
                last = view;
            }
            let is_over =
                ["completed", "failed", "cancelled"].iter().any(|over| last["phase"] == *over);
            assert!(
                std::time::Instant::now() < until && !is_over,
                "{id} is not {phase}: {last:#}\n{}\n{}",
                self.run(&["pipeline", "logs", id]).stdout,
                self.run(&["daemon", "logs"]).stdout,
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until a pipeline asks something; returns the decision.
    pub fn wait_decision(&self, id: &str) -> Value {
        let view = self.wait_phase(id, "waiting");
        let decision = view["decision"].as_str().unwrap();
        let ran = self.run(&["decision", "show", decision, "--json"]);
        ran.json()["inquiry"].clone()
    }

    pub fn decide(&self, decision: &Value, choice: &str) {
        let id = decision["id"].as_str().unwrap();
        let ran = self.run(&["decision", "resolve", id, choice]);
        assert_eq!(ran.code, 0, "{ran:?}");
    }

    pub fn steps(&self, id: &str) -> Vec<(String, String)> {
        let view = self.view(id);
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let visits = view["visits"].as_array().unwrap().iter();
        visits.map(|visit| (text(&visit["step"]), text(&visit["state"]))).collect()
    }

    pub fn agent_state(&self, agent: &str) -> String {
        let ran = self.run(&["agent", "show", agent, "--json"]);
        if ran.code == 0 { ran.json()["state"].as_str().unwrap().to_owned() } else { String::new() }
    }
}

/// Waits for something that may take as long as a step.
pub fn wait(what: &str, condition: impl FnMut() -> bool) {
    wait_within(TIMEOUT, what, condition);
}

pub fn options(decision: &Value) -> Vec<String> {
    let options = decision["options"].as_array().unwrap().iter();
    options.map(|option| option["name"].as_str().unwrap().to_owned()).collect()
}
