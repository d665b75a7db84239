//! Invariants that hold for any signals in any order.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::machine::gate::{needs_approval, reviews};
use crate::vocabulary::{ReviewStatus, Verdict, When};

/// Something that may happen next.
#[derive(Clone, Debug)]
enum Act {
    /// An agent whose turn it is submits a signal.
    Works(prop::sample::Index, Said),
    /// Any agent submits a signal about any stage.
    Speaks(prop::sample::Index, prop::sample::Index, Said),
    /// The last signal arrives once more.
    Repeats,
    /// A person decides about a stage.
    Decides(prop::sample::Index, u8),
    /// Hours pass.
    Waits(u8),
    /// An agent ends without a signal: one that works, or one of an earlier attempt.
    Ends(prop::sample::Index, bool),
}

#[derive(Clone, Debug)]
struct Said {
    status: &'static str,
    verdict: &'static str,
    qa: &'static str,
    deployed: &'static str,
    severity: &'static str,
    risk: Option<&'static str>,
    next: Option<usize>,
    is_broken: bool,
}

fn said() -> impl Strategy<Value = Said> {
    (
        prop::sample::select(vec![
            "completed",
            "completed",
            "completed",
            "completed_with_warnings",
            "blocked",
            "failed",
        ]),
        prop::sample::select(vec![
            "approve",
            "approve",
            "approve_with_notes",
            "needs_changes",
            "reject",
        ]),
        prop::sample::select(vec!["approve", "approve", "needs_fixes", "major_issues"]),
        prop::sample::select(vec!["deployed", "deployed", "failed", "rolled_back"]),
        prop::sample::select(vec!["p0", "p1", "p2", "p3"]),
        prop::option::of(prop::sample::select(vec![
            "low", "medium", "high", "critical", "unknown",
        ])),
        prop::option::weighted(0.2, 0..10_usize),
        prop::bool::weighted(0.1),
    )
        .prop_map(|(status, verdict, qa, deployed, severity, risk, next, is_broken)| Said {
            status,
            verdict,
            qa,
            deployed,
            severity,
            risk,
            next,
            is_broken,
        })
}

fn acts() -> impl Strategy<Value = Act> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        12 => (index(), said()).prop_map(|(who, said)| Act::Works(who, said)),
        2 => (index(), index(), said()).prop_map(|(who, stage, said)| Act::Speaks(who, stage, said)),
        1 => Just(Act::Repeats),
        5 => (index(), 0..12_u8).prop_map(|(stage, what)| Act::Decides(stage, what)),
        1 => (0..10_u8).prop_map(Act::Waits),
        1 => (index(), any::<bool>()).prop_map(|(who, is_early)| Act::Ends(who, is_early)),
    ]
}

struct Walk {
    run: Run,
    last: Option<Value>,
    now: Timestamp,
}

impl Walk {
    /// Applies an action; if it is refused, the state is unchanged.
    fn act(&mut self, act: &Act) {
        match act {
            Act::Works(who, said) => {
                let all = next(&self.run.definition, &self.run.state);
                if !all.is_empty() {
                    let one = who.get(&all).clone();
                    self.speak(&one.agent, &one.stage, one.reviewed.as_deref(), said);
                }
            }
            Act::Speaks(who, stage, said) => {
                let agents = &self.run.definition.agents;
                let agent = who.get(agents).name.text.clone();
                let stage = stage.get(&self.run.definition.stages).name.text.clone();
                self.speak(&agent, &stage, None, said);
            }
            Act::Repeats => {
                if let Some(signal) = self.last.clone() {
                    let before = self.run.state.clone();
                    self.run.try_send(&signal).unwrap();
                    assert_eq!(self.run.state, before);
                    assert!(self.run.effects.is_unchanged);
                }
            }
            Act::Decides(stage, what) => {
                let stage = stage.get(&self.run.definition.stages).name.text.clone();
                let stage = self.run.state.paused_at.clone().unwrap_or(stage);
                self.decide(&stage, *what);
            }
            Act::Waits(hours) => {
                let waited = jiff::SignedDuration::from_hours(i64::from(*hours));
                self.now += waited;
                let (definition, state) = (&self.run.definition, &self.run.state);
                let mut all = next(definition, state);
                all.retain(|one| time_limit(definition, one).is_some_and(|limit| limit <= waited));
                let after = late(definition, state, &all, self.now);
                self.take(after);
            }
            Act::Ends(who, is_early) => {
                let all = next(&self.run.definition, &self.run.state);
                if all.is_empty() {
                    return;
                }
                let mut one = who.get(&all).clone();
                one.attempt -= u32::from(*is_early);
                let (definition, state) = (&self.run.definition, &self.run.state);
                let after = lost(definition, state, &one, "it no longer exists", self.now);
                let is_unchanged = after.as_ref().unwrap().1.is_unchanged;
                assert_eq!(is_unchanged, *is_early);
                self.take(after);
            }
        }
    }

