//! `anyhook workflow run`: has everybody work whose turn it is, until a person is needed or all is
//! done.
//!
//! The state file is the truth, and this is a loop over it: whoever is to work and does not is
//! started as a session of the daemon, whoever works and is not to any more is ended. So it may be
//! killed at any time: the agents go on, and the next one takes them up.

#![expect(clippy::similar_names, reason = "a state has stages")]

mod asides;
mod ended;
mod lock;
mod orders;
mod pause;
mod plan;
mod progress;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhook_engine::now;
use anyhook_model::pipeline::{Phase, PipelineView};
use anyhook_model::{RecordId, exit_code};
use anyhook_workflow::machine::{self, Invocation};
use anyhook_workflow::state::State;
use anyhook_workflow::words::{ReviewStatus, WorkflowStatus};
use clap::Args;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use self::asides::Asides;
use self::orders::Orders;
use self::plan::{Starter, work_of};
use self::progress::Progress;
use super::report::report;
use crate::commands::{Ended, trust};
use crate::environment::Environment;
use crate::error::Trouble;
use crate::person::{agent_above, only_a_person};
use crate::runbooks::Foreign;
use crate::ui::{Out, Tone};
use crate::workflow::gate::{Gate, LOOK_EVERY, Question};
use crate::workflow::project::Project;
use crate::workflow::session;

/// An agent whose stage is completed is told to end, and ended after so long.
const GRACE: Duration = Duration::from_secs(15);

#[derive(Args)]
pub struct RunArgs {
    /// The command that starts every agent, whatever the workflow says
    #[arg(long, value_name = "COMMAND")]
    with: Option<String>,
    /// At a gate, ask through the daemon and go on with the answer; without, end there
    #[arg(long)]
    wait: bool,
    /// Print who would be started, how and with which prompt, and start nobody
    #[arg(long, conflicts_with = "wait")]
    dry_run: bool,
    /// Print where the workflow is in the end, as JSON; what happens goes to standard error
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &RunArgs, environment: &Environment, out: &mut Out) -> Ended {
    let project = Project::find(environment)?;
    if !arguments.dry_run {
        check_caller(arguments, &project, environment)?;
    }
    let state = project.begun()?;
    let starter = Starter { project: &project, environment, with: arguments.with.as_deref() };
    if arguments.dry_run {
        return show(&starter, &state, arguments.json, out);
    }
    // After hours of waiting it would be late to tell.
    if !matches!(state.status, WorkflowStatus::Completed | WorkflowStatus::Aborted) {
        starter.check(&state)?;
    }
    let _lock = lock::hold(&project)?;
    let mut aside = Out::stderr();
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        flag::register(signal, Arc::clone(&interrupted))?;
    }
    let mut course = Course {
        project: &project,
        environment,
        orders: Orders::new(environment)?,
        progress: Progress::new(if arguments.json { &mut aside } else { &mut *out }),
        asides: Asides::new(&project, environment),
        starter,
        waits: arguments.wait,
        questions: BTreeMap::new(),
        told_to_end: BTreeMap::new(),
    };
    // What the first step does is news.
    course.progress.history(&state)?;
    let state = loop {
        if interrupted.load(Ordering::Relaxed) {
            return course.leave();
        }
        if let Some(state) = course.step()? {
            break state;
        }
        thread::sleep(LOOK_EVERY);
    };
    drop(course);
    if arguments.json {
        out.json(&report(&project, &state))?;
        return Ok(ended::code(&state));
    }
    ended::tell(&project, &state, out)
}

/// Refuses an agent's own commands: its hooks would see nothing of what the daemon starts by them.
fn check_caller(
    arguments: &RunArgs,
    project: &Project,
    environment: &Environment,
) -> Result<(), Trouble> {
    if agent_above(environment).is_none() {
        return Ok(());
    }
    if arguments.with.is_some() {
        return only_a_person("workflow run", environment);
    }
    let definition = &project.definition;
    let has_commands =
        definition.run.is_some() || definition.agents.iter().any(|agent| agent.run.is_some());
    match (&project.file, &project.text) {
        (Some(file), Some(text)) if has_commands => {
            let workflow = Foreign::of(file, text, environment);
            trust::before_an_agent_runs_it("workflow run", &workflow, environment)
        }
        // Agents' programs, which `install` knows where to find.
        _ => Ok(()),
    }
}

