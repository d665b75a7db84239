//! Pipelines: steps run one after the other by commands and agents.
//!
//! A pipeline receives events and returns the jobs to carry out ([`Job`]), the question for a
//! person, and the events for followers. It is the same step machine regardless of who drives it.

use std::collections::{BTreeMap, VecDeque};

use anyhook_model::bus::PipelineReport;
use anyhook_model::pipeline::{
    PIPELINE_VERSION, PipelineLine, PipelinePhase, PipelinePlan, PipelineView, VisitState,
    VisitView, WorkspaceKind,
};
use anyhook_model::{ApprovalRequest, BusEvent, RecordId};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::monitor::Monitor;

mod agent;
mod job;
mod question;
mod transitions;

pub use job::{Job, JobContext, JobResult, JobWork};
pub use question::{PipelineQuestion, QuestionSubject};

/// Maximum number of log lines that are kept.
const LINES: usize = 500;
/// A pipeline that is over is forgotten after this time.
const FORGET_AFTER: SignedDuration = SignedDuration::from_hours(24 * 14);
/// Maximum number of remembered pipelines that are over.
const REMEMBERED: usize = 200;
/// Maximum number of pipelines that run at once.
pub const AT_ONCE: usize = 256;

/// How a pipeline is to end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PipelineOutcome {
    Completed,
    Failed(String),
    Cancelled(String),
}

/// The state of a pipeline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PipelineState {
    /// Its workspace is being created.
    Preparing,
    /// It is at the last visit's step.
    AtStep,
    /// Everything that the last visit has started is being ended.
    Leaving(NextStep),
    /// Its workspace is being removed.
    CleaningUp,
    /// It is over.
    Over,
}

/// What comes after a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum NextStep {
    Step(String),
    Finish,
}

/// A visit of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepVisit {
    /// The step.
    pub step: String,
    state: VisitState,
    #[serde(default)]
    why: Option<String>,
    began: Timestamp,
    #[serde(default)]
    ended: Option<Timestamp>,
    /// The agent working on it.
    #[serde(default)]
    pub agent: Option<String>,
    /// The job that does its work; the latest, if it was repeated.
    #[serde(default)]
    pub job: Option<u32>,
    /// Whether the agent's session was started.
    #[serde(default)]
    pub has_session: bool,
    /// How often the agent was started.
    #[serde(default)]
    lives: u32,
    /// When it was last requested to start.
    started: Timestamp,
    /// The message for an agent that is to be restarted.
    #[serde(default)]
    recover: Option<(Option<String>, bool)>,
}

/// A pipeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pipeline {
    /// What to do.
    pub plan: PipelinePlan,
    created: Timestamp,
    #[serde(default)]
    ended: Option<Timestamp>,
    course: PipelineState,
    #[serde(default)]
    outcome: Option<PipelineOutcome>,
    /// Whether its workspace exists.
    #[serde(default)]
    has_root: bool,
    /// Whether the step that the pipeline defines for its end was entered.
    #[serde(default)]
    is_ending: bool,
    /// The step to resume at.
    #[serde(default)]
    stopped_at: Option<String>,
    /// How often each step was entered since the pipeline was begun or resumed.
    #[serde(default)]
    entries: BTreeMap<String, u32>,
    visits: Vec<StepVisit>,
    monitor: Monitor,
    jobs: BTreeMap<u32, Job>,
    last_job: u32,
    question: Option<PipelineQuestion>,
    questions: u32,
    lines: VecDeque<PipelineLine>,
    last_line: u64,
}

/// The consequences of an event, besides the changed state.
#[derive(Debug, Default, PartialEq)]
pub struct PipelineEffects {
    /// The events for followers.
    pub told: Vec<BusEvent>,
    /// The question for a person, and whether to adopt the question of a hook process that waits
    /// for an answer about the same agent.
    pub asked: Option<(ApprovalRequest, bool)>,
    /// Questions that no longer need an answer, and why.
    pub dismissed: Vec<(RecordId, String)>,
    /// The moment a person is notified of.
    pub notice: Option<NoticeMoment>,
    /// The resulting events about an agent.
    pub heard: Vec<BusEvent>,
    /// Why the event changed nothing.
    pub dropped: Option<&'static str>,
}