    fn take(&mut self, after: Result<(WorkflowState, WorkflowEffects), WorkflowRefusal>) {
        if let Ok((state, effects)) = after {
            self.run.take(state, effects);
        }
    }

    fn decide(&mut self, stage: &str, what: u8) {
        let (definition, state) = (&self.run.definition, &self.run.state);
        let choice = PersonDecision { by: "kim", note: Some("so"), at: self.now };
        let after = match what {
            0..=4 => approve(definition, state, stage, choice),
            5 => reject(definition, state, stage, choice),
            6 => choose(definition, state, stage, Decision::Fix, choice),
            7 => choose(definition, state, stage, Decision::DeployAnyway, choice),
            8 | 9 => retry(definition, state, stage, choice),
            10 => rollback(definition, state, stage, choice),
            _ if state.revision > 20 => abort(definition, state, choice),
            _ => return,
        };
        self.take(after);
    }

    fn speak(&mut self, agent: &str, stage: &str, reviewed: Option<&str>, said: &Said) {
        for file in ["safety-review.json", "governance-review.json", "code-health-report.json"] {
            self.run.set(file, "verdict", json!(said.verdict));
            self.run.set(file, "stage_reviewed", json!(reviewed));
        }
        let bug = json!({"id": "B", "title": "x", "severity": said.severity});
        self.run.set("qa-test-report.json", "bugs", json!([bug]));
        self.run.set("qa-test-report.json", "verdict", json!(said.qa));
        self.run.set("deployment-report.json", "status", json!(said.deployed));
        let mut signal = self.run.signal(stage);
        signal["agent"] = json!(agent);
        signal["status"] = json!(said.status);
        signal["warnings"] = json!(["w"]);
        signal["reason"] = json!("r");
        signal["risk_level"] = json!(said.risk);
        signal["completed_at"] = json!(self.now.to_string());
        if let Some(next) = said.next {
            signal["next_agent_required"] = json!(self.run.definition.agents[next].name.text);
        }
        if said.is_broken {
            signal["output_artifacts"] = json!([]);
        }
        let before = self.run.state.clone();
        match self.run.try_send(&signal) {
            Ok(()) => {
                let is_done = said.status.starts_with("completed");
                let is_deployed = said.deployed == "deployed" || stage != "deployment";
                assert!(!is_done || is_deployed, "{signal}");
                self.last = Some(signal);
            }
            Err(_) => assert_eq!(self.run.state, before),
        }
    }