/// Prints who would be started.
fn show(starter: &Starter<'_>, state: &State, json: bool, out: &mut Out) -> Ended {
    let next = machine::next(&starter.project.definition, state);
    let plans: Result<Vec<_>, Trouble> =
        next.iter().map(|work| starter.plan(state, work)).collect();
    let plans = plans?;
    if json {
        out.json(&plans)?;
        return Ok(exit_code::OK);
    }
    for (work, plan) in next.iter().zip(&plans) {
        out.line(&[
            (Tone::Strong, &progress::place(work)),
            (Tone::Plain, &format!(": {}, attempt {}", work.agent, work.attempt)),
        ])?;
        for step in &plan.steps {
            let anyhook_model::pipeline::Work::Agent(agent) = &step.work else { continue };
            out.field("command", Tone::Plain, &agent.run.text)?;
            let host = agent.host.as_deref().unwrap_or("none that anyhook knows");
            out.field("agent", Tone::Plain, host)?;
            out.field("prompt", Tone::Plain, agent.prompt.as_deref().unwrap_or_default())?;
        }
        out.gap()?;
    }
    if next.is_empty() {
        return ended::tell(starter.project, state, out);
    }
    Ok(exit_code::OK)
}

/// A workflow under way.
struct Course<'all> {
    project: &'all Project,
    environment: &'all Environment,
    starter: Starter<'all>,
    orders: Orders<'all>,
    progress: Progress<'all>,
    asides: Asides<'all>,
    /// Whether a person is asked through the daemon at a gate.
    waits: bool,
    /// What a person is being asked, by stage.
    questions: BTreeMap<String, Question>,
    /// Pipelines whose agent was told that it is done, and when.
    told_to_end: BTreeMap<RecordId, Instant>,
}

