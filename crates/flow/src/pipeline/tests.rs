//! Tests of the step machine through the state's own fold, as the daemon drives it.

use std::collections::{BTreeMap, BTreeSet};

use anyhook_model::approval_request::{AgentQuestion, ApprovalEnding, ApprovalKind, Choice};
use anyhook_model::bus::{AgentPrompt, AgentReport, AgentSignal, SignalKind};
use anyhook_model::notice::NoticeKind;
use anyhook_model::pipeline::{
    AgentPlan, PIPELINE_VERSION, PipelineNotices, PipelinePhase, PipelinePlan, PipelineStep,
    ShellStep, StepCommand, StepWork, VisitState, Workspace, WorkspaceKind,
};
use anyhook_model::reaction::Reactions;
use anyhook_model::{ApprovalRequest, BusEvent, PromptType, RecordId, Resolution, StateSource};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{JobResult, JobWork, NoticeMoment, Pipeline};
use crate::outbox::NoticeName;
use crate::{DaemonState, EntryKind, StateEffects, StateEntry};

mod agents;
mod random;
mod steps;

pub(super) fn id() -> RecordId {
    RecordId::from_text("7k2m9x4q")
}

pub(super) fn shell(name: &str) -> PipelineStep {
    let run = StepCommand { text: format!("run {name}"), ..StepCommand::default() };
    let work = StepWork::Shell(ShellStep { run, timeout_ms: None });
    PipelineStep { name: name.to_owned(), work, on_done: None, on_fail: None, on_cancel: None }
}

pub(super) fn agent(name: &str, reactions: &Value) -> PipelineStep {
    let plan = AgentPlan {
        name: name.to_owned(),
        host: None,
        run: StepCommand { text: "agent".to_owned(), ..StepCommand::default() },
        prompt: Some("do it".to_owned()),
        places_prompt: false,
        env: BTreeMap::default(),
        cwd: "/w".to_owned(),
        reactions: Reactions::read(reactions).unwrap(),
        gate_values: BTreeMap::default(),
    };
    PipelineStep { work: StepWork::Agent(Box::new(plan)), ..shell(name) }
}

pub(super) fn to(step: PipelineStep, next: &str) -> PipelineStep {
    PipelineStep { on_done: Some(next.to_owned()), ..step }
}

pub(super) fn plan(steps: Vec<PipelineStep>) -> PipelinePlan {
    PipelinePlan {
        v: PIPELINE_VERSION,
        id: id(),
        name: "two".to_owned(),
        run_name: None,
        runbook: "/p/.agents/runbooks/two.hcl".to_owned(),
        digest: "d".to_owned(),
        project: "/p".to_owned(),
        variables: BTreeMap::default(),
        workspace: Workspace {
            kind: WorkspaceKind::None,
            root: "/p".to_owned(),
            keep: true,
            branch: None,
            base: None,
        },
        steps,
        notify: PipelineNotices::default(),
        on_done: None,
        on_fail: None,
        on_cancel: None,
    }
}

/// A state and the entries applied to it.
pub(super) struct World {
    pub(super) state: DaemonState,
    now: i64,
    wanted: BTreeSet<NoticeKind>,
}

impl World {
    pub(super) fn begin(plan: PipelinePlan) -> Self {
        let wanted = [NoticeKind::Decision, NoticeKind::Idle].into();
        let mut world = Self { state: DaemonState::default(), now: 1000, wanted };
        world.apply(EntryKind::PipelineBegun(Box::new(plan)));
        world
    }

    pub(super) fn at(&self) -> Timestamp {
        Timestamp::from_second(self.now).unwrap()
    }

    /// Applies an entry, after a round trip through JSON. Returns the effects.
    pub(super) fn apply(&mut self, what: EntryKind) -> StateEffects {
        self.now += 1;
        let entry = StateEntry { at: self.at(), what };
        let text = serde_json::to_string(&entry).unwrap();
        let read: StateEntry = serde_json::from_str(&text).unwrap();
        assert_eq!(read, entry);
        self.state.apply(&entry, &self.wanted)
    }

    /// Checks that the state survives a round trip through JSON.
    pub(super) fn check_json(&self) {
        let text = serde_json::to_string(&self.state).unwrap();
        let read: DaemonState = serde_json::from_str(&text).unwrap();
        assert_eq!(read, self.state);
    }

    pub(super) fn pipeline(&self) -> &Pipeline {
        self.state.pipelines.get(&id()).unwrap()
    }

    pub(super) fn phase(&self) -> PipelinePhase {
        self.pipeline().phase()
    }

    /// Returns the visited steps and their states.
    pub(super) fn visits(&self) -> Vec<(String, VisitState)> {
        let view = self.pipeline().view(&|job| job.to_string());
        view.visits.into_iter().map(|visit| (visit.step, visit.state)).collect()
    }

