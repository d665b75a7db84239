//! Requests about pipelines and their agents' sessions, and pipelines' timers.

use std::collections::BTreeMap;

use anyhook_engine::agent_directives;
use anyhook_flow::JobId;
use anyhook_flow::agents::Agent;
use anyhook_flow::monitor::IgnoreReason;
use anyhook_flow::names::{self, NameError, NamedItem};
use anyhook_flow::pipeline::{AT_ONCE, JobWork, Pipeline, RequestError};
use anyhook_model::bus::{AgentReport, PipelineReport};
use anyhook_model::daemon::{PipelineRequest, RefusalCode, RunPipeline, SendKeys};
use anyhook_model::json::shorten;
use anyhook_model::pipeline::{PipelinePlan, PipelineView, SessionView};
use anyhook_model::{AgentState, ProcessName, StateSource};
use jiff::Timestamp;

use super::requests::not_found;
use super::{BusEvent, Core, EntryKind, RecordId, Response, oneshot, refusal};
use crate::failpoints;
use crate::runner::{IsStillIdle, KeysTarget};
use crate::task::{self, TaskStatus};

/// The maximum size of a plan in bytes: it is stored with everything else.
const PLAN_LIMIT: usize = 1024 * 1024;
/// The length to which a variable's value is shown in the list of all pipelines.
const VALUE_LIMIT: usize = 200;

impl Core {
    /// Resumes pipelines when the daemon starts.
    pub(super) fn resume_pipelines(&mut self) {
        let pipelines = &self.state.pipelines;
        self.runner.jobs.folders().forget(|id| pipelines.get(id).is_some());
        for over in pipelines.iter().filter(|pipeline| pipeline.is_over()) {
            self.runner.jobs.folders().forget_environment(&over.plan.id);
        }
        let present: Vec<String> = pipelines
            .open()
            .filter_map(|open| open.present().and_then(|visit| visit.agent.clone()))
            .collect();
        if let Err(error) = agent_directives::keep_only(&self.runner.jobs.state, &present) {
            self.pending
                .fail(format!("cannot remove the instructions of finished agents: {error}"));
        }
    }

    /// Deletes the environment of a pipeline when it is over: it may contain secrets.
    pub(super) fn forget_environment(&self, event: &BusEvent) {
        if let BusEvent::PipelineCompleted(report)
        | BusEvent::PipelineFailed(report)
        | BusEvent::PipelineCancelled(report) = event
        {
            let id = RecordId::from_text(report.pipeline.clone());
            self.runner.jobs.folders().forget_environment(&id);
        }
    }

    /// Returns the next time that a pipeline waits for.
    pub(super) fn next_timer(&self) -> Option<Timestamp> {
        self.state.pipelines.open().filter_map(Pipeline::waits_until).min()
    }

    pub(super) fn fire_timers(&mut self) {
        let now = anyhook_engine::now();
        let due = |open: &&Pipeline| open.waits_until().is_some_and(|until| until <= now);
        let fired: Vec<EntryKind> = self
            .state
            .pipelines
            .open()
            .filter(due)
            .map(|open| EntryKind::TimerFired(open.plan.id.clone()))
            .collect();
        self.pending.entries.extend(fired);
        self.store_what_waits();
    }

    /// Returns whether an agent is still at a prompt; the journal was read just before.
    pub(super) fn still_at_prompt(&self, id: &RecordId, rest: u64) -> IsStillIdle {
        let pipeline = self.state.pipelines.get(id).ok_or(IgnoreReason::Ended)?;
        let is_there = self.present_agent(pipeline).is_some_and(|known| {
            known.activity == rest && matches!(known.state, AgentState::Prompting(_))
        });
        if is_there { Ok(()) } else { Err(IgnoreReason::RestOver) }
    }

    /// Returns whether a nudge may be typed; the journal was read just before.
    fn may_type(&self, into: &KeysTarget) -> IsStillIdle {
        let pipeline = self.state.pipelines.get(&into.job.pipeline).ok_or(IgnoreReason::Ended)?;
        let may = pipeline.monitor().may_nudge(&self.state.agents, into.rest);
        // Stored by a daemon that was killed before it could type, and the agent has done nothing
        // since.
        may.or_else(|dropped| {
            let is_stored = self.present_agent(pipeline).is_some_and(|known| {
                known.state == AgentState::Working && known.call == Some(into.name())
            });
            if is_stored { Ok(()) } else { Err(dropped) }
        })
    }