/// When a person is notified about a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeMoment {
    /// It starts.
    Start,
    /// It is completed.
    Done,
    /// It failed.
    Fail,
    /// It was cancelled.
    Cancel,
}

/// Why a person's request about a pipeline cannot be carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// It is over.
    #[error("pipeline {0} is {1}")]
    Over(RecordId, &'static str),
    /// It is already ending by itself.
    #[error("pipeline {0} is already ending")]
    Ending(RecordId),
    /// It is not over.
    #[error("pipeline {0} has not ended: it is {1}")]
    NotOver(RecordId, &'static str),
    /// There is no such step.
    #[error("pipeline {0} has no step `{1}`; available: {2}")]
    NoSuchStep(RecordId, String, String),
}

impl Pipeline {
    /// Begins a pipeline.
    pub fn begin(plan: PipelinePlan, now: Timestamp) -> (Self, PipelineEffects) {
        let mut pipeline = Self {
            plan,
            created: now,
            ended: None,
            course: PipelineState::Preparing,
            outcome: None,
            has_root: false,
            is_ending: false,
            stopped_at: None,
            entries: BTreeMap::new(),
            visits: Vec::new(),
            monitor: Monitor::default(),
            jobs: BTreeMap::new(),
            last_job: 0,
            question: None,
            questions: 0,
            lines: VecDeque::new(),
            last_line: 0,
        };
        let mut effects = PipelineEffects::default();
        let report = pipeline.report();
        effects.told.push(BusEvent::PipelineCreated(report));
        pipeline.note(now, "pipeline started");
        effects.notice = pipeline.plan.notify.on_start.is_some().then_some(NoticeMoment::Start);
        pipeline.prepare(now, &mut effects);
        (pipeline, effects)
    }

    /// Returns its phase.
    pub fn phase(&self) -> PipelinePhase {
        match (&self.course, &self.outcome) {
            (PipelineState::Over, Some(PipelineOutcome::Completed)) => PipelinePhase::Completed,
            (PipelineState::Over, Some(PipelineOutcome::Cancelled(_))) => PipelinePhase::Cancelled,
            (PipelineState::Over, _) => PipelinePhase::Failed,
            _ if self.question.is_some() => PipelinePhase::Waiting,
            _ => PipelinePhase::Running,
        }
    }

    /// Returns whether it is over.
    pub fn is_over(&self) -> bool {
        self.course == PipelineState::Over
    }

    /// Returns the jobs that are pending or running.
    pub fn jobs(&self) -> impl Iterator<Item = &Job> {
        self.jobs.values()
    }

    /// Returns one job.
    pub fn job(&self, number: u32) -> Option<&Job> {
        self.jobs.get(&number)
    }

    /// Returns a visit by its number, from 1.
    pub fn visit(&self, number: u32) -> Option<&StepVisit> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        self.visits.get(index)
    }

    /// Returns how many visits there were.
    pub fn visit_count(&self) -> u64 {
        u64::try_from(self.visits.len()).unwrap_or(u64::MAX)
    }

    /// Returns the current visit, if any.
    pub fn present(&self) -> Option<&StepVisit> {
        self.visits.last().filter(|visit| visit.ended.is_none())
    }

    /// Returns the visit of an agent.
    pub fn visit_of(&self, agent: &str) -> Option<&StepVisit> {
        self.visits.iter().rev().find(|visit| visit.agent.as_deref() == Some(agent))
    }

    /// Returns the monitor of its agents.
    pub fn monitor(&self) -> &Monitor {
        &self.monitor
    }

    /// Returns the open question.
    pub fn question(&self) -> Option<&PipelineQuestion> {
        self.question.as_ref()
    }

    /// Returns when its pending timer fires.
    pub fn waits_until(&self) -> Option<Timestamp> {
        self.monitor.waits_until().filter(|_| self.course == PipelineState::AtStep)
    }

    /// Returns the message for a person at a moment.
    pub fn notice(&self, moment: NoticeMoment) -> Option<&str> {
        let notify = &self.plan.notify;
        match moment {
            NoticeMoment::Start => &notify.on_start,
            NoticeMoment::Done => &notify.on_done,
            NoticeMoment::Fail => &notify.on_fail,
            NoticeMoment::Cancel => &notify.on_cancel,
        }
        .as_deref()
    }

    /// Returns when it ended.
    pub fn ended(&self) -> Option<Timestamp> {
        self.ended
    }

    /// Returns the log lines after a line's number.
    pub fn lines(&self, after: u64) -> Vec<PipelineLine> {
        self.lines.iter().filter(|line| line.number > after).cloned().collect()
    }

    /// Returns the view for people; `output` returns where a job's output is.
    pub fn view(&self, output: &dyn Fn(u32) -> String) -> PipelineView {
        let present = self.present();
        PipelineView {
            v: PIPELINE_VERSION,
            id: self.plan.id.clone(),
            name: self.plan.name.clone(),
            run_name: self.plan.run_name.clone(),
            runbook: self.plan.runbook.clone(),
            project: self.plan.project.clone(),
            phase: self.phase(),
            why: self.why(),
            step: self.visits.last().map(|visit| visit.step.clone()),
            agent: present.and_then(|visit| visit.agent.clone()),
            decision: self.question.as_ref().map(|question| question.id.clone()),
            created: self.created,
            ended: self.ended,
            variables: self.plan.variables.clone(),
            workspace: self.plan.workspace.clone(),
            steps: self.plan.steps.iter().map(|step| step.name.clone()).collect(),
            visits: (1..)
                .zip(&self.visits)
                .map(|(number, visit)| self.view_of(number, visit, output))
                .collect(),
            daemon_down: None,
            usage: None,
        }
    }

    /// Returns the name of one of its agents: the names of the run and the step, with a number from
    /// the second visit of the step on.
    pub fn agent_name(&self, agent: &str) -> Option<String> {
        let run = self.plan.run_name.as_deref()?;
        let index = self.visits.iter().position(|visit| visit.agent.as_deref() == Some(agent))?;
        let step = &self.visits[index].step;
        let count = self.visits[..=index].iter().filter(|visit| visit.step == *step).count();
        let number = if count > 1 { format!(".{count}") } else { String::new() };
        Some(format!("{run}.{step}{number}"))
    }

    fn view_of(&self, number: u32, visit: &StepVisit, output: &dyn Fn(u32) -> String) -> VisitView {
        let waits = self.question.as_ref().filter(|_| visit.ended.is_none());
        VisitView {
            number,
            step: visit.step.clone(),
            state: if waits.is_some() { VisitState::Waiting } else { visit.state },
            why: waits.map(|question| question.text.clone()).or_else(|| visit.why.clone()),
            began: visit.began,
            ended: visit.ended,
            agent: visit.agent.clone(),
            output: visit.job.map(output),
        }
    }

    fn why(&self) -> Option<String> {
        match (&self.question, &self.outcome) {
            (Some(question), _) => Some(question.text.clone()),
            (None, Some(PipelineOutcome::Failed(why))) => Some(why.clone()),
            (None, Some(PipelineOutcome::Cancelled(by))) => Some(format!("cancelled by {by}")),
            _ => None,
        }
    }

    /// Makes a report about it and its current step.
    fn report(&self) -> PipelineReport {
        let visit = self.visits.last();
        PipelineReport {
            pipeline: self.plan.id.to_string(),
            name: Some(self.plan.name.clone()),
            step: visit.map(|visit| visit.step.clone()),
            agent: visit.and_then(|visit| visit.agent.clone()),
            ..PipelineReport::default()
        }
    }

    fn report_why(&self, why: &str) -> PipelineReport {
        PipelineReport { why: Some(why.to_owned()), ..self.report() }
    }

    /// Logs a line about the current step.
    fn note(&mut self, at: Timestamp, text: impl Into<String>) {
        let text = text.into();
        // That an event is ignored may be logged again and again, and must not push out the rest.
        let is_noise = text.contains(" ignored: ");
        if is_noise && self.lines.back().is_some_and(|last| last.text == text) {
            return;
        }
        self.last_line += 1;
        if self.lines.len() >= LINES {
            self.lines.pop_front();
        }
        let step = self.present().map(|visit| visit.step.clone());
        let visit = self.number().filter(|_| step.is_some());
        let number = self.last_line;
        self.lines.push_back(PipelineLine { number, at, step, visit, text });
    }

    fn ask_for(&mut self, visit: Option<u32>, work: JobWork) -> u32 {
        self.last_job += 1;
        let job = Job { number: self.last_job, visit, work };
        self.jobs.insert(job.number, job);
        self.last_job
    }

    fn has_workspace(&self) -> bool {
        self.plan.workspace.kind != WorkspaceKind::None
    }
}