    /// Returns the number of the only job of a kind.
    pub(super) fn job(&self, is_it: impl Fn(&JobWork) -> bool) -> u32 {
        let found: Vec<u32> =
            self.pipeline().jobs().filter(|job| is_it(&job.work)).map(|job| job.number).collect();
        assert_eq!(found.len(), 1, "{:?}", self.pipeline().jobs().collect::<Vec<_>>());
        found[0]
    }

    pub(super) fn result(&mut self, job: u32, result: JobResult) -> StateEffects {
        self.apply(EntryKind::Job { pipeline: id(), job, result })
    }

    pub(super) fn exits(&mut self, code: i32) -> StateEffects {
        let job = self.job(|work| matches!(work, JobWork::Shell));
        self.result(job, exited(Some(code), ""))
    }

    pub(super) fn starts(&mut self) {
        let job = self.job(|work| matches!(work, JobWork::Agent { .. }));
        self.result(job, JobResult::Started { warning: None, to_type: None });
    }

    /// The nudge is typed.
    pub(super) fn nudges(&mut self) {
        let nudge = self.job(|work| matches!(work, JobWork::Nudge { .. }));
        let report = AgentReport { source: StateSource::Signal, ..self.report() };
        self.hear(BusEvent::AgentInput(report));
        self.result(nudge, JobResult::Done { note: None });
    }

    /// All jobs that end others complete.
    pub(super) fn ends(&mut self) -> StateEffects {
        let is_end = |job: &&super::Job| matches!(job.work, JobWork::End { .. });
        let numbers: Vec<u32> =
            self.pipeline().jobs().filter(is_end).map(|job| job.number).collect();
        assert!(!numbers.is_empty(), "nothing is to be ended");
        let mut effects = StateEffects::default();
        for number in numbers {
            effects.followed.extend(self.result(number, JobResult::Done { note: None }).followed);
        }
        effects
    }

    pub(super) fn agent(&self) -> String {
        self.pipeline().present().and_then(|visit| visit.agent.clone()).unwrap()
    }

    pub(super) fn report(&self) -> AgentReport {
        let at = Some(Timestamp::from_second(self.now + 1).unwrap());
        AgentReport { agent: self.agent(), source: StateSource::Hook, at, ..AgentReport::default() }
    }

    pub(super) fn hear(&mut self, event: BusEvent) -> StateEffects {
        self.apply(EntryKind::Happened(Box::new(event)))
    }

    pub(super) fn works(&mut self) -> StateEffects {
        let report = self.report();
        self.hear(BusEvent::AgentWorking(report))
    }

    pub(super) fn idles(&mut self) -> StateEffects {
        let report = self.report();
        self.hear(BusEvent::AgentIdle(report))
    }

    pub(super) fn signals(&mut self, kind: SignalKind, message: Option<&str>) -> StateEffects {
        let record = Some(RecordId::from_text(format!("s{}", self.now)));
        let report = AgentReport { record, ..self.report() };
        let message = message.map(str::to_owned);
        self.hear(BusEvent::AgentSignal(AgentSignal { report, kind, message }))
    }

    /// A hook process asks for a permission and waits.
    pub(super) fn hook_asks(&mut self, name: &str) -> RecordId {
        let inquiry = ApprovalRequest {
            id: RecordId::from_text(name),
            kind: ApprovalKind::Permission,
            agent: self.agent(),
            question: "claude-code wants to use Shell".to_owned(),
            tool: Some("Shell".to_owned()),
            about: Some("make deploy".to_owned()),
            digest: Some("abc".to_owned()),
            hook: None,
            calls: Vec::new(),
            options: vec![Choice::new("allow", ""), Choice::new("deny", "")],
            questions: Vec::new(),
            created: self.at(),
            until: None,
        };
        let asked = inquiry.id.clone();
        self.hear(BusEvent::DecisionCreated(inquiry));
        let report = self.report();
        let prompt_type = PromptType::Permission;
        let prompt = AgentPrompt { report, prompt_type };
        self.hear(BusEvent::AgentPrompt(prompt));
        asked
    }

    /// Returns the open decision of the pipeline.
    pub(super) fn question(&self) -> &ApprovalRequest {
        let question = self.pipeline().question().expect("it asks nothing");
        &self.state.inquiries.get(&question.id).expect("it is not asked").inquiry
    }

    pub(super) fn options(&self) -> Vec<String> {
        self.question().options.iter().map(|option| option.name.clone()).collect()
    }

    pub(super) fn decides(&mut self, choice: &str) -> StateEffects {
        let id = self.question().id.to_string();
        let answer =
            self.state.inquiries.answer(&id, choice, &[], None, "ann".to_owned(), self.at());
        self.hear(BusEvent::DecisionResolved(answer.unwrap()))
    }
}

pub(super) fn exited(code: Option<i32>, output: &str) -> JobResult {
    JobResult::Exited { code, timed_out: false, output: output.to_owned() }
}

/// Returns the types of the events for followers.
pub(super) fn told(effects: &StateEffects) -> Vec<String> {
    effects.followed.iter().map(|event| event.type_name().to_owned()).collect()
}