    fn present_agent(&self, pipeline: &Pipeline) -> Option<&Agent> {
        let agent = pipeline.present().and_then(|visit| visit.agent.as_deref())?;
        self.state.agents.get(agent)
    }

    pub(super) fn pipeline_views(&self) -> Vec<PipelineView> {
        let mut views: Vec<PipelineView> =
            self.state.pipelines.iter().map(|pipeline| self.view(pipeline)).collect();
        views.sort_by_key(|view| view.created);
        for value in views.iter_mut().flat_map(|view| view.variables.values_mut()) {
            *value = shorten(value, VALUE_LIMIT);
        }
        views
    }

    pub(super) fn pipeline_view(&self, id: &str) -> Response {
        match self.find_pipeline(id) {
            Ok(pipeline) => Response::Pipeline(Box::new(self.view(pipeline))),
            Err(refused) => refused,
        }
    }

    fn view(&self, pipeline: &Pipeline) -> PipelineView {
        let folders = self.runner.jobs.folders();
        let folder = |job| {
            folders
                .job(&JobId { pipeline: pipeline.plan.id.clone(), number: job })
                .to_string_lossy()
                .into_owned()
        };
        let mut view = pipeline.view(&folder);
        for visit in &mut view.visits {
            let file = if visit.agent.is_some() { "screen" } else { "output" };
            visit.output = visit.output.take().map(|folder| format!("{folder}/{file}"));
        }
        view
    }

    /// Starts a pipeline.
    pub(super) fn run_pipeline(&mut self, run: RunPipeline) -> Response {
        let RunPipeline { mut plan, environment, by: _ } = run;
        let id = plan.id.clone();
        match self.name_of_run(&plan) {
            Ok(name) => plan.run_name = Some(name),
            Err(refused) => return refused,
        }
        if self.state.pipelines.open().count() >= AT_ONCE {
            return Response::Refused(refusal(
                RefusalCode::Busy,
                "too many pipelines are running already",
            ));
        }
        if self.state.pipelines.get(&id).is_some() {
            let why = format!("pipeline {id} already exists");
            return Response::Refused(refusal(RefusalCode::BadRequest, &why));
        }
        let size = serde_json::to_vec(&plan).map_or(usize::MAX, |text| text.len());
        if size > PLAN_LIMIT {
            let why = format!("the plan is {size} bytes long; the limit is {PLAN_LIMIT}");
            let hint = "put long texts in files and refer to those";
            return Response::Refused(hinted(RefusalCode::BadRequest, &why, hint));
        }
        if let Err(refused) = self.keep_environment(&id, &environment) {
            return refused;
        }
        failpoints::point("core.pipeline.environment");
        let response = self.commit_for(&id, EntryKind::PipelineBegun(Box::new(plan)));
        // To add a new one, old ones are forgotten.
        let pipelines = &self.state.pipelines;
        self.runner.jobs.folders().forget(|id| pipelines.get(id).is_some());
        response
    }

    /// Returns the name of a new run: the one it was given, if that is free, or one derived from
    /// what it does.
    fn name_of_run(&self, plan: &PipelinePlan) -> Result<String, Response> {
        let open = || self.state.pipelines.open().filter_map(|open| open.plan.run_name.as_deref());
        let Some(name) = &plan.run_name else {
            let name = names::of_run(&plan.name, &plan.variables, &plan.project);
            return Ok(names::unique(name, open()));
        };
        let refuse = |why: String| {
            let hint = "anyhook pipeline run PIPELINE --name NAME";
            Err(Response::Refused(hinted(RefusalCode::BadRequest, &why, hint)))
        };
        if let Err(why) = names::check(name) {
            return refuse(why);
        }
        if open().any(|open| open == name) {
            return refuse(format!("an active pipeline is already named `{name}`"));
        }
        Ok(name.clone())
    }

    fn keep_environment(
        &self,
        id: &RecordId,
        environment: &BTreeMap<String, String>,
    ) -> Result<(), Response> {
        self.runner.jobs.folders().write_environment(id, environment).map_err(|error| {
            let why = format!("cannot store the pipeline's environment: {error}");
            Response::Refused(refusal(RefusalCode::Store, &why))
        })
    }

    pub(super) fn cancel_pipeline(&mut self, request: &PipelineRequest) -> Response {
        let pipeline = match self.find_pipeline(&request.id) {
            Ok(pipeline) => pipeline,
            Err(refused) => return refused,
        };
        let id = pipeline.plan.id.clone();
        if let Err(error) = pipeline.may_cancel() {
            return not_now(&error);
        }
        self.commit_for(
            &id,
            EntryKind::PipelineCancelled { id: id.clone(), by: request.by.clone() },
        )
    }