impl Course<'_> {
    /// Looks once at everything and does what is to be done. Returns the state if nothing more is to
    /// be done.
    fn step(&mut self) -> Result<Option<State>, Trouble> {
        // The pipelines first: whoever ended before that has said in the state what it had to say.
        let Some(pipelines) = self.orders.pipelines()? else { return Ok(None) };
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
                state = self.lost(work, pipeline)?;
            } else if self.is_late(work, pipeline) {
                state = self.late(work, pipeline)?;
            }
        }
        self.progress.history(&state)?;
        let next = machine::next(&self.project.definition, &state);
        let running: Vec<_> = ours.iter().filter(|(.., one)| !one.phase.is_over()).collect();
        let is_wanted = |id: &String, work: &Invocation| *id == state.id && next.contains(work);
        let wanted: Vec<&PipelineView> = running
            .iter()
            .filter(|(id, work, _)| is_wanted(id, work))
            .map(|(.., pipeline)| *pipeline)
            .collect();
        self.progress.pipelines(&wanted)?;
        for (id, work, pipeline) in &running {
            if !is_wanted(id, work) {
                self.end(&state, id, work, pipeline)?;
            }
        }
        for work in &next {
            // An earlier attempt that is being ended comes first: both would work in one folder.
            let is_at_work = running.iter().any(|(_, other, _)| {
                (&other.stage, &other.reviewed) == (&work.stage, &work.reviewed)
            });
            if !is_at_work
                && pause::is_over(&state, work, now())
                && self.asides.is_documented(work, &mut self.progress)?
            {
                self.start(&state, work)?;
            }
        }
        // Whoever decides is to know what others think of it.
        if !self.asides.is_reviewed(&state, &mut self.progress)? {
            return Ok(None);
        }
        if !self.ask(&state)? && next.is_empty() && running.is_empty() {
            return self.at_rest(state);
        }
        Ok(None)
    }

    /// Tells whether an agent works for longer than it may. Its time begins with it, and not with its
    /// stage: that may have been open for days before anybody was started.
    fn is_late(&self, work: &Invocation, pipeline: &PipelineView) -> bool {
        let limit = machine::time_limit(&self.project.definition, work);
        let until = limit.and_then(|limit| pipeline.created.checked_add(limit).ok());
        until.is_some_and(|until| until <= now())
    }

    /// Takes note of an agent that took longer than it may.
    fn late(&mut self, work: &Invocation, pipeline: &PipelineView) -> Result<State, Trouble> {
        let definition = &self.project.definition;
        let late =
            |state: &State| machine::late(definition, state, std::slice::from_ref(work), now());
        let (state, effects) = self.project.change(self.environment, late)?;
        self.in_vain(state, effects.is_unchanged, pipeline)
    }

    /// Takes note of an agent that ended before it was done.
    fn lost(&mut self, work: &Invocation, pipeline: &PipelineView) -> Result<State, Trouble> {
        let definition = &self.project.definition;
        let why = pipeline.why.as_deref();
        let reason = match pipeline.phase {
            Phase::Completed => {
                format!("its agent ended without handing it in ({})", why.unwrap_or("it is done"))
            }
            phase => format!("its agent {}: {}", phase.name(), why.unwrap_or("no reason is known")),
        };
        let lost = |state: &State| machine::lost(definition, state, work, &reason, now());
        let (state, effects) = self.project.change(self.environment, lost)?;
        self.in_vain(state, effects.is_unchanged, pipeline)
    }

    /// Tells what became of an agent that worked in vain, and where to look why.
    fn in_vain(
        &mut self,
        state: State,
        is_unchanged: bool,
        pipeline: &PipelineView,
    ) -> Result<State, Trouble> {
        if !is_unchanged {
            self.progress.history(&state)?;
            self.progress.hint(&format!("anyhook pipeline logs {}", pipeline.id))?;
        }
        Ok(state)
    }

    /// Ends an agent that is not to work any more.
    fn end(
        &mut self,
        state: &State,
        id: &str,
        work: &Invocation,
        pipeline: &PipelineView,
    ) -> Result<(), Trouble> {
        let since = self.told_to_end.get(&pipeline.id).copied();
        let is_done = id == state.id && is_completed(state, work);
        match (&pipeline.agent, since) {
            (Some(agent), None) if is_done => session::end(agent, self.environment)?,
            (Some(_), Some(since)) if is_done && since.elapsed() < GRACE => return Ok(()),
            _ => self.orders.cancel(pipeline)?,
        }
        self.told_to_end.entry(pipeline.id.clone()).or_insert_with(Instant::now);
        Ok(())
    }

    fn start(&mut self, state: &State, work: &Invocation) -> Result<(), Trouble> {
        let plan = self.starter.plan(state, work)?;
        if let Some(pipeline) = self.orders.begin(plan.clone())? {
            self.progress.started(work, &plan, &pipeline)?;
        }
        Ok(())
    }

    /// Has a person asked at every gate, if that is wanted; tells whether one is asked.
    fn ask(&mut self, state: &State) -> Result<bool, Trouble> {
        if !self.waits {
            return Ok(false);
        }
        let gates = Gate::all(self.project, state);
        // What was decided elsewhere is withdrawn.
        self.questions.retain(|_, asked| gates.iter().any(|gate| gate.is_same(&asked.gate)));
        for gate in &gates {
            match self.questions.get(&gate.stage) {
                Some(asked) => {
                    if let Some(resolution) = asked.answer()? {
                        gate.apply(self.project, self.environment, &resolution)?;
                    }
                }
                None => {
                    self.progress.asked(gate)?;
                    let asked = Question::ask(gate, self.environment, None)?;
                    self.questions.insert(gate.stage.clone(), asked);
                }
            }
        }
        Ok(!gates.is_empty())
    }

    /// Looks whether a person has answered whom nobody heard; if not, this is the end.
    fn at_rest(&mut self, state: State) -> Result<Option<State>, Trouble> {
        let gates = Gate::all(self.project, &state);
        if gates.is_empty() {
            return Ok(Some(state));
        }
        let Some(decisions) = self.orders.decisions()? else { return Ok(None) };
        for gate in &gates {
            if let Some(resolution) = gate.answer_among(&decisions) {
                gate.apply(self.project, self.environment, &resolution)?;
                return Ok(None);
            }
        }
        Ok(Some(state))
    }

    /// Says what becomes of the agents when we are told to end.
    fn leave(mut self) -> Ended {
        let pipelines = self.orders.pipelines()?.unwrap_or_default();
        let root = self.project.root.to_string_lossy().into_owned();
        let out = self.progress.out();
        let is_ours = |one: &&PipelineView| {
            !one.phase.is_over() && one.project == root && work_of(one).is_some()
        };
        let open: Vec<&PipelineView> = pipelines.iter().filter(is_ours).collect();
        let word = if open.is_empty() { "no agent works" } else { "the agents go on" };
        out.line(&[(Tone::Warn, "interrupted"), (Tone::Plain, &format!(": {word}"))])?;
        out.hint("take it up again: anyhook workflow run")?;
        for one in open {
            out.hint(&format!("end {}: anyhook pipeline cancel {}", one.name, one.id))?;
        }
        Ok(exit_code::PROBLEM)
    }
}

/// Tells whether an attempt ended well.
fn is_completed(state: &State, work: &Invocation) -> bool {
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