    fn laws(&self, before: &WorkflowState) {
        let Run { definition, state, .. } = &self.run;
        assert_eq!(state.revision, before.revision + u64::from(state != before));
        assert!(state.updated_at >= before.updated_at);
        // What is stored is what is read.
        let written = serde_json::to_string(state).unwrap();
        let read = WorkflowState::read(&serde_json::from_str(&written).unwrap());
        assert_eq!(read.as_ref(), Ok(state));
        let once: BTreeSet<&String> = state.signals.iter().collect();
        assert_eq!(once.len(), state.signals.len());
        for stage in &definition.stages {
            let now = &state.stages[&stage.name.text];
            let was = &before.stages[&stage.name.text];
            let name = &stage.name.text;
            if now.is_completed() {
                for artifact in &stage.artifacts {
                    let path = definition.path(&now.agent, &artifact.file.text);
                    let is_needed = artifact.required && artifact.is_made_in(state.execution_mode);
                    assert!(!is_needed || now.output_artifacts.contains(&path), "{name} {path}");
                }
            }
            assert!(now.attempts >= was.attempts && now.attempts <= was.attempts + 1, "{name}");
            assert!(now.status != StageStatus::Skipped || stage.optional, "{name}");
            let all_before = definition.before(stage);
            let is_ready = all_before.iter().all(|one| state.stages[&one.name.text].is_passed());
            let has_begun = now.is_completed() || now.status == StageStatus::InProgress;
            assert!(!has_begun || is_ready, "{name} began too early");
            let is_approved =
                now.approval.as_ref().is_some_and(|word| word.decision == Decision::Approved);
            if has_begun && needs_approval(state, stage, When::Before) {
                assert!(is_approved, "{name} began without approval");
            }
            if now.is_passed() && now.status != StageStatus::Skipped {
                let anyway = now.approval.as_ref().map(|word| word.decision);
                let is_good = is_approved || anyway == Some(Decision::DeployAnyway);
                assert!(!needs_approval(state, stage, When::After) || is_good, "{name}");
                for review in now.reviews.values() {
                    assert_eq!(review.status, ReviewStatus::Completed);
                    let verdict = review.verdict.unwrap();
                    assert!(matches!(verdict, Verdict::Approve | Verdict::ApproveWithNotes));
                }
                // All reviews that the risk required at that time were done.
                if was.passed_at.is_none() && now.passed_at.is_some() {
                    for review in reviews(definition, state, stage) {
                        assert!(now.reviews.contains_key(&review.name.text), "{name}");
                    }
                }
            }
        }
        let reviewing: Vec<Invocation> =
            next(definition, state).into_iter().filter(|one| one.reviewed.is_some()).collect();
        for one in &reviewing {
            assert_eq!(reviewing.iter().filter(|other| other.agent == one.agent).count(), 1);
        }
        if state.status == WorkflowStatus::Running {
            assert!(!next(definition, state).is_empty(), "it runs, and nobody works");
        }
        let paused = state.paused_at.as_ref().map(|name| state.stages[name].asks.is_some());
        let is_paused = state.status == WorkflowStatus::Paused;
        assert_eq!(paused, is_paused.then_some(true), "it waits for a person at a stage, or not");
        if state.status == WorkflowStatus::Completed {
            assert!(state.stages.values().all(StageState::is_passed));
        }
        for invocation in &self.run.effects.invoke {
            assert!(next(definition, state).contains(invocation));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn no_gate_is_skipped_and_nothing_is_lost(
        acts in prop::collection::vec(acts(), 1..80),
        mode in prop::sample::select(vec!["full_system", "feature"]),
        risk in prop::sample::select(vec!["low", "medium", "high", "unknown"]),
        has_code_health in any::<bool>(),
        rolls_back in any::<bool>(),
    ) {
        let mut text = DEFAULT.to_owned();
        if has_code_health {
            text = text.replace("stages = []", "stages = [\"implementation\"]");
        }
        if rolls_back {
            let back = "on_failure = \"rollback\"\nrollback_to = \"architecture\"";
            text = text.replace("on_failure = \"block\"", back);
        }
        let mut walk = Walk { run: Run::with(&text, mode, risk), last: None, now: time(0) };
        for act in &acts {
            let before = walk.run.state.clone();
            walk.act(act);
            walk.laws(&before);
        }
    }
}

/// If all agents succeed and people approve, every workflow completes.
#[test]
fn all_goes_well() {
    for (mode, _) in Mode::ALL {
        for (risk, _) in Risk::ALL {
            let run = Run::new(mode.name(), risk.name());
            let mut walk = Walk { run, last: None, now: time(0) };
            let said = Said {
                status: "completed",
                verdict: "approve",
                qa: "approve",
                deployed: "deployed",
                severity: "p3",
                risk: None,
                next: None,
                is_broken: false,
            };
            for _ in 0..60 {
                let before = walk.run.state.clone();
                let all = next(&walk.run.definition, &walk.run.state);
                if let Some(one) = all.first() {
                    walk.speak(&one.agent, &one.stage, one.reviewed.as_deref(), &said);
                } else if let Some(stage) = walk.run.state.paused_at.clone() {
                    walk.decide(&stage, 0);
                }
                walk.laws(&before);
            }
            assert_eq!(walk.run.state.status, WorkflowStatus::Completed, "{mode:?} {risk:?}");
        }
    }
}
