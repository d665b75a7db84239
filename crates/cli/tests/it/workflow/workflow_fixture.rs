//! A project with a workflow, and everything its agents would hand in.

use std::fs;
use std::path::PathBuf;

use anyhook_testkit::{CommandRun, TestEnv, write};
use serde_json::{Value, json};

use crate::environment;

/// A project whose workflow has begun.
pub struct Desk {
    pub environment: TestEnv,
}

/// Stages and reviews, who does them, and what they make.
pub const WORK: [(&str, &str, &str); 10] = [
    ("requirements", "product_manager", "product-requirements-packet.json"),
    ("architecture", "system_architect", "architecture-handover-packet.json"),
    ("frontend_implementation", "frontend_engineer", "frontend-implementation-report.json"),
    ("backend_implementation", "backend_engineer", "backend-implementation-report.json"),
    ("ai_implementation", "ai_engineer", "ai-implementation-report.json"),
    ("qa_testing", "qa_engineer", "qa-test-report.json"),
    ("deployment", "devops_engineer", "deployment-report.json"),
    ("safety_review", "safety_agent", "safety-review.json"),
    ("governance_review", "governance_agent", "governance-review.json"),
    ("code_health_review", "code_health_agent", "code-health-report.json"),
];

impl Desk {
    /// Begins a workflow with a low risk, so that no review is asked for.
    pub fn new() -> Self {
        Self::with(&json!({"project_name": "shop", "risk_level": "low"}))
    }

    /// Begins a workflow.
    pub fn with(config: &Value) -> Self {
        let desk = Self { environment: environment() };
        desk.write("project-config.json", config);
        desk.ok(&["init"]);
        desk
    }

    /// Writes a file below the project.
    pub fn write(&self, path: &str, value: &Value) {
        write(&self.path(path), value.to_string(), 0o644);
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.environment.project().join(path)
    }

    /// Runs `anyhook workflow`.
    pub fn run(&self, arguments: &[&str]) -> CommandRun {
        self.environment.run(&[&["workflow"], arguments].concat())
    }

    /// Runs `anyhook workflow`, which must go well.
    pub fn ok(&self, arguments: &[&str]) -> CommandRun {
        let ran = self.run(arguments);
        assert_eq!(ran.code, 0, "{arguments:?}: {ran:?}");
        ran
    }

    /// Runs a command for a hook's script, with an event.
    pub fn event(&self, arguments: &[&str], event: &Value) -> CommandRun {
        self.environment.run_with_input(arguments, event.to_string())
    }

    pub fn state(&self) -> Value {
        state_of(&self.environment)
    }

    /// Where a stage is.
    pub fn status(&self, stage: &str) -> String {
        self.state()["stages"][stage]["status"].as_str().unwrap().to_owned()
    }

    /// Writes the artifact of a stage and returns the signal that belongs to it.
    pub fn make(&self, stage: &str) -> Value {
        self.make_with(stage, &artifact(stage, "full_system"))
    }

    /// Writes an artifact of a stage's own and returns the signal that belongs to it.
    pub fn make_with(&self, stage: &str, artifact: &Value) -> Value {
        let path = artifact_path(stage);
        self.write(&path, artifact);
        signal(stage, &[path.as_str()])
    }

    /// Hands in a signal.
    pub fn hand_in(&self, signal: &Value) -> CommandRun {
        self.environment.run_with_input(&["workflow", "complete", "-"], signal.to_string())
    }

    /// Makes a stage and hands it in; it must be taken.
    pub fn complete(&self, stage: &str) {
        let ran = self.hand_in(&self.make(stage));
        assert_eq!(ran.code, 0, "{stage}: {ran:?}");
    }

    pub fn approve(&self, stage: &str) {
        self.ok(&["approve", stage, "--by", "ann"]);
    }

    /// Completes all stages up to one, with every approval; that one is in progress then.
    pub fn up_to(&self, last: &str) {
        for (stage, ..) in WORK {
            if stage == last {
                return;
            }
            if stage == "deployment" {
                self.approve(stage);
            }
            self.complete(stage);
            if ["requirements", "architecture"].contains(&stage) {
                self.approve(stage);
            }
        }
    }
}

/// What the state file of a project says.
pub fn state_of(environment: &TestEnv) -> Value {
    let file = environment.project().join("ARTIFACTS/system/workflow-state.json");
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

pub fn agent_of(stage: &str) -> &'static str {
    WORK.iter().find(|(name, ..)| *name == stage).unwrap().1
}

pub fn artifact_path(stage: &str) -> String {
    let (_, agent, file) = WORK.iter().find(|(name, ..)| *name == stage).unwrap();
    format!("ARTIFACTS/{}/{file}", agent.replace('_', "-"))
}

pub fn signal_path(agent: &str) -> String {
    format!("ARTIFACTS/{}/stage-completion-signal.json", agent.replace('_', "-"))
}

/// A valid signal that a stage is done.
pub fn signal(stage: &str, artifacts: &[&str]) -> Value {
    json!({
        "id": format!("{stage}-1"),
        "agent": agent_of(stage),
        "stage": stage,
        "status": "completed",
        "completed_at": "2026-01-02T03:04:05Z",
        "output_artifacts": artifacts,
    })
}

/// A valid artifact of a stage or a review.
pub fn artifact(stage: &str, mode: &str) -> Value {
    let implementation = || {
        json!({
            "summary": "Done.",
            "status": "complete",
            "files_changed": [{"path": "src/a.rs", "change": "added"}],
            "tests": {"added": 1, "passed": 1, "failed": 0},
        })
    };
    let review = || {
        json!({
            "stage_reviewed": "requirements",
            "verdict": "approve",
            "summary": "Fine.",
            "findings": [],
            "reviewed_at": "2026-01-02T03:04:05Z",
        })
    };
    let mut value = match stage {
        "requirements" => json!({
            "project_name": "shop",
            "execution_mode": mode,
            "risk_level": "low",
            "summary": "A small shop with a xylophone counter.",
            "requirements": [{
                "id": "R1", "title": "Buy a book", "priority": "must",
                "acceptance_criteria": ["An order is stored."],
            }],
        }),
        "architecture" => json!({
            "execution_mode": mode,
            "summary": "One service of quartz.",
            "options": [{"name": "one", "summary": "All in one.", "advantages": ["simple"]}],
            "decision": {"chosen": "one", "rationale": "It is small."},
            "components": [{"name": "api", "responsibility": "Takes orders.", "stage": "backend_implementation"}],
            "interfaces": [{"name": "orders", "kind": "http", "between": ["page", "api"]}],
            "technology_stack": {"frontend": {"framework": "react"}},
        }),
        "qa_testing" => json!({
            "summary": "All is well.",
            "verdict": "approve",
            "tests": {"total": 1, "passed": 1, "failed": 0},
            "bugs": [],
        }),
        "deployment" => json!({
            "summary": "It runs.",
            "environment": "staging",
            "status": "deployed",
            "version": "1.0.0",
            "rollback_plan": "Deploy 0.9.0.",
            "deployed_at": "2026-01-02T03:04:05Z",
        }),
        review_stage if review_stage.ends_with("_review") => review(),
        _ => implementation(),
    };
    if stage == "governance_review" {
        value["policies"] = json!([{"policy": "Privacy", "status": "met"}]);
    }
    value
}
