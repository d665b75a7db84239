//! Tests of every rule of a workflow.

mod bugs;
mod ended;
mod next_actions;
mod persons;
mod random;
mod retries;
mod reviews;
mod rules;
mod send_back_reasons;
mod signals;

use serde_json::json;

use super::*;
use crate::definition::SchemaChoice;
use crate::schemas::ArtifactKind;
use crate::testing::{DEFAULT, read};
use crate::vocabulary::Decision;

pub(super) fn time(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap()
}

pub(crate) fn fixture(kind: ArtifactKind) -> Value {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/fixtures");
    let text = std::fs::read_to_string(format!("{folder}/{kind}.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// A workflow that tests drive.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub definition: WorkflowDefinition,
    pub state: WorkflowState,
    pub effects: WorkflowEffects,
    pub files: Artifacts,
    pub signals: u32,
}

impl Run {
    pub fn new(mode: &str, risk: &str) -> Self {
        Self::with(DEFAULT, mode, risk)
    }

    /// Starts a workflow whose requirements will set a mode and a risk.
    pub fn with(text: &str, mode: &str, risk: &str) -> Self {
        let reading = read(text);
        assert_eq!(reading.findings, []);
        let definition = reading.definition;
        let (state, effects) = start(
            &definition,
            NewWorkflow { id: "w1".to_owned(), ..NewWorkflow::default() },
            time(0),
        );
        let mut files = Artifacts::new();
        let stages = definition.stages.iter().map(|one| (&one.agent, &one.artifacts));
        let reviews = definition.reviews.iter().map(|one| (&one.agent, &one.artifacts));
        for (agent, artifacts) in stages.chain(reviews) {
            for artifact in artifacts {
                let SchemaChoice::Kind(kind) = artifact.schema else { continue };
                let mut value = fixture(kind);
                let map = value.as_object_mut().unwrap();
                map.shift_remove("risk_level");
                if map.contains_key("execution_mode") {
                    map.insert("execution_mode".to_owned(), json!(mode));
                }
                if kind.name() == "pm-output" {
                    map.insert("risk_level".to_owned(), json!(risk));
                }
                if kind == ArtifactKind::QA {
                    map.insert("verdict".to_owned(), json!("approve"));
                }
                files.insert(definition.path(&agent.text, &artifact.file.text), value);
            }
        }
        Self { definition, state, effects, files, signals: 0 }
    }

    /// Changes a member of an artifact; `path` is the end of the artifact's path.
    pub fn set(&mut self, path: &str, key: &str, value: Value) -> &mut Self {
        let (_, file) = self.files.iter_mut().find(|(one, _)| one.ends_with(path)).unwrap();
        file[key] = value;
        self
    }

    /// Makes the completion signal of a stage or a review.
    pub fn signal(&mut self, stage: &str) -> Value {
        self.signals += 1;
        let (agent, artifacts) = match self.definition.stage(stage) {
            Some(one) => (&one.agent.text, &one.artifacts),
            None => {
                let review = self.definition.review(stage).unwrap();
                (&review.agent.text, &review.artifacts)
            }
        };
        let mode = self.state.execution_mode;
        let paths: Vec<String> = artifacts
            .iter()
            .filter(|artifact| artifact.is_made_in(mode))
            .map(|artifact| self.definition.path(agent, &artifact.file.text))
            .collect();
        json!({"id": format!("s{}", self.signals), "agent": agent, "stage": stage,
            "status": "completed", "completed_at": "2027-01-15T08:00:00Z",
            "output_artifacts": paths})
    }

    pub fn try_send(&mut self, signal: &Value) -> Result<(), WorkflowRefusal> {
        let at = time(i64::from(self.signals));
        let schemas = OwnSchemas::new();
        let submission = SignalSubmission { signal, artifacts: &self.files, schemas: &schemas, at };
        let (state, effects) = complete(&self.definition, &self.state, submission)?;
        self.take(state, effects);
        Ok(())
    }

    /// Continues with the result.
    pub fn take(&mut self, state: WorkflowState, effects: WorkflowEffects) {
        // Valid against its own schema.
        assert_eq!(WorkflowState::read(&state.to_json()).as_ref(), Ok(&state));
        assert_eq!(effects.is_unchanged, state.revision == self.state.revision);
        self.state = state;
        self.effects = effects;
    }

    pub fn send(&mut self, signal: &Value) -> &mut Self {
        self.try_send(signal).unwrap_or_else(|refusal| panic!("{refusal}\n{signal}"));
        self
    }

    /// Completes a stage successfully.
    pub fn done(&mut self, stage: &str) -> &mut Self {
        let signal = self.signal(stage);
        self.send(&signal)
    }

    /// Completes a stage with changed members of its signal.
    pub fn says(&mut self, stage: &str, members: &Value) -> &mut Self {
        let mut signal = self.signal(stage);
        for (key, value) in members.as_object().unwrap() {
            signal[key] = value.clone();
        }
        self.send(&signal)
    }

    /// Submits a review of a stage.
    pub fn reviewed(&mut self, review: &str, stage: &str, verdict: &str) -> &mut Self {
        let file = match review {
            "safety_review" => "safety-review.json",
            "governance_review" => "governance-review.json",
            _ => "code-health-report.json",
        };
        self.set(file, "stage_reviewed", json!(stage)).set(file, "verdict", json!(verdict));
        self.done(review)
    }

    pub fn approve(&mut self, stage: &str) -> &mut Self {
        let (state, effects) = approve(&self.definition, &self.state, stage, kim("fine")).unwrap();
        self.take(state, effects);
        self
    }

    pub fn reject(&mut self, stage: &str) -> &mut Self {
        let (state, effects) = reject(&self.definition, &self.state, stage, kim("no")).unwrap();
        self.take(state, effects);
        self
    }

    pub fn choose(&mut self, stage: &str, decision: Decision) -> &mut Self {
        let (state, effects) =
            choose(&self.definition, &self.state, stage, decision, kim("so")).unwrap();
        self.take(state, effects);
        self
    }

    pub fn status(&self, stage: &str) -> &'static str {
        self.state.stages[stage].status.name()
    }

    /// Returns the next agents: `agent` or `agent(stage that it reviews)`.
    pub fn next(&self) -> Vec<String> {
        let all = next(&self.definition, &self.state).into_iter();
        all.map(|one| match one.reviewed {
            Some(stage) => format!("{}({stage})", one.agent),
            None => one.agent,
        })
        .collect()
    }
}

pub(super) fn kim(note: &str) -> PersonDecision<'_> {
    PersonDecision { by: "kim", note: Some(note), at: time(1) }
}