    pub(super) fn resume_pipeline(&mut self, request: PipelineRequest) -> Response {
        let pipeline = match self.find_pipeline(&request.id) {
            Ok(pipeline) => pipeline,
            Err(refused) => return refused,
        };
        if let Err(error) = pipeline.may_resume(request.step.as_deref()) {
            return not_now(&error);
        }
        let id = pipeline.plan.id.clone();
        if let Err(refused) = self.keep_environment(&id, &request.environment) {
            return refused;
        }
        let resumed =
            EntryKind::PipelineResumed { id: id.clone(), step: request.step, by: request.by };
        self.commit_for(&id, resumed)
    }

    /// Stores a person's change to a pipeline, and answers with its new state.
    fn commit_for(&mut self, id: &RecordId, what: EntryKind) -> Response {
        if self.commit(vec![what]).is_err() {
            return self.cannot_store();
        }
        match self.state.pipelines.get(id) {
            Some(pipeline) => Response::Pipeline(Box::new(self.view(pipeline))),
            None => Response::Refused(refusal(RefusalCode::Unknown, "it no longer exists")),
        }
    }

    pub(super) fn pipeline_log(&self, id: &str, after: u64) -> Response {
        match self.find_pipeline(id) {
            Ok(pipeline) => Response::PipelineLog(pipeline.lines(after)),
            Err(refused) => refused,
        }
    }

    /// Finds a pipeline by its id or the beginning of it.
    fn find_pipeline(&self, id: &str) -> Result<&Pipeline, Response> {
        let known: Vec<NamedItem<'_>> = self
            .state
            .pipelines
            .iter()
            .map(|pipeline| NamedItem {
                id: pipeline.plan.id.as_str(),
                name: pipeline.plan.run_name.clone(),
                also: None,
                lives: !pipeline.is_over(),
            })
            .collect();
        let found = names::find(id, &known).map_err(|error| not_found("pipeline", id, error))?;
        let found = self.state.pipelines.get(&RecordId::from_text(found));
        found.ok_or_else(|| not_found("pipeline", id, NameError::Nothing))
    }

    /// Returns the agent of a pipeline whose supervisor is among these processes.
    pub(super) fn agent_kept_above(&self, above: &[(ProcessName, String)]) -> Option<String> {
        let is_above = |pipeline: &&Pipeline| {
            pipeline.jobs().filter(|job| matches!(job.work, JobWork::Agent { .. })).any(|job| {
                let folder = self
                    .runner
                    .jobs
                    .folders()
                    .job(&JobId { pipeline: pipeline.plan.id.clone(), number: job.number });
                match task::status(&folder) {
                    Ok(TaskStatus::Running(supervisor)) => {
                        above.iter().any(|(process, _)| *process == supervisor)
                    }
                    _ => false,
                }
            })
        };
        let pipeline = self.state.pipelines.open().find(is_above)?;
        pipeline.present()?.agent.clone()
    }

    /// Returns where an agent's session is.
    pub(super) fn session(&self, agent: &str) -> Response {
        match self.find_session(agent) {
            Ok(found) => {
                let session = self.runner.jobs.session(&found.job);
                let folder = session.folder.to_string_lossy().into_owned();
                Response::Session(SessionView { agent: found.agent, name: session.name, folder })
            }
            Err(refused) => refused,
        }
    }

