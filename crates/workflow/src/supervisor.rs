//! The workflow supervisor: runs every agent whose turn it is, until a person is needed or
//! everything is done.
//!
//! The state file is authoritative, and this is a reconciliation loop over it: an agent that should
//! work but does not is started as a session of the daemon, one that works but no longer should is
//! ended. So the loop may be killed at any time: the agents continue, and the next supervisor finds
//! them.

mod backoff;
mod daemon;
mod lock;
mod mcp_assists;
mod plan;

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::time::{Duration, Instant};

use anyhook_engine::now;
use anyhook_engine::wait::try_poll;
use anyhook_model::RecordId;
use anyhook_model::pipeline::{PipelinePhase, PipelinePlan, PipelineView};

use self::daemon::DaemonHandle;
use self::mcp_assists::McpAssists;
use crate::error::WorkflowError;
use crate::gate_request::StageGate;
use crate::machine::{self, Invocation};
use crate::project::Project;
use crate::question::{LOOK_EVERY, OpenQuestion};
use crate::session;
use crate::state::WorkflowState;
use crate::transaction::StateChange;
use crate::vocabulary::{ReviewStatus, WorkflowStatus};

pub use self::plan::{Starter, work_of};

/// An agent whose stage is completed is told to end, and killed after this time.
const GRACE: Duration = Duration::from_secs(15);

/// The caller's options for starting agents.
#[derive(Clone, Debug, Default)]
pub struct StartOptions {
    /// The command that starts every agent, overriding the workflow.
    pub with: Option<String>,
    /// The command that starts an agent if nothing else defines one.
    pub usual: Option<String>,
    /// The environment of the agents.
    pub variables: BTreeMap<String, String>,
    /// Who starts them.
    pub by: String,
}

/// Receives everything that happens while a workflow runs.
pub trait Observer {
    /// The state may have changed since the last call.
    fn state(&mut self, state: &WorkflowState) -> io::Result<()>;
    /// An agent was started.
    fn started(
        &mut self,
        work: &Invocation,
        plan: &PipelinePlan,
        pipeline: &PipelineView,
    ) -> io::Result<()>;
    /// These agents are working, and should be.
    fn at_work(&mut self, pipelines: &[&PipelineView]) -> io::Result<()>;
    /// An agent ended, or took too long, before it was done. The state says what follows.
    fn worked_in_vain(&mut self, pipeline: &PipelineView) -> io::Result<()>;
    /// A person is asked through the daemon.
    fn asked(&mut self, gate: &StageGate) -> io::Result<()>;
    /// There is no documentation or second opinion, which blocks nothing.
    fn no_help(&mut self, stage: &str, what: &str, why: &str) -> io::Result<()>;
    /// What happened could not be journaled.
    fn not_journaled(&mut self, error: &io::Error) -> io::Result<()>;
}

/// How a run of a supervisor ended.
#[derive(Debug)]
pub enum RunEnd {
    /// There is nothing more to do now.
    AtRest(Box<WorkflowState>),
    /// It was interrupted: these agents continue.
    Interrupted(Vec<PipelineView>),
}

/// A running workflow.
#[derive(Debug)]
pub struct Supervisor<'all> {
    project: &'all Project,
    starter: Starter<'all>,
    daemon: DaemonHandle<'all>,
    help: McpAssists<'all>,
    /// Whether a person is asked through the daemon at a gate.
    asks: bool,
    /// The open questions, by stage.
    questions: BTreeMap<String, OpenQuestion>,
    /// Pipelines whose agent was told that it is done, and when.
    told_to_end: BTreeMap<RecordId, Instant>,
    _lock: File,
}

impl<'all> Supervisor<'all> {
    /// Takes over a project's workflow, if no other supervisor has it and every agent that still
    /// has to work can be started. Without `asks`, a run ends when a person has to decide.
    pub fn new(
        project: &'all Project,
        state: &WorkflowState,
        options: &'all StartOptions,
        asks: bool,
    ) -> Result<Self, WorkflowError> {
        let starter = Starter { project, options };
        // After hours of waiting it would be too late to report it.
        if !matches!(state.status, WorkflowStatus::Completed | WorkflowStatus::Aborted) {
            starter.check(state)?;
        }
        let lock = lock::hold(project)?;
        Ok(Self {
            project,
            starter,
            daemon: DaemonHandle::new(&project.caller, options)?,
            help: McpAssists::new(project),
            asks,
            questions: BTreeMap::new(),
            told_to_end: BTreeMap::new(),
            _lock: lock,
        })
    }