#[test]
fn a_whole_system_from_beginning_to_end() {
    let mut run = Run::new("full_system", "low");
    assert_eq!(run.next(), ["product_manager"]);
    assert_eq!(run.effects.invoke.len(), 1);
    assert_eq!(run.state.current_stage.as_deref(), Some("requirements"));

    run.done("requirements");
    assert_eq!(run.state.status, WorkflowStatus::Paused);
    assert_eq!(run.state.paused_at.as_deref(), Some("requirements"));
    assert_eq!(run.state.current_stage.as_deref(), Some("requirements"));
    assert_eq!(run.effects.ask, [("requirements".to_owned(), Asks::Approval)]);
    assert!(run.next().is_empty());

    run.approve("requirements");
    assert_eq!(run.next(), ["system_architect"]);
    assert_eq!(run.state.paused_at, None);
    run.done("architecture");
    assert_eq!(run.state.paused_at.as_deref(), Some("architecture"));
    run.approve("architecture");
    assert_eq!(run.next(), ["frontend_engineer", "backend_engineer", "ai_engineer"]);
    assert_eq!(run.state.active_stages.len(), 3);
    assert_eq!(run.effects.invoke.len(), 3);

    run.done("backend_implementation").done("ai_implementation");
    assert_eq!(run.next(), ["frontend_engineer"]);
    run.done("frontend_implementation");
    assert_eq!(run.next(), ["qa_engineer"]);
    run.done("qa_testing");
    // A person is asked before anything is deployed.
    assert_eq!(run.state.paused_at.as_deref(), Some("deployment"));
    assert_eq!(run.status("deployment"), "pending");
    run.approve("deployment");
    assert_eq!(run.next(), ["devops_engineer"]);
    run.done("deployment");
    assert_eq!(run.state.status, WorkflowStatus::Completed);
    assert_eq!(run.state.current_stage, None);
    assert!(run.next().is_empty());
    let words: Vec<&str> = run.state.history.iter().map(|line| line.what.as_str()).collect();
    assert_eq!(words.iter().filter(|word| **word == "approved").count(), 3);
    let approved = run.state.history.iter().find(|line| line.what == "approved").unwrap();
    assert_eq!(approved.by.as_deref(), Some("kim"));
    assert_eq!(approved.note.as_deref(), Some("fine"));
}

#[test]
fn a_change_needs_no_approval_of_its_architecture() {
    for mode in ["feature", "bug_fix", "refactor"] {
        let mut run = Run::new(mode, "low");
        run.done("requirements").approve("requirements").done("architecture");
        assert_eq!(run.state.status, WorkflowStatus::Running);
        assert_eq!(
            run.state.stages["architecture"].output_artifacts,
            ["ARTIFACTS/system-architect/architecture-assessment.json"]
        );
        assert_eq!(run.next().len(), 3);
    }
}

#[test]
fn a_state_of_another_definition_is_refused() {
    let mut run = Run::new("feature", "low");
    run.definition.stages.pop();
    let signal = run.signal("requirements");
    assert!(matches!(run.try_send(&signal), Err(WorkflowRefusal::OtherDefinition(_))));
}