    /// Finds the session of an agent that a pipeline started, by the agent's id or the beginning of
    /// it; one that is running is preferred over those that are over.
    fn find_session(&self, agent: &str) -> Result<FoundSession, Response> {
        let mut found: Vec<(bool, FoundSession)> = Vec::new();
        for pipeline in self.state.pipelines.iter() {
            let id = &pipeline.plan.id;
            for visit in (1..).map_while(|number| pipeline.visit(number)) {
                let (Some(name), Some(number), true) = (&visit.agent, visit.job, visit.has_session)
                else {
                    continue;
                };
                let called = self.state.agent_name(name).unwrap_or_default();
                if !agent.is_empty() && (name.starts_with(agent) || called.starts_with(agent)) {
                    let job = JobId { pipeline: id.clone(), number };
                    let session = FoundSession { agent: name.clone(), job };
                    let lives = pipeline.job(number).is_some();
                    if name == agent || called == agent && lives {
                        return Ok(session);
                    }
                    found.push((lives, session));
                }
            }
        }
        if found.iter().any(|(lives, ..)| *lives) {
            found.retain(|(lives, ..)| *lives);
        }
        let names: Vec<&str> = found.iter().map(|(_, session)| session.agent.as_str()).collect();
        let starts = |pipeline: &Pipeline| {
            let present = pipeline.present().and_then(|visit| visit.agent.as_deref());
            let called = present.and_then(|name| self.state.agent_name(name));
            let begins = |name: &str| !agent.is_empty() && name.starts_with(agent);
            present.is_some_and(begins) || called.as_deref().is_some_and(begins)
        };
        if names.is_empty() && self.state.pipelines.open().any(starts) {
            let why = format!("agent `{agent}` is being started");
            return Err(Response::Refused(hinted(RefusalCode::NotNow, &why, "try again")));
        }
        let known = self.known_agents();
        let known = !matches!(names::find(agent, &known), Err(NameError::Nothing));
        let (code, why) = match (names.len(), known) {
            (0, true) => (
                RefusalCode::NotNow,
                format!("agent `{agent}` has no session here: no pipeline started it"),
            ),
            (0, false) => (RefusalCode::Unknown, format!("there is no agent `{agent}`")),
            (1, _) => {
                return Ok(found.remove(0).1);
            }
            _ => {
                let all = names.join(", ");
                (RefusalCode::Ambiguous, format!("`{agent}` matches several agents: {all}"))
            }
        };
        Err(Response::Refused(hinted(code, &why, "anyhook agent list")))
    }

    /// Types something to an agent, unless it would be taken for the answer to a prompt.
    pub(super) fn send(&mut self, send: SendKeys, answer: oneshot::Sender<Response>) {
        let found = match self.find_session(&send.agent) {
            Ok(found) => found,
            Err(refused) => return drop(answer.send(refused)),
        };
        let known = self.state.agents.get(&found.agent);
        let state = known.map(|known| known.state);
        if matches!(state, Some(AgentState::Prompting(_))) && !send.force {
            let why = format!("{} is at a prompt, which would treat it as an answer", found.agent);
            let hint = "answer the decision, or attach to the agent; use --force to type anyway";
            return drop(answer.send(Response::Refused(hinted(RefusalCode::NotNow, &why, hint))));
        }
        let host = known.and_then(|known| known.host.clone());
        let send = SendKeys { agent: found.agent, ..send };
        self.runner.jobs.type_to(&found.job, send, host, answer);
    }

    /// Stores that an agent is sent input, which is then typed.
    pub(super) fn begin_send_keys(
        &mut self,
        agent: &str,
        into: Option<KeysTarget>,
    ) -> Result<(), String> {
        if let Some(into) = &into {
            self.may_type(into).map_err(|dropped| dropped.words().to_owned())?;
        }
        let report = AgentReport {
            agent: agent.to_owned(),
            source: StateSource::Signal,
            at: Some(anyhook_engine::now()),
            call: into.map(|into| into.name()),
            ..AgentReport::default()
        };
        let pipeline = self.state.pipelines.of_agent(agent).map(|known| known.plan.id.to_string());
        let session = PipelineReport {
            pipeline: pipeline.unwrap_or_default(),
            agent: Some(agent.to_owned()),
            ..PipelineReport::default()
        };
        let happened = [BusEvent::AgentInput(report), BusEvent::SessionInput(session)];
        let batch = happened.map(|event| EntryKind::Happened(Box::new(event))).into();
        self.commit(batch).map_err(|_| "it cannot be stored".to_owned())?;
        failpoints::point("core.types");
        Ok(())
    }

    /// Kills an agent. Its pipeline then does what its `on_dead` says.
    pub(super) fn kill(&mut self, agent: &str, answer: oneshot::Sender<Response>) {
        match self.find_session(agent) {
            Ok(found) => self.runner.jobs.kill(&found.job, answer),
            Err(refused) => drop(answer.send(refused)),
        }
    }
}

/// The session of an agent that a pipeline started.
struct FoundSession {
    agent: String,
    /// The job that runs the agent.
    job: JobId,
}

fn not_now(error: &RequestError) -> Response {
    let (code, hint) = match error {
        RequestError::NoSuchStep(..) => (RefusalCode::NoSuchChoice, "anyhook pipeline show ID"),
        _ => (RefusalCode::NotNow, "anyhook pipeline list"),
    };
    Response::Refused(hinted(code, &error.to_string(), hint))
}

fn hinted(code: RefusalCode, message: &str, hint: &str) -> anyhook_model::daemon::Refusal {
    anyhook_model::daemon::Refusal { hint: Some(hint.to_owned()), ..refusal(code, message) }
}