    /// Iterates until there is nothing more to do or until it is interrupted.
    pub fn run(
        mut self,
        observer: &mut dyn Observer,
        is_interrupted: &dyn Fn() -> bool,
    ) -> Result<RunEnd, WorkflowError> {
        try_poll(LOOK_EVERY, || {
            if is_interrupted() {
                return self.open_pipelines().map(|open| Some(RunEnd::Interrupted(open)));
            }
            Ok(self.step(observer)?.map(|state| RunEnd::AtRest(Box::new(state))))
        })
    }

    /// Does one iteration. Returns the state if there is nothing more to do.
    fn step(
        &mut self,
        observer: &mut dyn Observer,
    ) -> Result<Option<WorkflowState>, WorkflowError> {
        // The pipelines first: an agent that ended before that has already submitted to the state.
        let Some(pipelines) = self.daemon.pipelines()? else { return Ok(None) };
        let mut state = self.project.begun()?;
        let root = self.project.root.to_string_lossy();
        let ours: Vec<(String, Invocation, &PipelineView)> = pipelines
            .iter()
            .filter(|pipeline| pipeline.project == root)
            .filter_map(|pipeline| work_of(pipeline).map(|(id, work)| (id, work, pipeline)))
            .collect();
        for (id, work, pipeline) in &ours {
            if *id != state.id || !machine::next(&self.project.definition, &state).contains(work) {
                continue;
            }
            if pipeline.phase.is_over() {
                state = self.lost(work, pipeline, observer)?;
            } else if self.is_late(work, pipeline) {
                state = self.late(work, pipeline, observer)?;
            }
        }
        observer.state(&state)?;
        let next = machine::next(&self.project.definition, &state);
        let running: Vec<_> = ours.iter().filter(|(.., one)| !one.phase.is_over()).collect();
        let is_wanted = |id: &String, work: &Invocation| *id == state.id && next.contains(work);
        let wanted: Vec<&PipelineView> = running
            .iter()
            .filter(|(id, work, _)| is_wanted(id, work))
            .map(|(.., pipeline)| *pipeline)
            .collect();
        observer.at_work(&wanted)?;
        for (id, work, pipeline) in &running {
            if !is_wanted(id, work) {
                self.end(&state, id, work, pipeline)?;
            }
        }
        for work in &next {
            // An earlier attempt must be ended first: both would work in one folder.
            let is_at_work = running.iter().any(|(_, other, _)| {
                (&other.stage, &other.reviewed) == (&work.stage, &work.reviewed)
            });
            if !is_at_work
                && backoff::is_over(&state, work, now())
                && self.help.is_documented(work, observer)?
            {
                self.start(&state, work, observer)?;
            }
        }
        // A person who decides should know the second opinions.
        if !self.help.is_reviewed(&state, observer)? {
            return Ok(None);
        }
        if !self.ask(&state, observer)? && next.is_empty() && running.is_empty() {
            return self.at_rest(state, observer);
        }
        Ok(None)
    }

    /// Returns whether an agent exceeds its time limit. Its time starts with the agent, not with
    /// its stage: that may have been open for days before an agent was started.
    fn is_late(&self, work: &Invocation, pipeline: &PipelineView) -> bool {
        let limit = machine::time_limit(&self.project.definition, work);
        let until = limit.and_then(|limit| pipeline.created.checked_add(limit).ok());
        until.is_some_and(|until| until <= now())
    }

    /// Records an agent that exceeded its time limit.
    fn late(
        &self,
        work: &Invocation,
        pipeline: &PipelineView,
        observer: &mut dyn Observer,
    ) -> Result<WorkflowState, WorkflowError> {
        let definition = &self.project.definition;
        let late = |state: &WorkflowState| {
            machine::late(definition, state, std::slice::from_ref(work), now())
        };
        in_vain(self.project.change(late)?, pipeline, observer)
    }

    /// Records an agent that ended before it was done.
    fn lost(
        &self,
        work: &Invocation,
        pipeline: &PipelineView,
        observer: &mut dyn Observer,
    ) -> Result<WorkflowState, WorkflowError> {
        let definition = &self.project.definition;
        let why = pipeline.why.as_deref();
        let reason = match pipeline.phase {
            PipelinePhase::Completed => {
                format!("its agent ended without completing it ({})", why.unwrap_or("it is done"))
            }
            phase => format!("its agent {}: {}", phase.name(), why.unwrap_or("unknown reason")),
        };
        let lost = |state: &WorkflowState| machine::lost(definition, state, work, &reason, now());
        in_vain(self.project.change(lost)?, pipeline, observer)
    }