/// Every pipeline, by id.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pipelines {
    by_id: BTreeMap<RecordId, Pipeline>,
}

impl Pipelines {
    /// Returns one.
    pub fn get(&self, id: &RecordId) -> Option<&Pipeline> {
        self.by_id.get(id)
    }

    /// Returns one, mutably.
    pub fn get_mut(&mut self, id: &RecordId) -> Option<&mut Pipeline> {
        self.by_id.get_mut(id)
    }

    /// Returns all of them, by id.
    pub fn iter(&self) -> impl Iterator<Item = &Pipeline> {
        self.by_id.values()
    }

    /// Returns those that are not over.
    pub fn open(&self) -> impl Iterator<Item = &Pipeline> {
        self.iter().filter(|pipeline| !pipeline.is_over())
    }

    /// Returns the pipeline an agent was started for: the agent's id begins with the pipeline's.
    pub fn of_agent(&self, agent: &str) -> Option<&Pipeline> {
        let (id, _) = agent.split_once('.')?;
        let pipeline = self.by_id.get(&RecordId::from_text(id))?;
        pipeline.visit_of(agent).is_some().then_some(pipeline)
    }

    /// Returns the pipeline of an agent, mutably.
    pub fn of_agent_mut(&mut self, agent: &str) -> Option<&mut Pipeline> {
        let id = self.of_agent(agent)?.plan.id.clone();
        self.by_id.get_mut(&id)
    }

    /// Returns the pipeline that asks a question.
    pub fn asking(&self, question: &RecordId) -> Option<&Pipeline> {
        self.iter()
            .find(|pipeline| pipeline.question.as_ref().is_some_and(|open| open.id == *question))
    }

    /// Adds a new one, and forgets some that ended long ago.
    pub fn add(&mut self, pipeline: Pipeline, now: Timestamp) {
        self.by_id.retain(|_, pipeline| {
            pipeline.ended.is_none_or(|ended| now.duration_since(ended) < FORGET_AFTER)
        });
        while self.by_id.values().filter(|pipeline| pipeline.is_over()).count() >= REMEMBERED {
            let oldest = self.by_id.values().filter(|pipeline| pipeline.is_over());
            let oldest =
                oldest.min_by_key(|pipeline| pipeline.ended).map(|over| over.plan.id.clone());
            let Some(id) = oldest else { break };
            self.by_id.remove(&id);
        }
        self.by_id.insert(pipeline.plan.id.clone(), pipeline);
    }
}

#[cfg(test)]
mod tests;
