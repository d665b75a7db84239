//! Assistance from MCP servers, with bounded waiting: current documentation before an agent starts,
//! and a second opinion before a person is asked.
//!
//! Each is a separate process, called as a hook's script calls it: agents that already work, time
//! limits and signals do not wait for a server.

mod process;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use anyhook_engine::wait::poll_until;
use jiff::Timestamp;

use self::process::{AssistProcess, GRACE};
use super::Observer;
use crate::error::WorkflowError;
use crate::machine::Invocation;
use crate::project::Project;
use crate::state::{StageState, WorkflowState};
use crate::vocabulary::ReviewStatus;

/// How often to check whether the processes that were told to end have done so.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The requested assistance.
#[derive(Debug)]
pub struct McpAssists<'all> {
    project: &'all Project,
    since: Timestamp,
    running: BTreeMap<String, AssistProcess>,
    done: BTreeSet<String>,
}

/// One request: what it is for, how it is called, and its input.
struct AssistRequest<'all> {
    /// What distinguishes it from all others.
    name: String,
    stage: &'all str,
    /// A description of it.
    what: &'static str,
    command: &'static str,
    event: &'static str,
    agent: &'all str,
}

impl<'all> AssistRequest<'all> {
    fn opinion(name: String, stage: &'all str, agent: &'all str) -> Self {
        let (what, command, event) = ("second opinion", "review", "before_stop");
        Self { name, stage, what, command, event, agent }
    }
}

impl<'all> McpAssists<'all> {
    pub fn new(project: &'all Project) -> Self {
        let (running, done) = (BTreeMap::new(), BTreeSet::new());
        Self { project, since: anyhook_engine::now(), running, done }
    }

    /// Fetches documentation for an agent that is about to start; returns whether it may start.
    pub fn is_documented(
        &mut self,
        work: &Invocation,
        observer: &mut dyn Observer,
    ) -> Result<bool, WorkflowError> {
        if work.reviewed.is_some() || !self.project.definition.wants_documentation(&work.stage) {
            return Ok(true);
        }
        let wish = AssistRequest {
            name: format!("documentation for {}, attempt {}", work.stage, work.attempt),
            stage: &work.stage,
            what: "documentation",
            command: "context7",
            event: "before_agent",
            agent: &work.agent,
        };
        self.is_done(wish, observer)
    }

    /// Requests a second opinion on completed work; returns whether no request is pending.
    pub fn is_reviewed(
        &mut self,
        state: &WorkflowState,
        observer: &mut dyn Observer,
    ) -> Result<bool, WorkflowError> {
        let mut all_done = true;
        for (name, stage) in &state.stages {
            if self.is_news(stage, stage.completed_at) && self.is_wanted(name, state) {
                let opinion = format!("opinion of {name}, attempt {}", stage.attempts);
                all_done &=
                    self.is_done(AssistRequest::opinion(opinion, name, &stage.agent), observer)?;
            }
            for (review, one) in &stage.reviews {
                if one.status == ReviewStatus::Completed
                    && self.is_news(stage, one.reviewed_at)
                    && self.is_wanted(review, state)
                {
                    let opinion = format!("opinion of {review} of {name}, {}", one.attempts);
                    all_done &=
                        self.is_done(AssistRequest::opinion(opinion, name, &one.agent), observer)?;
                }
            }
        }
        Ok(all_done)
    }

    fn is_wanted(&self, name: &str, state: &WorkflowState) -> bool {
        self.project.definition.wants_second_opinion(name, state.execution_mode, state.risk())
    }

    /// Returns whether something was completed that is still undecided, or was completed while we
    /// ran.
    fn is_news(&self, stage: &StageState, at: Option<Timestamp>) -> bool {
        stage.is_completed() && (stage.is_at_gate() || at.is_some_and(|at| at >= self.since))
    }

    /// Starts a request, once; returns whether it is done. Failures are reported, and block
    /// nothing.
    fn is_done(
        &mut self,
        wish: AssistRequest<'_>,
        observer: &mut dyn Observer,
    ) -> Result<bool, WorkflowError> {
        if self.done.contains(&wish.name) {
            return Ok(true);
        }
        let told = match self.running.get_mut(&wish.name) {
            Some(help) => help.ended(),
            None => match AssistProcess::begin(self.project, &wish) {
                Ok(help) => {
                    self.running.insert(wish.name.clone(), help);
                    None
                }
                Err(error) => Some(format!("cannot request it: {error}")),
            },
        };
        let Some(told) = told else { return Ok(false) };
        if !told.is_empty() {
            observer.no_help(wish.stage, wish.what, &told)?;
        }
        self.running.remove(&wish.name);
        self.done.insert(wish.name);
        Ok(true)
    }
}

impl Drop for McpAssists<'_> {
    fn drop(&mut self) {
        self.running.values().for_each(AssistProcess::tell_to_end);
        poll_until(Instant::now() + GRACE, LOOK_EVERY, || {
            self.running.retain(|_, help| !help.is_over());
            self.running.is_empty().then_some(())
        });
        self.running.values_mut().for_each(AssistProcess::kill);
    }
}