    /// Ends an agent that should no longer work.
    fn end(
        &mut self,
        state: &WorkflowState,
        id: &str,
        work: &Invocation,
        pipeline: &PipelineView,
    ) -> Result<(), WorkflowError> {
        let since = self.told_to_end.get(&pipeline.id).copied();
        let is_done = id == state.id && is_completed(state, work);
        match (&pipeline.agent, since) {
            (Some(agent), None) if is_done => session::end(agent, &self.project.caller)?,
            (Some(_), Some(since)) if is_done && since.elapsed() < GRACE => return Ok(()),
            _ => self.daemon.cancel(pipeline)?,
        }
        self.told_to_end.entry(pipeline.id.clone()).or_insert_with(Instant::now);
        Ok(())
    }

    fn start(
        &mut self,
        state: &WorkflowState,
        work: &Invocation,
        observer: &mut dyn Observer,
    ) -> Result<(), WorkflowError> {
        let plan = self.starter.plan(state, work)?;
        if let Some(pipeline) = self.daemon.begin(plan.clone())? {
            observer.started(work, &plan, &pipeline)?;
        }
        Ok(())
    }

    /// Asks a person at every gate, if enabled; returns whether one is being asked.
    fn ask(
        &mut self,
        state: &WorkflowState,
        observer: &mut dyn Observer,
    ) -> Result<bool, WorkflowError> {
        if !self.asks {
            return Ok(false);
        }
        let gates = StageGate::all(self.project, state);
        // Questions that were decided elsewhere are withdrawn.
        self.questions.retain(|_, asked| gates.iter().any(|gate| gate.is_same(&asked.gate)));
        for gate in &gates {
            match self.questions.get(&gate.stage) {
                Some(asked) => {
                    if let Some(resolution) = asked.answer()? {
                        tell_journal(&gate.apply(self.project, &resolution)?, observer)?;
                    }
                }
                None => {
                    observer.asked(gate)?;
                    let asked = OpenQuestion::ask(gate, &self.project.caller, None)?;
                    self.questions.insert(gate.stage.clone(), asked);
                }
            }
        }
        Ok(!gates.is_empty())
    }

    /// Applies an answer that a person gave and that was not applied yet; if there is none, the run
    /// ends.
    fn at_rest(
        &mut self,
        state: WorkflowState,
        observer: &mut dyn Observer,
    ) -> Result<Option<WorkflowState>, WorkflowError> {
        let gates = StageGate::all(self.project, &state);
        if gates.is_empty() {
            return Ok(Some(state));
        }
        let Some(decisions) = self.daemon.decisions()? else { return Ok(None) };
        for gate in &gates {
            if let Some(resolution) = gate.answer_among(&decisions) {
                tell_journal(&gate.apply(self.project, &resolution)?, observer)?;
                return Ok(None);
            }
        }
        Ok(Some(state))
    }

    /// Returns the pipelines of this project's workflow that are not over.
    fn open_pipelines(&mut self) -> Result<Vec<PipelineView>, WorkflowError> {
        let mut pipelines = self.daemon.pipelines()?.unwrap_or_default();
        let root = self.project.root.to_string_lossy();
        pipelines
            .retain(|one| !one.phase.is_over() && one.project == root && work_of(one).is_some());
        Ok(pipelines)
    }
}

/// Reports an agent that failed to complete its work.
fn in_vain(
    changed: StateChange,
    pipeline: &PipelineView,
    observer: &mut dyn Observer,
) -> Result<WorkflowState, WorkflowError> {
    tell_journal(&changed, observer)?;
    if !changed.effects.is_unchanged {
        observer.state(&changed.state)?;
        observer.worked_in_vain(pipeline)?;
    }
    Ok(changed.state)
}

fn tell_journal(changed: &StateChange, observer: &mut dyn Observer) -> io::Result<()> {
    changed.not_journaled.as_ref().map_or(Ok(()), |error| observer.not_journaled(error))
}

/// Returns whether an agent's work is completed, in the attempt that it was started for.
fn is_completed(state: &WorkflowState, work: &Invocation) -> bool {
    let Some(stage) = state.stages.get(work.reviewed.as_ref().unwrap_or(&work.stage)) else {
        return false;
    };
    match &work.reviewed {
        None => stage.attempts == work.attempt && stage.is_completed(),
        Some(_) => stage.reviews.get(&work.stage).is_some_and(|review| {
            review.attempts == work.attempt && review.status == ReviewStatus::Completed
        }),
    }
}
